//! Control flow that leaves the ordinary way of call and return: what was run is counted, whole, and attributed to itself.

use super::expect::{Planted, named, number, quiet, the, ticks_per_ns};
use super::measure::{
    CHANGED, EVERY_INTERVAL, LEFT_EARLY, assert_complete, calls, discarded, measured, measured_all,
    measured_once, measured_quietly, measured_with, quietest,
};
use crate::support::build::program;
use crate::support::run::Place;

/// Half of the intervals are left by `siglongjmp`. They end there, and the report has them like all others.
#[test]
fn errors_that_leave_the_interval_by_longjmp() {
    // Beside other work a few preemptions may be most of the variance, and the round that has them may be one without rows.
    let measure = || measured_all("longjmp", "handle_statement", 8_000);
    let (profile, intervals) = quietest(measure, |(profile, _)| {
        f64::from(named(profile, "fetch_row").is_empty())
    });
    assert_complete(&profile, intervals);
    // Each row takes 20,000 ticks. Half of the intervals have two, and half of those catch the error of their first row. The
    // others are left in the middle of their first.
    let mean = number(&profile, "mean_ns") * ticks_per_ns();
    assert!(mean > 0.95 * 30e3, "{mean}");
    // A call that never returns is a call, and its time counts.
    let rows = named(&profile, "fetch_row");
    assert!((calls(&rows) - 1.5).abs() < 0.01, "{:#}", profile["tree"]);
    let ticks = rows.iter().map(|row| number(row, "mean_ns")).sum::<f64>() * ticks_per_ns();
    assert!(ticks > 0.95 * 30e3, "{ticks}");
    assert!(
        (failed(&profile) - 0.5).abs() < 0.01,
        "{:#}",
        profile["classes"]
    );
}

/// The part of the intervals whose class says that they failed.
fn failed(profile: &serde_json::Value) -> f64 {
    let classes = profile["classes"]["classes"].as_array().expect("classes");
    let failed = classes.iter().find(|class| class["name"] == "(error)");
    number(failed.expect("some failed"), "intervals") / number(profile, "intervals")
}

#[test]
fn errors_that_leave_the_interval_by_an_exception() {
    let (profile, intervals) = measured_all("exceptions", "handle_request", 8_000);
    // A quarter is left by the exception, after the call that throws it.
    assert_complete(&profile, intervals);
    let outer = calls(&named(&profile, "outer"));
    assert!((outer - 1.0).abs() < 0.01, "{outer}: {profile:#}");
    assert!(number(&profile, "mean_ns") * ticks_per_ns() > 0.95 * 20e3);
    assert!(
        (failed(&profile) - 0.25).abs() < 0.01,
        "{:#}",
        profile["classes"]
    );
}

/// A jump to another stack may come back. The quarter of the intervals that make one do not end there: they are left out, and the
/// report says that stacks are switched.
#[test]
fn intervals_that_jump_to_another_stack_do_not_end_there() {
    const INTERVALS: u64 = 8_000;
    let profile = measured_once(&EVERY_INTERVAL, "switching", "handle", INTERVALS);
    assert_eq!(profile["intervals_seen"], INTERVALS);
    let discarded = profile["discarded"].as_u64().unwrap();
    assert!(
        discarded >= INTERVALS / 4 - 1,
        "{:#}",
        profile["discarded_by_reason"]
    );
    assert_eq!(
        calls(&named(&profile, "work")),
        1.0,
        "{:#}",
        profile["tree"]
    );
    let warnings = profile["warnings"].to_string();
    assert!(warnings.contains("stack"), "{warnings}");
}

/// A jump that nobody sees: the next beginning shows that the interval before it was left, and when it was left is unknown. The
/// last two of 1,022 are left. The beginning of the last one counts, though nothing that follows settles it: the thread has ended.
#[test]
fn intervals_left_by_a_jump_that_nobody_sees_are_left_out() {
    const INTERVALS: u64 = 1022;
    let profile = measured_once(&EVERY_INTERVAL, "unseen", "handle_statement", INTERVALS);
    let reasons = &profile["discarded_by_reason"];
    assert_eq!(profile["intervals_seen"], INTERVALS - 1, "{reasons}");
    let not_kept: u64 = CHANGED.iter().map(|why| discarded(&profile, why)).sum();
    let left = discarded(&profile, LEFT_EARLY);
    let seen_left = INTERVALS / 2;
    assert!(
        (seen_left - not_kept..=seen_left).contains(&left),
        "{reasons}"
    );
}

