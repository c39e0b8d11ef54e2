//! OTLP as protobuf.

use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

use super::otlp::{self, ResourceSpans};
use crate::convert::Converter;
use crate::span::Span;

/// The only field of `TracesData` and of `ExportTraceServiceRequest`: its tag byte.
const RESOURCE_SPANS: u32 = 1;

/// Whether data that looks like JSON after an empty line is a message. Its first byte equals a line's end. The
/// second, the length of its first `ResourceSpans`, equals a brace or bracket if there are 123 or 91 bytes.
pub fn is_message(mut bytes: &[u8]) -> bool {
    let is_length = matches!(bytes, [b'\n', b'{' | b'[', ..]);
    let body = field(&mut bytes).flatten().filter(|_| is_length);
    body.is_some_and(|body| ResourceSpans::decode(body).is_ok())
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
