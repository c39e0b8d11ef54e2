//! Records of the C library's locks and polls: every program's head describes its events, and each test the expected records.

mod harness;

use evenkeel_wire::ObjectKind;
use evenkeel_wire::waits::POLL_LIMIT;
use harness::events::Event;
use harness::{How, record, run};

#[test]
fn a_mutex_that_is_held() {
    let run = record("mutex");
    assert_eq!(run.stdout(), "done\n");
    // Two threads: main, and the one it created.
    let threads = run.threads();
    assert_eq!(threads.len(), 2, "{threads:#?}");
    let (main, other) = (threads[0], threads[1]);
    let created = main.events.iter().find_map(|event| match event {
        Event::Enqueue {
            object: (ObjectKind::Thread, key),
            at,
            ..
        } => Some((*key, *at)),
        _ => None,
    });
    let (key, at) = created.expect("main created it");
    assert_eq!(other.creation(), Some(key));
    assert!(at <= other.first_ticks());
    // The other thread waits once for the mutex, which main ends. main waits for 20 ms, and for the other's end.
    let (waiter, wait) = run.the_wait(ObjectKind::Mutex);
    assert_eq!(run.streams[waiter].tid, other.tid);
    let by = run.by_tid()[&main.tid];
    let wake = run.assert_woken(ObjectKind::Mutex, waiter, wait, by);
    let (sleeper, sleep) = run.the_wait(ObjectKind::Timer);
    assert_eq!((run.streams[sleeper].tid, sleep.key), (main.tid, 0));
    assert!(sleep.end <= wake.at && wait.start < sleep.end && wake.at <= wait.end);
    for (joiner, join) in run.waits(ObjectKind::Join) {
        assert_eq!(joiner, by);
        run.assert_woken(ObjectKind::Join, joiner, join, waiter);
    }
    assert_eq!(run.wakes(ObjectKind::Join).count(), 1);
}

#[test]
fn nothing_is_written_with_waits_off() {
    let run = run("mutex", &How::default());
    assert_eq!(run.stdout(), "done\n");
    assert_eq!(run.all().count(), 0);
}

/// What a poll found before is not what a later one waited for.
#[test]
fn a_poll_that_found_nothing_ended_by_its_limit() {
    let run = record("polls");
    assert_eq!(run.stdout(), "done\n");
    let keys: Vec<u64> = run
        .waits(ObjectKind::Timer)
        .map(|(_, wait)| wait.key)
        .collect();
    assert_eq!(keys, [POLL_LIMIT; 3]);
}
