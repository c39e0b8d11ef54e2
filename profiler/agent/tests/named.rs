//! Functions that the plan names: locks, queues and intervals without the C library's part and without annotations.

mod harness;

use evenkeel_wire::plan::KEY_RETURNED;
use evenkeel_wire::{Kind, Label, Role};
use harness::events::Event;
use harness::plan::{Hook, Hooks};
use harness::{How, run};

const HOOKS: [Hook<'static>; 8] = [
    Hook {
        key_argument: 1,
        ..Hook::new("lock_acquire", Role::Acquire)
    },
    Hook::new("lock_release", Role::Release),
    Hook::new("put", Role::Enqueue),
    Hook {
        key_argument: KEY_RETURNED,
        ..Hook::new("get", Role::Dequeue)
    },
    Hook {
        label: Label::Text,
        label_argument: 1,
        ..Hook::new("request_begins", Role::BeginKeyed)
    },
    Hook::new("request_runs", Role::Work),
    Hook::new("request_ends", Role::EndKeyed),
    Hook::new("inside", Role::Inner),
];

#[test]
fn roles() {
    let how = How {
        waits: true,
        hooks: Hooks(&HOOKS),
        ..How::default()
    };
    let run = run("named", &how);
    assert_eq!(run.stdout(), "3\n");
    let threads = run.threads();
    let index = run.by_tid();
    let (main, other) = (index[&threads[0].tid], index[&threads[1].tid]);
    // The interval: begun by main, worked for by main, then by the other, who ends it.
    let begun = run.streams[main]
        .events
        .iter()
        .find_map(|event| match event {
            Event::Begin { key, label, .. } => Some((*key, label.clone())),
            _ => None,
        });
    let (key, label) = begun.unwrap_or_else(|| panic!("main begins it: {:#?}", run.streams));
    assert_eq!(label, "select");
    let works = |thread: usize| -> Vec<u64> {
        let events = run.streams[thread].events.iter();
        events
            .filter_map(|event| match event {
                Event::Work { key, .. } => Some(*key),
                _ => None,
            })
            .collect()
    };
    assert_eq!((works(main), works(other)), (vec![key], vec![key, 0]));
    assert!(
        run.streams[other]
            .events
            .iter()
            .any(|event| matches!(event, Event::End { key: ended, .. } if *ended == key))
    );
    // The task: the pointer that one puts and the other is returned. The same number is another key than the interval's only by
    // its kind.
    let task = |thread: usize, enqueue: bool| {
        run.streams[thread]
            .events
            .iter()
            .find_map(|event| match event {
                Event::Enqueue {
                    object: (Kind::Task, key),
                    ..
                } if enqueue => Some(*key),
                Event::Dequeue {
                    object: (Kind::Task, key),
                    ..
                } if !enqueue => Some(*key),
                _ => None,
            })
    };
    assert_eq!(task(main, true), task(other, false));
    assert!(task(main, true).is_some());
    // The lock: waited for by the other, released by main, inside of the call `inside`, which was open then.
    // (main, whom nobody kept waiting, may have taken long enough to look as if it had waited.)
    let (waiter, wait) = run
        .waits(Kind::Named)
        .find(|&(thread, _)| thread == other)
        .unwrap();
    let wake = run.assert_woken(Kind::Named, waiter, wait, main);
    assert!(wait.start < wake.at && wake.at <= wait.end);
    let opens = run.streams[main]
        .events
        .iter()
        .find_map(|event| match event {
            Event::Wake {
                object: (Kind::Named, _),
                opens,
                ..
            } => Some(opens.clone()),
            _ => None,
        });
    let opens = opens.unwrap();
    assert_eq!(opens.len(), 1, "{opens:?}");
    let inside = run.streams[main]
        .events
        .iter()
        .find_map(|event| match event {
            Event::Call { probe, start, end } if *probe == opens[0].probe => Some((*start, *end)),
            _ => None,
        });
    let (start, end) = inside.expect("the call ended later and was recorded");
    assert_eq!(start, opens[0].start);
    assert!(start < wake.at && wake.at < end);
    // Calls outside of any interval of their thread's own are recorded, and named ones like any other: on the other thread
    // get, request_runs, lock_acquire, lock_release and request_ends.
    let calls = run.streams[other].events.iter();
    assert_eq!(
        calls
            .filter(|event| matches!(event, Event::Call { .. }))
            .count(),
        5
    );
}
