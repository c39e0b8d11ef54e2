//! Programs from packages that the profiler was not tuned for, each under a load with a known cause of variance. This
//! is a selection: `make test-programs` has all programs under all three loads.

use std::process::Command;

/// The cause is among the first three factors, and the program behaves as without the profiler.
#[track_caller]
fn finds_its_cause(load: &str, program: &str) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/programs.sh");
    let output = Command::new(script)
        .args(["--debug", "--load", load, program])
        .env("EVENKEEL", env!("CARGO_BIN_EXE_evenkeel"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program}, load {load}: {}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn compression_in_an_interpreter() {
    finds_its_cause("after", "python");
}

#[test]
fn a_log_that_nobody_reads_in_time() {
    finds_its_cause("before", "bind");
}

#[test]
fn commits_that_wait_for_the_disk_in_every_second_ten_seconds() {
    finds_its_cause("changes", "sqlite");
}

#[test]
fn sleeps_in_every_second_ten_seconds() {
    finds_its_cause("changes", "php");
}
