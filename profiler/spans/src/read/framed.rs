//! Messages each behind its length in four bytes (big-endian), as the Collector's file exporter writes protobuf, and whatever it packs: then each
//! message by itself, JSON too.

use super::{json, packed, protobuf};
use crate::convert::Converter;
use crate::span::Span;

/// Reads messages; what has no length before it is one.
/// `is_left` hears after each how many bytes are left.
pub fn read(
    bytes: &[u8],
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
    is_left: &mut dyn FnMut(usize),
) {
    let mut rest = bytes;
    while let Some((length, messages)) = rest.split_first_chunk::<4>().filter(|_| is_framed(rest)) {
        let length = u32::from_be_bytes(*length) as usize;
        let cut = messages.len().min(length);
        message(&messages[..cut], into, take);
        into.counts.damaged += u64::from(cut < length);
        rest = &messages[cut..];
        is_left(rest.len());
    }
    if !rest.is_empty() {
        protobuf::message(rest, into, take);
    }
}

/// Whether a length comes first: its first byte is 0 for anything below 16 MB, which begins no message.
fn is_framed(bytes: &[u8]) -> bool {
    bytes[0] < 8
}

fn message(bytes: &[u8], into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
    let unpacked = packed::unpack(bytes);
    let bytes = match &unpacked {
        Some((bytes, _)) => &bytes[..],
        None => bytes,
    };
    let before = into.counts.damaged;
    match bytes.first() {
        Some(b'{') => json::message(bytes, into, take),
        _ => protobuf::message(bytes, into, take),
    }
    let is_cut = matches!(unpacked, Some((_, packed::Packed::Cut)));
    into.counts.damaged = into.counts.damaged.max(before + u64::from(is_cut));
}
