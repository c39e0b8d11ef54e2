//! Holders of the waits of an interval: the waker, its activity, and the interval that it serves.

use std::collections::BTreeMap;

use evenkeel_wire::ObjectKind;
use evenkeel_wire::waits::POLL_LIMIT;

use super::streams::*;
use crate::intervals::switched_out::{Off, SwitchedOut};
use crate::tests::trace::{child, near, options};

const POLL: &str = "waits: any of several descriptors";

/// Interval 1000 to 3100, in f 1010 to 3090, waits as PostgreSQL waits for a lock. A timer's signal ends the first
/// wait, 1020-2020, and the thread looks for deadlocks. It waits again, 2030-3080, until a background thread, in g
/// since 900, releases the lock at 3070. Own time of f: 1010-1020, 2020-2030, 3080-3090 = 30. Woken: 3070-3080 = 10. g:
/// 1020-2020 and 2030-3070 = 2040.
#[test]
fn a_timer_does_not_end_a_wait_that_goes_on() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1020, 2020, ObjectKind::Signal, 9)
        .wait(2030, 3080, ObjectKind::Poll, 5)
        .call(1010, 3090, F)
        .end(3100, &[]);
    let holder = stream().wake(3070, ObjectKind::Signal, 5, &[(900, G)]);
    let profile = profile_of(&[waiter, holder]);
    let wait = format!("f > {POLL}");
    assert_spent(
        &profile,
        &[
            ("", 20),
            ("f", 30),
            (&format!("{wait} > woken, not yet running"), 10),
            (&format!("{wait} > thread outside of intervals > g"), 2040),
        ],
    );
    let [line] = &profile.waits[..] else {
        panic!("{:?}", profile.waits)
    };
    assert_eq!((line.count, line.total_ns), (2, 2050.0));
}

/// The same where the thread looks at its descriptors once more at 2025, behind the timer's signal: one tick.
#[test]
fn a_look_at_descriptors_does_not_divide_a_wait() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1020, 2020, ObjectKind::Signal, 9)
        .wait(2025, 2026, ObjectKind::Poll, 77)
        .wait(2030, 3080, ObjectKind::Poll, 5)
        .call(1010, 3090, F)
        .end(3100, &[]);
    let holder = stream().wake(3070, ObjectKind::Signal, 5, &[(900, G)]);
    let wait = format!("f > {POLL}");
    assert_spent(
        &profile_of(&[waiter, holder]),
        &[
            ("", 20),
            ("f", 29),
            (&wait, 1),
            (&format!("{wait} > woken, not yet running"), 10),
            (&format!("{wait} > thread outside of intervals > g"), 2040),
        ],
    );
}

/// A queue. Interval 1000 to 1500 waits for thread 2, 1020-1220 and, after the timer, 1230-1480. Thread 2 waits for
/// thread 3, which is in k, also in two parts, 1010-1210 and 1215-1460. When the interval's timer fires, thread 2 is
/// awake or in the middle of a wait.
#[test]
fn a_queue_of_waits_that_go_on_leads_to_its_head() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1020, 1220, ObjectKind::Signal, 9)
        .wait(1230, 1480, ObjectKind::Poll, 5)
        .end(1500, &[]);
    let second = stream()
        .wait(1010, 1210, ObjectKind::Signal, 10)
        .wait(1215, 1460, ObjectKind::Poll, 6)
        .wake(1470, ObjectKind::Signal, 5, &[(900, G)]);
    let head = stream().wake(1450, ObjectKind::Signal, 6, &[(800, K)]);
    let profile = profile_of(&[waiter, second, head]);
    let spent = spent(&profile);
    let of = |name: &str| {
        let paths = spent.iter().filter(|(path, _)| path.ends_with(name));
        paths.map(|(_, ticks)| ticks).sum::<i64>()
    };
    // k: 1020-1210, 1215-1220 and 1230-1450. The rest is thread 2's running time, and woken time.
    assert_eq!(of("> k"), 190 + 5 + 220, "{spent:?}");
    assert!(
        spent.keys().all(|path| !path.contains("signal")),
        "{spent:?}"
    );
}

/// A wait in slices of time, as MariaDB waits for metadata locks. The waits for condition 7 time out at 1110 and 1210.
/// Thread 2 ends the third one at 1290.
#[test]
fn slices_of_one_wait_end_with_the_last() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1110, ObjectKind::Timer, 7)
        .wait(1112, 1210, ObjectKind::Timer, 7)
        .wait(1212, 1300, ObjectKind::Condition, 7)
        .end(1310, &[]);
    let holder = stream().wake(1290, ObjectKind::Condition, 7, &[(900, G)]);
    let wait = "waits: condition variable";
    assert_spent(
        &profile_of(&[waiter, holder]),
        &[
            ("", 24),
            (&format!("{wait} > woken, not yet running"), 10),
            (&format!("{wait} > thread outside of intervals > g"), 276),
        ],
    );
}

