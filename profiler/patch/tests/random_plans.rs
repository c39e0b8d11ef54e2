//! Functions return the same values as without hooks under any sequence of plans, in running processes and in new ones.
//!
//! The corpus has every form of entry and call. A run takes steps at random. A step changes the words of some probes,
//! fitting or not; or it begins a further session with new probes; or it forks a process, which then continues alone;
//! or it unloads and reloads a library. Other threads call everything without pause.
//!
//! `EVENKEEL_RANDOM_SEED` repeats a run, `EVENKEEL_RANDOM_SITES` says how many changes of a site it makes (scripts/random-plans.sh).

mod harness;

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::thread;
use std::time::Duration;

use evenkeel_wire::{Form, Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;
use harness::ring::{Ring, assert_nested};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Changes of a site in one run, unless the environment says otherwise.
const SITES: u64 = 100_000;
/// One step in this many is a further session, a fork, or an unloading.
const SESSION_EVERY: u32 = 40;
const FORK_EVERY: u32 = 60;
const UNLOAD_EVERY: u32 = 50;
/// Steps that a forked process takes by itself.
const STEPS_OF_CHILD: u32 = 6;

const FUNCTIONS: [&str; 21] = [
    "plus_one",
    "jump_r",
    "jump_m",
    "jump_far_m",
    "jump_indexed_m",
    "jump_slot",
    "jump_plt",
    "jump_notrack_r",
    "jump_notrack_m",
    "endbr_r",
    "endbr_m",
    "behind_test_r",
    "jump_two_bytes",
    "jump_five_bytes",
    "call_m",
    "call_r",
    "call_slot",
    "call_direct",
    "call_at_once",
    "call_later_m",
    "plain",
];

/// The addresses of the corpus in one loaded library.
struct Corpus {
    functions: Vec<(&'static str, u64, u64)>,
}

impl Corpus {
    fn of(library: &Library) -> Corpus {
        let (one, table) = (library.symbol("plus_one"), library.symbol("table"));
        let functions = FUNCTIONS.map(|name| {
            let argument = if name.ends_with("_m") { table } else { one };
            (name, library.symbol(name), argument)
        });
        Corpus {
            functions: functions.into(),
        }
    }

    /// The first error.
    fn check(&self) -> Option<&'static str> {
        self.functions.iter().find_map(|&(name, at, argument)| {
            let function: extern "C" fn(i64, u64) -> i64 = unsafe { std::mem::transmute(at) };
            (function(41, argument) != 42).then_some(name)
        })
    }
}

struct Random(TestRng);

impl Random {
    fn of(seed: u64) -> Random {
        let mut bytes = [7; 16];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Random(TestRng::from_seed(RngAlgorithm::XorShift, &bytes))
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.0.next_u32().is_multiple_of(many)
    }

    fn role(&mut self) -> Role {
        match self.0.next_u32() % 3 {
            0 => Role::Whole,
            1 => Role::End,
            _ => Role::Inner,
        }
    }
}

/// Whether a function's first instructions can be moved: not where a call ends within the bytes of a jump.
fn can_move(name: &str) -> bool {
    name != "call_r"
}

/// A plan over the corpus: of each function the entry, the calls, or both where they do not overlap.
fn plan(harness: &mut Harness, random: &mut Random) {
    for name in FUNCTIONS {
        let role = random.role();
        let by_entry = random.one_in(2);
        let by_entry = by_entry || name == "plain" || name == "plus_one";
        let hooked = (by_entry && can_move(name)).then(|| harness.entry(name, role));
        if let Some(entry) = hooked {
            harness.call_under(entry, role);
        }
        let from = hooked.map_or(0, |id| {
            let probe = &harness.probes[id];
            probe.address + u64::from(probe.len).max(5)
        });
        let entry = harness.address_of(name);
        for site in harness.module.call_sites(entry) {
            if site.address >= from && site.form.is_ok() {
                let role = random.role();
                harness.site(&site, role);
            }
        }
    }
}

/// Another word for about half of the probes, now and then one that no session says.
fn say(harness: &Harness, random: &mut Random) {
    for probe in &harness.probes {
        let is_fixed = probe.module != 0 && probe.form == Form::Call as u8;
        if is_fixed || random.one_in(2) {
            continue;
        }
        let word = match random.0.next_u32() % 16 {
            0 => 7,
            1..=4 => Wanted::Off as u32,
            5..=10 => Wanted::On as u32,
            _ => Wanted::Discover as u32,
        };
        probe.wanted.store(word, Relaxed);
    }
}

/// A forked process continues alone: it follows other plans than its parent.
fn fork(harness: &mut Harness, corpus: &Corpus, random: &mut Random, at_end: bool) {
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        harness.after_fork();
        evenkeel_patch::thread::current().after_fork();
        let mut wrong = corpus.check();
        for _ in 0..STEPS_OF_CHILD {
            say(harness, random);
            harness.apply_to(&[harness.loaded]);
            wrong = wrong.or(corpus.check());
        }
        if at_end {
            harness.renew();
            wrong = wrong.or(corpus.check());
        }
        unsafe { libc::_exit(i32::from(wrong.is_some())) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "a forked process");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn any_plan_after_any_other_harms_nobody() {
    let clock = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let seed = number("EVENKEEL_RANDOM_SEED").unwrap_or_else(clock);
    let sites = number("EVENKEEL_RANDOM_SITES").unwrap_or(SITES);
    eprintln!("EVENKEEL_RANDOM_SEED={seed}");
    let mut random = Random::of(seed);
    let library = Library::build("entries.s");
    let corpus = Corpus::of(&library);
    let harness = Harness::new(&library);
    let mut other = Library::build("entries.s");
    let stop = AtomicBool::new(false);
    let calls = AtomicU64::new(0);
    // Written where nobody may be between a breakpoint and its handler.
    let gate = RwLock::new(());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut ring = Ring::start();
                while !stop.load(Relaxed) {
                    let open = gate.read().unwrap();
                    assert_eq!(corpus.check(), None, "EVENKEEL_RANDOM_SEED={seed}");
                    assert_nested(&ring.records());
                    drop(open);
                    // Where all processors are busy, each change of code waits milliseconds for an interrupt.
                    if calls.fetch_add(1, Relaxed).is_multiple_of(64) {
                        thread::sleep(Duration::from_micros(20));
                    }
                }
            });
        }
        let mut changes = 0;
        plan(harness, &mut random);
        while changes < sites {
            if random.one_in(SESSION_EVERY) {
                let _closed = gate.write().unwrap();
                harness.renew();
                assert_eq!(corpus.check(), None, "EVENKEEL_RANDOM_SEED={seed}");
                plan(harness, &mut random);
            }
            if random.one_in(FORK_EVERY) {
                let _closed = gate.write().unwrap();
                let at_end = random.one_in(2);
                fork(harness, &corpus, &mut random, at_end);
            }
            if random.one_in(UNLOAD_EVERY) {
                // What begins under this plan: a process in which the first word is any.
                other = begin_late(other, &mut random, seed);
            }
            say(harness, &mut random);
            changes += harness.apply_to(&[harness.loaded]) as u64;
            if let Some(wrong) = corpus.check() {
                panic!("{wrong}: EVENKEEL_RANDOM_SEED={seed}");
            }
        }
        let _closed = gate.write().unwrap();
        harness.renew();
        assert_eq!(corpus.check(), None, "EVENKEEL_RANDOM_SEED={seed}");
        stop.store(true, Relaxed);
    });
    eprintln!("{calls:?} calls of everything");
    assert!(calls.load(Relaxed) > 100, "{calls:?}");
}

