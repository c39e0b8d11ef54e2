//! The loop of a session in a JVM.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use evenkeel_analysis::analysis::Snapshot;
use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::Node;
use evenkeel_analysis::{Analysis, Options};
use evenkeel_attach::jvm::Jvm;
use evenkeel_attach::process;

use super::method::{LabelArgument, NamedMethod, Purpose};
use super::plan::Plan;
use super::problem::Problem;
use super::search::{self, BATCHES_MAX};
use super::stacks::{Method, Stacks};
use crate::ending::Ending;
use crate::error::Error;
use crate::launch;
use crate::profile::records::Records;
use crate::profile::run::Run;
use crate::profile::{Event, Observer, Settings};
use crate::refine::{self, Cost};

/// How long a look at the profile is at first. Each is twice as long as the one before.
const LOOK_FIRST: Duration = Duration::from_millis(1500);
/// How long one is at most.
const LOOK_LAST: Duration = Duration::from_secs(10);

/// Time in which a JVM that cannot be talked with, because it ends, has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// What is profiled.
pub(super) enum JvmTarget {
    /// A command that the session started.
    Command(launch::Target),
    /// A JVM that was running already.
    Process {
        /// Its number.
        pid: i32,
        /// When it was started.
        started: Option<u64>,
    },
}

/// Time in which a JVM compiles its code again after classes were loaded again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compiled {
    pub(super) time: Duration,
    /// The part of it before the first round.
    pub(super) first: Duration,
    /// Intervals that ended in it.
    pub(super) intervals: u64,
}

