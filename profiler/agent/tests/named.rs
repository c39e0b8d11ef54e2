//! Functions that the plan names: locks, queues and intervals without the C library's part and without annotations.

mod harness;

use evenkeel_wire::plan::KEY_RETURNED;
use evenkeel_wire::{Label, Members, ObjectKind, Role};
use harness::events::Event;
use harness::plan::{Hook, Hooks};
use harness::{How, Run, run};

/// The ways from a task to the line of its text, and to its status.
const LINE: Members = Members::through(&[8, 0]).unwrap();
const STATUS: Members = Members::through(&[4]).unwrap();
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
    Hook {
        label: Label::Request,
        label_members: LINE,
        ..Hook::new("request_runs", Role::Work)
    },
    Hook {
        label: Label::Int,
        label_members: STATUS,
        ..Hook::new("request_ends", Role::EndKeyed)
    },
    Hook::new("inside", Role::Inner),
];

/// Main and the thread that it creates, as indices of the run's streams.
struct Threads {
    main: usize,
    other: usize,
}

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
    let threads = Threads {
        main: index[&threads[0].tid],
        other: index[&threads[1].tid],
    };
    assert_interval_moves(&run, &threads);
    assert_task_is_handed_over(&run, &threads);
    assert_lock_is_released_inside(&run, &threads);
    // Calls outside of any interval of their thread are recorded, and named ones like any other: on the other thread
    // get, request_runs, lock_acquire, lock_release and request_ends.
    let calls = run.streams[threads.other].events.iter();
    let calls = calls.filter(|event| matches!(event, Event::Call { .. }));
    assert_eq!(calls.count(), 5);
}

/// main begins it and works on it, then the other thread works on it and ends it.
#[track_caller]
fn assert_interval_moves(run: &Run, threads: &Threads) {
    let mut events = run.streams[threads.main].events.iter();
    let begun = events.find_map(|event| match event {
        Event::Begin { key, label, .. } => Some((*key, label.clone())),
        _ => None,
    });
    let (key, label) = begun.unwrap_or_else(|| panic!("main begins it: {:#?}", run.streams));
    assert_eq!(label, "select");
    let works = |thread: usize| -> Vec<u64> {
        let events = run.streams[thread].events.iter();
        let works = events.filter_map(|event| match event {
            Event::Work { key, .. } => Some(*key),
            _ => None,
        });
        works.collect()
    };
    assert_eq!(works(threads.main), [key]);
    assert_eq!(works(threads.other), [key, 0]);
    let classes = run.streams[threads.other].events.iter();
    let classes = classes.filter_map(|event| match event {
        Event::Class { key, name } => Some((*key, name.as_str())),
        _ => None,
    });
    // What it is is known when the other thread works on it, and how it ended as it ends.
    assert_eq!(classes.collect::<Vec<_>>(), [(key, "GET /a"), (key, "404")]);
    let mut events = run.streams[threads.other].events.iter();
    assert!(events.any(|event| matches!(event, Event::End { key: ended, .. } if *ended == key)));
}

/// The pointer that one puts and the other is returned. The same number is another key than the interval's only by its kind.
#[track_caller]
fn assert_task_is_handed_over(run: &Run, threads: &Threads) {
    let task = |thread: usize, enqueue: bool| {
        let mut events = run.streams[thread].events.iter();
        events.find_map(|event| match event {
            Event::Enqueue {
                object: (ObjectKind::Task, key),
                ..
            } if enqueue => Some(*key),
            Event::Dequeue {
                object: (ObjectKind::Task, key),
                ..
            } if !enqueue => Some(*key),
            _ => None,
        })
    };
    assert_eq!(task(threads.main, true), task(threads.other, false));
    assert!(task(threads.main, true).is_some());
}

/// The other thread waits for it, and main releases it inside of the call `inside`, which was open then. (main did
/// not have to wait, but may have taken long enough to look as if it had.)
#[track_caller]
fn assert_lock_is_released_inside(run: &Run, threads: &Threads) {
    let mut waits = run.waits(ObjectKind::Named);
    let (waiter, wait) = waits.find(|&(thread, _)| thread == threads.other).unwrap();
    let wake = run.assert_woken(ObjectKind::Named, waiter, wait, threads.main);
    assert!(wait.start < wake.at && wake.at <= wait.end);
    let mut events = run.streams[threads.main].events.iter();
    let opens = events.find_map(|event| match event {
        Event::Wake {
            object: (ObjectKind::Named, _),
            opens,
            ..
        } => Some(opens.clone()),
        _ => None,
    });
    let opens = opens.unwrap();
    assert_eq!(opens.len(), 1, "{opens:?}");
    let mut events = run.streams[threads.main].events.iter();
    let inside = events.find_map(|event| match event {
        Event::Call { probe, start, end } if *probe == opens[0].probe => Some((*start, *end)),
        _ => None,
    });
    let (start, end) = inside.expect("the call ended later and was recorded");
    assert_eq!(start, opens[0].start);
    assert!(start < wake.at && wake.at < end);
}