/// An event loop with a time limit, 1010-1110 and 1112-1212, until something arrives from outside at 1300. All of it is
/// one wait for that. A sleep is none of it, and neither is a loop's wait that nothing but the limit ended.
#[test]
fn a_poll_in_slices_waits_for_what_arrives() {
    let polls = |limit: u64, last: ObjectKind| {
        let waiter = stream()
            .begin(1000, "")
            .wait(1010, 1110, ObjectKind::Timer, limit)
            .wait(1112, 1212, ObjectKind::Timer, limit)
            .wait(1214, 1300, last, limit)
            .end(1310, &[]);
        spent(&profile_of(&[waiter]))
    };
    let waits = |kind: &str, ticks| (format!("waits: {kind}"), ticks);
    let any = "any of several descriptors";
    let all = |spent: BTreeMap<String, i64>| {
        let waits = spent
            .into_iter()
            .filter(|(path, _)| path.starts_with("waits"));
        waits.collect::<Vec<_>>()
    };
    assert_eq!(all(polls(POLL_LIMIT, ObjectKind::Poll)), [waits(any, 286)]);
    let slept = all(polls(0, ObjectKind::Poll));
    assert_eq!(slept, [waits(any, 86), waits("timer", 200)]);
    let limits = all(polls(POLL_LIMIT, ObjectKind::Timer));
    assert_eq!(limits, [waits("timer", 286)]);
}

/// A sleep in k, or a sleep long before, is a separate wait without a holder.
#[test]
fn a_sleep_before_a_wait_is_none_of_it() {
    let slept_elsewhere = stream()
        .begin(1000, "")
        .wait(1020, 1120, ObjectKind::Signal, 9)
        .call(1010, 1130, K)
        .wait(1132, 1180, ObjectKind::Poll, 5)
        .call(1131, 1190, F)
        .end(1200, &[]);
    let slept_before = stream()
        .begin(1000, "")
        .wait(1020, 1070, ObjectKind::Timer, 0)
        .wait(1120, 1180, ObjectKind::Mutex, 5)
        .end(1200, &[]);
    for (waiter, kind, slept) in [
        (
            slept_elsewhere,
            ObjectKind::Signal,
            ("k > waits: signal", 100),
        ),
        (slept_before, ObjectKind::Mutex, ("waits: timer", 50)),
    ] {
        let holder = stream().wake(1170, kind, 5, &[(900, G)]);
        let profile = profile_of(&[waiter, holder]);
        assert_eq!(spent(&profile).get(slept.0), Some(&slept.1));
    }
}

/// A commit, 1000 to 2100, waits 1010-2080 for a standby; the walsender wakes it at 2050. Before, the walsender waits
/// twice for any of its events. A session, which has waited for its client, wakes it from the first wait, and the
/// standby's answer ends the second one at 2000.
#[test]
fn a_wait_for_a_standby_ends_at_the_socket_to_it() {
    let commit = stream()
        .begin(1000, "")
        .wait(1010, 2080, ObjectKind::Poll, 5)
        .call(1005, 2090, F)
        .end(2100, &[]);
    let session = stream().wait(900, 1580, ObjectKind::Poll, 8).wake(
        1590,
        ObjectKind::Signal,
        6,
        &[(1585, G)],
    );
    let walsender = |last: Option<u64>| {
        stream()
            .wait(1500, 1600, ObjectKind::Poll, 6)
            .wait(1700, 2000, ObjectKind::Poll, last.unwrap_or(77))
            .wake(2050, ObjectKind::Signal, 5, &[])
    };
    // The last waker may be the session or the standby: an answer may arrive while the walsender is awake.
    for last in [None, Some(6)] {
        let mut analysis = following();
        analysis.name_thread(3, "postgres: walsender rep [local] streaming 3".into());
        let session = session
            .clone()
            .wake(1990, ObjectKind::Signal, 6, &[(1985, G)]);
        run(&mut analysis, &[commit.clone(), session, walsender(last)]);
        let profile = analysis.profile(&table(), &options());
        let wait = format!("f > {POLL}");
        assert_spent(
            &profile,
            &[
                ("", 15),
                ("f", 15),
                (&format!("{wait} > woken, not yet running"), 30),
                (&format!("{wait} > walsender"), 50),
                (
                    &format!("{wait} > walsender > waits: the other end of its connection"),
                    990,
                ),
            ],
        );
        let outside = profile
            .time_spent
            .iter()
            .find(|line| line.activity == crate::profile::Activity::Outside);
        assert_eq!(outside.map(|line| line.mean_ns), Some(990.0));
    }
}

