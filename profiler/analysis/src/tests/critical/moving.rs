//! Intervals that move between threads, queues, pools and event loops.

use evenkeel_wire::ObjectKind;
use evenkeel_wire::waits::POLL_LIMIT;

use super::super::trace::options;
use super::streams::*;

/// One worker serves three requests, which begin at 1000, 1001 and 1002. Each is handed over a tick after it began. The
/// worker takes them up at 1010, 1040 and 1070 and works on each for 30 ticks, 28 of them in f. Queued: 9, 38 and 67,
/// mean 38. Own code: the listener's tick, and 2 of the worker's ticks around f.
#[test]
fn a_queue_with_too_few_workers() {
    let (mut listener, mut worker) = (stream(), stream());
    for request in 0..3u64 {
        let begin = 1000 + request;
        listener =
            listener
                .begin_keyed(begin, 50 + request, "get")
                .enqueue(begin + 1, 70 + request, &[]);
        let taken = 1010 + 30 * request;
        worker = worker
            .dequeue(taken, 70 + request)
            .work(taken, 50 + request)
            .call(taken + 1, taken + 29, F)
            .end_keyed(taken + 30, 50 + request, &[]);
    }
    let profile = profile_of(&[listener.work(1010, 0), worker]);
    assert_eq!((profile.intervals, profile.mean_ns), (3, 69.0));
    let spent = spent(&profile);
    let at = |path: &str| spent.get(path).copied();
    assert_eq!(
        [at("queued"), at("f"), at("")],
        [Some(38), Some(28), Some(3)]
    );
    assert_eq!(spent.len(), 3, "{spent:?}");
    // The intervals differ only in their time in the queue.
    let queued = profile
        .tree
        .children
        .iter()
        .find(|child| child.name == "queued");
    assert_eq!(queued.unwrap().share, 1.0);
}

/// Dissertation figure 2.2: thread 1 begins the interval at 1000 and works on it in f until 1090. Thread 2 runs g in
/// the background and signals at 1060. Thread 3 has waited for this signal since 900. It runs at 1065, takes the
/// interval over at 1070 and ends it at 1080 in h. Thread 1's segment is not on the path: an earlier start would not
/// have ended the interval earlier. The path: h 1070-1080, thread 3's own 5, woken 5. Before: thread 2's g 1000-1060.
#[test]
fn a_path_without_the_starting_segment() {
    let first = stream()
        .begin_keyed(1000, 5, "")
        .call(1001, 1089, F)
        .work(1090, 0);
    let second = stream().wake(1060, ObjectKind::Condition, 3, &[(800, G)]);
    let third = stream()
        .wait(900, 1065, ObjectKind::Condition, 3)
        .work(1070, 5)
        .end_keyed(1080, 5, &[(1070, H)]);
    let turn = "waiting for its turn";
    let wait = format!("{turn} > waits: condition variable");
    assert_spent(
        &profile_of(&[first, second, third]),
        &[
            ("h", 10),
            (turn, 5),
            (&format!("{wait} > woken, not yet running"), 5),
            (&format!("{wait} > thread outside of intervals > g"), 60),
        ],
    );
}

/// Thread 1 begins interval 5, which thread 2 ends at 1080 in h: h is among the calls of intervals. Interval 6 waits in
/// f for thread 2, 1110-1190, which is in h since 1100. No interval is known that thread 2 works on.
#[test]
fn a_thread_that_only_ends_intervals_is_in_none() {
    let first = stream()
        .begin_keyed(1000, 5, "")
        .work(1010, 0)
        .begin_keyed(1100, 6, "")
        .wait(1110, 1190, ObjectKind::Mutex, 3)
        .end_keyed(1200, 6, &[(1104, F)]);
    let second = stream()
        .call(1060, 1085, H)
        .end_keyed(1080, 5, &[(1060, H)])
        .wake(1190, ObjectKind::Mutex, 3, &[(1100, H)]);
    let spent = spent(&profile_of(&[first, second]));
    let holders: Vec<&String> = spent
        .keys()
        .filter(|path| path.contains("mutex >"))
        .collect();
    let outside = "f > waits: mutex > thread outside of intervals > h";
    assert_eq!(holders, [outside], "{spent:?}");
}

