//! The Firefox Profiler's format (<https://profiler.firefox.com>). It has a thread for each weight, whose call tree
//! and flame graph add up to that weight. It has a thread for each critical path, whose stack chart is its flame
//! chart, with waits as markers.

use std::io::Write;

use evenkeel_analysis::profile::Timeline;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame as ProfileFrame, FrameFlags, FrameInfo,
    MarkerFieldFlags, MarkerFieldFormat, MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp,
    SamplingInterval, StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, ThreadHandle,
    Timestamp, WeightType,
};

use crate::format::{Error, Export, Format};
use crate::slices::{CallFrame, Stacks, slices, whole};
use crate::weights::{NEGATIVE, Weight};

/// The format.
pub struct Firefox;

impl Format for Firefox {
    fn name(&self) -> &'static str {
        "firefox"
    }

    fn about(&self) -> &'static str {
        "JSON for profiler.firefox.com: every weight, and critical paths"
    }

    fn takes_timelines(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut builder = Builder::new(export);
        for weight in Weight::ALL {
            builder.weight(weight);
        }
        let stacks = Stacks::of(&export.profile.tree);
        for path in &export.profile.timelines {
            builder.critical_path(path, &stacks);
        }
        serde_json::to_writer(&mut *out, &builder.profile)?;
        Ok(writeln!(out)?)
    }
}

struct Builder<'a> {
    export: &'a Export<'a>,
    profile: Profile,
    process: ProcessHandle,
    threads: u32,
    work: CategoryHandle,
    wait: CategoryHandle,
    /// When the first critical path began, nanoseconds since 1970.
    first_ns: u64,
}

impl<'a> Builder<'a> {
    fn new(export: &'a Export<'a>) -> Builder<'a> {
        let begins = export.profile.timelines.iter();
        let first_ns = begins.map(|path| export.moment_ns(path, 0)).min();
        let first_ns = first_ns.unwrap_or(export.started.unix_ns);
        let start = ReferenceTimestamp::from_millis_since_unix_epoch(first_ns as f64 / 1e6);
        let mut profile = Profile::new(&export.title(), start, SamplingInterval::from_millis(1));
        // All names are known: nothing is to be asked of a symbol server.
        profile.set_symbolicated(true);
        let process = profile.add_process(export.program(), 1, nanos(0));
        Builder {
            export,
            process,
            threads: 0,
            work: profile.add_category("Work", CategoryColor::Blue),
            wait: profile.add_category("Wait", CategoryColor::Orange),
            profile,
            first_ns,
        }
    }

    fn thread(&mut self, name: &str, start: Timestamp) -> ThreadHandle {
        self.threads += 1;
        // A main thread would be shown by the name of its process.
        let is_main = false;
        let thread = self
            .profile
            .add_thread(self.process, self.threads, start, is_main);
        self.profile.set_thread_name(thread, name);
        let weights = WeightType::Samples;
        self.profile.set_thread_samples_weight_type(thread, weights);
        self.profile.add_initial_visible_thread(thread);
        thread
    }

    /// A sample a leaf, a millisecond apart.
    fn weight(&mut self, weight: Weight) {
        let leaves = self.export.leaves();
        if leaves.iter().all(|leaf| weight.of(leaf.node()) == 0) {
            return;
        }
        let name = format!("{weight}: {}", weight.about());
        let thread = self.thread(&name, nanos(0));
        for (at, leaf) in leaves.iter().enumerate() {
            let value = weight.of(leaf.node());
            let mut frames: Vec<CallFrame<'_>> =
                leaf.stack.iter().map(|&node| CallFrame::of(node)).collect();
            if value < 0 {
                let root = CallFrame {
                    name: NEGATIVE.to_owned(),
                    ..frames[0].clone()
                };
                frames.insert(0, root);
            }
            let width = value.unsigned_abs().min(i32::MAX as u64) as i32;
            self.sample(thread, at as u64 * 1_000_000, &frames, width);
        }
    }

    /// A sample where the path moves on, as long as its stretch, in microseconds.
    fn critical_path(&mut self, path: &Timeline, stacks: &Stacks<'_>) {
        let begin_ns = self.export.moment_ns(path, 0) - self.first_ns;
        let name = format!("critical path of {}: {} (us)", path.pick, path.class);
        let thread = self.thread(&name, nanos(begin_ns));
        for span in &path.spans {
            let frames = stacks.frames(span);
            let microseconds = (span.to_ns - span.from_ns) / 1e3;
            let width = microseconds.round().min(f64::from(i32::MAX)) as i32;
            self.sample(thread, begin_ns + whole(span.from_ns), &frames, width);
        }
        // The chart draws a sample up to the next.
        let end = nanos(begin_ns + whole(path.latency_ns));
        self.profile
            .add_sample(thread, end, None, CpuDelta::ZERO, 0);
        for slice in slices(path, stacks).iter().filter(|it| it.frame.waits()) {
            let marker = WaitMarker {
                name: self.profile.intern_string(&slice.frame.name),
                lane: self
                    .profile
                    .intern_string(path.lanes.get(slice.lane).map_or("", String::as_str)),
                category: self.wait,
            };
            let (from, to) = (begin_ns + slice.from_ns, begin_ns + slice.to_ns);
            let timing = MarkerTiming::Interval(nanos(from), nanos(to));
            self.profile.add_marker(thread, timing, marker);
        }
    }

    fn sample(&mut self, thread: ThreadHandle, at_ns: u64, frames: &[CallFrame<'_>], width: i32) {
        let mut infos = Vec::with_capacity(frames.len());
        for frame in frames {
            let category = if frame.waits() { self.wait } else { self.work };
            infos.push(FrameInfo {
                frame: ProfileFrame::Label(self.profile.intern_string(&frame.name)),
                category_pair: category.into(),
                flags: FrameFlags::empty(),
            });
        }
        let stack = self.profile.intern_stack_frames(thread, infos.into_iter());
        self.profile
            .add_sample(thread, nanos(at_ns), stack, CpuDelta::ZERO, width);
    }
}

fn nanos(ns: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(ns)
}

/// A wait on a critical path.
struct WaitMarker {
    name: StringHandle,
    lane: StringHandle,
    category: CategoryHandle,
}

impl StaticSchemaMarker for WaitMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Wait";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} on {marker.data.thread}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "thread",
        label: "Thread",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _field: u32) -> StringHandle {
        self.lane
    }

    fn number_field_value(&self, _field: u32) -> f64 {
        0.0
    }
}
