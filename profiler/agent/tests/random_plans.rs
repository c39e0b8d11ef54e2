//! Random sequences of plans, through the agent: every process behaves as without it. Processes run, fork, execute
//! themselves, load and unload a library, and begin under a plan that is beyond its first step.
//!
//! `profiler/patch/tests/random_plans.rs` says the same of the patcher alone, in many more steps. `EVENKEEL_RANDOM_SEED` repeats the plans of a
//! run, `EVENKEEL_RANDOM_PLANS` says how many there are (scripts/random-plans.sh).

mod harness;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::Ordering::*;
use std::time::Duration;

use evenkeel_symbols::{DebugSources, Module, Site};
use evenkeel_wire as wire;
use harness::arena::Arena;
use harness::build;
use wire::plan::UNDER_ENTRY;
use wire::{Displaced, Form, Mode, ModuleState, Probe, Role, Wanted};

/// Plans of one run, unless the environment says otherwise.
const PLANS: u64 = 400;

/// Not good, but repeatable.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.next().is_multiple_of(many)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next() as usize % all.len()]
    }
}

/// The session's side of a plan over the corpus, in the arena.
struct Plan<'a> {
    arena: &'a Arena,
    probes: u32,
    displaced: u32,
}

impl Plan<'_> {
    fn probe(&mut self, id: u32) -> &mut Probe {
        // SAFETY: the layout of `wire`; agents change nothing but atomics.
        unsafe {
            &mut *self
                .arena
                .base
                .add(wire::PROBES_AT)
                .cast::<Probe>()
                .add(id as usize)
        }
    }

    fn displaced(&mut self, index: u32) -> &mut Displaced {
        // SAFETY: the same.
        unsafe {
            &mut *self
                .arena
                .base
                .add(wire::DISPLACED_AT)
                .cast::<Displaced>()
                .add(index as usize)
        }
    }

    /// Nobody looks at it before it is counted.
    fn add(&mut self, module: u32, role: Role, address: u64, form: Form, bytes: [u8; 16]) -> u32 {
        let id = self.probes;
        let probe = self.probe(id);
        (probe.module, probe.role, probe.address) = (module, role as u8, address);
        (probe.form, probe.bytes) = (form as u8, bytes);
        self.probes += 1;
        id
    }

    fn site(&mut self, module: u32, site: &Site, role: Role) -> u32 {
        let form = site.form.expect("it can be hooked");
        let id = self.add(module, role, site.address, form, site.bytes);
        let probe = self.probe(id);
        (probe.len, probe.target) = (site.len, site.target);
        probe.operand = site.operand.unwrap_or_default();
        id
    }

    /// The entry, with the jump or call under its hook; where the next call may be hooked.
    fn entry(&mut self, module: u32, code: &Module, entry: u64, role: Role) -> Option<u64> {
        let mut displaced = code.displaced(entry).ok()?;
        let end = entry + u64::from(displaced.len).max(5);
        let sites = code.call_sites(entry);
        let under = sites.iter().find(|site| {
            let is_pointer = matches!(site.form, Ok(Form::ShortIndirectCall | Form::IndirectJump));
            (entry..end).contains(&site.address) && is_pointer && displaced.resume == 0
        });
        if let Some(site) = under {
            let id = self.site(module, site, Role::Inner);
            self.probe(id).module = UNDER_ENTRY;
            displaced.call = id + 1;
        }
        let index = self.displaced;
        *self.displaced(index) = displaced;
        let bytes = code.bytes_at(entry)?;
        let id = self.add(module, role, entry, Form::Entry, bytes);
        let probe = self.probe(id);
        (probe.len, probe.displaced) = (displaced.len as u8, index);
        self.displaced += 1;
        Some(end)
    }

    /// A library was announced: of each function the entry, the calls, or both where they do not overlap.
    fn over(&mut self, path: &Path, module: u32, random: &mut Random) {
        let code = Module::load(path, &DebugSources::none()).unwrap();
        let entries: Vec<u64> = code
            .functions()
            .iter()
            .map(|function| function.entry)
            .collect();
        for entry in entries {
            let role = random.of(&[Role::Whole, Role::End, Role::Inner]);
            let by_entry = random.one_in(2);
            let from = by_entry.then(|| self.entry(module, &code, entry, role));
            let from = from.flatten().unwrap_or(entry);
            for site in code.call_sites(entry) {
                if site.address >= from && site.form.is_ok() {
                    let role = random.of(&[Role::Whole, Role::End, Role::Inner]);
                    self.site(module, &site, role);
                }
            }
        }
        self.publish();
    }

    fn publish(&self) {
        let control = self.arena.control();
        control.probes.store(self.probes, Release);
        control.generation.fetch_add(1, Release);
    }

    /// Another word for about half of the probes, now and then one that no session says.
    fn say(&mut self, random: &mut Random) {
        for id in 0..self.probes {
            let word = match random.next() % 32 {
                0..16 => continue,
                16 => 7,
                17..22 => Wanted::Off as u32,
                22..28 => Wanted::On as u32,
                _ => Wanted::Discover as u32,
            };
            self.probe(id).wanted.store(word, Relaxed);
        }
        let control = self.arena.control();
        control
            .traps_left
            .store(random.of(&[0, 100, 100_000]), Relaxed);
        let mode = random.of(&[Mode::Record, Mode::Record, Mode::IntervalsOnly, Mode::Count]);
        control.mode.store(mode as u32, Release);
        self.publish();
    }

    /// Answers processes that wait for a verdict: the program is wanted, and in it the copies of the corpus.
    fn judge(&mut self, program: &Path, libraries: &[PathBuf; 2], random: &mut Random) {
        self.arena.judge_by(|path, index| {
            let found = libraries.iter().find(|library| library.as_path() == path);
            if let Some(library) = found {
                self.over(library, index, random);
            }
            match found.is_some() || path == program {
                true => ModuleState::Wanted,
                false => ModuleState::Ignored,
            }
        });
    }
}

