//! Files of spans, whatever their format: OTLP as protobuf or JSON, one message or many, Jaeger's JSON; compressed by gzip or not.

mod jaeger;
mod json;
mod otlp;
mod protobuf;

use std::io::{self, Read};
use std::path::Path;

use crate::convert::Converter;
use crate::span::Span;

/// Largest file or message that is unpacked.
const UNPACKED_MAX: u64 = 1 << 33;

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

/// Reads what a file or a message holds.
pub fn content(bytes: &[u8], into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
    content_in_steps(bytes, into, take, &mut |_, _| {});
}

fn content_in_steps(
    bytes: &[u8],
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
    progress: &mut dyn FnMut(u64, u64),
) {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        let mut unpacking = flate2::read::MultiGzDecoder::new(bytes).take(UNPACKED_MAX);
        // What could be unpacked of a file that was cut is read all the same.
        let whole = unpacking.read_to_end(&mut unpacked).is_ok();
        into.counts.damaged += u64::from(!whole);
        return content_in_steps(&unpacked, into, take, progress);
    }
    let of = bytes.len() as u64;
    let mut is_left = |left: usize| progress(of - left as u64, of);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => {}
        Some(b'{' | b'[') => json::read(bytes, into, take, &mut is_left),
        Some(_) => protobuf::read(bytes, into, take, &mut is_left),
    }
}
