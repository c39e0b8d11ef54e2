//! OTLP's messages, by the numbers of `opentelemetry/proto/trace/v1/trace.proto` (version 1, stable). Texts are read as bytes: one that is
//! no UTF-8 must not cost its message.

use prost::Message;

use super::ids::Ids;
use crate::convert::Converter;
use crate::span::{Span, SpanKind};

/// Spans of one service's instance.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// A service's instance.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// Something that is known of it.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// A value; only texts are read.
#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub string_value: Vec<u8>,
}

/// Spans of one library.
#[derive(Clone, PartialEq, Message)]
pub struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<OtlpSpan>,
}

/// A span.
#[derive(Clone, PartialEq, Message)]
pub struct OtlpSpan {
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    pub name: Vec<u8>,
    #[prost(int32, tag = "6")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    #[prost(message, optional, tag = "15")]
    pub status: Option<Status>,
}

/// The end of a span.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// `STATUS_CODE_ERROR`.
pub const ERROR: i32 = 2;

/// `SpanKind`.
pub fn kind(number: i32) -> SpanKind {
    match number {
        2 => SpanKind::Server,
        3 => SpanKind::Client,
        4 => SpanKind::Producer,
        5 => SpanKind::Consumer,
        _ => SpanKind::Internal,
    }
}

/// The service and the clock: the service's name, with its host or instance where that is given.
pub fn place<'a>(attribute: impl Fn(&str) -> Option<&'a str>) -> (&'a str, String) {
    let service = attribute("service.name").unwrap_or_default();
    let hosts = [
        "host.name",
        "k8s.node.name",
        "host.id",
        "service.instance.id",
        "hostname",
    ];
    match hosts.iter().find_map(|host| attribute(host)) {
        Some(host) => (service, format!("{service} on {host}")),
        None => (service, service.to_owned()),
    }
}

/// Hands the spans on.
pub fn take(
    from: &ResourceSpans,
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
) {
    let attributes = from
        .resource
        .as_ref()
        .map_or(&[][..], |resource| &resource.attributes);
    let attribute = |name: &str| {
        let known = attributes
            .iter()
            .find(|known| known.key == name.as_bytes())?;
        std::str::from_utf8(&known.value.as_ref()?.string_value).ok()
    };
    let (service, clock) = place(attribute);
    let clock = into.names.clock(&clock);
    for span in from.scope_spans.iter().flat_map(|scope| &scope.spans) {
        let name = String::from_utf8_lossy(&span.name);
        let ids = match Ids::of_bytes(&span.trace_id, &span.span_id, &span.parent_span_id) {
            Ok(ids) => ids,
            Err(unusable) => {
                unusable.count(&mut into.counts);
                continue;
            }
        };
        let span = Span {
            trace: ids.trace,
            id: ids.id,
            parent: ids.parent,
            operation: into.names.operation(service, &name),
            clock,
            kind: kind(span.kind),
            start_ns: span.start_time_unix_nano,
            end_ns: span.end_time_unix_nano,
            follows: false,
            failed: span
                .status
                .as_ref()
                .is_some_and(|status| status.code == ERROR),
        };
        take(span, into);
    }
}
