//! The process that flips: a session's parts, driven by orders instead of by refinement.

use std::collections::{HashSet, VecDeque};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use evenkeel_analysis::{Analysis, Options, ProbeCost};
use evenkeel_intervals::interval::{self, Interval};
use evenkeel_intervals::presets::Preset;
use evenkeel_session::arena::Arena;
use evenkeel_session::clock::TickClock;
use evenkeel_session::drain::{Drain, Sink};
use evenkeel_session::launch::{CommandLine, Target};
use evenkeel_session::lease::Lease;
use evenkeel_session::modules::Modules;
use evenkeel_session::plan::Plan;
use evenkeel_symbols::{Callee, Module};
use evenkeel_wire::{Form, Mode, ModuleState, Probe, Record, Role, Wanted};
use serde_json::{Value, json};

/// Call sites that are flipped, breadth first from the interval's functions: those that run.
const SITES: usize = 3000;
/// Pause between two generations.
const PERIOD: Duration = Duration::from_millis(50);

/// Numbers of generations, of applications of a plan by a process, and of intervals that make a trial.
const ENOUGH_FLIPS: u32 = 60;
const ENOUGH_INTERVALS: u64 = 2000;

/// A session that flips.
pub struct Flipping {
    orders: Value,
    arena: Arena,
    _lease: Lease,
    target: Target,
    modules: Modules,
    plan: Plan,
    drain: Drain,
    records: Records,
    judged: usize,
    /// Probes to flip.
    inner: Vec<u32>,
    random: u64,
}

/// Checks that the intervals recorded during the flips close.
struct Records(Analysis);

impl Sink for Records {
    fn began(&mut self, _: u64, _: u32, _: u32) {}

    fn records(&mut self, thread: u64, records: &[Record]) {
        self.0.push(thread, records);
    }

    fn ended(&mut self, thread: u64) {
        self.0.thread_ended(thread);
    }

    fn unrecorded(&mut self, by_class: &[(usize, u64)], max_ticks: u64) {
        self.0.count_unrecorded(by_class, max_ticks);
    }
}

