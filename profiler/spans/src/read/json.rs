//! JSON documents one after the other: OTLP (as the Collector's file exporter writes it, a line each) and Jaeger's.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ids::Ids;
use super::or_default;
use super::{jaeger, otlp};
use crate::convert::Converter;
use crate::span::{Span, SpanKind};

/// A document of either kind.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "resourceSpans", alias = "resource_spans")]
    otlp: Option<Vec<ResourceSpans<'a>>>,
    #[serde(borrow, rename = "data")]
    jaeger: Option<Vec<jaeger::Trace<'a>>>,
}

#[derive(Deserialize)]
struct ResourceSpans<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    resource: Resource<'a>,
    #[serde(
        borrow,
        default,
        deserialize_with = "or_default",
        rename = "scopeSpans",
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans"
    )]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Default, Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    value: AnyValue<'a>,
}

#[derive(Default, Deserialize)]
struct AnyValue<'a> {
    #[serde(borrow, rename = "stringValue", alias = "string_value")]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    spans: Vec<JsonSpan<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonSpan<'a> {
    #[serde(borrow, default)]
    trace_id: Cow<'a, str>,
    #[serde(borrow, default)]
    span_id: Cow<'a, str>,
    #[serde(borrow, default)]
    parent_span_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Word<'a>,
    #[serde(borrow, default)]
    start_time_unix_nano: Word<'a>,
    #[serde(borrow, default)]
    end_time_unix_nano: Word<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    code: Word<'a>,
}

/// A number, as such or as text, or a name: writers differ.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word<'a> {
    Number(u64),
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(IgnoredAny),
}

impl Default for Word<'_> {
    fn default() -> Self {
        Word::Number(0)
    }
}

impl Word<'_> {
    fn number(&self) -> u64 {
        match self {
            Word::Number(number) => *number,
            Word::Text(text) => text.parse().unwrap_or(0),
            Word::Other(_) => 0,
        }
    }

    fn kind(&self) -> SpanKind {
        match self {
            Word::Text(text) => match text.strip_prefix("SPAN_KIND_").unwrap_or_default() {
                "SERVER" => SpanKind::Server,
                "CLIENT" => SpanKind::Client,
                "PRODUCER" => SpanKind::Producer,
                "CONSUMER" => SpanKind::Consumer,
                _ => otlp::kind(self.number() as i32),
            },
            _ => otlp::kind(self.number() as i32),
        }
    }

    fn is_error(&self) -> bool {
        matches!(self, Word::Text(text) if text == "STATUS_CODE_ERROR")
            || self.number() == otlp::ERROR as u64
    }
}

/// Reads documents; after an invalid one the next line is tried. `is_left` is told after each how many bytes are
/// left.
pub fn read(
    bytes: &[u8],
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
    is_left: &mut dyn FnMut(usize),
) {
    let mut rest = bytes;
    while rest.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let mut documents = serde_json::Deserializer::from_slice(rest).into_iter::<Document<'_>>();
        let read = documents.next();
        let at = documents.byte_offset();
        into.counts.documents += 1;
        match read {
            None => return,
            Some(Ok(document)) => {
                hand_on(document, into, take);
                rest = &rest[at..];
            }
            Some(Err(_)) => {
                rest = match zipkin(rest) {
                    Some(length) => {
                        into.counts.zipkin += 1;
                        &rest[length..]
                    }
                    None => {
                        into.counts.damaged += 1;
                        let line = rest.iter().skip(at).position(|&byte| byte == b'\n');
                        line.map_or(&[], |line| &rest[at + line + 1..])
                    }
                };
            }
        }
        is_left(rest.len());
    }
}

/// Length of a leading list of Zipkin's spans; `None` where there is none.
fn zipkin(bytes: &[u8]) -> Option<usize> {
    #[derive(Deserialize)]
    struct ZipkinSpan {
        #[serde(rename = "traceId")]
        _trace: IgnoredAny,
        #[serde(rename = "id")]
        _id: IgnoredAny,
    }
    let mut lists = serde_json::Deserializer::from_slice(bytes).into_iter::<Vec<ZipkinSpan>>();
    let spans = lists.next()?.ok()?;
    (!spans.is_empty()).then(|| lists.byte_offset())
}

/// Reads the one message that a body is. As OTLP has it, what is not known in it is passed over.
pub fn message(bytes: &[u8], into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
    into.counts.documents += 1;
    // An array would be taken for the fields of a message, one after the other.
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    match serde_json::from_slice::<Document<'_>>(bytes) {
        Ok(document) if is_object => of_otlp(document.otlp.iter().flatten(), into, take),
        _ => into.counts.damaged += 1,
    }
}

fn hand_on(
    document: Document<'_>,
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
) {
    let Document { otlp, jaeger } = document;
    into.counts.damaged += u64::from(otlp.is_none() && jaeger.is_none());
    of_otlp(otlp.iter().flatten(), into, take);
    for trace in jaeger.iter().flatten() {
        jaeger::take(trace, into, take);
    }
}

fn of_otlp<'a>(
    resources: impl Iterator<Item = &'a ResourceSpans<'a>>,
    into: &mut Converter,
    take: &mut dyn FnMut(Span, &mut Converter),
) {
    for resource in resources {
        let attributes = &resource.resource.attributes;
        let attribute = |name: &str| {
            let known = attributes.iter().find(|known| known.key == name);
            known.and_then(|known| known.value.text.as_deref())
        };
        let (service, clock) = otlp::place(attribute);
        let clock = into.names.clock(&clock);
        for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            let parent = span.parent_span_id.as_deref().unwrap_or_default();
            let ids = match Ids::of_otlp(&span.trace_id, &span.span_id, parent) {
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
                operation: into.names.operation(service, &span.name),
                clock,
                kind: span.kind.kind(),
                start_ns: span.start_time_unix_nano.number(),
                end_ns: span.end_time_unix_nano.number(),
                follows: false,
                failed: span.status.code.is_error(),
            };
            take(span, into);
        }
    }
}
