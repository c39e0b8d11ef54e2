//! Every object that one thread can wait for and another can supply. The waiter records the wait, and the other
//! thread the wake, with one key. That also holds between processes that have the object at different addresses or
//! under different numbers.
//!
//! In all of `handover.c` main supplies, once the other thread sleeps. Of all wakes of the key by other threads, the
//! last before the wait's end must be main's, at a time when the other thread waited.

mod harness;

use evenkeel_wire::ObjectKind;
use harness::{How, Run, run};

#[track_caller]
fn hand_over(what: &str, between: &str) -> Run {
    let how = How {
        waits: true,
        arguments: &[what, between],
        ..How::default()
    };
    let run = run("handover", &how);
    assert_eq!(run.stdout(), "handed over\n");
    run
}

/// The wait of the other thread or process, and main's wake.
#[track_caller]
fn assert_handed_over(what: &str, between: &str, kind: ObjectKind) {
    let run = hand_over(what, between);
    let threads = run.threads();
    assert_eq!(threads.len(), 2, "{what} between {between}: {threads:#?}");
    let index = run.by_tid();
    let (main, other) = (index[&threads[0].tid], index[&threads[1].tid]);
    assert_eq!(threads[0].creation(), None);
    assert!(threads[1].creation().is_some(), "{threads:#?}");
    assert_eq!(threads[0].pid == threads[1].pid, between == "thread");
    let waits: Vec<_> = run
        .waits(kind)
        .filter(|&(thread, _)| thread == other)
        .collect();
    assert_eq!(
        waits.len(),
        1,
        "{what} between {between}: {:#?}",
        run.streams
    );
    let wait = waits[0].1;
    let wake = run.assert_woken(kind, other, wait, main);
    assert!(
        wait.start < wake.at && wake.at <= wait.end,
        "{wait:?} {wake:?}"
    );
}

macro_rules! handed_over {
    ($($name:ident: $what:literal, $kind:ident, $($between:literal),+;)*) => {$(
        #[test]
        fn $name() {
            $(assert_handed_over($what, $between, ObjectKind::$kind);)+
        }
    )*};
}

handed_over! {
    mutex: "mutex", Mutex, "thread", "process";
    mutex_with_a_time_limit: "mutex-timed", Mutex, "thread", "process";
    rwlock_to_read: "rwlock-read", ReadWrite, "thread", "process";
    rwlock_to_write: "rwlock-write", ReadWrite, "thread", "process";
    condition: "condition", Condition, "thread", "process";
    broadcast: "broadcast", Condition, "thread", "process";
    barrier: "barrier", Barrier, "thread", "process";
    spin_lock: "spin", Spin, "thread", "process";
    semaphore: "semaphore", Semaphore, "thread", "process";
    semaphore_with_a_name: "semaphore-named", Semaphore, "thread", "process";
    futex: "futex", Futex, "thread", "process";
    futex_of_one_process: "futex-private", Futex, "thread";
    pipe: "pipe", Pipe, "thread", "process";
    room_in_a_pipe: "pipe-room", Pipe, "thread", "process";
    end_of_a_pipe: "pipe-end", Pipe, "process";
    fifo: "fifo", Pipe, "thread", "process";
    socketpair: "socketpair", Socket, "thread", "process";
    unix_socket: "unix", Socket, "thread", "process";
    tcp_socket: "tcp", Socket, "thread", "process";
    tcp_socket_under_a_number_of_another: "tcp-again", Socket, "thread", "process";
    accept: "accept", Socket, "thread", "process";
    event: "event", Event, "thread", "process";
    signal: "signal", Signal, "thread", "process";
    signal_descriptor: "signalfd", Signal, "thread", "process";
    posix_queue: "mq", MessageQueue, "thread", "process";
    system_v_queue: "msg", MessageQueue, "thread", "process";
    system_v_semaphore: "sem", Semaphore, "thread", "process";
    poll: "poll", Poll, "thread", "process";
    select: "select", Poll, "thread", "process";
    epoll: "epoll", Poll, "thread", "process";
}

/// The standard library of C++ waits by the `futex` system call, or by the C library.
#[test]
fn standard_library() {
    let cases = [
        ("atomic", ObjectKind::Futex),
        ("semaphore", ObjectKind::Futex),
        ("future", ObjectKind::Futex),
        ("condition", ObjectKind::Condition),
    ];
    for (what, kind) in cases {
        let how = How {
            waits: true,
            arguments: &[what],
            ..How::default()
        };
        let run = run("standard", &how);
        assert_eq!(run.stdout(), "handed over\n");
        let index = run.by_tid();
        let [main, other] = [0, 1].map(|n| index[&run.threads()[n].tid]);
        let waits: Vec<_> = run
            .waits(kind)
            .filter(|&(thread, _)| thread == other)
            .collect();
        assert_eq!(waits.len(), 1, "{what}: {:#?}", run.streams);
        run.assert_woken(kind, other, waits[0].1, main);
    }
}

#[test]
fn the_end_of_a_child() {
    // main waits for its child, who says before it ends that it does.
    let run = hand_over("pipe", "process");
    let (waiter, wait) = run.the_wait(ObjectKind::Child);
    let child = run.by_tid()[&run.threads()[1].tid];
    run.assert_woken(ObjectKind::Child, waiter, wait, child);
}

/// A writer to an event descriptor wakes and waits for nobody, however long the system call takes.
#[test]
fn an_event_is_given_without_a_wait() {
    for _ in 0..8 {
        let run = hand_over("event", "thread");
        let main = run.by_tid()[&run.threads()[0].tid];
        let waits: Vec<_> = run.waits(ObjectKind::Event).collect();
        assert!(waits.iter().all(|&(thread, _)| thread != main), "{waits:?}");
    }
}

#[test]
fn a_condition_is_also_a_wait_for_its_mutex() {
    let run = hand_over("condition", "thread");
    let objects = run.all().find_map(|(_, event)| match event {
        harness::events::Event::Wait { objects, .. } if objects[0].0 == ObjectKind::Condition => {
            Some(objects.clone())
        }
        _ => None,
    });
    let objects = objects.unwrap();
    assert_eq!(objects.len(), 2, "{objects:?}");
    assert_eq!(objects[1].0, ObjectKind::Mutex);
    // main signals while it holds the mutex, and releases it then: both are recorded.
    assert!(
        run.wakes(ObjectKind::Mutex)
            .any(|(_, wake)| wake.key == objects[1].1)
    );
}