#[test]
fn children_of_fork() {
    const INTERVALS: u64 = 60;
    const CHILDREN: u64 = INTERVALS / 3;
    let profile = measured_once(&[], "fork", "handle_request", INTERVALS);
    // Each executed and each serving child adds five intervals to the parent's. The interval that was running at a
    // fork belongs to the parent: the child returns from it without having begun it. Its copy is neither seen nor
    // discarded.
    assert_complete(&profile, INTERVALS + 5 * CHILDREN + 5 * CHILDREN);
    assert_eq!(number(the(&profile, "spawn"), "calls_mean"), 1.0);
}

#[test]
fn vfork_spawn_and_system() {
    let (profile, intervals) = measured("vfork", "handle_request", 80);
    assert_complete(&profile, intervals);
    assert_eq!(number(the(&profile, "step"), "calls_mean"), 1.0);
}

#[test]
fn handlers_of_signals() {
    // Beside other work one of the two calls may seem to explain nothing, and goes first where the budget is short.
    let (profile, intervals) = measured_all("signals", "run_interval", 10_000);
    assert_complete(&profile, intervals);
    // Two calls by the interval itself; those by handlers that struck in between come on top.
    let work = calls(
        &named(&profile, "work")
            .into_iter()
            .filter(|node| node["site"].as_str().unwrap().starts_with("run_interval"))
            .collect::<Vec<_>>(),
    );
    assert!((work - 2.0).abs() < 0.01, "{work}");
}

#[test]
fn short_lived_threads() {
    // All of the variance is in work: 10,000 or 30,000 ticks.
    let planted = Planted {
        mean: 20e3,
        variance: 1e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "threads", "serve>run_interval", 2016);
    assert_complete(&profile, intervals);
    planted.assert_share(&profile, &named(&profile, "work"), 1.0);
}

#[test]
fn tail_calls() {
    // handle_small, handle_large and finish are jumped to: their time is that of the one call there is.
    let planted = Planted {
        mean: 50e3,
        variance: 1.2e9,
    };
    let (profile, intervals) = measured_quietly(&planted, "tail", "main>run_interval", 4_000);
    assert_complete(&profile, intervals);
    let dispatch = the(&profile, "dispatch");
    assert_eq!(number(dispatch, "calls_mean"), 1.0);
    planted.assert_share(&profile, &[dispatch], 1.0);
}

/// One thread has four intervals in progress, each on a separate stack. They take turns inside of their only timed
/// call.
#[test]
fn coroutines_are_refused_by_name() {
    let place = Place::new();
    let _quiet = quiet();
    place
        .profile(
            &["--interval", "run_interval"],
            &program("coroutines"),
            &["16000"],
        )
        .ended(2)
        .said(&["user-level stacks", "--interval"]);
}

/// A stack that is resumed in an interval and suspended in a call: that call is nobody's, all else is timed.
#[test]
fn generators_on_another_stack() {
    let planted = Planted {
        mean: 30e3,
        variance: 1e8,
    };
    // A probe at every call site, those that nothing leads to by name included.
    let every = ["--plant", "every"];
    let intervals = 16_000;
    let profile = measured_once(&every, "generator", "handle_request", intervals);
    assert_complete(&profile, intervals);
    let produce = the(&profile, "produce");
    assert_eq!(number(produce, "calls_mean"), 1.0);
    planted.assert_share(&profile, &[produce], 1.0);
    let warnings = profile["warnings"].to_string();
    assert!(
        warnings.contains("suspended on another stack"),
        "{warnings}"
    );
}

/// Intervals whose thread switches to a stack above theirs are not supported, and the report says so.
#[test]
fn intervals_whose_stack_is_switched_are_refused_by_name() {
    let place = Place::new();
    let _quiet = quiet();
    place
        .profile(
            &["--interval", "handle_request", "--plant", "every"],
            &program("fibers"),
            &["16000"],
        )
        .ended(2)
        .said(&["user-level stacks", "--interval"]);
}

