//! Running and not running, seen and not seen.

use evenkeel_wire::ObjectKind;
use evenkeel_wire::record::{Marker, Record};

use super::super::trace::{near, options};
use super::streams::*;
use crate::intervals::assembler::spans::{Off, SwitchedOut};
use crate::intervals::interval::{LeftOut, Reason};
use crate::profile::Activity;

fn off(start: u64, end: u64, off: Off) -> SwitchedOut {
    SwitchedOut {
        start,
        end,
        off,
        by: None,
    }
}

/// Blocked until this thread ended it.
fn until_woken(start: u64, end: u64, by: u64) -> SwitchedOut {
    SwitchedOut {
        by: Some(by),
        ..off(start, end, Off::Blocked)
    }
}

/// A spins 1010-1080 for a lock. Its holder is in g, is preempted 1020-1050 and releases the lock at 1060. A is
/// preempted 1055-1070, so it sees the release late. At 1090-1095 it is in a page fault. Holder during the wait: g
/// 1010-1020 and 1050-1060 = 20, preempted 30. A: preempted 1060-1070, spinning 1070-1080. A's preemption before 1060
/// cost nothing. Root: 1000-1010, 1080-1090, 1095-1100 = 25, page fault 5.
#[test]
fn a_preempted_spinner() {
    let a = stream()
        .begin(1000, "")
        .wait(1010, 1080, ObjectKind::Spin, 1)
        .end(1100, &[]);
    let holder = stream().wake(1060, ObjectKind::Spin, 1, &[(900, G)]);
    let mut analysis = following();
    analysis.switched_out(
        1,
        &[off(1055, 1070, Off::Preempted), off(1090, 1095, Off::Fault)],
    );
    analysis.switched_out(2, &[off(1020, 1050, Off::Preempted)]);
    run(&mut analysis, &[a, holder]);
    let wait = "waits: spin lock";
    let held = format!("{wait} > thread outside of intervals > g");
    assert_spent(
        &analysis.profile(&table(), &options()),
        &[
            ("", 25),
            ("page fault", 5),
            (wait, 10),
            (&format!("{wait} > runnable, waiting for a CPU"), 10),
            (&held, 20),
            (&format!("{held} > runnable, waiting for a CPU"), 30),
        ],
    );
}

/// One interval of 100 ticks. Running: root 10, lock 8. Blocked on others: g 20, their device 10. Woken: 5. Unexplained
/// waits: a lock 7 (blocked), a pipe 6 (outside), a timer 4, a file 3, a task 12. Without an announced wait: a page
/// fault 8, a device 4, unknown 3. Nothing is queued.
#[test]
fn what_the_time_was() {
    let a = stream()
        .begin(1000, "")
        .wait(1014, 1049, ObjectKind::Mutex, 1)
        .call(1010, 1053, LOCK)
        .wait(1053, 1060, ObjectKind::Mutex, 2)
        .wait(1060, 1066, ObjectKind::Pipe, 3)
        .wait(1066, 1070, ObjectKind::Timer, 0)
        .wait(1070, 1073, ObjectKind::File, 0)
        .wait(1073, 1085, ObjectKind::Task, 4)
        .end(1100, &[]);
    let holder = stream().wait(1020, 1030, ObjectKind::File, 0).wake(
        1044,
        ObjectKind::Mutex,
        1,
        &[(900, G)],
    );
    let mut analysis = following();
    let blocked = [
        1014..1049,
        1053..1060,
        1060..1066,
        1066..1070,
        1070..1073,
        1073..1085,
    ]
    .map(|time| off(time.start, time.end, Off::Blocked));
    analysis.switched_out(1, &blocked);
    let unannounced = [
        off(1085, 1093, Off::Fault),
        off(1093, 1097, Off::Device),
        off(1097, 1100, Off::Blocked),
    ];
    analysis.switched_out(1, &unannounced);
    run(&mut analysis, &[a, holder]);
    let profile = analysis.profile(&table(), &options());
    spent(&profile);
    let expected = [
        (Activity::Running, 18.0),
        (Activity::OffProcessor, 5.0),
        (Activity::Blocked, 37.0),
        (Activity::Device, 7.0),
        (Activity::Fault, 8.0),
        (Activity::Outside, 6.0),
        (Activity::Asleep, 3.0),
        (Activity::Timer, 4.0),
        (Activity::Idle, 12.0),
    ];
    let found: Vec<_> = profile
        .time_spent
        .iter()
        .map(|line| (line.activity, line.mean_ns))
        .collect();
    assert_eq!(found, expected);
    near(
        profile.time_spent.iter().map(|line| line.fraction).sum(),
        1.0,
    );
}

