//! Perfetto's trace (<https://ui.perfetto.dev>). Each critical path is a group of tracks: the path as a flame chart,
//! and the threads that it crosses, with arrows from one to the next.

mod messages;

use std::io::Write;

use evenkeel_analysis::profile::Timeline;
use prost::Message;

use self::messages::{
    DebugAnnotation, ProcessDescriptor, SLICE_BEGIN, SLICE_END, Trace, TracePacket,
    TrackDescriptor, TrackEvent,
};
use crate::format::{Error, Export, Format};
use crate::slices::{Boundary, CallFrame, Stacks, boundaries, slices, whole};

/// The format.
pub struct Perfetto;

/// All packets are of one writer, which says all there is to know in the first of them.
const SEQUENCE: u32 = 1;
const SEQUENCE_STATE_CLEARED: u32 = 1;
/// Tracks appear in the order in which they are written.
const EXPLICIT_ORDER: i32 = 3;

impl Format for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn about(&self) -> &'static str {
        "for ui.perfetto.dev: critical paths over their threads"
    }

    fn takes_timelines(&self) -> bool {
        true
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        export.needs_timelines(self.name())?;
        let stacks = Stacks::of(&export.profile.tree);
        let mut builder = Builder::default();
        for path in &export.profile.timelines {
            builder.critical_path(export, path, &stacks);
        }
        if let Some(first) = builder.packets.first_mut() {
            first.sequence_flags = Some(SEQUENCE_STATE_CLEARED);
        }
        let trace = Trace {
            packet: builder.packets,
        };
        Ok(out.write_all(&trace.encode_to_vec())?)
    }
}

#[derive(Default)]
struct Builder {
    packets: Vec<TracePacket>,
    /// Number of the newest track or flow: they have to differ, that is all.
    newest: u64,
    groups: i32,
}

impl Builder {
    fn critical_path(&mut self, export: &Export<'_>, path: &Timeline, stacks: &Stacks<'_>) {
        let slices = slices(path, stacks);
        let group = self.group(export, path);
        let track = self.track(group, 0, "critical path");
        for boundary in boundaries(&slices) {
            match boundary {
                Boundary::Begin(at) => {
                    let slice = &slices[at];
                    let notes = annotations(export, path, &slice.frame, slice.parent.is_none());
                    self.begin(
                        export.moment_ns(path, slice.from_ns),
                        track,
                        &slice.frame,
                        notes,
                        Vec::new(),
                    );
                }
                Boundary::End(at) => self.end(export.moment_ns(path, slices[at].to_ns), track),
            }
        }
        self.threads(export, path, stacks, group);
    }

    /// Calls of each thread while the path was on it.
    fn threads(&mut self, export: &Export<'_>, path: &Timeline, stacks: &Stacks<'_>, group: u64) {
        let lanes = path.lanes.iter().zip(1..);
        let tracks: Vec<u64> = lanes
            .map(|(name, rank)| self.track(group, rank, name))
            .collect();
        let mut arrow = None;
        for (at, span) in path.spans.iter().enumerate() {
            let Some(&track) = tracks.get(span.lane) else {
                continue;
            };
            let mut flows: Vec<u64> = arrow.take().into_iter().collect();
            let next = path.spans.get(at + 1);
            if next.is_some_and(|next| next.lane != span.lane) {
                let flow = self.next();
                flows.push(flow);
                arrow = Some(flow);
            }
            let frames = stacks.frames(span);
            let Some(frame) = frames.last() else {
                continue;
            };
            let notes = vec![annotation("path", &span.path)];
            let from = export.moment_ns(path, whole(span.from_ns));
            self.begin(from, track, frame, notes, flows);
            self.end(export.moment_ns(path, whole(span.to_ns)), track);
        }
    }

    fn next(&mut self) -> u64 {
        self.newest += 1;
        self.newest
    }

    fn group(&mut self, export: &Export<'_>, path: &Timeline) -> u64 {
        let uuid = self.next();
        self.groups += 1;
        let name = format!(
            "{} {}: {:.3} ms, {}",
            export.profile.interval,
            path.pick,
            path.latency_ns / 1e6,
            path.class
        );
        let process = ProcessDescriptor {
            pid: self.groups,
            process_name: name.clone(),
        };
        self.describe(TrackDescriptor {
            uuid,
            name,
            process: Some(process),
            child_ordering: Some(EXPLICIT_ORDER),
            ..TrackDescriptor::default()
        });
        uuid
    }

    fn track(&mut self, group: u64, rank: i32, name: &str) -> u64 {
        let uuid = self.next();
        self.describe(TrackDescriptor {
            uuid,
            name: name.to_owned(),
            parent_uuid: Some(group),
            sibling_order_rank: Some(rank),
            ..TrackDescriptor::default()
        });
        uuid
    }

    fn describe(&mut self, track: TrackDescriptor) {
        self.packets.push(TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            track_descriptor: Some(track),
            ..TracePacket::default()
        });
    }

    fn begin(
        &mut self,
        at_ns: u64,
        track: u64,
        frame: &CallFrame<'_>,
        debug_annotations: Vec<DebugAnnotation>,
        flow_ids: Vec<u64>,
    ) {
        let category = if frame.waits() { "wait" } else { "work" };
        self.event(
            at_ns,
            TrackEvent {
                r#type: SLICE_BEGIN,
                track_uuid: track,
                categories: vec![category.to_owned()],
                name: Some(frame.name.clone()),
                debug_annotations,
                flow_ids,
            },
        );
    }

    fn end(&mut self, at_ns: u64, track: u64) {
        self.event(
            at_ns,
            TrackEvent {
                r#type: SLICE_END,
                track_uuid: track,
                ..TrackEvent::default()
            },
        );
    }

    fn event(&mut self, at_ns: u64, event: TrackEvent) {
        self.packets.push(TracePacket {
            timestamp: Some(at_ns),
            trusted_packet_sequence_id: SEQUENCE,
            track_event: Some(event),
            ..TracePacket::default()
        });
    }
}

/// Details of a slice; at the root, of the interval.
fn annotations(
    export: &Export<'_>,
    path: &Timeline,
    frame: &CallFrame<'_>,
    is_root: bool,
) -> Vec<DebugAnnotation> {
    let mut notes = Vec::new();
    if !frame.site.is_empty() {
        notes.push(annotation("call site", frame.site));
    }
    if let (Some(file), Some(line)) = (frame.file, frame.line) {
        notes.push(annotation("source", &format!("{file}:{line}")));
    }
    if is_root {
        notes.push(annotation("target", &export.profile.target));
        notes.push(annotation("class", &path.class));
        notes.push(number("interval", path.id as i64));
        let attributes = path.attributes.iter();
        notes.extend(attributes.map(|(name, &value)| number(name, value)));
    }
    notes
}

fn annotation(name: &str, text: &str) -> DebugAnnotation {
    DebugAnnotation {
        name: name.to_owned(),
        string_value: Some(text.to_owned()),
        int_value: None,
    }
}

fn number(name: &str, value: i64) -> DebugAnnotation {
    DebugAnnotation {
        name: name.to_owned(),
        string_value: None,
        int_value: Some(value),
    }
}