/// Hooks of a patcher that has followed no plan before; then the library goes, and comes back.
fn begin_late(library: Library, random: &mut Random, seed: u64) -> Library {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    if BEGUN.fetch_add(1, Relaxed) > 200 {
        return library; // harnesses are never freed
    }
    let corpus = Corpus::of(&library);
    let harness = Harness::new(&library);
    plan(harness, random);
    for _ in 0..4 {
        say(harness, random);
        harness.apply_to(&[harness.loaded]);
        assert_eq!(
            corpus.check(),
            None,
            "begun late: EVENKEEL_RANDOM_SEED={seed}"
        );
    }
    let path = library.path.clone();
    let kept = path.with_extension("kept");
    std::fs::copy(&path, &kept).unwrap();
    library.close();
    harness.apply_to(&[]);
    std::fs::rename(&kept, &path).unwrap();
    let library = Library::load(path);
    harness.loaded = library.loaded;
    let corpus = Corpus::of(&library);
    for _ in 0..2 {
        say(harness, random);
        harness.apply_to(&[harness.loaded]);
        assert_eq!(
            corpus.check(),
            None,
            "loaded again: EVENKEEL_RANDOM_SEED={seed}"
        );
    }
    harness.renew();
    assert_eq!(corpus.check(), None, "left: EVENKEEL_RANDOM_SEED={seed}");
    library
}

