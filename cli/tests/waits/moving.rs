//! Intervals that move between threads: their waits in queues and for their turn, and their threads' work outside of
//! the path. Times are bounded as in `answers`, or compared with the program's own measurement.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expect::{named, number, the};
use super::planted::{
    EVERY_INTERVAL, INTERVALS, Planted, assert_about_once, assert_at_least, assert_partition,
    child, mean_ticks, path,
};

use crate::support::build::example;

const TURN: &str = "waiting for its turn";

/// Groups of four requests and one worker, S = 300,000 ticks each. In the mean 1.5 S pass in the queue and S in
/// handle, and nothing else. So the latency without the queue is the service time.
#[track_caller]
fn assert_queued_for_one_worker(profile: &Value, handle: &str) {
    let queued = path(&profile["tree"], &["queued"]);
    let handle = the(profile, handle);
    assert_eq!(queued["kind"], "queued");
    for node in [queued, handle] {
        assert_eq!(number(node, "calls_mean"), 1.0, "{node:#}");
    }
    assert_at_least(queued, 1.5 * 300_000.0);
    assert_at_least(handle, 300_000.0);
    assert_partition(&profile["tree"]);
    let service = mean_ticks(&profile["tree"]) - mean_ticks(queued);
    assert!(service >= 0.9 * 300_000.0, "{service}");
    assert!(service >= mean_ticks(handle));
}

#[test]
fn a_queue_with_too_few_workers() {
    let (profile, _) = Planted::new("waits_queue", "annotated,within=handle").measured();
    assert_queued_for_one_worker(&profile, "handle");
    assert_eq!(number(&profile, "intervals_seen") as u64, INTERVALS);
}

/// The queue of a Rust program.
#[test]
fn a_queue_of_a_rust_program() {
    let pool = example("evenkeel-annotate", "pool");
    let (profile, _) = Planted::at(&pool, "annotated,within=pool::main")
        .options(&EVERY_INTERVAL)
        .measured();
    let queued = path(&profile["tree"], &["queued"]);
    assert_eq!(number(queued, "calls_mean"), 1.0, "{queued:#}");
    assert_at_least(queued, 1.5 * 300_000.0);
    let service = mean_ticks(&profile["tree"]) - mean_ticks(queued);
    assert!(service >= 0.9 * 300_000.0, "{service}");
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let names: BTreeSet<_> = classes.iter().map(|class| class["name"].as_str()).collect();
    assert_eq!(names, BTreeSet::from([Some("even"), Some("odd")]));
}

/// The second thread decides when the interval ends, 600,000 ticks after its beginning in the mean. The third ends it
/// 100,000 ticks later. main began the interval and runs all the time, but has no part in that.
#[test]
fn a_path_without_the_starting_segment() {
    let (profile, _) = Planted::new("waits_start", "annotated").measured();
    let outside = "thread outside of intervals";
    let wait = ["pthread_cond_wait", "waits: condition variable"];
    let await_ = [&[TURN, "await"][..], &wait].concat();
    let blocked = path(&profile["tree"], &await_);
    assert_partition(blocked);
    let produce = path(blocked, &[outside, "produce"]);
    assert_at_least(produce, 600_000.0);
    let complete = path(&profile["tree"], &["complete"]);
    assert_at_least(complete, 100_000.0);
    assert_about_once(produce);
    assert_eq!(number(complete, "calls_mean"), 1.0, "{complete:#}");
    assert_eq!(named(&profile, "prologue"), [&Value::Null; 0]);
    assert_partition(&profile["tree"]);
}

/// parse on main, 200,000 ticks, the queue, handle on the worker, 600,000, in the mean. What main does for the interval while the
/// worker has it is not on the path.
#[test]
fn a_hand_over_to_a_worker() {
    let (profile, _) = Planted::new("waits_handover", "annotated").measured();
    let steps = [("parse", 200_000.0), ("queued", 0.0), ("handle", 600_000.0)];
    let mut whole = 0.0;
    for (name, planted) in steps {
        let node = path(&profile["tree"], &[name]);
        assert_eq!(number(node, "calls_mean"), 1.0, "{node:#}");
        assert_at_least(node, planted);
        whole += mean_ticks(node);
    }
    assert!(whole <= mean_ticks(&profile["tree"]));
    assert_eq!(named(&profile, "record"), [&Value::Null; 0]);
    assert_eq!(named(&profile, TURN), [&Value::Null; 0]);
}

