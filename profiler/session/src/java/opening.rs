//! What is opened in a JVM: the intervals with the methods in which a process spends their time, then in further steps
//! what stacks of them show.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_wire::jvm::COUNTED_ONLY;

use super::method::{Purpose, dotted};
use super::plan::Calls;
use super::problem::Problem;
use super::search;
use super::session::{JvmTarget, Session};
use super::stacks::{self, Caller, Method};
use super::talk::{Joined, Talk};
use super::waits;
use crate::error::Error;
use crate::profile::Observer;

/// Time for which the JVM of a command may refuse requests that it permits once it has started.
const STARTS_WITHIN: Duration = Duration::from_secs(5);
/// Interval of the requests.
pub(super) const ASK: Duration = Duration::from_millis(250);

/// Looks at stacks, and the time between them: a second in all, in several requests, so that the user can end it. Up to
/// three seconds where threads are rarely in intervals.
const REQUESTS: u32 = 10;
const REQUESTS_MAX: u32 = 30;
/// Stacks that suffice.
const STACKS_ENOUGH: u32 = 200;
const LOOKS: u32 = 20;
const LOOK_PERIOD: Duration = Duration::from_millis(5);
/// Frames of a stack that are looked at.
const FRAMES: u32 = 256;

/// A method is opened from this part of the time on.
const SHARE_MIN: f64 = 0.02;

