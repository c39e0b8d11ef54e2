//! Callers of a shared function, and when each caller's calls are a separate factor.

use super::trace::*;
use crate::Options;
use crate::profile::{Factor, FactorKind, Profile};

const LOCK: u32 = 0;
const COMMIT: u32 = 1;

/// Functions and callers of all factors, in their order: `f`, `f in g`.
fn ranked(profile: &Profile) -> Vec<String> {
    let name = |factor: &Factor| {
        let functions = factor.functions.join("+");
        match &factor.caller {
            Some(caller) => format!("{functions} in {caller}"),
            None => functions,
        }
    };
    profile.factors.iter().map(name).collect()
}

fn factor<'a>(profile: &'a Profile, functions: &[&str]) -> &'a Factor {
    let found = profile.factors.iter().find(|f| f.functions == functions);
    found.unwrap_or_else(|| panic!("no factor {functions:?} among {:?}", profile.factors))
}

#[track_caller]
fn assert_callers(factor: &Factor, expected: &[(&str, f64)]) {
    let names: Vec<_> = factor.callers.iter().map(|c| c.function.as_str()).collect();
    let expected_names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected_names);
    for (caller, (_, contribution)) in factor.callers.iter().zip(expected) {
        near(caller.contribution, *contribution);
    }
    let sum = factor.callers.iter().map(|c| c.contribution).sum();
    near(factor.contribution, sum);
}

/// An interval spends 10 or 30 ticks in `lock`, and 100 or 110 in `commit`. All four combinations occur once. Sums of
/// squares: 4 * 10^2 = 400 and 4 * 5^2 = 100, of L 500. Contributions: 0.8 and 0.2.
fn two_waits(
    table: &[(&str, &str, u32)],
    options: &Options,
    inner: fn(u32, u64) -> Step,
) -> Profile {
    let interval = |first, second| {
        vec![
            call(LOCK, [inner(LOCK, first)]),
            call(COMMIT, [inner(COMMIT, second)]),
        ]
    };
    analysed(&[
        interval(10, 100),
        interval(30, 110),
        interval(10, 110),
        interval(30, 100),
    ])
    .profile(&sites(table), options)
}

const WAIT_IN_BOTH: [(&str, &str, u32); 4] = [
    ("lock", "root+0x1", 1),
    ("commit", "root+0x2", 1),
    ("wait", "lock+0x3", 0),
    ("wait", "commit+0x4", 0),
];

fn wait_of(caller: u32, ticks: u64) -> Step {
    leaf(caller + 2, ticks)
}

/// lock and commit consist of their calls of wait. The root has height 5, the functions 0 and 1. Scores of the lock's:
/// 25 * 0.8 = 20 and 16 * 0.8 = 12.8. Scores of the commit's: 25 * 0.2 = 5 and 16 * 0.2 = 3.2. (As one factor, wait
/// would have 25.)
#[test]
fn a_shared_leaf_is_a_factor_for_each_caller_that_consists_of_it() {
    let profile = two_waits(&WAIT_IN_BOTH, &options(), wait_of);
    let of_calls: Vec<_> = ranked(&profile)
        .into_iter()
        .filter(|name| !name.starts_with("body") && !name.contains('+'))
        .collect();
    assert_eq!(
        of_calls,
        ["wait in lock", "lock", "wait in commit", "commit"]
    );
    let first = &profile.factors[0];
    near(first.contribution, 0.8);
    near(first.score, 20.0);
    assert_eq!(first.paths, ["root > lock [root+0x1] > wait [lock+0x3]"]);
}

/// The commit's 0.2 is not a factor at a threshold of 0.3: neither commit itself nor the rest of wait.
#[test]
fn callers_below_the_threshold_are_left_out() {
    let options = Options {
        threshold: 0.3,
        ..options()
    };
    let profile = two_waits(&WAIT_IN_BOTH, &options, wait_of);
    assert_eq!(ranked(&profile), ["wait in lock", "lock"]);
    // With one caller, the path is enough.
    assert!(
        profile
            .factors
            .iter()
            .all(|factor| factor.callers.is_empty())
    );
}

