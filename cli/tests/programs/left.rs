//! Calls left by an exception, a panic or `longjmp`: their time is theirs, up to the moment at which they were left.

use serde_json::Value;

use super::expect::{Planted, named, number, ticks_per_ns};
use super::measure::{EVERY_INTERVAL, assert_complete, calls, closed, quiet_run};
use crate::support::build::program_with;

/// A balanced design of sixteen intervals; see left_calls.cpp.
const INTERVALS: u64 = 8_000;

/// By function: how many of sixteen intervals call it, the ticks of all those calls, and its share of the latency's variance.
const PLANTED: [(&str, f64, f64, f64); 7] = [
    ("validate", 16.0, 225e3, 0.0817),
    ("recover", 4.0, 40e3, 0.0341),
    ("service", 15.0, 860e3, 0.8842),
    ("query", 15.0, 860e3, 0.8842),
    ("fetch", 15.0, 680e3, 0.8111),
    ("log_error", 1.0, 60e3, 0.0093),
    ("release", 1.0, 120e3, 0.0638),
];

/// The latency's, in ticks.
const LATENCY: Planted = Planted {
    mean: 70.3125e3,
    variance: 9.9546e9,
};

#[track_caller]
fn assert_answer(profile: &Value, what: &str) {
    assert_complete(profile, INTERVALS);
    for (name, called, ticks, share) in PLANTED {
        let mut found = named(profile, name);
        found.retain(|node| node["kind"] == "call");
        let calls = calls(&found);
        let complete = number(profile, "intervals");
        // The first and last group of sixteen may be cut.
        assert!(
            (calls - called / 16.0).abs() < 0.01 + 16.0 / complete,
            "{what}: {calls} calls of {name}"
        );
        let mean: f64 = found.iter().map(|node| number(node, "mean_ns")).sum();
        assert!(
            mean * ticks_per_ns() > 0.95 * ticks / 16.0,
            "{what}: {name} took {mean} ns"
        );
        LATENCY.assert_share(profile, &found, share);
    }
    let warnings = profile["warnings"].to_string();
    assert!(!warnings.contains("did not return"), "{what}: {warnings}");
}

fn check(name: &str, variant: &str, options: &[&str]) {
    let program = program_with(name, variant, options);
    for waits in [&[][..], &["--waits"]] {
        let every = [&["--plant", "every"], &EVERY_INTERVAL[..], waits].concat();
        let profile = closed(quiet_run(&every, &program, "handle_request", INTERVALS));
        assert_answer(&profile, &format!("{name} {variant} {waits:?}"));
    }
}

#[test]
fn by_an_exception() {
    check("left_calls", "unoptimised", &["-O0"]);
    check("left_calls", "optimised", &["-O2"]);
    check(
        "left_calls",
        "runtime-inside",
        &["-O2", "-static-libstdc++"],
    );
    let unwinder = ["-O2", "-static-libstdc++", "-static-libgcc"];
    check("left_calls", "unwinder-inside", &unwinder);
}

#[test]
fn by_longjmp() {
    check("left_jumps", "unoptimised", &["-O0"]);
    check("left_jumps", "optimised", &["-O2"]);
    check("left_jumps", "fortified", &["-O2", "-D_FORTIFY_SOURCE=2"]);
}

#[test]
fn by_a_panic() {
    check("left_panics", "optimised", &[]);
    check("left_panics", "lightly", &["-C", "opt-level=1"]);
}