/// A session.
pub(super) struct Session<'a> {
    pub(super) settings: &'a Settings,
    pub(super) run: Run,
    pub(super) target: JvmTarget,
    pub(super) jvm: Jvm,
    pub(super) records: Records,
    pub(super) methods: Vec<NamedMethod>,
    /// Methods that are intervals, or work for them: the numbers of their classes, and their names.
    pub(super) roots: Vec<(u32, String)>,
    /// Those of them that run as long as their thread.
    pub(super) loops: Vec<(u32, String)>,
    /// Methods that are timed themselves, since those that call them run as long as their thread.
    pub(super) timed_bodies: BTreeSet<Rc<Method>>,
    pub(super) plan: Plan,
    pub(super) stacks: Stacks,
    /// Methods whose calls are timed because of stacks.
    pub(super) opened: BTreeSet<Rc<Method>>,
    /// Times that classes were loaded again.
    pub(super) batches: u32,
    /// How long each stopped the JVM, at most.
    pub(super) pauses: Vec<Duration>,
    /// The time in which it compiled its code again.
    pub(super) compiled: Compiled,
    /// Methods that were not opened so that the JVM would not stand still for longer than the user allows.
    pub(super) too_long: Option<Warning>,
    /// When the profile is looked at next, and how long the look is.
    next_look: Instant,
    look: Duration,
    /// The first of the probes that are reserved for waits, which are recorded then.
    pub(super) waits: Option<u32>,
    /// Classes that were loaded again.
    pub(super) reloaded: BTreeSet<u32>,
    /// The search has found nothing more to open.
    rests: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        target: JvmTarget,
        jvm: Jvm,
        records: Records,
        run: Run,
        methods: Vec<NamedMethod>,
        label: Option<LabelArgument>,
    ) -> Session<'a> {
        let mut plan = Plan::default();
        plan.sites.root = run.interval.clone().unwrap_or_default();
        plan.label = label;
        plan.queues = methods
            .iter()
            .all(|method| method.purpose != Purpose::Within);
        Session {
            settings,
            run,
            target,
            jvm,
            records,
            methods,
            roots: Vec::new(),
            loops: Vec::new(),
            timed_bodies: BTreeSet::new(),
            plan,
            stacks: Stacks::default(),
            opened: BTreeSet::new(),
            batches: 0,
            pauses: Vec::new(),
            compiled: Compiled::default(),
            too_long: None,
            next_look: Instant::now(),
            look: LOOK_FIRST,
            waits: None,
            reloaded: BTreeSet::new(),
            rests: false,
        }
    }

    /// Profiles until the time is up, the target has ended, or the user has had enough.
    pub(super) fn run(
        &mut self,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        if !self.begin(interrupted, observer)? {
            return Ok(());
        }
        let mut last_slow = Instant::now();
        let mut last_flush = Instant::now();
        self.look_in(LOOK_FIRST);
        loop {
            let slow = last_slow.elapsed() >= Duration::from_millis(100);
            self.records.pass(slow);
            self.records.adapt();
            if slow {
                last_slow = Instant::now();
                self.run.tick(&self.records, self.plan.planted(), observer);
                self.run.listening.look(self.jvm.pid());
                if self.is_over(interrupted) {
                    return Ok(());
                }
                self.show(observer);
                if Instant::now() >= self.next_look {
                    let looked = self.look_at(interrupted, observer);
                    match looked {
                        // It may have ended before a conversation, or in the middle of one.
                        Err(_) if self.ends_soon() => return Ok(()),
                        looked => looked?,
                    }
                }
            }
            if last_flush.elapsed() >= Duration::from_secs(1) {
                last_flush = Instant::now();
                self.checkpoint();
                self.show_minute(observer);
            }
            std::thread::sleep(self.records.period);
        }
    }

    /// Whether the time is up, the target has ended, or the user has had enough.
    pub(super) fn is_over(&mut self, interrupted: &AtomicBool) -> bool {
        interrupted.load(Relaxed) || self.run.is_over(self.settings.duration) || !self.is_running()
    }

    fn look_in(&mut self, look: Duration) {
        self.look = look;
        self.next_look = Instant::now() + look;
    }

    /// Looks at the profile: turns off what costs too much, and opens what explains most.
    fn look_at(
        &mut self,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        self.name_waits()?;
        let options = self.options();
        let Some(analysis) = &mut self.records.sink.analysis else {
            return Ok(());
        };
        let look = analysis.look(&self.plan.sites, &options);
        let measured = self.records.duty_cycle.told_apart(look.self_cost);
        let passed_ns = self.records.passed_ns();
        let cost = Cost::of(&look.profile, measured, passed_ns);
        self.run.slowdown = self.records.limit_by_cost(cost, look.profile.mean_ns);
        let closed = self.close(&look, Cost::of(&look.profile, None, passed_ns))?;
        let mut called = BTreeSet::new();
        visit(&look.profile.tree, &mut |node| called.extend(node.probe));
        let opened = closed == 0
            && self.may_open()
            && self.open_more(called.len(), interrupted, observer)?;
        let leads_on = opened || closed > 0;
        // A server that only just starts has few intervals, whose stacks say nothing.
        let has_looked = search::are_enough(&self.stacks) || !self.may_open();
        if !leads_on && !self.rests && has_looked && look.profile.intervals > 0 {
            self.rests = true;
            observer.event(&Event::Ranking {
                profile: &look.profile,
                next: &[],
                seconds: self.run.seconds(),
            });
        }
        let next = match leads_on {
            true => LOOK_FIRST,
            false => (self.look * 2).min(LOOK_LAST),
        };
        self.look_in(next);
        Ok(())
    }

    /// Whether there is time, and the right, to open something yet.
    fn may_open(&self) -> bool {
        let is_late = match (self.settings.duration, self.run.hooked) {
            (Some(limit), Some(hooked)) => 2 * hooked.elapsed() > limit && self.batches > 1,
            _ => false,
        };
        self.batches < BATCHES_MAX && !is_late
    }

    /// Turns probes off whose records fill the rings, and that cost more than the user allows. How many.
    fn close(&mut self, look: &Snapshot, cost: Cost) -> Result<usize, Error> {
        let may_close = |id| self.plan.may_close(id);
        let thinned = refine::to_thin(look.crowded_part, &look.crowded, may_close);
        let is_left = |id| may_close(id) && !thinned.contains(&id);
        let costly = self.costly(look, cost, is_left);
        for (ids, reason) in [
            (&thinned, NotTimed::LosesRecords),
            (&costly, NotTimed::CalledTooOften),
        ] {
            for &id in ids {
                self.plan.close(id, &self.records.arena);
                self.plan.note_closed(id, reason.clone());
            }
        }
        let closed = thinned.len() + costly.len();
        if closed > 0 {
            self.switch()?;
        }
        Ok(closed)
    }

    /// Probes that cost more than the user allows. No room is made for others: what is planted was chosen at once.
    fn costly(&self, look: &Snapshot, cost: Cost, is_left: impl Fn(u32) -> bool) -> Vec<u32> {
        let not_opened = self.plan.not_opened();
        let opened = |id| not_opened.binary_search(&id).is_err();
        let planted: Vec<u32> = self
            .plan
            .inner()
            .into_iter()
            .filter(|&id| is_left(id))
            .collect();
        let limits = &self.settings.limits;
        let closings = refine::to_close(&look.profile, cost, limits, opened, &planted);
        let over_budget = closings.iter().filter(|closing| closing.over_budget);
        over_budget.map(|closing| closing.id).collect()
    }

    /// Whether the target runs.
    pub(super) fn is_running(&mut self) -> bool {
        match &mut self.target {
            JvmTarget::Command(target) => target.is_running(),
            JvmTarget::Process { pid, started } => {
                process::started(*pid).is_some_and(|now| Some(now) == *started)
            }
        }
    }

    /// Whether the target ends within the time that a process takes to end.
    fn ends_soon(&mut self) -> bool {
        let began = Instant::now();
        while self.is_running() && began.elapsed() < ENDS_WITHIN {
            std::thread::sleep(self.records.period);
        }
        !self.is_running()
    }

    /// The error of a conversation that broke off; the command's end in its place, if it has ended.
    pub(super) fn ended_first(&mut self, error: Error) -> Error {
        let broke_off = matches!(
            error,
            Error::Java(Problem::Gone | Problem::Broken(_)) | Error::Attach(_)
        );
        let is_command = matches!(self.target, JvmTarget::Command(_));
        match broke_off && is_command && self.ends_soon() {
            true => Problem::Ended(self.ending()).into(),
            false => error,
        }
    }

    /// How it ended by itself.
    pub(super) fn ending(&mut self) -> Option<Ending> {
        match &self.target {
            JvmTarget::Command(target) => target.ending(),
            JvmTarget::Process { .. } => (!self.is_running()).then_some(Ending::Gone),
        }
    }

    pub(super) fn options(&self) -> Options {
        self.run.options(self.settings, &self.records)
    }

    /// The profile of the minute that has ended, if one has.
    fn show_minute(&mut self, observer: &mut dyn Observer) {
        if self.records.sink.minute_alone.is_some() {
            let (options, facts) = (self.options(), self.facts());
            let sink = &mut self.records.sink;
            sink.show_minute(&self.plan.sites, &options, &facts, observer);
        }
    }

    /// Shows the present profile to an observer that wants it.
    fn show(&mut self, observer: &mut dyn Observer) {
        if self.records.intervals() == 0 || !observer.wants_profile() {
            return;
        }
        let (options, facts) = (self.options(), self.facts());
        if let Some(analysis) = &self.records.sink.analysis {
            let profile = Analysis::finished(analysis, &self.plan.sites, &options, &facts);
            observer.event(&Event::Now { profile: &profile });
        }
    }
}

/// Every node, a caller before those that it calls.
fn visit(node: &Node, seen: &mut impl FnMut(&Node)) {
    seen(node);
    for child in &node.children {
        visit(child, seen);
    }
}