#[test]
fn recursion_deeper_than_any_shadow_stack() {
    let (profile, intervals) = measured_with(&EVERY_INTERVAL, "deep", "run_interval", 5_000);
    // 25,000 records an interval may be more than a busy machine drains; what is lost is counted as that.
    let lost: u64 = ["records lost", "the ring was full at the beginning"]
        .iter()
        .map(|reason| discarded(&profile, reason))
        .sum();
    // What is only counted, to stay within the budget, is any of the two kinds.
    let sampled_out = profile["sampled_out"].as_u64().unwrap();
    // Half are left by longjmp from the bottom, and end there.
    let seen = profile["intervals_seen"].as_u64().unwrap();
    assert_eq!(
        seen, intervals,
        "{sampled_out} counted only, {lost} lost, {}",
        profile["discarded_by_reason"]
    );
    assert_eq!(discarded(&profile, LEFT_EARLY), 0);
    let descend = named(&profile, "descend");
    // 25,000 calls an interval, or fewer and a word about it: too deep to follow or to keep apart, or too often to be worth
    // its cost.
    let reported = profile["warnings"].to_string() + &profile["unpatched"].to_string();
    let followed = calls(&descend) >= 25_000.0
        || reported.contains("in flight or suspended on one thread")
        || reported.contains("beyond the bounds of the tree")
        || reported.contains("too often");
    assert!(followed, "{} calls; {reported}", calls(&descend));
}

#[test]
fn more_calls_than_rings_hold() {
    let (profile, intervals) = measured_with(&[], "tiny", "run_interval", 2_000);
    // What was dropped is counted: nothing is seen twice, nothing is forgotten.
    assert_eq!(profile["intervals_seen"], intervals);
    let discarded = profile["discarded"].as_u64().unwrap();
    let kept: u64 = profile["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["intervals"].as_u64().unwrap())
        .sum();
    assert!(
        kept + discarded <= intervals && kept > 0,
        "{kept} kept, {discarded} discarded"
    );
    for node in named(&profile, "tiny") {
        assert_eq!(
            number(node, "calls_mean"),
            1000.0,
            "a complete interval has all its calls"
        );
    }
}

#[test]
fn breakpoints_of_the_targets_own() {
    // Two threads; one blocks every signal.
    let interval = "run>run_interval|serve_blocked>run_interval";
    let (profile, intervals) = measured("sigtrap", interval, 8_000);
    assert_eq!(profile["intervals_seen"], 2 * intervals);
}

#[test]
fn arguments_of_every_kind() {
    for name in ["stackargs", "alignment"] {
        let (profile, intervals) = measured(name, "run_interval", 20_000);
        assert_eq!(
            profile["intervals_seen"], intervals,
            "{name}: {:?}",
            profile["discarded_by_reason"]
        );
    }
}

/// A loop that reads until nothing is left calls the beginning once more before it waits. What lies between is no interval, and sampling
/// windows do not wait for its end: nearly all intervals are recorded where the budget allows it.
#[test]
fn a_beginning_that_is_called_again_before_the_end() {
    let options = ["--waits", "--max-overhead", "100%"];
    let (profile, turns) = measured_with(&options, "polling", "look_for_work..answer", 4_000);
    let skipped = profile["sampled_out"].as_u64().unwrap();
    assert!(skipped < turns, "{skipped} of {turns} turns: {profile:#}");
    assert!(
        !named(&profile, "costly").is_empty(),
        "{:#}",
        profile["tree"]
    );
    assert!(
        discarded(&profile, LEFT_EARLY) > 0,
        "{:#}",
        profile["discarded_by_reason"]
    );
    // The pause is in intervals that are left: it makes none slow.
    let paths = profile["slow_stacks"]["paths"].as_array();
    let mut functions = paths.into_iter().flatten();
    let pauses = functions.any(|path| path["functions"].to_string().contains("sleep"));
    assert!(!pauses, "{:#}", profile["slow_stacks"]);
}