/// Every function in a new process under a plan that is beyond its first step. Entry and call are trapped before they
/// were ever redirected, then redirected, in either order of the two.
#[test]
fn each_form_under_every_first_word() {
    for first in [Wanted::Discover, Wanted::On, Wanted::Off] {
        for role in [Role::Inner, Role::Whole, Role::Begin, Role::End] {
            let library = Library::build("entries.s");
            let corpus = Corpus::of(&library);
            let harness = Harness::new(&library);
            let mut ids = Vec::new();
            for name in FUNCTIONS.into_iter().filter(|name| can_move(name)) {
                let entry = harness.entry(name, role);
                ids.push(entry);
                ids.extend(harness.call_under(entry, role));
            }
            for word in [
                first,
                Wanted::Discover,
                Wanted::On,
                Wanted::Discover,
                Wanted::Off,
            ] {
                harness.want(&ids, word);
                harness.apply_to(&[harness.loaded]);
                assert_eq!(corpus.check(), None, "{first:?}, {role:?}, then {word:?}");
            }
        }
    }
}

/// Entries stay hooked while the jumps under their hooks are trapped, and these report their targets.
#[test]
fn a_jump_under_the_hook_at_its_entry_is_trapped_there() {
    for role in [Role::Inner, Role::Whole] {
        let library = Library::build("entries.s");
        let corpus = Corpus::of(&library);
        let harness = Harness::new(&library);
        let mut under = Vec::new();
        for name in FUNCTIONS.iter().filter(|name| {
            let is_jump = name.starts_with("jump_") || name.starts_with("endbr");
            // Two of them are direct, and one looks like that of a jump table.
            let is_table = name.contains("indexed");
            is_jump && !name.ends_with("bytes") && !is_table
        }) {
            let entry = harness.entry(name, role);
            let call = harness.call_under(entry, role);
            under.push((entry, call.unwrap_or_else(|| panic!("{name}"))));
        }
        let mut ring = Ring::start();
        let entries: Vec<usize> = under.iter().map(|&(entry, _)| entry).collect();
        let calls: Vec<usize> = under.iter().map(|&(_, call)| call).collect();
        harness.set(&entries, Wanted::On);
        harness.set(&calls, Wanted::Discover);
        assert_eq!(corpus.check(), None);
        let one = library.symbol("plus_one") - library.loaded.bias;
        let records = ring.records();
        for (entry, call) in under {
            assert_eq!(harness.probes[call].seen[0].load(Relaxed), one);
            assert!(records.iter().any(|record| record.id() == entry as u32));
        }
        harness.set(&calls, Wanted::Off);
        assert_eq!(corpus.check(), None);
        harness.renew();
    }
}

/// The first copy of a library that is loaded twice is hooked, jumps under its hooks included, in whatever order the
/// copies are seen. A plan may change while a patcher is between the two.
#[test]
fn of_a_library_that_is_loaded_twice_the_first_copy_is_hooked() {
    let library = Library::build("entries.s");
    let corpus = Corpus::of(&library);
    let harness = Harness::new(&library);
    let path = library.path.with_extension("copy");
    std::fs::copy(&library.path, &path).unwrap();
    let copy = Library::load(path);
    let entry = harness.entry("jump_slot", Role::Whole);
    let call = harness.call_under(entry, Role::Whole).expect("a jump");
    harness.want(&[entry], Wanted::On);
    harness.apply_to(&[library.loaded]);
    harness.want(&[call], Wanted::Discover);
    harness.apply_to(&[copy.loaded, library.loaded]);
    assert_eq!(corpus.check(), None);
    let one = library.symbol("plus_one") - library.loaded.bias;
    assert_eq!(harness.probes[call].seen[0].load(Relaxed), one);
    copy.close();
    harness.apply_to(&[library.loaded]);
    assert_eq!(corpus.check(), None, "the copy is gone");
    harness.renew();
    assert_eq!(corpus.check(), None);
}
