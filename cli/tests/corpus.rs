//! One program with a known answer, built in every way that servers are built: each build gives the same answer, or a
//! refusal with the reason.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use support::run::{Place, finish};
use support::servers::skip;

/// Intervals of every program.
const INTERVALS: u64 = 400;
/// Half of the standard deviation planted in `work_slow`, and half of what `work_fast` takes, in ticks: what else runs on
/// the machine adds to both.
const SLOW_SD_TICKS: f64 = 100_000.0;
const FAST_TICKS: f64 = 25_000.0;

/// The expected result of a build.
#[derive(Clone, Copy)]
enum Expected {
    /// The known answer.
    Answer,
    /// The known answer, and a warning with these words.
    AnswerAnd(&'static str),
    /// No profile: exit code 2 and these words; the program, if it is run at all, runs as ever.
    Refused(&'static str),
}
use Expected::{Answer, AnswerAnd, Refused};

const KILL: &str = "-DFILTER=SECCOMP_RET_KILL_PROCESS";
const ERROR: &str = "-DFILTER=SECCOMP_RET_ERRNO|EPERM";

/// Name, compiler with its options, what is expected.
type Build = (&'static str, &'static [&'static str], Expected);

#[rustfmt::skip]
const BUILDS: &[Build] = &[
    ("gcc-O0",             &["gcc", "-O0"], Answer),
    ("gcc-O1",             &["gcc", "-O1"], Answer),
    ("gcc-O2",             &["gcc", "-O2"], Answer),
    ("gcc-O3",             &["gcc", "-O3"], Answer),
    ("gcc-O0-no-pie",      &["gcc", "-O0", "-no-pie", "-fno-pie"], Answer),
    ("gcc-O2-no-pie",      &["gcc", "-O2", "-no-pie", "-fno-pie"], Answer),
    ("gcc-O3-no-pie",      &["gcc", "-O3", "-no-pie", "-fno-pie"], Answer),
    ("gcc-lto",            &["gcc", "-O2", "-flto"], Answer),
    ("gcc-no-plt",         &["gcc", "-O2", "-fno-plt"], Answer),
    ("gcc-exported",       &["gcc", "-O2", "-fPIC", "-rdynamic"], Answer),
    ("gcc-not-interposed", &["gcc", "-O2", "-fPIC", "-rdynamic", "-fno-semantic-interposition"], Answer),
    ("gcc-cet",            &["gcc", "-O2", "-fcf-protection=full"], Answer),
    ("gcc-frame-pointers", &["gcc", "-O2", "-fno-omit-frame-pointer"], Answer),
    ("gcc-no-frames",      &["gcc", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables"], Answer),
    ("gcc-stripped",       &["gcc", "-O2", "-rdynamic", "-s"], Answer),
    ("gcc-address",        &["gcc", "-O1", "-fsanitize=address"], Answer),
    ("gcc-undefined",      &["gcc", "-O1", "-fsanitize=undefined"], Answer),
    ("gcc-thread",         &["gcc", "-O1", "-fsanitize=thread"], Answer),
    ("gcc-leak",           &["gcc", "-O1", "-fsanitize=leak"], Answer),
    ("g++",                &["g++", "-O2", "-x", "c++", "-Wno-write-strings"], Answer),
    ("clang-O0",           &["clang", "-O0"], Answer),
    ("clang-O2",           &["clang", "-O2"], Answer),
    ("clang-O2-no-pie",    &["clang", "-O2", "-no-pie", "-fno-pie"], Answer),
    ("clang-cet",          &["clang", "-O2", "-fcf-protection=full"], Answer),
    ("rustc",              &["rustc", "-O"], Answer),
    ("rustc-debug",        &["rustc", "-g"], Answer),
    ("seccomp-kill",       &["gcc", "-O1", KILL], AnswerAnd("seccomp")),
    ("seccomp-kill-raw",   &["gcc", "-O1", KILL, "-DRAW"], AnswerAnd("seccomp")),
    ("seccomp-error",      &["gcc", "-O1", ERROR], AnswerAnd("seccomp")),
    ("seccomp-kill-inline",       &["gcc", "-O1", KILL, "-DINLINE"], AnswerAnd("an instruction of the program itself")),
    ("seccomp-kill-inline-late",  &["gcc", "-O1", KILL, "-DINLINE", "-DLATE"], AnswerAnd("seccomp")),
    ("seccomp-error-inline",      &["gcc", "-O2", ERROR, "-DINLINE"], AnswerAnd("seccomp")),
    ("seccomp-error-inline-late", &["gcc", "-O0", ERROR, "-DINLINE", "-DLATE"], AnswerAnd("seccomp")),
    ("static",             &["gcc", "-O1", "-static"], Refused("statically linked")),
    ("static-pie",         &["gcc", "-O1", "-static-pie"], Refused("statically linked")),
    ("musl",               &["musl-gcc", "-O1"], Refused("musl")),
    ("go",                 &["go", "build"], Refused("Go")),
];

/// Whether a compiler is here, as scripts/install.sh sees to.
fn has(compiler: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join(compiler).is_file());
    if !found {
        skip(&format!("there is no {compiler}"));
    }
    found
}

/// Builds the program; prints a message and returns `None` where the compiler is missing.
fn build(place: &Place, words: &[&str]) -> Option<PathBuf> {
    let compiler = words[0];
    if !has(compiler) {
        return None;
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let source = match compiler {
        "rustc" => "known.rs",
        "go" => "known.go",
        _ => "known.c",
    };
    let program = place.file("known");
    let mut command: Command = place.command(compiler);
    command.args(&words[1..]).arg("-o").arg(&program);
    let caches = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    command.env("GOCACHE", &caches).env("CGO_ENABLED", "0");
    command.arg(sources.join(source));
    finish(command.spawn().unwrap()).ended(0);
    Some(program)
}

fn check(words: &[&str], expected: Expected) {
    let place = Place::new();
    let Some(program) = build(&place, words) else {
        return;
    };
    let bare = finish(place.command(&program).spawn().unwrap()).ended(0);
    let interval = if words[0] == "go" {
        "main.handler"
    } else {
        "run_interval"
    };
    // Every call site from the start to the end: refinement may well close what does not vary.
    let options = ["--interval", interval, "--plant", "every"];
    let run = place.profile(&options, &program, &[]);
    if let Refused(why) = expected {
        let run = run.ended(2).said(&[why]);
        assert!(
            run.stdout.is_empty() || run.stdout == bare.stdout,
            "{}",
            run.stdout
        );
        return;
    }
    let run = run.ended(0);
    assert_eq!(
        run.stdout.lines().next(),
        bare.stdout.lines().next(),
        "it does what it does"
    );
    let profile = place.json("run.json");
    let warnings = profile["warnings"].to_string();
    if let AnswerAnd(what) = expected {
        assert!(warnings.contains(what), "{warnings}");
    }
    assert_answer(&profile);
}

#[track_caller]
fn assert_answer(profile: &Value) {
    assert_eq!(
        profile["intervals_seen"], INTERVALS,
        "{}",
        profile["warnings"]
    );
    let children = profile["tree"]["children"].as_array().unwrap();
    let child = |name: &str| {
        // C++ spells the parameters.
        let called =
            |child: &&Value| child["name"].as_str().unwrap().split('(').next() == Some(name);
        let found = children.iter().find(called);
        found.unwrap_or_else(|| panic!("{name} is missing in {children:#?}"))
    };
    let ticks = |node: &Value, key: &str| node[key].as_f64().unwrap() * ticks_per_ns();
    let (slow, fast) = (child("work_slow"), child("work_fast"));
    assert_eq!(
        (&slow["calls_mean"], &fast["calls_mean"]),
        (&1.0.into(), &1.0.into())
    );
    assert!(ticks(slow, "sd_ns") > SLOW_SD_TICKS, "{slow}");
    assert!(ticks(fast, "mean_ns") > FAST_TICKS, "{fast}");
}

/// Ticks of the time stamp counter a nanosecond.
fn ticks_per_ns() -> f64 {
    use std::time::{Duration, Instant};
    // SAFETY: every x86-64 processor has it.
    let now = || (unsafe { core::arch::x86_64::_rdtsc() }, Instant::now());
    let (ticks, time) = now();
    std::thread::sleep(Duration::from_millis(20));
    let (later, end) = now();
    (later - ticks) as f64 / (end - time).as_nanos() as f64
}

#[test]
fn the_same_answer_from_every_build() {
    let mut failed = Vec::new();
    for &(name, words, expected) in BUILDS {
        if std::panic::catch_unwind(|| check(words, expected)).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "of {} builds: {failed:?}", BUILDS.len());
}