/// A write to a socket that had room, 1010-1040. The kernel reports a span at 1050-1060, and no sleep during the write.
#[test]
fn what_did_not_sleep_did_not_wait() {
    let a = stream()
        .begin(1000, "")
        .wait(1010, 1040, ObjectKind::Socket, 1)
        .end(1100, &[]);
    let mut analysis = following();
    analysis.switched_out(1, &[off(1050, 1060, Off::Preempted)]);
    run(&mut analysis, &[a]);
    let profile = analysis.profile(&table(), &options());
    assert_spent(&profile, &[("", 90), ("runnable, waiting for a CPU", 10)]);
}

/// No thread announced the end of the wait 1010-1090. The kernel saw that thread 2 made the waiter runnable at 1070.
/// Thread 2 was in h (1065-1080), called by g (1030-1095); neither is open at any mark. It ran k until 1025. It also
/// woke the waiter at 1020, too early. Woken: 20. Thread 2: h 1065-1070 = 5, g 1030-1065 = 35, k 1010-1025 = 15, no
/// call 1025-1030 = 5.
#[test]
fn a_waker_that_only_the_kernel_saw() {
    let a = stream()
        .begin(1000, "")
        .wait(1010, 1090, ObjectKind::Futex, 1)
        .end(1100, &[]);
    let waker = stream()
        .call(1001, 1025, K)
        .call(1065, 1080, H)
        .call(1030, 1095, G);
    let mut analysis = following();
    analysis.switched_out(1, &[until_woken(1012, 1020, 2), until_woken(1022, 1070, 2)]);
    run(&mut analysis, &[a, waker]);
    let profile = analysis.profile(&table(), &options());
    let other = "waits: futex > thread outside of intervals";
    assert_spent(
        &profile,
        &[
            ("", 20),
            ("waits: futex > woken, not yet running", 20),
            (other, 5),
            (&format!("{other} > g"), 35),
            (&format!("{other} > g > h"), 5),
            (&format!("{other} > k"), 15),
        ],
    );
    assert_eq!(profile.waits[0].holder_calls, ["g [root+2]", "h [g+1]"]);
}

/// A wait that timed out at 1090. Thread 2 woke the waiter spuriously at 1040, so it did not end the wait.
#[test]
fn a_wake_up_that_did_not_end_the_wait() {
    let a = stream()
        .begin(1000, "")
        .wait(1010, 1090, ObjectKind::Timer, 1)
        .end(1100, &[]);
    let waker = stream().call(1030, 1095, G);
    let mut analysis = following();
    let sleeps = [until_woken(1011, 1040, 2), off(1042, 1089, Off::Blocked)];
    analysis.switched_out(1, &sleeps);
    run(&mut analysis, &[a, waker]);
    let profile = analysis.profile(&table(), &options());
    assert_spent(&profile, &[("", 20), ("waits: timer", 80)]);
}

/// No call announces a wait. In f (1005-1095) the thread sleeps 1010-1060 until thread 2 wakes it, and runs only at
/// 1065. Thread 2 is in g and slept until 1030, when thread 3 woke it. Thread 3 is in h, and before in no call. Then f
/// sleeps 1070-1080, and its waker is unknown. Root: 10. Own time of f: 1005-1010, 1065-1070 and 1080-1095 = 25, no
/// processor 5, asleep 10. Thread 2: g 1035-1060 = 25, no processor 1030-1035 = 5. Thread 3: h 1015-1030 = 15, no call
/// 1010-1015 = 5.
#[test]
fn sleeps_that_no_call_announced_are_followed() {
    let a = stream().begin(1000, "").call(1005, 1095, F).end(1100, &[]);
    let second = stream().call(1003, 1098, G);
    let third = stream().call(1015, 1040, H);
    let mut analysis = following();
    let of_first = [
        until_woken(1010, 1060, 2),
        off(1060, 1065, Off::Preempted),
        off(1070, 1080, Off::Blocked),
    ];
    analysis.switched_out(1, &of_first);
    analysis.switched_out(
        2,
        &[until_woken(1004, 1030, 3), off(1030, 1035, Off::Preempted)],
    );
    run(&mut analysis, &[a, second, third]);
    let profile = analysis.profile(&table(), &options());
    let wait = "waits: something unannounced > thread outside of intervals";
    assert_spent(
        &profile,
        &[
            ("", 10),
            ("f", 25),
            ("f > runnable, waiting for a CPU", 5),
            ("f > off-CPU", 10),
            (&format!("f > {wait} > g"), 25),
            (&format!("f > {wait} > g > runnable, waiting for a CPU"), 5),
            (&format!("f > {wait} > g > {wait} > h"), 15),
            (&format!("f > {wait} > g > {wait}"), 5),
        ],
    );
    let line = &profile.waits[0];
    assert_eq!((line.count, line.mean_ns), (1, 50.0));
    assert_eq!(line.waiter_calls, ["f [root+1]"]);
    assert_eq!(line.holder_calls, ["g [root+2]"]);
    let blocked = profile
        .time_spent
        .iter()
        .find(|line| line.activity == Activity::Blocked);
    assert_eq!(blocked.unwrap().mean_ns, 50.0);
}