/// Each of the four intervals has five steps of S = 100,000 ticks: two for itself, and three for other intervals while
/// it waits for its turn.
#[test]
fn an_event_loop() {
    let (profile, _) = Planted::new("waits_loop", "annotated").measured();
    let tree = &profile["tree"];
    let step = 100_000.0;
    let (mut calls, mut spent) = (0.0, 0.0);
    for name in ["read_request", "send_answer"] {
        let own = path(tree, &[name]);
        assert_eq!(number(own, "calls_mean"), 1.0, "{own:#}");
        assert_at_least(own, step);
        for class in ["other interval: even", "other interval: odd"] {
            let others = path(tree, &[TURN, class, name]);
            calls += number(others, "calls_mean");
            spent += mean_ticks(others);
        }
    }
    // Which of them depends on where recording began in the loop; how many does not.
    assert!((calls - 3.0).abs() < 1e-9, "{calls}: {tree:#}");
    assert!(spent >= 0.9 * 3.0 * step, "{spent}: {tree:#}");
    assert_partition(path(tree, &[TURN]));
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let names: BTreeSet<_> = classes.iter().map(|class| class["name"].as_str()).collect();
    assert_eq!(names, BTreeSet::from([Some("even"), Some("odd")]));
    for class in classes {
        assert!(mean_ticks(class) >= 0.9 * 5.0 * step, "{class:#}");
    }
}

/// The functions that announce requests and tasks, named and not annotated.
const TASKS: [&str; 6] = [
    "--enqueue",
    "put,key=0",
    "--dequeue",
    "get,key=returned",
    "--work",
    "run_task,key=0",
];
const REQUEST: &str = "new_request..end_request,key=returned:0";

/// The path leads through a leaf, the task that spawned it, and the first task: 3 S in step, with S = 150,000 ticks
/// in the mean.
#[track_caller]
fn assert_three_tasks(profile: &Value) {
    // Both the call of run_task and, as it was named, its entry are timed.
    let step = path(&profile["tree"], &["run_task", "run_task", "step"]);
    assert_eq!(number(step, "calls_mean"), 3.0, "{step:#}");
    assert_at_least(step, 3.0 * 150_000.0);
    let queued = path(&profile["tree"], &["queued"]);
    assert_eq!(number(queued, "calls_mean"), 3.0, "{queued:#}");
    assert_partition(&profile["tree"]);
}

/// One worker, first in, first out: four other tasks run while those of the path are queued.
#[test]
fn tasks_that_spawn_tasks() {
    let (profile, _) = Planted::new("waits_tasks", REQUEST)
        .options(&TASKS)
        .measured();
    assert_three_tasks(&profile);
    assert_at_least(path(&profile["tree"], &["queued"]), 4.0 * 150_000.0);
}

/// The waiting time of a pool's tasks depends on the machine; their number on a path does not.
#[test]
fn tasks_that_spawn_tasks_in_a_pool() {
    let (profile, _) = Planted::new("waits_tasks", REQUEST)
        .options(&TASKS)
        .argument("3")
        .measured();
    assert_three_tasks(&profile);
}

/// Two threads serve an interval at once: the overlap counts once, as the program measured it.
#[test]
fn a_fork_and_its_join() {
    let (profile, truth) = Planted::new("waits_fork", "annotated").with_truth();
    for (column, name) in ["work_left", "work_right"].into_iter().enumerate() {
        let found = named(&profile, name);
        let [node] = found[..] else {
            panic!("{name} stands once below its wait: {found:#?}")
        };
        truth.assert_node(node, column + 1);
    }
    assert_eq!(child(&profile["tree"], TURN), None);
}
