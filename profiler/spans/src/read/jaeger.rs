//! Jaeger's JSON: what its query service and its interface download. Times are microseconds.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ids::Ids;
use super::or_default;
use super::otlp;
use crate::convert::Converter;
use crate::span::{Span, SpanKind};

/// Type of a reference to a span that does not wait.
const FOLLOWS_FROM: &str = "FOLLOWS_FROM";

/// A trace.
#[derive(Deserialize)]
pub struct Trace<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    spans: Vec<JaegerSpan<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    processes: HashMap<Cow<'a, str>, Process<'a>>,
}

#[derive(Deserialize)]
struct JaegerSpan<'a> {
    #[serde(borrow, default, rename = "traceID")]
    trace: Cow<'a, str>,
    #[serde(borrow, default, rename = "spanID")]
    id: Cow<'a, str>,
    #[serde(borrow, default, rename = "operationName")]
    name: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    references: Vec<Reference<'a>>,
    #[serde(default, rename = "startTime")]
    start_us: u64,
    #[serde(default, rename = "duration")]
    duration_us: u64,
    #[serde(borrow, default, deserialize_with = "or_default")]
    tags: Vec<Tag<'a>>,
    #[serde(borrow, default, rename = "processID")]
    process: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Reference<'a> {
    #[serde(borrow, default, rename = "refType")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, rename = "traceID")]
    trace: Cow<'a, str>,
    #[serde(borrow, default, rename = "spanID")]
    id: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Option<Value<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value<'a> {
    Truth(bool),
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
struct Process<'a> {
    #[serde(borrow, default, rename = "serviceName")]
    service: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    tags: Vec<Tag<'a>>,
}

impl JaegerSpan<'_> {
    /// The span that caused it: as Jaeger has it, the first that it is a child of, or else that it follows from, in its own trace. References into
    /// other traces are links, of one that takes up many messages for one; OpenTelemetry's links are written as references, too.
    fn cause(&self) -> Option<&Reference<'_>> {
        let bare = |id: &str| id.trim_start_matches('0').to_ascii_lowercase();
        let trace = bare(&self.trace);
        let is_own = |one: &&Reference<'_>| one.trace.is_empty() || bare(&one.trace) == trace;
        let mut own = self.references.iter().filter(is_own);
        let child_of = own.clone().find(|one| one.kind != FOLLOWS_FROM);
        child_of.or_else(|| own.next())
    }
}

/// Text of a tag.
fn text<'a>(tags: &'a [Tag<'a>], key: &str) -> Option<&'a str> {
    let tag = tags.iter().find(|tag| tag.key == key)?;
    match &tag.value {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Hands the spans on.
pub fn take(trace: &Trace<'_>, into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
    for span in &trace.spans {
        let process = trace.processes.get(&span.process);
        let attribute = |name: &str| match (process, name) {
            (Some(process), "service.name") => Some(process.service.as_ref()),
            (Some(process), name) => text(&process.tags, name),
            (None, _) => None,
        };
        let (service, clock) = otlp::place(attribute);
        let cause = span.cause();
        let parent = cause.map_or("", |cause| cause.id.as_ref());
        let ids = match Ids::of_jaeger(&span.trace, &span.id, parent) {
            Ok(ids) => ids,
            Err(unusable) => {
                unusable.count(&mut into.counts);
                continue;
            }
        };
        let kind = match text(&span.tags, "span.kind") {
            Some("server") => SpanKind::Server,
            Some("client") => SpanKind::Client,
            Some("producer") => SpanKind::Producer,
            Some("consumer") => SpanKind::Consumer,
            _ => SpanKind::Internal,
        };
        let failed = |tag: &Tag<'_>| {
            let is_true = match &tag.value {
                Some(Value::Truth(truth)) => *truth,
                Some(Value::Text(text)) => text == "true",
                _ => false,
            };
            tag.key == "error" && is_true
        };
        let start_ns = span.start_us.saturating_mul(1000);
        let taken = Span {
            trace: ids.trace,
            id: ids.id,
            parent: ids.parent,
            operation: into.names.operation(service, &span.name),
            clock: into.names.clock(&clock),
            kind,
            start_ns,
            end_ns: start_ns.saturating_add(span.duration_us.saturating_mul(1000)),
            follows: cause.is_some_and(|cause| cause.kind == FOLLOWS_FROM),
            failed: span.tags.iter().any(failed),
        };
        take(taken, into);
    }
}
