//! Where a session's records go.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use evenkeel_analysis::analysis::LastMinute;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_analysis::slow::SlowStack;
use evenkeel_analysis::{Analysis, Options, RunFacts, SwitchedOut};
use evenkeel_recording::{Meta, Writer};
use evenkeel_wire::Record;

use super::continuity::Continuity;
use super::thread_names::ThreadNames;
use crate::clock::unix_ns;
use crate::drain::Sink;
use crate::profile::{Event, Observer, Settings};

/// Where records go: the analysis, and the recording if there is one.
pub struct RecordSink {
    /// Made when the first process has calibrated its probes, which is before its first record.
    pub analysis: Option<Analysis>,
    /// Intervals are followed across threads.
    waits: bool,
    continuity: Continuity,
    /// Changes of the plan before that.
    early_changes: Vec<PlanChange>,
    pub writer: Option<Writer>,
    /// What threads are called, where waits are followed.
    names: ThreadNames,
    /// The recording is of sums over this time, not of records.
    summary: Option<Duration>,
    /// When sums were last recorded.
    summed: Option<Instant>,
    /// When the minute whose sums are recorded next began, in nanoseconds since 1970.
    minute_began_unix_ns: u64,
    /// Sites that the recording has.
    sites_written: usize,
    /// What the last minute is told apart by, where somebody wants it.
    last_minute: Option<LastMinute>,
    /// The last minute by itself, until somebody takes it.
    pub minute_alone: Option<Analysis>,
}

impl RecordSink {
    /// Nothing came yet. `began_unix_ns`: when the session began.
    pub fn new(
        settings: &Settings,
        began_unix_ns: u64,
        writer: Option<Writer>,
        observer: &dyn Observer,
    ) -> RecordSink {
        RecordSink {
            analysis: None,
            waits: settings.waits,
            continuity: Continuity::default(),
            early_changes: Vec::new(),
            writer,
            names: ThreadNames::default(),
            summary: settings.summary,
            summed: None,
            minute_began_unix_ns: began_unix_ns,
            sites_written: 0,
            last_minute: observer.wants_minutes().then(LastMinute::default),
            minute_alone: None,
        }
    }

    /// From now on records are analysed.
    pub fn begin(&mut self, mut analysis: Analysis) {
        for change in self.early_changes.drain(..) {
            analysis.plan_changed(change);
        }
        self.analysis = Some(analysis);
    }

    /// The recording, if it is one of records.
    fn of_records(&mut self) -> Option<&mut Writer> {
        self.writer.as_mut().filter(|_| self.summary.is_none())
    }

    /// Records sites that the recording does not have yet.
    pub fn write_sites(&mut self, sites: &SiteTable) {
        if let Some(writer) = &mut self.writer {
            for (id, site) in sites.sites.iter().enumerate().skip(self.sites_written) {
                writer.site(id as u32, site);
            }
            self.sites_written = sites.sites.len();
        }
    }

    /// A plan begins, with these inner probes. `traps`: calls are trapped under it.
    pub fn plan_changed(&mut self, generation: u32, planted: BTreeSet<u32>, traps: bool) {
        let analysis = self.analysis.as_ref();
        let was_called = |since, probe| analysis.is_some_and(|all| all.was_called(since, probe));
        let continuity = &mut self.continuity;
        let change = continuity.change(generation, planted, traps, was_called);
        if let Some(writer) = self.of_records() {
            writer.plan_changed(&change);
        }
        match &mut self.analysis {
            Some(analysis) => analysis.plan_changed(change),
            None => self.early_changes.push(change),
        }
    }

    /// Whether it is time for a [`RecordSink::checkpoint`]: always for a recording of records, now and then for one of
    /// sums.
    pub fn is_checkpoint_due(&mut self) -> bool {
        let is_early = |period| self.summed.is_some_and(|at| at.elapsed() < period);
        if self.summary.is_some_and(is_early) {
            return false;
        }
        self.summed = Some(Instant::now());
        true
    }

    /// Makes the recording good up to now; `meta` is what explains it.
    pub fn checkpoint(&mut self, meta: Option<&Meta>) {
        if let (Some(writer), Some(meta)) = (&mut self.writer, meta) {
            writer.meta(meta);
        }
        // Behind what explains them: the cost of a probe is read there.
        self.keep_sums();
        if let Some(writer) = &mut self.writer {
            writer.flush();
        }
    }

    /// Ends the recording, and hands out the analysis. Where it could not be written, `meta` has a warning.
    pub fn finish(&mut self, meta: &mut Meta) -> Option<Analysis> {
        if self.summary.is_some() {
            // Before the sums, for the cost of a probe is read there.
            if let Some(writer) = &mut self.writer {
                writer.meta(meta);
            }
            self.keep_sums();
        }
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish(meta)
        {
            let incomplete = Warning::RecordingIncomplete(error.to_string());
            meta.facts.warnings.push(incomplete);
        }
        self.analysis.take()
    }

    /// In a recording of sums: what was added to them since this was last done.
    fn keep_sums(&mut self) {
        let (Some(analysis), Some(_)) = (&mut self.analysis, self.summary) else {
            return;
        };
        let now = unix_ns(SystemTime::now());
        let minute = analysis.minute(std::mem::replace(&mut self.minute_began_unix_ns, now));
        if let Some(writer) = &mut self.writer {
            writer.minute(&minute);
        }
        if let Some(last_minute) = &mut self.last_minute {
            self.minute_alone = Some(last_minute.alone(&minute, analysis));
        }
    }

    /// Hands the profile of the minute that has ended on, if there is one; `facts` are those of the whole run.
    pub fn show_minute(
        &mut self,
        sites: &SiteTable,
        options: &Options,
        facts: &RunFacts,
        observer: &mut dyn Observer,
    ) {
        if let (Some(minute), Some(last_minute)) = (self.minute_alone.take(), &mut self.last_minute)
        {
            let profile = minute.finished(sites, options, &last_minute.facts(facts));
            observer.event(&Event::Minute {
                profile: &profile,
                latencies: &minute.latency_bins(options.ticks_per_ns),
            });
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

    /// All rings have been read once more. Before the analysis begins that is of no interest, and a recording does not
    /// say yet how it is to be read.
    pub fn pass_ended(&mut self) {
        if !self.waits || self.analysis.is_none() {
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
        if let Some(last_minute) = &mut self.last_minute {
            last_minute.count_unrecorded(by_class, max_ticks);
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
