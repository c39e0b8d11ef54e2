//! OpenTelemetry's JSON (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>): one request of the trace
//! service, on one line. The Collector's file receiver, its HTTP endpoint `/v1/traces` and Jaeger's upload accept it.
//! Each critical path is a trace. Its calls and its waits are spans; below a wait is the activity of other threads
//! during it. An interval with a span of a distributed trace (`evenkeel_trace`) is below that span, in that trace.

use std::io::Write;

use evenkeel_analysis::profile::Timeline;
use serde_json::{Value, json};

use crate::format::{Error, Export, Format};
use crate::slices::{Slice, Stacks, slices, whole};

/// The format.
pub struct Otlp;

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_SERVER`.
const KIND_INTERNAL: u32 = 1;
const KIND_SERVER: u32 = 2;

impl Format for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry's JSON: critical paths as traces, for a Collector or Jaeger"
    }

    fn takes_timelines(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        export.needs_timelines(self.name())?;
        let stacks = Stacks::of(&export.profile.tree);
        let paths = export.profile.timelines.iter();
        let spans: Vec<Value> = paths
            .flat_map(|path| trace(export, path, &stacks))
            .collect();
        let mut resource = vec![
            text("service.name", export.program()),
            text("process.command_line", &export.profile.target),
        ];
        if !export.host.is_empty() {
            resource.push(text("host.name", export.host));
        }
        let request = json!({ "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": "evenkeel", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
            }],
        }] });
        serde_json::to_writer(&mut *out, &request)?;
        Ok(writeln!(out)?)
    }
}

/// The spans of one critical path, the interval's own first.
fn trace(export: &Export<'_>, path: &Timeline, stacks: &Stacks<'_>) -> Vec<Value> {
    let begin_ns = export.moment_ns(path, 0);
    let ids = Ids::of(begin_ns, path);
    let mut interval = vec![
        text("evenkeel.interval", &export.profile.interval),
        text("evenkeel.class", &path.class),
        text("evenkeel.pick", &path.pick),
        number("evenkeel.id", path.id as i64),
    ];
    let set = path.attributes.iter();
    interval.extend(set.map(|(name, &value)| number(&format!("evenkeel.attribute.{name}"), value)));
    let name = if path.class.is_empty() {
        &export.profile.interval
    } else {
        &path.class
    };
    let end_ns = export.moment_ns(path, whole(path.latency_ns));
    let mut root = json!({
        "traceId": ids.trace(),
        "spanId": ids.span(0),
        "name": name,
        "kind": KIND_SERVER,
        "startTimeUnixNano": begin_ns.to_string(),
        "endTimeUnixNano": end_ns.to_string(),
        "attributes": interval,
    });
    if !path.span_id.is_empty() {
        root["parentSpanId"] = path.span_id.as_str().into();
    }
    let mut spans = vec![root];
    for (at, slice) in slices(path, stacks).iter().enumerate() {
        spans.push(json!({
            "traceId": ids.trace(),
            "spanId": ids.span(at + 1),
            "parentSpanId": ids.span(slice.parent.map_or(0, |parent| parent + 1)),
            "name": slice.frame.name,
            "kind": KIND_INTERNAL,
            "startTimeUnixNano": export.moment_ns(path, slice.from_ns).to_string(),
            "endTimeUnixNano": export.moment_ns(path, slice.to_ns).to_string(),
            "attributes": attributes(path, slice),
        }));
    }
    spans
}

fn attributes(path: &Timeline, slice: &Slice<'_>) -> Vec<Value> {
    let frame = &slice.frame;
    let kind = serde_json::to_value(frame.kind).expect("a word");
    let mut all = vec![
        text("evenkeel.kind", kind.as_str().unwrap_or_default()),
        json!({ "key": "evenkeel.waits", "value": { "boolValue": frame.waits() } }),
    ];
    if let Some(lane) = path.lanes.get(slice.lane) {
        all.push(text("thread.name", lane));
    }
    if !frame.site.is_empty() {
        all.push(text("evenkeel.call_site", frame.site));
    }
    if let Some(file) = frame.file {
        all.push(text("code.file.path", file));
    }
    if let Some(line) = frame.line {
        all.push(number("code.line.number", line.into()));
    }
    all
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Integers of 64 bits are texts in this JSON.
fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// Identifiers: the same in every export of a recording, and others in another one.
struct Ids<'a> {
    seed: u64,
    interval: u64,
    /// The trace that the interval belongs to; empty if none is known.
    trace: &'a str,
}

impl<'a> Ids<'a> {
    fn of(begin_ns: u64, path: &'a Timeline) -> Ids<'a> {
        Ids {
            seed: mix(begin_ns ^ whole(path.latency_ns).rotate_left(32)),
            interval: path.id,
            trace: &path.trace_id,
        }
    }

    fn trace(&self) -> String {
        if !self.trace.is_empty() {
            return self.trace.to_owned();
        }
        let second = mix(self.seed ^ self.interval);
        format!("{:016x}{:016x}", self.seed, second | 1)
    }

    fn span(&self, at: usize) -> String {
        let id = mix(self
            .seed
            .wrapping_add(mix(self.interval))
            .wrapping_add(at as u64));
        // All zeros would be no identifier.
        format!("{:016x}", id.max(1))
    }
}

/// The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection, so that what differs stays different.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
