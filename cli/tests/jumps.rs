//! Intervals whose function is a single jump: running processes survive, as do those that start at any step of the
//! search, and the jump's target is found.

mod support;
#[path = "attach/working.rs"]
mod working;

use serde_json::Value;

use support::build::own_program;
use support::run::{Run, has_opened_all};
use working::Working;

/// Each form by itself, as a pair, and with a key that another function starts work on.
const INTERVALS: [&[&str]; 8] = [
    &["through_member"],
    &["through_register"],
    &["through_slot"],
    &["through_notrack"],
    &["through_endbr"],
    &["two_bytes"],
    &["through_member..through_endbr,within=through_slot"],
    &[
        "through_member..through_endbr,key=0:0",
        "--work",
        "through_slot,key=0",
    ],
];

/// Whether a tree has a function of this name.
fn has(node: &Value, name: &str) -> bool {
    let mut below = node["children"].as_array().into_iter().flatten();
    node["name"] == name || below.any(|child| has(child, name))
}

fn assert_unharmed(run: &Run, interval: &str) {
    assert_eq!(run.code, Some(0), "{interval}: {run:?}");
    assert!(run.stdout.contains(", 0 wrong"), "{interval}: {run:?}");
}

/// Attaches to a program for each of these intervals in turn, until nothing is left to expand.
fn attached(mode: &str, intervals: &[&[&str]]) {
    let program = own_program("jumps", include_str!("jumps/jumps.c"));
    for words in intervals {
        let working = Working::start(program.clone(), &[mode]);
        let mut options = vec!["--json", "run.json", "--interval"];
        options.extend(*words);
        let session = working.attached_until(&options, has_opened_all).ended(0);
        let profile = working.place.json("run.json");
        assert_unharmed(&working.end(), words[0]);
        assert_eq!(profile["closure"]["max_abs_error_ticks"], 0, "{words:?}");
        let is_followed = words.len() == 1;
        let found = has(&profile["tree"], "vary");
        assert!(found || !is_followed, "{words:?}: {}", session.stderr);
    }
}

#[test]
fn in_processes_that_live() {
    attached("live", &INTERVALS);
}

#[test]
fn in_processes_that_start() {
    attached("starts", &[INTERVALS[0], INTERVALS[4], INTERVALS[6]]);
}

#[test]
fn in_processes_that_start_profiled() {
    let program = own_program("jumps", include_str!("jumps/jumps.c"));
    for words in [INTERVALS[0], INTERVALS[4], INTERVALS[6]] {
        let place = support::run::Place::new();
        let mut command = place.evenkeel(["profile", "--json", "run.json", "--interval"]);
        command.args(words).arg("--").arg(&program).arg("starts");
        let enough = place.file("enough");
        command.env("UNTIL", &enough);
        let run = support::run::finish_hearing(command.spawn().unwrap(), move |line| {
            if has_opened_all(line) {
                std::fs::write(&enough, "").unwrap();
            }
        });
        assert_unharmed(&run, words[0]);
        let profile = place.json("run.json");
        assert!(
            words[0].contains("..") || has(&profile["tree"], "vary"),
            "{run:?}"
        );
        place.assert_nothing_left();
    }
}
