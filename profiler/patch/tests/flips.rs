//! Hooks come and go under running threads; a thread that meets a breakpoint continues as if it had not.

mod harness;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::thread;

use evenkeel_wire::{Form, Role, Wanted};
use harness::library::Library;
use harness::plan::{Harness, TRAPS};
use harness::ring::{Ring, assert_nested};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

type Function = extern "C" fn(i64) -> i64;

const CALLED: [&str; 11] = [
    "frame",
    "twos",
    "ones",
    "five",
    "landing",
    "mixed",
    "calls",
    "pushes_and_calls",
    "branches",
    "tail",
    "tail_of_tail",
];
/// The number that each function adds, and the way.
const DRIVERS: [(&str, i64); 3] = [("chain", 11), ("aligned", 64), ("indirect", 17)];

fn function(library: &Library, name: &str) -> Function {
    unsafe { std::mem::transmute(library.symbol(name)) }
}

fn check(library: &Library) {
    for (name, adds) in DRIVERS {
        assert_eq!(function(library, name)(100), 100 + adds, "{name}");
    }
}

/// All call sites and entries, as inner or boundary probes.
fn everything(harness: &mut Harness, role: Role) -> Vec<usize> {
    let mut ids: Vec<usize> = DRIVERS
        .iter()
        .flat_map(|(name, _)| harness.sites_of(name, role))
        .collect();
    for name in ["tail", "tail_of_tail", "calls", "pushes_and_calls"] {
        // Call sites after the entry, which another probe takes.
        ids.extend(
            harness
                .sites_of(name, role)
                .into_iter()
                .filter(|_| name.starts_with("tail")),
        );
    }
    ids.extend(
        CALLED
            .iter()
            .filter(|name| !name.starts_with("tail"))
            .map(|name| harness.entry(name, role)),
    );
    ids
}

fn is_short(harness: &Harness, id: usize) -> bool {
    harness.probes[id].form == Form::ShortIndirectCall as u8
}

/// Redirects what can be redirected.
fn redirect(harness: &mut Harness, ids: &[usize]) -> Vec<usize> {
    let long: Vec<usize> = ids
        .iter()
        .copied()
        .filter(|&id| !is_short(harness, id))
        .collect();
    harness.set(&long, Wanted::On);
    long
}

#[test]
fn every_form_works_hooked() {
    let mut ring = Ring::start();
    for role in [Role::Inner, Role::Whole] {
        let library = Library::build("forms.s");
        let harness = Harness::new(&library);
        check(&library);
        let ids = everything(harness, role);
        let long = redirect(harness, &ids);
        check(&library);
        let records = ring.records();
        assert_nested(&records);
        for &id in &long {
            assert!(
                records.iter().any(|record| record.id() == id as u32),
                "{id}: {:#x}",
                harness.probes[id].address
            );
        }
        assert!(evenkeel_patch::thread::current().frames().is_empty());
        harness.set(&ids, Wanted::Off);
        check(&library);
        assert!(ring.records().is_empty());
    }
}

/// The lengths and kinds of indirect calls are what they are meant to be.
#[test]
fn the_fixture_has_all_lengths() {
    let library = Library::build("forms.s");
    let harness = Harness::new(&library);
    let ids = harness.sites_of("indirect", Role::Inner);
    let lengths: std::collections::BTreeSet<u8> =
        ids.iter().map(|&id| harness.probes[id].len).collect();
    assert_eq!(
        lengths.into_iter().collect::<Vec<_>>(),
        [2, 3, 4, 5, 6, 7, 8]
    );
    assert_eq!(ids.len(), 17);
}

#[test]
fn breakpoints_are_emulated_and_tell_the_callee() {
    let library = Library::build("forms.s");
    let harness = Harness::new(&library);
    let mut ids: Vec<usize> = DRIVERS
        .iter()
        .flat_map(|(name, _)| harness.sites_of(name, Role::Inner))
        .collect();
    let calls = ids.len();
    ids.extend(
        ["tail", "tail_of_tail"]
            .iter()
            .flat_map(|name| harness.sites_of(name, Role::Inner)),
    );
    harness.set(&ids, Wanted::Discover);
    let before = TRAPS.load(Relaxed);
    check(&library);
    assert!(
        TRAPS.load(Relaxed) - before >= ids.len() as u64,
        "each was met"
    );
    let five = library.symbol("five") - library.loaded.bias;
    for &id in &ids[11..calls] {
        assert_eq!(harness.probes[id].seen[0].load(Relaxed), five);
        assert_eq!(harness.probes[id].seen[1].load(Relaxed), 0);
    }
    harness.set(&ids, Wanted::Off);
    check(&library);
}

