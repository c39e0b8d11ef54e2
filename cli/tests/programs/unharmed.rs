//! Every program prints the same and ends the same without the profiler, with it, and with every call site hooked; and its
//! recording says what the profile said.

use std::path::Path;

use serde_json::Value;

use crate::support::build::{program, program_with};
use crate::support::run::{Place, Run, finish};

/// Three runs: profiled and recorded until nothing is left to expand; then the same number of intervals without the
/// profiler, and with every call site hooked.
fn check(name: &str, interval: &str, block: u64) {
    check_built(&program(name), interval, block);
}

/// Checks an executable.
fn check_built(program: &Path, interval: &str, block: u64) {
    let place = Place::new();
    let options = ["--interval", interval];
    let (profiled, intervals) =
        place.profile_until_opened(&options, program, &[&block.to_string()]);
    check_against_bare(&place, program, interval, intervals, &profiled);
}

/// Checks with a given number of intervals: children of such a program are part of its answer.
fn check_counted(name: &str, interval: &str, intervals: u64) {
    let place = Place::new();
    let options = ["--interval", interval];
    let program = program(name);
    let profiled = place.profile(&options, &program, &[&intervals.to_string()]);
    check_against_bare(&place, &program, interval, intervals, &profiled);
}

fn check_against_bare(
    place: &Place,
    program: &Path,
    interval: &str,
    intervals: u64,
    profiled: &Run,
) {
    let count = intervals.to_string();
    let bare = finish(place.command(program).arg(&count).spawn().unwrap()).ended(0);
    assert_same(&bare, profiled, "profiled");
    assert_recorded(place);
    let every = every_site_hooked(place, program, interval, intervals);
    assert_same(&bare, &every, "every call site hooked");
    assert_eq!(
        place.json("run.json")["closure"]["max_abs_error_ticks"],
        0,
        "every call site hooked"
    );
}

/// The profile adds up, and its recording says the same.
fn assert_recorded(place: &Place) {
    let profile = place.json("run.json");
    assert_eq!(
        profile["closure"]["max_abs_error_ticks"], 0,
        "vectors add up to latencies"
    );
    assert!(
        profile["intervals_seen"].as_u64().unwrap() > 0,
        "intervals were seen"
    );

    let replayed = place.run(["report", "run.keel", "--json"]).ended(0);
    let replayed: Value = serde_json::from_str(&replayed.stdout).unwrap();
    let mut differing = Vec::new();
    differences("", &profile, &replayed, &mut differing);
    assert!(
        differing.is_empty(),
        "a recording says what the profile said, but for {differing:#?}"
    );
}

fn every_site_hooked(place: &Place, program: &Path, interval: &str, intervals: u64) -> Run {
    place.profile(
        &["--interval", interval, "--plant", "every"],
        program,
        &[&intervals.to_string()],
    )
}

/// Where two JSON values differ, numbers beyond the last digits (sums may be taken in another order).
fn differences(path: &str, a: &Value, b: &Value, found: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) if x.keys().eq(y.keys()) => {
            x.iter().for_each(|(key, value)| {
                differences(&format!("{path}.{key}"), value, &y[key], found)
            });
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter()
                .zip(y)
                .enumerate()
                .for_each(|(i, (x, y))| differences(&format!("{path}[{i}]"), x, y, found));
        }
        (Value::Number(x), Value::Number(y)) => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            if (x - y).abs() > 1e-9 * x.abs().max(y.abs()).max(1e-3) {
                found.push(format!("{path}: {x} {y}"));
            }
        }
        _ if a == b => {}
        _ => found.push(format!("{path}: {a} {b}").chars().take(300).collect()),
    }
}

#[track_caller]
fn assert_same(bare: &Run, other: &Run, how: &str) {
    assert_eq!(bare.code, other.code, "{how}: {}", other.stderr);
    assert_eq!(bare.stdout, other.stdout, "{how}: {}", other.stderr);
}

macro_rules! unharmed {
    ($($name:ident: $interval:literal, $block:literal;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $interval, $block);
        })*
    };
}

unharmed! {
    alignment: "run_interval", 20000;
    args: "execute_sql,label=text:0", 800;
    deep: "run_interval", 40;
    dlopen: "main>run_interval", 3200;
    exceptions: "handle_request", 4000;
    indirect: "run_interval", 2000;
    longjmp: "handle_statement", 4000;
    pair: "begin_transaction..commit_transaction|roll_back_transaction", 1600;
    recursion: "run_interval", 1600;
    shared_size: "handle_request", 800;
    signals: "run_interval", 10000;
    sigtrap: "run_interval", 8000;
    faults: "run_interval", 400;
    stackargs: "run_interval", 10000;
    stages: "run_interval", 800;
    tail: "main>run_interval", 4000;
    threads: "serve>run_interval", 2016;
    tiny: "run_interval", 1000;
    two_sites: "run_interval", 800;
    vfork: "handle_request", 40;
    // virtual is a keyword of Rust: see below.
}

#[test]
fn fork() {
    check_counted("fork", "handle_request", 60);
}

/// At the fork another thread held the lock of the loader's list. The child does not wait for that lock, which nobody
/// would release, and the report says that the child was left alone.
#[test]
fn fork_while_listed() {
    let place = Place::new();
    let program = program("fork_while_listed");
    let bare = finish(place.command(&program).arg("5").spawn().unwrap()).ended(0);
    let profiled = place.profile(&["--interval", "run_interval"], &program, &["5"]);
    assert_same(&bare, &profiled, "profiled");
    profiled.said(&["opened or closed a library at the fork"]);
    let every = every_site_hooked(&place, &program, "run_interval", 5);
    assert_same(&bare, &every, "every call site hooked");
}

/// One thread has four intervals in progress, each on a separate stack, that take turns inside of a call. The report
/// refuses them by name, and the program runs as ever.
#[test]
fn coroutines() {
    let place = Place::new();
    let program = program("coroutines");
    let bare = finish(place.command(&program).arg("8000").spawn().unwrap()).ended(0);
    let profiled = place.profile(&["--interval", "run_interval"], &program, &["8000"]);
    let every = every_site_hooked(&place, &program, "run_interval", 8000);
    for run in [profiled, every] {
        let run = run.ended(2).said(&["user-level stacks"]);
        assert_eq!(bare.stdout, run.stdout);
    }
}

/// Threads with the smallest stacks that there are: what the profiler needs of them leaves the program enough.
#[test]
fn small_stacks() {
    let smallest = ["-DSTACK_SIZE=PTHREAD_STACK_MIN"];
    let program = program_with("threads", "small_stacks", &smallest);
    check_built(&program, "serve>run_interval", 2016);
}

#[test]
fn r#virtual() {
    check("virtual", "run_interval", 2000);
}

#[test]
fn left_calls() {
    check("left_calls", "handle_request", 4000);
    check("left_jumps", "handle_request", 4000);
    check("left_panics", "handle_request", 4000);
}