impl Flipping {
    /// Starts the server that the orders name.
    pub fn new(orders: Value) -> Flipping {
        let arena = Arena::create().unwrap();
        let lease = Lease::keep(&arena, &TickClock::start()).unwrap();
        arena.control().mode.store(Mode::Record as u32, Release);
        let arguments = orders["arguments"].as_array().unwrap().iter();
        let words = std::iter::once(&orders["program"])
            .chain(arguments)
            .map(|word| word.as_str().unwrap().into());
        let command = CommandLine {
            words: words.collect(),
            user: serde_json::from_value(orders["user"].clone()).unwrap(),
            directory: orders["directory"].as_str().map(PathBuf::from),
            ..CommandLine::default()
        };
        let target = Target::start(&arena, &command).unwrap();
        Flipping {
            orders,
            arena,
            _lease: lease,
            target,
            modules: Modules::default(),
            plan: Plan::new("", 0),
            drain: Drain::default(),
            records: Records(Analysis::new(ProbeCost::default())),
            judged: 0,
            inner: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Until the file `end` appears; from the file `detach` on the server is to take its hooks out. Returns where the
    /// result goes, and the result.
    pub fn run(mut self) -> (PathBuf, Value) {
        let folder = PathBuf::from(self.orders["folder"].as_str().unwrap());
        let mut generations = 0;
        let mut flipped = Instant::now();
        let mut looked = Instant::now();
        while !folder.join("end").exists() && self.target.is_running() {
            self.judge();
            if folder.join("detach").exists() {
                self.arena
                    .control()
                    .mode
                    .store(Mode::Detach as u32, Release);
            } else if flipped.elapsed() >= PERIOD && !self.inner.is_empty() {
                flipped = Instant::now();
                generations += self.flip();
            }
            let slow = looked.elapsed() >= Duration::from_millis(100);
            let unused = self.drain.run(&self.arena, &mut self.records, slow);
            self.arena.provide_rings(unused);
            if slow {
                looked = Instant::now();
                let applied = self.arena.control().applications.load(Relaxed);
                let seen = self.records.0.intervals_seen();
                if generations >= ENOUGH_FLIPS
                    && applied >= ENOUGH_FLIPS
                    && seen >= ENOUGH_INTERVALS
                {
                    std::fs::write(folder.join("enough"), "").unwrap();
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let left_hooked = self.left_hooked();
        self.target
            .stop(self.orders["stop_signal"].as_i64().unwrap() as i32, || {});
        self.drain.run(&self.arena, &mut self.records, true);
        let profile = self
            .records
            .0
            .profile(&self.plan.sites, &Options::default());
        let refused = self
            .arena
            .probes()
            .iter()
            .filter(|probe| probe.refused.load(Relaxed) != 0)
            .count();
        let control = self.arena.control();
        let result = json!({
            "sites": self.inner.len(),
            "generations": generations,
            "applications": control.applications.load(Relaxed),
            "traps": control.traps.load(Relaxed),
            "intervals": profile.intervals_seen,
            "discarded": profile.discarded_by_reason,
            "closure_error": profile.closure.max_abs_error_ticks,
            "records": self.drain.read,
            "refused": refused,
            "left_hooked": left_hooked,
        });
        (folder.join("result"), result)
    }

    /// Plans the interval and the sites around it in the server's executable; nothing else is wanted.
    fn judge(&mut self) {
        while self.judged < self.arena.modules().len() {
            let index = self.judged;
            self.judged += 1;
            let program = Path::new(self.orders["program"].as_str().unwrap())
                .canonicalize()
                .unwrap();
            let wanted = Modules::path(&self.arena, index)
                .canonicalize()
                .is_ok_and(|path| path == program);
            if wanted {
                let module = self.modules.get(&self.arena, index).unwrap();
                let interval = self.interval(&module);
                for boundary in &interval.boundaries {
                    assert!(
                        self.plan
                            .add_boundary(&mut self.arena, index, &module, boundary)
                            .is_ok()
                    );
                }
                if interval
                    .boundaries
                    .iter()
                    .any(|boundary| boundary.meaning.role == Role::Gate)
                {
                    self.arena.control().gated.store(1, Release);
                }
                self.add_sites(index, &module, &interval.scope);
                self.publish();
            }
            let verdict = if wanted {
                ModuleState::Wanted
            } else {
                ModuleState::Ignored
            };
            self.arena.modules()[index]
                .state
                .store(verdict as u32, Release);
        }
    }

    fn interval(&self, module: &Module) -> Interval {
        match self.orders["interval"]
            .as_str()
            .unwrap()
            .strip_prefix("postgres:")
        {
            Some(known) => {
                let preset = Preset::named("postgres").unwrap();
                preset
                    .resolve(preset.interval(Some(known)).unwrap(), module, false)
                    .unwrap()
            }
            None => interval::resolve(
                &self.orders["interval"].as_str().unwrap().parse().unwrap(),
                module,
            )
            .unwrap(),
        }
    }

    fn add_sites(&mut self, index: usize, module: &Rc<Module>, scope: &[u64]) {
        let mut queue: VecDeque<u64> = scope.iter().copied().collect();
        let mut met: HashSet<u64> = scope.iter().copied().collect();
        while let Some(function) = queue.pop_front() {
            for site in module.call_sites(function) {
                if let Callee::Function(callee) = site.callee
                    && met.insert(callee)
                {
                    queue.push_back(callee);
                }
                if self.inner.len() < SITES
                    && let Some(id) = self.plan.add_site(&mut self.arena, index, module, &site)
                    && self.plan.probes()[id as usize].role == Role::Inner
                {
                    self.inner.push(id);
                }
            }
        }
    }

    /// Changes every fourth site or so: to its trampoline, to a breakpoint that reports the callee, or back.
    fn flip(&mut self) -> u32 {
        for at in 0..self.inner.len() {
            let id = self.inner[at];
            let dice = self.next();
            if !dice.is_multiple_of(4) {
                continue;
            }
            let discovered_only = matches!(
                self.plan.probes()[id as usize].form,
                Form::ShortIndirectCall | Form::IndirectJump
            );
            let wanted = match (dice >> 8) % 16 {
                0..8 => Wanted::Off,
                8 => Wanted::Discover,
                _ if discovered_only => Wanted::Off,
                _ => Wanted::On,
            };
            self.plan.want(&self.arena, id, wanted);
        }
        self.publish();
        1
    }

    fn publish(&mut self) {
        let generation = self.plan.publish(&self.arena);
        if let Some(generation) = generation {
            self.records
                .0
                .begin_round(generation, self.plan.planted().count() as u32);
        }
    }

    /// Sites of the running server whose code is not the file's.
    fn left_hooked(&self) -> usize {
        let pid = self.target.pid();
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let program = Path::new(self.orders["program"].as_str().unwrap())
            .canonicalize()
            .unwrap();
        // The first mapping of the file: its address is that of the file's first byte.
        let first = maps
            .lines()
            .find(|line| line.ends_with(program.to_str().unwrap()))
            .expect("it is mapped");
        let bias = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
        let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
        let differs = |probe: &&Probe| {
            let mut bytes = [0; 16];
            let len = usize::from(probe.len).min(16);
            memory
                .read_exact_at(&mut bytes[..len], bias + probe.address)
                .unwrap();
            bytes[..len] != probe.bytes[..len]
        };
        assert!(self.arena.control().generation.load(Acquire) > 0);
        self.arena.probes().iter().filter(differs).count()
    }

    /// Marsaglia's xorshift.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 3
    }
}