/// A call whose traps have cost enough is the program's own again, until the plan is followed the next time; a hook is left alone.
#[test]
fn trapped_calls_are_withdrawn_one_by_one() {
    let library = Library::build("forms.s");
    let harness = Harness::new(&library);
    let ids: Vec<usize> = DRIVERS
        .iter()
        .flat_map(|(name, _)| harness.sites_of(name, Role::Inner))
        .collect();
    harness.set(&ids, Wanted::Discover);
    ids.iter().for_each(|&id| harness.withdraw(id));
    check(&library);
    let seen = |harness: &Harness, id: usize| harness.probes[id].seen[0].load(Relaxed);
    assert!(ids.iter().all(|&id| seen(harness, id) == 0));
    assert_eq!(harness.apply(), ids.len(), "the plan still wants them");
    check(&library);
    assert!(ids[11..].iter().all(|&id| seen(harness, id) != 0));
    harness.set(&ids, Wanted::Off);
    let long = ids.iter().find(|&&id| harness.probes[id].len >= 5);
    let on = [*long.expect("some have room for a jump")];
    harness.set(&on, Wanted::On);
    harness.withdraw(on[0]);
    assert_eq!(harness.set(&on, Wanted::Off), 1, "it was hooked");
    check(&library);
}

/// A thread that stood before any of the covered instructions continues in the displaced ones.
#[test]
fn entries_can_be_entered_at_every_boundary() {
    let library = Library::build("forms.s");
    let harness = Harness::new(&library);
    let ids: Vec<usize> = CALLED
        .iter()
        .filter(|name| !name.starts_with("tail"))
        .map(|name| harness.entry(name, Role::Inner))
        .collect();
    harness.set(&ids, Wanted::On);
    let mut met = 0;
    for (&id, name) in ids.iter().zip(CALLED) {
        let boundaries = harness.boundaries_of(id) & 0x1f;
        for offset in (1..5).filter(|offset| boundaries >> offset & 1 == 1) {
            let way = match name {
                "frame" => "enter_behind_rbp",
                "mixed" | "pushes_and_calls" => "enter_behind_rbx",
                _ => "enter_at",
            };
            if (name, offset) == ("mixed", 3) {
                continue; // rbx must be zero: left to the threads of the other test
            }
            // The registers that skipped instructions would have cleared.
            let enter: extern "C" fn(i64, u64, i64, i64) -> i64 =
                unsafe { std::mem::transmute(library.symbol(way)) };
            let before = TRAPS.load(Relaxed);
            assert_eq!(
                enter(41, library.symbol(name) + offset, 0, 0),
                42,
                "{name}+{offset}"
            );
            assert!(TRAPS.load(Relaxed) > before);
            met += 1;
        }
    }
    assert!(met >= 10, "{met}");
}

/// 4 threads call everything while hooks come and go at random.
#[test]
fn flips_under_running_threads() {
    let library = Library::build("forms.s");
    let harness = Harness::new(&library);
    let ids = everything(harness, Role::Inner);
    let stop = AtomicBool::new(false);
    let rounds = AtomicU64::new(0);
    let recorded = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut ring = Ring::start();
                while !stop.load(Relaxed) {
                    check(&library);
                    let records = ring.records();
                    assert_nested(&records);
                    recorded.fetch_add(records.len() as u64, Relaxed);
                    rounds.fetch_add(1, Relaxed);
                }
            });
        }
        let mut random = TestRng::from_seed(RngAlgorithm::XorShift, &[7; 16]);
        let mut flips = 0;
        while flips < 20_000 {
            for &id in &ids {
                let wanted = match (random.next_u32() % 4, is_short(harness, id)) {
                    (0, _) => Wanted::Off,
                    (1, true) | (2, true) => Wanted::Discover,
                    (1, false) if harness.probes[id].form != Form::Entry as u8 => Wanted::Discover,
                    (_, false) => Wanted::On,
                    _ => Wanted::Off,
                };
                harness.probes[id].wanted.store(wanted as u32, Relaxed);
            }
            flips += harness.apply();
        }
        harness.set(&ids, Wanted::Off);
        stop.store(true, Relaxed);
    });
    assert!(
        recorded.load(Relaxed) > 1000 && rounds.load(Relaxed) > 100,
        "{recorded:?} {rounds:?}"
    );
    check(&library);
}
