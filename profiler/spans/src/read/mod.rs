//! Files of spans, whatever their format: OTLP as protobuf or JSON, one message or many, Jaeger's JSON; compressed by gzip or Zstandard, or not.

mod framed;
mod ids;
mod jaeger;
mod json;
mod otlp;
mod packed;
mod protobuf;

use std::io;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::convert::Converter;
use crate::span::Span;
use packed::Packed;

/// Encoding of a message, as its sender states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// OTLP as JSON.
    Json,
    /// OTLP as protobuf.
    Protobuf,
}

/// Reads a file; each span goes to `take`. `progress` hears after each document how many bytes of how many have been read.
///
/// # Errors
/// The file cannot be read. What is wrong with its content is counted.
pub fn file(
    path: &Path,
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<()> {
    let bytes = std::fs::read(path)?;
    content_in_steps(&bytes, into, take, progress);
    Ok(())
}

/// Reads the message that a sender sent, packed or not. What is wrong with it is counted; of a damaged one nothing may be used.
pub fn message(
    bytes: &[u8],
    encoding: Encoding,
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
) {
    let unpacked = packed::unpack(bytes);
    let bytes = match &unpacked {
        Some((_, Packed::Cut)) => {
            into.counts.documents += 1;
            into.counts.damaged += 1;
            return;
        }
        Some((bytes, Packed::Whole)) => bytes,
        None => bytes,
    };
    match encoding {
        Encoding::Json => json::message(bytes, into, take),
        Encoding::Protobuf => protobuf::message(bytes, into, take),
    }
}

/// Reads what a file holds.
pub fn content(bytes: &[u8], into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
    content_in_steps(bytes, into, take, &mut |_, _| {});
}

fn content_in_steps(
    bytes: &[u8],
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
    progress: &mut dyn FnMut(u64, u64),
) {
    // Only one layer, because packed data may contain packed data without end. A file that was cut is read as far as
    // it could be unpacked.
    let unpacked = packed::unpack(bytes);
    let bytes = match &unpacked {
        Some((unpacked, packed)) => {
            into.counts.damaged += u64::from(*packed == Packed::Cut);
            &unpacked[..]
        }
        None => bytes,
    };
    let of = bytes.len() as u64;
    let mut is_left = |left: usize| progress(of - left as u64, of);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => {}
        Some(b'{' | b'[') if !protobuf::is_message(bytes) => {
            json::read(bytes, into, take, &mut is_left)
        }
        Some(_) => framed::read(bytes, into, take, &mut is_left),
    }
}

/// The value of a field of JSON, or its default where it is null, as in protobuf's mapping to JSON. Go writes empty lists as null,
/// too.
fn or_default<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(value).map(Option::unwrap_or_default)
}
