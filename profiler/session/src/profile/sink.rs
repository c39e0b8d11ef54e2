//! Where a session's records go.

use std::time::{Instant, SystemTime};

use evenkeel_analysis::Analysis;
use evenkeel_analysis::SwitchedOut;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::slow::SlowStack;
use evenkeel_wire::Record;

use crate::clock::unix_ns;
use crate::drain::Sink;
use crate::profile::thread_names::ThreadNames;
use evenkeel_recording::Writer;

/// Where records go: the analysis, and the recording if there is one.
pub struct RecordSink {
    /// Made when the first process has calibrated its probes, which is before its first record.
    pub analysis: Option<Analysis>,
    /// Intervals are followed across threads.
    pub waits: bool,
    /// Changes of the plan before that.
    pub early_changes: Vec<PlanChange>,
    pub writer: Option<Writer>,
    /// What threads are called, where waits are followed.
    pub names: ThreadNames,
    /// The recording is of sums, not of records.
    pub sums_only: bool,
    /// When the minute whose sums are recorded next began, in nanoseconds since 1970.
    pub minute_began_unix_ns: u64,
    /// Sites that the recording has.
    pub sites_written: usize,
}

impl RecordSink {
    /// The recording, if it is one of records.
    fn of_records(&mut self) -> Option<&mut Writer> {
        self.writer.as_mut().filter(|_| !self.sums_only)
    }

    /// The plan changes.
    pub fn plan_changed(&mut self, change: &PlanChange) {
        if let Some(writer) = self.of_records() {
            writer.plan_changed(change);
        }
    }

    /// Records what was added to the sums since this was last done.
    pub fn keep_sums(&mut self) {
        if let (Some(analysis), Some(writer)) = (&mut self.analysis, &mut self.writer) {
            let mut minute = analysis.minute();
            let now = unix_ns(SystemTime::now());
            minute.began_unix_ns = Some(std::mem::replace(&mut self.minute_began_unix_ns, now));
            writer.minute(&minute);
        }
    }

    fn name_thread(&mut self, thread: u64, name: String) {
        if let Some(writer) = self.of_records() {
            writer.thread_name(thread, &name);
        }
        if let Some(analysis) = &mut self.analysis {
            analysis.name_thread(thread, name);
        }
    }

    /// All rings have been read once more.
    pub fn pass_ended(&mut self) {
        if !self.waits {
            return;
        }
        for (thread, name) in self.names.changed(Instant::now()) {
            self.name_thread(thread, name);
        }
        if let Some(analysis) = &mut self.analysis {
            analysis.pass_ended();
        }
        if let Some(writer) = self.of_records() {
            writer.pass_ended();
        }
    }

    /// A stack of an interval that is slow already.
    pub fn slow_stack(&mut self, stack: &SlowStack) {
        if let Some(analysis) = &mut self.analysis {
            analysis.slow_stack(stack, 1.0);
        }
        if let Some(writer) = &mut self.writer {
            writer.slow_stack(stack);
        }
    }

    /// When a thread did not run.
    pub fn switched_out(&mut self, thread: u64, spans: &[SwitchedOut]) {
        if let Some(analysis) = &mut self.analysis {
            analysis.switched_out(thread, spans);
        }
        if let Some(writer) = self.of_records() {
            writer.switched_out(thread, spans);
        }
    }
}

impl Sink for RecordSink {
    fn unrecorded(&mut self, by_class: &[(usize, u64)], max_ticks: u64) {
        if let Some(analysis) = &mut self.analysis {
            analysis.count_unrecorded(by_class, max_ticks);
        }
        if let Some(writer) = &mut self.writer {
            writer.unrecorded(by_class, max_ticks);
        }
    }

    fn records(&mut self, thread: u64, records: &[Record]) {
        if let Some(analysis) = &mut self.analysis {
            analysis.push(thread, records);
        }
        if let Some(writer) = self.of_records() {
            writer.records(thread, records);
        }
    }

    fn began(&mut self, thread: u64, pid: u32, tid: u32) {
        if !self.waits {
            return;
        }
        let name = self.names.began(thread, pid, tid, Instant::now());
        self.name_thread(thread, name);
    }

    fn ended(&mut self, thread: u64) {
        self.names.ended(thread);
        if let Some(analysis) = &mut self.analysis {
            analysis.thread_ended(thread);
        }
        if let Some(writer) = self.of_records() {
            writer.ended(thread);
        }
    }
}
