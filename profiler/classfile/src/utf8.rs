//! Modified UTF-8 (JVMS 4.4.7): zero takes two bytes, and a supplementary character takes two surrogates of three bytes.

use std::borrow::Cow;

/// Decodes a name; what is no character becomes U+FFFD.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(
            char::decode_utf16(units(bytes))
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        ),
    }
}

/// The UTF-16 units that the bytes encode.
fn units(mut bytes: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(bytes.len());
    let continuation = |byte: u8| (byte & 0xc0 == 0x80).then_some(u16::from(byte & 0x3f));
    while let Some((_, rest)) = bytes.split_first() {
        let decoded = match *bytes {
            [a, ..] if a < 0x80 => Some((u16::from(a), 1)),
            [a, b, ..] if a & 0xe0 == 0xc0 => {
                continuation(b).map(|b| (u16::from(a & 0x1f) << 6 | b, 2))
            }
            [a, b, c, ..] if a & 0xf0 == 0xe0 => continuation(b)
                .zip(continuation(c))
                .map(|(b, c)| (u16::from(a & 0x0f) << 12 | b << 6 | c, 3)),
            _ => None,
        };
        let (unit, length) = decoded.unwrap_or((0xfffd, 1));
        units.push(unit);
        bytes = &rest[length - 1..];
    }
    units
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn names_of_every_plane_are_decoded() {
        assert_eq!(decode(b"java/lang/Object"), "java/lang/Object");
        assert_eq!(decode("größer".as_bytes()), "größer");
        assert_eq!(decode(&[b'a', 0xc0, 0x80, b'b']), "a\0b");
        // U+1F600 as the surrogates D83D DE00
        assert_eq!(decode(&[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), "😀");
        assert_eq!(decode(&[0xff, b'x']), "\u{fffd}x");
        assert_eq!(decode(&[b'x', 0xe0, 0x80]), "x\u{fffd}\u{fffd}");
    }
}
