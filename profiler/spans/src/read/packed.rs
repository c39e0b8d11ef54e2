//! Compression, which shows in the first bytes: gzip, and Zstandard (RFC 8878), by which the Collector's file exporter packs each message.

use std::io::{self, Read};

use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// Most that is unpacked of a file or message.
const UNPACKED_MAX: u64 = 1 << 33;

/// Whether all that was packed is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    Whole,
    Cut,
}

/// The unpacked part; `None` where nothing is packed.
pub fn unpack(bytes: &[u8]) -> Option<(Vec<u8>, Packed)> {
    let mut unpacked = Vec::new();
    let read = match bytes {
        [0x1f, 0x8b, ..] => {
            let unpacking = flate2::read::MultiGzDecoder::new(bytes);
            unpacking.take(UNPACKED_MAX).read_to_end(&mut unpacked)
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => unpack_frames(bytes, &mut unpacked),
        _ => return None,
    };
    let packed = match read {
        Ok(_) => Packed::Whole,
        Err(_) => Packed::Cut,
    };
    Some((unpacked, packed))
}

/// Zstandard's frames, one after the other.
fn unpack_frames(mut bytes: &[u8], into: &mut Vec<u8>) -> io::Result<usize> {
    while !bytes.is_empty() {
        let begun = StreamingDecoder::new(&mut bytes).map(|frame| {
            let room = UNPACKED_MAX.saturating_sub(into.len() as u64);
            frame.take(room).read_to_end(into)
        });
        match begun {
            Ok(read) => read?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = length as usize;
                bytes = bytes.get(length..).unwrap_or_default();
                length
            }
            Err(error) => return Err(io::Error::other(error)),
        };
    }
    Ok(into.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf spans | zstd`, without a checksum: a frame's header, and one block of five literal bytes.
    const FRAME: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0spans";

    #[test]
    fn frames_are_unpacked() {
        let skipped: &[u8] = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        let all = [FRAME, skipped, FRAME].concat();
        let whole = (b"spansspans".to_vec(), Packed::Whole);
        assert_eq!(unpack(&all), Some(whole));
        for cut in [FRAME.len() + skipped.len() + 6, all.len() - 1] {
            let (unpacked, packed) = unpack(&all[..cut]).unwrap();
            assert!(unpacked.starts_with(b"spans"), "{cut}");
            assert_eq!(packed, Packed::Cut, "{cut}");
        }
        assert_eq!(unpack(b"spans"), None);
    }
}