/// Both reach wait through the same wrapper. wait has one caller, so the callers one step further up are listed. The
/// wrapper only passes on the time of wait, so neither is divided.
#[test]
fn one_caller_is_passed_over() {
    let table = [
        ("lock", "root+0x1", 2),
        ("commit", "root+0x2", 2),
        ("wrapper", "lock+0x3", 1),
        ("wrapper", "commit+0x4", 1),
        ("wait", "wrapper+0x5", 0),
    ];
    let profile = two_waits(&table, &options(), |caller, ticks| {
        call(caller + 2, [leaf(4, ticks)])
    });
    for function in ["wait", "wrapper"] {
        let factor = factor(&profile, &[function]);
        assert_eq!(factor.caller, None);
        assert_callers(factor, &[("lock", 0.8), ("commit", 0.2)]);
    }
    assert_eq!(profile.factors[0].functions, ["wait"]);
}

/// lock calls wait, and so does scan, for a small part of its time. The first is a factor, the second is the rest of
/// wait. Sums of squares: lock 4 * 10^2 = 400, scan's own work 4 * 10^2 = 400, its wait 4 * 5^2 = 100, all independent.
#[test]
fn callers_of_which_it_is_a_part_are_the_rest() {
    let table = [
        ("lock", "root+0x1", 1),
        ("scan", "root+0x2", 1),
        ("wait", "lock+0x3", 0),
        ("wait", "scan+0x4", 0),
    ];
    // Three patterns that are independent in pairs.
    let interval = |lock, own, scan| {
        vec![
            call(LOCK, [leaf(2, lock)]),
            call(COMMIT, [work(own), leaf(3, scan)]),
        ]
    };
    let profile = analysed(&[
        interval(10, 10, 10),
        interval(30, 10, 20),
        interval(10, 30, 20),
        interval(30, 30, 10),
    ])
    .profile(&sites(&table), &options());
    let contributions: Vec<_> = profile
        .factors
        .iter()
        .filter(|factor| factor.functions == ["wait"])
        .map(|factor| (factor.caller.as_deref(), factor.contribution))
        .collect();
    let [(first, of_lock), (second, rest)] = contributions[..] else {
        panic!("{contributions:?}");
    };
    assert_eq!([first, second], [Some("lock"), None]);
    near(of_lock, 400.0 / 900.0);
    near(rest, 100.0 / 900.0);
}

/// x and y under step vary together in lock: both take 10 or 20, so the covariance is 4 * 5 * 5 = 100. They vary
/// against each other in commit: 10 and 20, or 14 and 16, so it is -4 * 2 * 2 = -16. L varies with lock alone: 4 * 10^2
/// = 400. Twice the covariances: 0.5 and -0.08.
#[test]
fn shares_of_a_pair_keep_their_signs() {
    let table = [
        ("lock", "root+0x1", 2),
        ("commit", "root+0x2", 2),
        ("step", "lock+0x3", 1),
        ("step", "commit+0x4", 1),
        ("x", "step+0x5", 0),
        ("y", "step+0x6", 0),
    ];
    let interval = |together, apart| {
        let step = |caller: u32, x, y| call(caller, [call(caller + 2, [leaf(4, x), leaf(5, y)])]);
        vec![
            step(LOCK, together, together),
            step(COMMIT, apart, 30 - apart),
        ]
    };
    let profile = analysed(&[
        interval(10, 10),
        interval(20, 14),
        interval(10, 14),
        interval(20, 10),
    ])
    .profile(&sites(&table), &options());
    let pair = factor(&profile, &["x", "y"]);
    assert_eq!(pair.kind, FactorKind::Covariance);
    assert_callers(pair, &[("lock", 0.5), ("commit", -0.08)]);
}

/// alloc is a small part of both callers, which vary by their own work: it is one factor for all callers. Each caller's
/// own work is 0 or 100, and its alloc 10 or 30. All 16 combinations occur once. Squares for each: 16 * 50^2 = 40,000
/// and 16 * 10^2 = 1,600.
#[test]
fn a_part_of_several_callers_stays_one_factor() {
    let table = [
        ("parse", "root+0x1", 1),
        ("plan", "root+0x2", 1),
        ("alloc", "parse+0x3", 0),
        ("alloc", "plan+0x4", 0),
    ];
    let intervals: Vec<_> = (0..16u64)
        .map(|bits| {
            let of = |caller: u32, own, alloc| {
                call(caller, [work(own * 100), leaf(caller + 2, 10 + alloc * 20)])
            };
            vec![
                of(0, bits & 1, bits >> 1 & 1),
                of(1, bits >> 2 & 1, bits >> 3 & 1),
            ]
        })
        .collect();
    let profile = analysed(&intervals).profile(&sites(&table), &options());
    let alloc = factor(&profile, &["alloc"]);
    assert_eq!(alloc.caller, None);
    let part = 1_600.0 / 83_200.0;
    assert_callers(alloc, &[("parse", part), ("plan", part)]);
}