/// Worker 1 runs the interval from 1000 to 1100 in f. It spawns task 8 at 1010 and waits for the task, 1012-1092.
/// Worker 2 is busy until 1030, then takes task 8 up. It spawns task 9 at 1040 and waits for it, 1042-1085. Worker 3
/// takes task 9 up at 1050, runs h 1051-1079 and wakes worker 2 at 1080. Worker 2 runs g from 1085 and wakes worker 1
/// at 1090. Worker 1: f 1000-1012 and 1092-1100 = 20, woken 2. Worker 2: g 5, before its wait 1030-1042 = 12, woken 5.
/// Task 9: worker 3's own 1050-1051 and 1079-1080 = 2, h 28, queued 1042-1050 = 8. Task 8: queued 1012-1030 = 18.
#[test]
fn a_task_that_spawns_tasks() {
    let first = stream()
        .begin_keyed(1000, 5, "")
        .enqueue(1010, 8, &[(1000, F)])
        .wait(1012, 1092, ObjectKind::Semaphore, 1)
        .end_keyed(1100, 5, &[(1000, F)]);
    let second = stream()
        .call(950, 1029, K)
        .dequeue(1030, 8)
        .work(1030, 5)
        .enqueue(1040, 9, &[])
        .wait(1042, 1085, ObjectKind::Semaphore, 2)
        .wake(1090, ObjectKind::Semaphore, 1, &[(1085, G)])
        .work(1091, 0);
    let third = stream()
        .dequeue(1050, 9)
        .work(1050, 5)
        .call(1051, 1079, H)
        .wake(1080, ObjectKind::Semaphore, 2, &[])
        .work(1081, 0);
    let wait = "f > waits: semaphore";
    let child = format!("{wait} > another thread of this interval");
    let grandchild = format!("{child} > waits: semaphore");
    assert_spent(
        &profile_of(&[first, second, third]),
        &[
            ("f", 20),
            (&format!("{wait} > woken, not yet running"), 2),
            (&format!("{child} > g"), 5),
            (&child, 12),
            (&format!("{grandchild} > woken, not yet running"), 5),
            (
                &format!("{grandchild} > another thread of this interval"),
                2,
            ),
            (
                &format!("{grandchild} > another thread of this interval > h"),
                28,
            ),
            (&format!("{grandchild} > queued"), 8),
            (&format!("{wait} > queued"), 18),
        ],
    );
}

/// An event loop (in g since 900) serves two connections. A begins at 1000 and runs f until 1010. B begins and runs h
/// 1010-1040. The loop then waits for events 1040-1060, and serves no connection until 1065. A runs f again, 1065-1080,
/// and ends at 1080. A: own f 10 + 15. In its other time: B's h 1010-1040 = 30, and g without an interval 5. While the
/// loop waits, 20, nobody has a turn: A waits for its own event.
#[test]
fn an_event_loop_with_interleaved_intervals() {
    let event_loop = stream()
        .begin_keyed(1000, 1, "a")
        .call(1000, 1010, F)
        .begin_keyed(1010, 2, "b")
        .call(1010, 1040, H)
        .work(1040, 0)
        .wait(1040, 1060, ObjectKind::Poll, 9)
        .work(1065, 1)
        .call(1065, 1080, F)
        .end_keyed(1080, 1, &[(900, G)]);
    let turn = "waiting for its turn";
    let profile = profile_of(&[event_loop]);
    assert_spent(
        &profile,
        &[
            ("g > f", 25),
            (&format!("{turn} > other interval: b > g > h"), 30),
            (&format!("{turn} > g"), 5),
            ("waits: any of several descriptors", 20),
        ],
    );
    // f is called twice. The path leaves g and comes back to it, which makes no second call of it.
    assert_eq!([calls(&profile, "g"), calls(&profile, "g > f")], [1.0, 2.0]);
}

/// A begins at 1000, and sends something until 1010. Events of others come at 1030 and 1050, and are served for 5 each. At 1080 A's time
/// limit ends. A has waited for that since 1030, 15 + 25, and not for the others' events. Then it asks another server, 1080-1090, whose
/// answer comes at 1095. Before 1030 the loop still serves A, so that its sleep, 20, waits for what ended it.
#[test]
fn an_event_loop_that_sleeps_waits_for_what_ends_its_last_sleep() {
    let event_loop = stream()
        .begin_keyed(1000, 1, "a")
        .call(1000, 1010, F)
        .wait(1010, 1030, ObjectKind::Poll, 9)
        .work(1030, 2)
        .work(1035, 0)
        .wait(1035, 1050, ObjectKind::Poll, 9)
        .work(1050, 2)
        .work(1055, 0)
        .wait(1055, 1080, ObjectKind::Timer, POLL_LIMIT)
        .work(1080, 1)
        .call(1080, 1090, F)
        .wait(1090, 1095, ObjectKind::Poll, 8)
        .end_keyed(1100, 1, &[]);
    let spent = spent(&profile_of(&[event_loop]));
    assert_eq!(spent.get("waits: timer"), Some(&40), "{spent:?}");
    assert_eq!(
        spent.get("waits: any of several descriptors"),
        Some(&25),
        "{spent:?}"
    );
}

