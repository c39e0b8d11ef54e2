//! OTLP as protobuf: one message, or messages each behind its length in four bytes (big-endian), as the Collector's file exporter
//! writes them.

use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

use super::otlp::{self, ResourceSpans};
use crate::convert::Converter;
use crate::span::Span;

/// The only field of `TracesData` and of `ExportTraceServiceRequest`: its tag byte.
const RESOURCE_SPANS: u32 = 1;

/// Reads messages.
/// `is_left` hears after each how many bytes are left.
pub fn read(
    bytes: &[u8],
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
    is_left: &mut dyn FnMut(usize),
) {
    let mut rest = bytes;
    while let Some((length, message)) = rest.split_first_chunk::<4>().filter(|_| is_framed(rest)) {
        let length = u32::from_be_bytes(*length) as usize;
        let cut = message.len().min(length);
        self::message(&message[..cut], into, take);
        into.counts.damaged += u64::from(cut < length);
        rest = &message[cut..];
        is_left(rest.len());
    }
    if !rest.is_empty() {
        message(rest, into, take);
    }
}

/// Whether what looks like JSON behind an empty line is a message: its first byte is that of a line's end, and the second, the length of its
/// first `ResourceSpans`, that of a brace or bracket where there are 123 or 91 bytes.
pub fn is_message(mut bytes: &[u8]) -> bool {
    let is_length = matches!(bytes, [b'\n', b'{' | b'[', ..]);
    let body = field(&mut bytes).flatten().filter(|_| is_length);
    body.is_some_and(|body| ResourceSpans::decode(body).is_ok())
}

/// Whether a length comes first: its first byte is 0 for anything below 16 MB, which begins no message.
fn is_framed(bytes: &[u8]) -> bool {
    bytes[0] < 8
}

/// Reads one message, one service's spans after the other, so that what comes before damage is used.
pub fn message(
    mut message: &[u8],
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
) {
    into.counts.documents += 1;
    while message.has_remaining() {
        let Some(body) = field(&mut message) else {
            into.counts.damaged += 1;
            return;
        };
        let Some(body) = body else { continue };
        match ResourceSpans::decode(body) {
            Ok(spans) => otlp::take(&spans, into, take),
            Err(_) => {
                into.counts.damaged += 1;
                return;
            }
        }
    }
}

/// The next field: the body of a `ResourceSpans`, or nothing of another one. Nothing at all where there is no field.
fn field<'a>(message: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (tag, wire_type) = decode_key(message).ok()?;
    if wire_type != WireType::LengthDelimited {
        return None;
    }
    let length = usize::try_from(decode_varint(message).ok()?).ok()?;
    let (body, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some((tag == RESOURCE_SPANS).then_some(body))
}