/// The same, but all records of the waker were dropped.
#[test]
fn a_sleep_ended_by_a_forgotten_thread() {
    let a = stream().begin(1000, "").call(1005, 1095, F).end(1100, &[]);
    let mut analysis = following();
    analysis.switched_out(1, &[until_woken(1010, 1060, 9)]);
    run(&mut analysis, &[a]);
    let profile = analysis.profile(&table(), &options());
    let unseen = "f > waits: something unannounced > not seen";
    assert_spent(&profile, &[("", 10), ("f", 40), (unseen, 50)]);
}

/// A waker's time before a gap in its records, or before its oldest record, is not seen. The interval is kept.
#[test]
fn a_gap_of_the_waker() {
    let a = stream()
        .begin(1000, "")
        .wait(1010, 1090, ObjectKind::Mutex, 1)
        .end(1100, &[]);
    let mut holder = stream().call(1020, 1040, H);
    holder.0.push(Record::marker(Marker::Gap, 1050, 3));
    let holder = holder.wake(1080, ObjectKind::Mutex, 1, &[(1045, G)]);
    let wait = "waits: mutex";
    assert_spent(
        &profile_of(&[a, holder]),
        &[
            ("", 20),
            (&format!("{wait} > woken, not yet running"), 10),
            (&format!("{wait} > thread outside of intervals > g"), 30),
            (&format!("{wait} > not seen"), 40),
        ],
    );
}

/// A gap of the interval's own records costs the interval, wherever it works.
#[test]
fn gaps_of_its_own_cost_an_interval() {
    let gap = |at| Record::marker(Marker::Gap, at, 1);
    let mut home = stream().begin(1000, "");
    home.0.push(gap(1010));
    let home = home.end(1020, &[]);
    let mut keyed = stream().begin_keyed(1000, 5, "");
    keyed.0.push(gap(1010));
    let keyed = keyed.end_keyed(1020, 5, &[]);
    let profile = profile_of(&[home, keyed]);
    let lost = LeftOut::Known(Reason::RecordsLost);
    assert_eq!(
        (profile.intervals, profile.discarded_by_reason[&lost]),
        (0, 2)
    );
}

/// An interval that filled the ring with its calls is crowded. It went on for as long as they took, and so had twice as
/// many. An interval of few calls lost its records to the profiler's delay.
#[test]
fn few_calls_do_not_crowd_an_interval() {
    let crowded_by = |calls: u64| {
        let mut lossy = stream().begin(1000, "");
        for call in 0..calls {
            lossy = lossy.call(1001 + 2 * call, 1002 + 2 * call, F);
        }
        lossy
            .0
            .push(Record::marker(Marker::Gap, 1000 + 2 * calls, 1));
        let mut analysis = following();
        run(&mut analysis, &[lossy.end(1000 + 4 * calls, &[])]);
        let look = analysis.look(&table(), &options());
        let calls = look.crowded.calls.values().sum::<u64>();
        (look.crowded.intervals, calls, look.crowded_part)
    };
    assert_eq!(crowded_by(1000), (0, 0, 0.0));
    assert_eq!(crowded_by(30_000), (1, 60_000, 1.0));
}

/// In the end the interval of key 5 may have ended in the gap, on whatever thread; that of key 6 has not.
#[test]
fn an_end_among_what_was_lost() {
    let begun = stream().begin_keyed(1000, 5, "").begin_keyed(1020, 6, "");
    let mut ending = stream();
    ending.0.push(Record::marker(Marker::Gap, 1010, 1));
    let profile = profile_of(&[begun, ending]);
    let lost = LeftOut::Known(Reason::RecordsLost);
    assert_eq!(
        (
            profile.intervals_seen,
            profile.discarded_by_reason.get(&lost)
        ),
        (1, Some(&1))
    );
}

/// An interval under two plans is left out; one without probes only measures what they cost.
#[test]
fn plans_and_bypassed_intervals() {
    let ended = stream()
        .begin_keyed(1000, 5, "")
        .end_keyed_under(2, 1010, 5, &[]);
    let bypassed = [
        Record::marker(Marker::Begin, 1000, 1 << 1),
        Record::marker(Marker::End, 1010, 1 << 1),
    ];
    let mut analysis = following();
    analysis.push(9, &bypassed);
    run(&mut analysis, &[ended]);
    let profile = analysis.profile(&table(), &options());
    assert_eq!((profile.intervals, profile.intervals_seen), (0, 2));
    let changed = LeftOut::Known(Reason::PlanChanged);
    assert_eq!(profile.discarded_by_reason[&changed], 1);
}