/// The interval moves from thread 1 to thread 2 and back, without a recorded queue. Each gap belongs to the thread that
/// takes over. Thread 1: f 1000-1020 and 1060-1100. Thread 2: h 1025-1050. The gaps are 5 and 10. In the first, thread
/// 2 is blocked until 1022, and its waker is unknown.
#[test]
fn there_and_back_again() {
    let one = stream()
        .begin_keyed(1000, 5, "")
        .call(1000, 1020, F)
        .work(1020, 0)
        .work(1060, 5)
        .call(1060, 1100, F)
        .end_keyed(1100, 5, &[]);
    let two = stream()
        .wait(990, 1022, ObjectKind::Event, 4)
        .work(1025, 5)
        .call(1025, 1050, H)
        .work(1050, 0);
    assert_spent(
        &profile_of(&[one, two]),
        &[
            ("f", 60),
            ("h", 25),
            ("waiting for its turn", 13),
            ("waiting for its turn > waits: event descriptor", 2),
        ],
    );
}

/// Two threads work on one interval at once. The thread that ends it waits 1020-1080 for the other one, which is in h
/// and wakes it at 1075. Only the path counts: 60 of the 100 ticks, though both threads ran.
#[test]
fn overlap_counts_once() {
    let one = stream()
        .begin_keyed(1000, 5, "")
        .enqueue(1001, 8, &[])
        .call(1005, 1020, F)
        .wait(1020, 1080, ObjectKind::Join, 3)
        .end_keyed(1100, 5, &[]);
    let two = stream()
        .dequeue(1002, 8)
        .work(1002, 5)
        .call(1003, 1074, H)
        .wake(1075, ObjectKind::Join, 3, &[]);
    let helper = "waits: end of a thread > another thread of this interval";
    assert_spent(
        &profile_of(&[one, two]),
        &[
            ("", 25),
            ("f", 15),
            ("waits: end of a thread > woken, not yet running", 5),
            (helper, 1),
            (&format!("{helper} > h"), 54),
        ],
    );
}

/// A class that is set during an interval applies. A key that is used again is another interval, and an end without a
/// beginning is ignored.
#[test]
fn keys_and_classes() {
    let one = stream()
        .end_keyed(990, 5, &[])
        .begin_keyed(1000, 5, "unknown")
        .class(5, "GET /")
        .end_keyed(1010, 5, &[])
        .begin_keyed(1020, 5, "POST /")
        .end_keyed(1040, 5, &[])
        .begin_keyed(1050, 5, "never ended")
        .begin_keyed(1060, 5, "POST /");
    let mut analysis = following();
    run(&mut analysis, &[one]);
    let profile = analysis.profile(&table(), &options());
    let classes = &profile.classes.classes;
    let named: Vec<_> = classes
        .iter()
        .map(|c| (&*c.name, c.intervals, c.mean_ns))
        .collect();
    assert_eq!(named, [("GET /", 1, 10.0), ("POST /", 1, 20.0)]);
    assert_eq!((profile.discarded, analysis.in_flight()), (1, 1));
}

/// Rings are read one after the other: the beginning may be read a pass after the end, the wake a pass after the wait.
#[test]
fn an_interval_waits_for_its_pass() {
    let beginner = stream()
        .begin_keyed(1000, 5, "")
        .enqueue(1001, 8, &[])
        .work(1002, 0);
    let ender = stream()
        .dequeue(1010, 8)
        .work(1010, 5)
        .wait(1020, 1050, ObjectKind::Mutex, 1)
        .end_keyed(1060, 5, &[]);
    let holder = stream().wake(1045, ObjectKind::Mutex, 1, &[(900, G)]);
    let mut analysis = following();
    analysis.push(2, &ender.0);
    analysis.pass_ended();
    assert_eq!(analysis.intervals_seen(), 0);
    analysis.push(3, &holder.0);
    analysis.push(1, &beginner.0);
    analysis.pass_ended();
    assert_eq!(analysis.intervals_seen(), 1);
    assert_spent(
        &analysis.profile(&table(), &options()),
        &[
            ("", 21),
            ("queued", 9),
            ("waits: mutex > woken, not yet running", 5),
            ("waits: mutex > thread outside of intervals > g", 25),
        ],
    );
}