/// Interval 1000 to 1200 waits 1010-1190 for lock 1. The statement of the lock's holder ends at 1020. The holder then
/// waits for its client, 1025-1150. The client's next statement, 1155-1185, releases the lock at 1180.
#[test]
fn a_holder_that_waits_for_its_client_is_idle_in_transaction_where_statements_are_served() {
    for (label, thread, expected) in [
        (
            "update t set a = a + 1",
            "one",
            "holder idle in transaction",
        ),
        (
            "INSERT INTO t VALUES (1)",
            "one",
            "holder idle in transaction",
        ),
        (
            "",
            "postgres: app shop [local] 12",
            "holder idle in transaction",
        ),
        ("", "one", "waits: its client"),
        ("GET /update/t", "one", "waits: its client"),
        ("set key", "one", "waits: its client"),
        ("select 0", "one", "waits: its client"),
    ] {
        holder_between_two(label, thread, expected);
    }
}

fn holder_between_two(label: &str, thread: &str, expected: &str) {
    let waiter = stream()
        .begin(1000, label)
        .wait(1010, 1190, ObjectKind::Mutex, 1)
        .call(1005, 1195, LOCK)
        .end(1200, &[]);
    let holder = stream()
        .begin(900, "")
        .call(905, 1015, F)
        .end(1020, &[])
        .wait(1025, 1150, ObjectKind::Poll, 8)
        .begin(1155, "")
        .wake(1180, ObjectKind::Mutex, 1, &[(1160, F)])
        .call(1160, 1182, F)
        .end(1185, &[]);
    let mut analysis = following();
    analysis.name_thread(2, thread.into());
    run(&mut analysis, &[waiter, holder]);
    let profile = analysis.profile(&table(), &options());
    let wait = child(child(&profile.tree, "lock"), "waits: mutex");
    let idle = wait.children.iter().find_map(|outside| {
        let mut idle = outside.children.iter();
        idle.find(|idle| idle.name == expected)
    });
    near(
        3.0 * idle.unwrap_or_else(|| panic!("{label}: {wait:?}")).mean_ns,
        125.0,
    );
}

/// The holder's interval began while intervals were skipped. Its call of f shows that it is an interval, since recorded
/// intervals call f themselves. The thread's time outside of such calls is not attributed to an interval.
#[test]
fn an_interval_that_is_not_recorded_is_not_taken_for_none() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1090, ObjectKind::Mutex, 1)
        .call(1092, 1094, F)
        .end(1100, &[]);
    let holder = stream()
        .call(900, 1030, F)
        .call(1040, 1050, K)
        .wake(1080, ObjectKind::Mutex, 1, &[(1060, F), (1070, UNLOCK)])
        .call(1070, 1082, UNLOCK)
        .call(1060, 1085, F);
    let wait = "waits: mutex";
    let unrecorded = format!("{wait} > interval that was not recorded");
    let profile = profile_of(&[waiter, holder]);
    assert_spent(
        &profile,
        &[
            ("", 18),
            ("f", 2),
            (&format!("{wait} > woken, not yet running"), 10),
            (&format!("{unrecorded} > f"), 30),
            (&format!("{unrecorded} > f > unlock"), 10),
            (&format!("{wait} > thread outside of intervals"), 20),
            (&format!("{wait} > thread outside of intervals > k"), 10),
        ],
    );
    // The table of waits uses the same name.
    let holder = profile.waits[0].holder.as_deref();
    assert_eq!(holder, Some("interval that was not recorded"));
}

/// A send that sleeps for a device, according to the kernel, waits for the file that it sends.
#[test]
fn a_send_that_sleeps_for_a_device_waits_for_a_file() {
    let sends = stream()
        .begin(1000, "")
        .wait(1010, 1090, ObjectKind::Socket, 1)
        .end(1100, &[]);
    for (off, expected) in [
        (Off::Device, "waits: file"),
        (Off::Blocked, "waits: socket"),
    ] {
        let mut analysis = following();
        let span = SwitchedOut {
            start: 1012,
            end: 1088,
            off,
            by: None,
        };
        analysis.switched_out(1, &[span]);
        run(&mut analysis, std::slice::from_ref(&sends));
        let profile = analysis.profile(&table(), &options());
        assert_eq!(spent(&profile)[expected], 80);
    }
}
