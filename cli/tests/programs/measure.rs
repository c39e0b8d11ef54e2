//! Runs of known-answer programs, one at a time, and what holds for the profile of each.

use std::path::Path;

use serde_json::Value;

use super::expect::{Planted, Truth, number, quiet};
use crate::support::build::program;
use crate::support::run::Place;

/// A budget that lets every interval be recorded, however busy the machine.
pub const EVERY_INTERVAL: [&str; 4] = ["--max-overhead", "100%", "--sampling", "all"];

/// Reasons for which refinement itself may cost intervals: it changes the plan while they run.
pub const CHANGED: [&str; 1] = ["plan changed under it"];

/// Reason for which intervals are left out that nobody ended.
pub const LEFT_EARLY: &str =
    "left early (longjmp, exception or error), or begun again before the end";

/// The profile of a run without other runs of this test program at the same time, and the number of its intervals.
/// That is a multiple of `intervals`: the run lasts until the profiler has expanded the varying functions.
pub fn measured(name: &str, interval: &str, intervals: u64) -> (Value, u64) {
    measured_with(&[], name, interval, intervals)
}

/// Number of measurements to find a quiet one.
const TRIES: usize = 4;
/// Noise that leaves a wrong expectation no room.
const QUIET_ENOUGH: f64 = 0.05;

/// The least noisy of several measurements; stops at the first one that is quiet enough.
pub fn quietest<T>(measure: impl Fn() -> T, noise: impl Fn(&T) -> f64) -> T {
    let mut quietest: Option<(f64, T)> = None;
    for _ in 0..TRIES {
        let tried = measure();
        let noise = noise(&tried);
        if quietest.as_ref().is_none_or(|(least, _)| noise < *least) {
            quietest = Some((noise, tried));
        }
        if noise < QUIET_ENOUGH {
            break;
        }
    }
    quietest.expect("at least one try").1
}

/// The profile of a run that is as quiet as this machine permits: noise widens the tolerance of
/// [`Planted::assert_share`].
pub fn measured_quietly(
    planted: &Planted,
    name: &str,
    interval: &str,
    intervals: u64,
) -> (Value, u64) {
    let measure = || measured(name, interval, intervals);
    quietest(measure, |(profile, _)| planted.noise(profile))
}

/// The profile of a run with a budget that lets every interval be recorded, however busy the machine.
pub fn measured_all(name: &str, interval: &str, intervals: u64) -> (Value, u64) {
    measured_with(&EVERY_INTERVAL, name, interval, intervals)
}

/// The profile of a run with any options.
pub fn measured_with(options: &[&str], name: &str, interval: &str, intervals: u64) -> (Value, u64) {
    measured_program(options, &program(name), interval, intervals)
}

/// The profile of a run of an executable.
pub fn measured_program(
    options: &[&str],
    program: &Path,
    interval: &str,
    intervals: u64,
) -> (Value, u64) {
    let place = Place::new();
    let _quiet = quiet();
    let options = [&["--interval", interval], options].concat();
    let (run, ran) = place.profile_until_opened(&options, program, &[&intervals.to_string()]);
    run.ended(0);
    (closed(place.json("run.json")), ran)
}

/// The profile of a run of exactly this many intervals, for programs whose answer does not depend on the expanded
/// functions.
pub fn measured_once(options: &[&str], name: &str, interval: &str, intervals: u64) -> Value {
    closed(quiet_run(options, &program(name), interval, intervals))
}

/// The profile of an executable's run, unchecked.
pub fn quiet_run(options: &[&str], program: &Path, interval: &str, intervals: u64) -> Value {
    let place = Place::new();
    let _quiet = quiet();
    let options = [&["--interval", interval], options].concat();
    place
        .profile(&options, program, &[&intervals.to_string()])
        .ended(0);
    place.json("run.json")
}

/// The profile, the number of intervals and the durations that the program measured.
pub fn with_truth(name: &str, interval: &str, intervals: u64) -> (Value, u64, Truth) {
    let program = program(name);
    let place = Place::new();
    let _quiet = quiet();
    let (run, ran) = place.profile_until_opened(
        &["--interval", interval],
        &program,
        &[&intervals.to_string(), "truth"],
    );
    run.ended(0);
    let truth = Truth::read(&place.file("truth"));
    assert_eq!(truth.intervals() as u64, ran);
    (closed(place.json("run.json")), ran, truth)
}

/// The profile, after the checks that hold for each.
pub fn closed(profile: Value) -> Value {
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
    assert_eq!(number(&profile["tree"], "share"), 1.0, "the root's share");
    profile
}

/// Intervals left out for a reason.
pub fn discarded(profile: &Value, reason: &str) -> u64 {
    profile["discarded_by_reason"][reason].as_u64().unwrap_or(0)
}

/// Every interval was seen, and none left out but for changes of the plan, a handful a round.
#[track_caller]
pub fn assert_complete(profile: &Value, intervals: u64) {
    assert_eq!(
        profile["intervals_seen"], intervals,
        "{:?} {:?}",
        profile["discarded_by_reason"], profile["warnings"]
    );
    let changed: u64 = CHANGED
        .iter()
        .map(|reason| discarded(profile, reason))
        .sum();
    assert_eq!(
        profile["discarded"], changed,
        "{} {}",
        profile["discarded_by_reason"], profile["warnings"]
    );
    let rounds = profile["rounds"].as_array().unwrap();
    let plans: u64 = rounds
        .iter()
        .map(|round| round["plans"].as_u64().unwrap())
        .sum();
    assert!(
        changed <= plans,
        "one thread runs one interval at a time: {}",
        profile["discarded_by_reason"]
    );
}

/// Calls of all these nodes an interval.
pub fn calls(found: &[&Value]) -> f64 {
    found.iter().map(|node| number(node, "calls_mean")).sum()
}