impl Session<'_> {
    /// Talks with the agent.
    pub(super) fn talk<R>(
        &mut self,
        talk: impl FnOnce(&mut Talk<'_>) -> Result<R, Problem>,
    ) -> Result<R, Error> {
        let records = &mut self.records;
        let visit = self.jvm.visit(|socket| {
            let mut conversation = Talk::over(socket, records)?;
            let result = talk(&mut conversation);
            conversation.end();
            result
        });
        Ok(visit??)
    }

    /// Joins the JVM. One that is only just starting may refuse for a moment what it permits later.
    fn join(&mut self, interrupted: &AtomicBool) -> Result<Joined, Error> {
        let began = Instant::now();
        loop {
            let joined = self.talk(|talk| talk.join());
            let is_starting = matches!(self.target, JvmTarget::Command(_))
                && began.elapsed() < STARTS_WITHIN
                && self.is_running()
                && !interrupted.load(Relaxed);
            if joined.is_ok() || !is_starting {
                return joined;
            }
            std::thread::sleep(ASK);
        }
    }

    /// Joins the JVM, and plants the intervals once their classes are there. False where there is nothing to profile
    /// any more.
    pub(super) fn begin(
        &mut self,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        let joined = self.join(interrupted)?;
        self.plan.begin(joined.base, joined.probes_max);
        // Before the first record: a recording says first how it is to be read.
        self.records.begin_analysis(self.settings);
        self.checkpoint();
        if self.settings.waits {
            self.begin_waits()?;
        }
        let Some(loaded) = self.await_classes(interrupted, observer)? else {
            return Ok(false);
        };
        for class in loaded {
            let named = &self.methods[class.name];
            if !class.is_modifiable {
                let class = dotted(&named.class);
                return Err(Problem::Fixed { class }.into());
            }
            // A class may have several of the methods.
            for method in self.methods.iter().filter(|one| one.class == named.class) {
                self.plan.want(class.number, &method.method, method.purpose);
                let root = (class.number, method.method.clone());
                if method.purpose == Purpose::Loop {
                    self.loops.push(root.clone());
                }
                if !matches!(method.purpose, Purpose::Begin(_)) {
                    self.roots.push(root);
                }
            }
        }
        let mut needed = self.plan.classes();
        // Restores classes that an earlier session left behind.
        needed.extend(0..joined.left_behind);
        needed.sort_unstable();
        needed.dedup();
        self.load_first(needed, interrupted, observer)?;
        // Until its code is compiled again, they are counted.
        let states = self.plan.states();
        self.talk(|talk| talk.switch(COUNTED_ONLY, &states))?;
        self.settle(interrupted, observer);
        self.switch()?;
        self.run.note_hooked(observer);
        Ok(true)
    }

    /// Has the intervals' classes loaded again, and those of the methods in which a process spends their time already.
    fn load_first(
        &mut self,
        needed: Vec<u32>,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let mut classes = needed.clone();
        if matches!(self.target, JvmTarget::Process { .. }) {
            let mut of_intervals: Vec<u32> = self.roots.iter().map(|(class, _)| *class).collect();
            of_intervals.dedup();
            self.look_at_stacks(&of_intervals, interrupted)?;
            let next = self.methods_to_open(0);
            classes.extend(self.open(next));
        }
        self.load_opened(classes, &needed, observer)?;
        match self.batches {
            // The JVM refuses one of them: the intervals' own are needed.
            0 => self.load_again(&needed, observer),
            _ => Ok(()),
        }
    }

    /// Has waits recorded, and notes the class that parks threads.
    fn begin_waits(&mut self) -> Result<(), Error> {
        let first = self.plan.reserve(&mut self.records.arena);
        let parker = self.talk(|talk| {
            talk.begin_waits(first, waits::PROBES)?;
            talk.find(&[waits::PARKER])
        })?;
        for class in parker.iter().filter(|class| class.is_modifiable) {
            self.plan.want_parks(class.number);
        }
        self.waits = Some(first);
        Ok(())
    }

    /// Takes in the classes of the objects that were waited for.
    pub(super) fn name_waits(&mut self) -> Result<(), Error> {
        if let Some(first) = self.waits {
            let names = self.talk(|talk| talk.wait_names())?;
            self.plan.name_waits(first, &names);
        }
        Ok(())
    }

    /// Records what is known of each probe: what stacks say of it comes later than the probe.
    pub(super) fn write_sites(&mut self) {
        if let Some(writer) = &mut self.records.sink.writer {
            for (id, site) in self.plan.sites.sites.iter().enumerate() {
                writer.site(id as u32, site);
            }
        }
    }

    /// Lets the plan take effect, and begins the round that it makes.
    pub(super) fn switch(&mut self) -> Result<(), Error> {
        let control = self.records.arena.control();
        let generation = control.generation.fetch_add(1, AcqRel) + 1;
        let states = self.plan.states();
        self.write_sites();
        let planted = self.plan.inner();
        self.records.sink.plan_changed(generation, planted, false);
        self.talk(|talk| talk.switch(generation, &states))
    }

    /// Looks at stacks of intervals, and opens the methods in which they spend their time. Whether there were any.
    /// Probes that are not `called` cost nothing.
    pub(super) fn open_more(
        &mut self,
        called: usize,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        self.look_at_stacks(&[], interrupted)?;
        let next = self.methods_to_open(called);
        let bodies = self.bodies_to_time();
        let is_much = search::are_worth_a_step(&next);
        let first = next.first().map(|(method, _)| method).or(bodies.first());
        let Some(first) = first.filter(|_| !interrupted.load(Relaxed)) else {
            return Ok(false);
        };
        if !is_much && bodies.is_empty() {
            return Ok(false);
        }
        if let Some(too_long) = self.would_stop_too_long(next.len() + bodies.len(), first) {
            self.too_long = Some(too_long);
            return Ok(false);
        }
        let mut classes = Vec::new();
        for method in bodies {
            self.plan
                .time_body(method.class_number, &method.name, &method.descriptor);
            classes.push(method.class_number);
            self.timed_bodies.insert(method);
        }
        classes.extend(self.open(next));
        self.load_opened(classes, &[], observer)?;
        self.plan.learn(&self.stacks);
        self.settle(interrupted, observer);
        self.switch()?;
        Ok(true)
    }

    /// The methods in which intervals spend their time, as far as there is room beside probes that are called.
    fn methods_to_open(&mut self, called: usize) -> Vec<(Rc<Method>, Caller)> {
        self.plan.learn(&self.stacks);
        let room = self.settings.limits.probes_max.saturating_sub(called);
        let next = search::next(&self.stacks, &self.opened, SHARE_MIN, room);
        let is_too_costly = |method: &Method| {
            self.plan
                .is_too_costly(&method.class, &method.name, &method.descriptor)
        };
        next.into_iter()
            .filter(|(method, _)| !self.is_root(method) && !is_too_costly(method))
            .collect()
    }

    /// Plans the calls of these methods. Their classes.
    fn open(&mut self, methods: Vec<(Rc<Method>, Caller)>) -> Vec<u32> {
        let mut classes = Vec::new();
        for (method, caller) in methods {
            let calls = Calls::Of(caller.calls);
            self.plan
                .open(method.class_number, &method.name, &method.descriptor, calls);
            classes.push(method.class_number);
            self.opened.insert(method);
        }
        classes
    }

    /// Methods to time themselves: those that loops call, in which intervals spend their time.
    fn bodies_to_time(&self) -> Vec<Rc<Method>> {
        let entered = self
            .stacks
            .entered_from(|method| is_root(&self.loops, method));
        let wanted = entered.into_iter().filter(|(method, share)| {
            *share >= SHARE_MIN
                && search::may_open(&method.class)
                && !self.timed_bodies.contains(method)
        });
        wanted.map(|(method, _)| method).collect()
    }

    /// Looks at stacks of intervals; before there are probes, at those with methods of these classes.
    fn look_at_stacks(&mut self, classes: &[u32], interrupted: &AtomicBool) -> Result<(), Error> {
        let mut messages = Vec::new();
        self.talk(|talk| {
            let mut seen = 0;
            for request in 0..REQUESTS_MAX {
                let is_enough = request >= REQUESTS && seen >= STACKS_ENOUGH;
                if is_enough || interrupted.load(Relaxed) {
                    break;
                }
                let message = talk.sample(LOOKS, LOOK_PERIOD, FRAMES, classes)?;
                seen += stacks::count(&message).unwrap_or(0);
                messages.push(message);
            }
            Ok(())
        })?;
        for message in messages {
            let roots = &self.roots;
            let is_root = |method: &Method| is_root(roots, method);
            if self.stacks.add(&message, is_root).is_none() {
                return Err(Problem::Broken("stacks that have no meaning".into()).into());
            }
        }
        Ok(())
    }

    fn is_root(&self, method: &Method) -> bool {
        is_root(&self.roots, method)
    }

    /// The message where another stop would be longer than the user allows, judging from the last ones.
    fn would_stop_too_long(&self, methods: usize, first: &Method) -> Option<Warning> {
        let limit = self.settings.pause_max?;
        let last = *self.pauses.last()?;
        (last > limit).then(|| Warning::JavaPauseLimit {
            methods,
            first: format!("{}.{}", dotted(&first.class), first.name),
            pause_ns: last.as_nanos() as u64,
            limit_ns: limit.as_nanos() as u64,
        })
    }
}

fn is_root(roots: &[(u32, String)], method: &Method) -> bool {
    roots
        .iter()
        .any(|(class, name)| *class == method.class_number && *name == method.name)
}
