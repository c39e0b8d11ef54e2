//! Refinement follows an interval's waits into threads that have no intervals.

use std::path::Path;

use serde_json::Value;

use super::expect::named;
use super::planted::{
    EVERY_INTERVAL, Planted, assert_about_once, assert_at_least, assert_partition, path,
};
use crate::support::build::{program, program_with};

/// Mean of what is planted in flush_page.
const FLUSH_TICKS: f64 = 6_000_000.0;

fn profile(program: &Path, interval: &str) -> Value {
    let planted = Planted::at(program, interval).until_opened("write_out");
    let (profile, _) = planted
        .options(&EVERY_INTERVAL)
        .options(&["--threshold", "0.01%"]) // a busy machine varies more than what is planted
        .measured();
    profile
}

/// What the holder does while the interval waits for the mutex.
fn under_the_wait<'a>(profile: &'a Value, holder: &[&str]) -> &'a Value {
    let lock = ["take", "pthread_mutex_lock", "waits: mutex"];
    let blocked = path(&profile["tree"], &lock);
    assert_partition(blocked);
    path(blocked, holder)
}

/// The interval waits for a mutex; what its holder does, three calls below the function that the user named, decides for how long.
/// Only the calls of take and of keep_house are timed at first; everything else has to be opened under the wait.
#[test]
fn a_holders_calls_are_expanded_under_the_wait() {
    let profile = profile(&program("waits_holder"), "run_interval,within=keep_house");
    let holder = under_the_wait(&profile, &["thread outside of intervals", "hold_locked"]);
    let flush = path(holder, &["write_out", "flush_page"]);
    assert_at_least(flush, FLUSH_TICKS);
    assert_about_once(flush);
    assert_eq!(
        named(&profile, "flush_page").len(),
        1,
        "once, below the wait"
    );
}

/// No function of the holder is named: it is found on the stack of the thread that releases the mutex.
#[test]
fn a_holder_that_nobody_named_is_found() {
    let profile = profile(&program("waits_holder"), "run_interval");
    let holder = under_the_wait(&profile, &["thread outside of intervals", "keep_house"]);
    let flush = path(holder, &["hold_locked", "write_out", "flush_page"]);
    assert_at_least(flush, FLUSH_TICKS);
    assert_about_once(flush);
    // The thread has the program's name, so the report says what it runs.
    assert_eq!(
        profile["unnamed_threads"],
        serde_json::json!(["background"])
    );
}

/// A worker of a pool names itself, with its number; all workers of the pool share the name without it.
#[test]
fn a_thread_of_a_pool_has_its_name() {
    let named = program_with("waits_holder", "waits_keeper", &["-DNAMED"]);
    let profile = profile(&named, "run_interval,within=keep_house");
    let holder = under_the_wait(&profile, &["thread outside of intervals: keeper"]);
    assert_at_least(path(holder, &["hold_locked"]), FLUSH_TICKS);
    assert!(profile.get("unnamed_threads").is_none());
}
