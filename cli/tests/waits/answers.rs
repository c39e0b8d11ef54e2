//! Each program's waits, and the waker's work during them, with every call timed. Structure and counts are exact.
//! Times are only bounded from below, by the planted ones, because other work on the machine makes every wait longer.

use std::path::Path;

use serde_json::Value;

use super::expect::number;
use super::planted::{
    EVERY_CALL, Planted, assert_about_once, assert_at_least, assert_partition, path,
};
use crate::support::build::{program, program_with};
use crate::support::run::Run;

const OUTSIDE: &str = "thread outside of intervals";

/// The waker of the longest waits for such an object: its open calls.
#[track_caller]
fn holder<'a>(profile: &'a Value, object: &str) -> &'a Value {
    let waits = profile["waits"].as_array().unwrap();
    let row = waits
        .iter()
        .find(|row| row["object"] == object)
        .unwrap_or_else(|| panic!("no wait for a {object} in {waits:#?}"));
    assert_eq!(row["holder"], OUTSIDE, "{row:#}");
    &row["holder_calls"]
}

/// The first of a holder's calls; each is written as function and call site.
#[track_caller]
fn outermost(calls: &Value) -> &str {
    let call = calls[0].as_str().expect("the holder's calls are timed");
    call.split(' ').next().unwrap()
}

/// Each interval calls `lock` once and waits once for an object while `work` is done for it, once, outside of
/// intervals. The work takes 300,000 or 900,000 ticks in half of the intervals each, 600,000 in the mean.
#[track_caller]
fn assert_waits_for(profile: &Value, caller: &str, lock: &str, wait: &str, work: &[&str]) {
    let blocked = path(&profile["tree"], &["run_interval", caller, lock, wait]);
    assert_partition(blocked);
    assert_about_once(blocked);
    let done = path(path(blocked, &[OUTSIDE]), work);
    assert_about_once(done);
    assert_at_least(done, 600_000.0);
    assert!(number(done, "mean_ns") <= number(blocked, "mean_ns"));
    assert!(number(blocked, "mean_ns") <= number(profile, "mean_ns"));
}

/// The background thread holds the mutex for 600,000 ticks in the mean, in hold. Recorded in windows, as the budget allows.
#[track_caller]
fn assert_waits_for_a_mutex(program: &Path, lock: &str) {
    let (profile, _) = Planted::at(program, "run_interval")
        .options(&EVERY_CALL)
        .measured();
    let work = ["hold_locked", "hold"];
    assert_waits_for(&profile, "take", lock, "waits: mutex", &work);
    assert_eq!(outermost(holder(&profile, "mutex")), "hold_locked");
}

#[test]
fn a_mutex_held_by_a_background_thread() {
    assert_waits_for_a_mutex(&program("waits_mutex"), "pthread_mutex_lock");
}

/// A mutex under its names of C11: separate functions of the C library.
#[test]
fn a_mutex_of_c11() {
    let names = [
        "-Dpthread_mutex_lock=mtx_lock",
        "-Dpthread_mutex_unlock=mtx_unlock",
    ];
    assert_waits_for_a_mutex(&program_with("waits_mutex", "c11", &names), "mtx_lock");
}

/// The last thread works 600,000 ticks in the mean while the interval waits for the middle thread, which waits for
/// the last one.
#[test]
fn a_hand_over_through_two_locks() {
    let (profile, _) = Planted::new("waits_chain", "run_interval").measured();
    let lock = ["pthread_mutex_lock", "waits: mutex"];
    let first = [&["run_interval", "take"][..], &lock].concat();
    let blocked = path(&profile["tree"], &first);
    assert_partition(blocked);
    let relay = path(blocked, &[OUTSIDE, "hold_first", "relay"]);
    let further = path(relay, &lock);
    assert_partition(further);
    let produce = path(further, &[OUTSIDE, "hold_second", "produce"]);
    for node in [blocked, further, produce] {
        assert_about_once(node);
        assert_at_least(node, 600_000.0);
    }
    assert!(number(further, "mean_ns") <= number(relay, "mean_ns"));
    assert_eq!(outermost(holder(&profile, "mutex")), "hold_first");
}

/// The child works 600,000 ticks in the mean between the parent's request and its answer.
#[test]
fn a_pipe_between_processes() {
    let (profile, run) = Planted::new("waits_pipe", "run_interval")
        .ends_with(7)
        .measured();
    let Run { stderr, .. } = run;
    assert!(
        stderr.contains("the command failed with exit code 7"),
        "{stderr}"
    );
    assert_waits_for(
        &profile,
        "fetch",
        "read",
        "waits: pipe",
        &["answer", "produce"],
    );
    let waits = profile["waits"].as_array().unwrap();
    let read = waits
        .iter()
        .find(|row| row["waiter"].as_str().unwrap().starts_with("read "))
        .unwrap_or_else(|| panic!("{waits:#?}"));
    assert_eq!(read["object"], "pipe");
    assert_eq!(outermost(&read["holder_calls"]), "answer");
}

/// Semaphores, which each process has at another address.
#[test]
fn semaphores_between_processes() {
    let (profile, _) = Planted::new("waits_semaphore", "run_interval").measured();
    let work = ["answer", "produce"];
    assert_waits_for(&profile, "fetch", "sem_wait", "waits: semaphore", &work);
    assert_eq!(outermost(holder(&profile, "semaphore")), "answer");
}

#[test]
fn a_condition_with_spurious_wake_ups() {
    assert_waits_for_a_condition(&program("waits_condition"), "pthread_cond_wait");
}

#[test]
fn a_condition_of_c11() {
    let names = [
        "-Dpthread_mutex_lock=mtx_lock",
        "-Dpthread_mutex_unlock=mtx_unlock",
        "-Dpthread_cond_wait=cnd_wait",
        "-Dpthread_cond_signal=cnd_signal",
    ];
    assert_waits_for_a_condition(&program_with("waits_condition", "c11", &names), "cnd_wait");
}

/// Three waits an interval, and two of them end for nothing: 2 x 150,000 ticks in prepare and 600,000 in finish. All
/// lie within await's waits for the condition.
#[track_caller]
fn assert_waits_for_a_condition(program: &Path, call: &str) {
    let (profile, _) = Planted::every(program, "run_interval").measured();
    let wait = "waits: condition variable";
    let blocked = path(&profile["tree"], &["run_interval", "await", call, wait]);
    assert_partition(blocked);
    // A preempted waiter may find its wait over; more than there are can not be seen.
    let waits = number(blocked, "calls_mean");
    assert!((2.85..=3.0).contains(&waits), "waits: {waits}");
    let serve = path(blocked, &[OUTSIDE, "serve"]);
    let calls_of = |name: &str| -> Vec<&Value> {
        let children = serve["children"].as_array().unwrap();
        children
            .iter()
            .filter(|node| node["name"] == name)
            .collect()
    };
    let prepare = calls_of("prepare");
    assert_eq!(prepare.len(), 2, "two call sites: {serve:#}");
    for node in prepare {
        assert_at_least(node, 150_000.0);
    }
    let finish = path(serve, &["finish"]);
    assert_at_least(finish, 600_000.0);
    assert!(number(blocked, "mean_ns") <= number(&profile, "mean_ns"));
}