fn corpus(directory: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../patch/tests/programs/entries.s");
    let path = directory.join(name);
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-Wl,-Bsymbolic", "-o"])
        .args([&path, &source])
        .status();
    assert!(built.expect("a compiler is installed").success());
    path.canonicalize().unwrap()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn ended(child: &mut Child) -> bool {
    child.try_wait().expect("a child of ours").is_some()
}

#[test]
fn any_plan_after_any_other_harms_no_process() {
    let clock = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let seed = number("EVENKEEL_RANDOM_SEED").unwrap_or(clock) | 1;
    let plans = number("EVENKEEL_RANDOM_PLANS").unwrap_or(PLANS);
    eprintln!("EVENKEEL_RANDOM_SEED={seed}");
    let mut random = Random(seed);
    let directory = tempfile::tempdir().unwrap();
    let libraries = ["corpus.so", "copy.so"].map(|name| corpus(directory.path(), name));
    let until = directory.path().join("until");
    let arena = Arena::create(random.one_in(2));
    let mut plan = Plan {
        arena: &arena,
        probes: 0,
        displaced: 0,
    };
    let program = build::program("random_plans");
    let mut child = Command::new(&program)
        .args(&libraries)
        .arg(seed.to_string())
        .arg(&until)
        .env("LD_PRELOAD", build::agent())
        .env(wire::ARENA_VARIABLE, arena.variable())
        .spawn()
        .expect("the program starts");
    let applied = || arena.control().applications.load(Relaxed);
    // A plan that nobody has looked at harms nobody.
    while applied() == 0 && !ended(&mut child) {
        plan.judge(&program, &libraries, &mut random);
        std::thread::sleep(Duration::from_micros(500));
    }
    for _ in 0..plans {
        plan.say(&mut random);
        // A process that starts is answered soon; plans come before, between and after.
        for _ in 0..random.next() % 20 {
            plan.judge(&program, &libraries, &mut random);
            arena.recycle();
            std::thread::sleep(Duration::from_micros(500));
        }
        if ended(&mut child) {
            break;
        }
    }
    let applied = applied();
    if random.one_in(2) {
        arena.control().mode.store(Mode::Detach as u32, Release);
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(&until, "").unwrap();
    while !ended(&mut child) {
        plan.judge(&program, &libraries, &mut random);
        std::thread::sleep(Duration::from_micros(500));
    }
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: EVENKEEL_RANDOM_SEED={seed}");
    assert!(
        u64::from(applied) > plans / 4,
        "{applied} changes of a process' code for {plans} plans"
    );
}
