//! Times of an interval that only the kernel sees: waits that no function of the C library announces, and pages that
//! have to be read. Where the kernel reports nothing, the report has a warning.

mod support;

#[path = "programs/expect.rs"]
#[allow(dead_code)] // only what is asked of a tree
mod expect;
#[path = "waits/planted.rs"]
#[allow(dead_code)] // not every check of the planted waits
mod planted;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect::{number, quiet};
use planted::{Planted, assert_at_least, assert_partition, path};
use serde_json::Value;
use support::build::{EVENKEEL, agent, program};
use support::run::{Place, as_nobody, finish, lacks_root};

const OUTSIDE: &str = "thread outside of intervals";
const WAITS: &str = "waits: something unannounced";
/// Work planted in each wait of `raw_futex`, in the mean.
const PLANTED_TICKS: f64 = 600_000.0;

/// The warning of a profile that begins to say that the kernel did not report something.
fn not_seen(profile: &Value) -> Option<&str> {
    let mut warnings = profile["warnings"].as_array().unwrap().iter();
    let texts = warnings.by_ref().filter_map(Value::as_str);
    let mut not_seen = texts.filter(|text| text.contains("the kernel does not report"));
    not_seen.next()
}

fn time_of(profile: &Value, doing: &str) -> f64 {
    let lines = profile["doing"].as_array().unwrap();
    let line = lines.iter().find(|line| line["doing"] == doing);
    line.map_or(0.0, |line| number(line, "mean_ns"))
}

/// A futex by its system call's own instruction: the wait is the worker's, 600,000 ticks in produce in the mean.
#[test]
fn a_wait_that_goes_around_the_wrappers_is_followed() {
    let (profile, _) = Planted::new("raw_futex", "run_interval").measured();
    if let Some(text) = not_seen(&profile) {
        eprintln!("left out: {text}");
        return;
    }
    let blocked = path(&profile["tree"], &["run_interval", "fetch", WAITS]);
    assert_partition(blocked);
    let produce = path(blocked, &[OUTSIDE, "produce"]);
    assert_at_least(produce, PLANTED_TICKS);
    let calls = number(produce, "calls_mean");
    assert!((0.95..=1.0).contains(&calls), "calls of the work: {calls}");
    let row = &profile["waits"][0];
    assert_eq!(row["object"], "something unannounced", "{row:#}");
    assert_eq!(row["holder"], OUTSIDE);
    assert!(
        row["waiter"].as_str().unwrap().starts_with("fetch "),
        "{row:#}"
    );
    assert!(time_of(&profile, "blocked") >= number(produce, "mean_ns"));
}

/// Its recording gives the same: wake-ups are in it.
#[test]
fn a_recording_knows_who_woke_whom() {
    let place = Place::new();
    let _quiet = quiet();
    let options = ["--interval", "run_interval", "--waits", "--plant", "every"];
    place
        .profile(&options, &program("raw_futex"), &["100"])
        .ended(0);
    let profile = place.json("run.json");
    let again = place.run(["report", "run.keel", "--json"]).ended(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    for part in ["tree", "doing", "waits", "warnings"] {
        assert_eq!(again[part], profile[part], "{part}");
    }
}

/// A user without permission to read wake-ups sees the same time as off-CPU with an unknown waker, and reads why.
#[test]
fn without_permission_the_report_says_what_it_could_not_see() {
    if lacks_root("act as somebody else") {
        return;
    }
    let place = Place::new();
    let open = |name: &str| {
        fs::set_permissions(place.file(name), fs::Permissions::from_mode(0o777)).unwrap();
    };
    open("");
    open("tmp");
    // Copies, since nobody may not reach the directory of the build.
    let copy = |from: &std::path::Path, name: &str| {
        fs::copy(from, place.file(name)).unwrap();
        open(name);
        place.file(name)
    };
    let evenkeel = copy(EVENKEEL.as_ref(), "evenkeel");
    let agent = copy(agent(), "libevenkeel_agent.so");
    let target = copy(&program("raw_futex"), "raw_futex");
    let _quiet = quiet();
    let mut command = place.command(&evenkeel);
    command.env("EVENKEEL_AGENT", &agent);
    command.args(["profile", "--interval", "run_interval", "--waits"]);
    command.args(["--plant", "every", "--json", "run.json", "--"]);
    command.arg(&target).arg("400");
    let run = finish(as_nobody(&mut command).spawn().unwrap()).ended(0);
    let profile = place.json("run.json");
    let text = not_seen(&profile).expect("it says so");
    assert!(run.said(&["the kernel does not report"]).code == Some(0));
    assert_eq!(profile["waits"], Value::Null, "nobody was seen to wake");
    let fetch = path(&profile["tree"], &["run_interval", "fetch"]);
    assert_at_least(fetch, PLANTED_TICKS);
    if text.contains("context switches") {
        eprintln!("left out: {text}");
        return;
    }
    // Nine tenths of the work; the rest passes before the waiter sleeps.
    let off = path(fetch, &["off-CPU"]);
    assert_at_least(off, 0.9 * PLANTED_TICKS);
    assert!(time_of(&profile, "asleep") >= number(off, "mean_ns"));
}

/// Each interval touches a page that is not in memory, if the file's system has it elsewhere.
#[test]
fn page_faults_are_a_cause_of_their_own() {
    let place = Place::new();
    let _quiet = quiet();
    let file = format!("{}/faulted", env!("CARGO_TARGET_TMPDIR"));
    let options = ["--interval", "run_interval", "--waits", "--plant", "every"];
    let run = place.profile(&options, &program("page_faults"), &["200", &file]);
    fs::remove_file(&file).unwrap();
    let run = run.ended(0);
    let faults = run
        .stderr
        .split("major faults: ")
        .nth(1)
        .expect("the program reports it");
    let faults: f64 = faults.split_whitespace().next().unwrap().parse().unwrap();
    let profile = place.json("run.json");
    if faults < 200.0 || not_seen(&profile).is_some_and(|text| text.contains("context switches")) {
        eprintln!("left out: {faults} major faults");
        return;
    }
    let fault = path(&profile["tree"], &["run_interval", "touch", "page fault"]);
    assert_eq!(fault["kind"], "fault");
    // A page may come so soon that nobody slept.
    assert!(number(fault, "calls_mean") > 0.5, "{fault:#}");
    assert_eq!(time_of(&profile, "fault"), number(fault, "mean_ns"));
    let report = place.run(["report", "run.keel"]).ended(0).stdout;
    assert!(report.contains("waiting for a page"), "{report}");
}
