//! Who holds what an interval waits for: the thread that releases it, what that one does, and what it is for.

use evenkeel_wire::Kind;

use super::streams::*;
use crate::intervals::switched_out::{Off, SwitchedOut};
use crate::tests::trace::{child, near, options};

const POLL: &str = "waits: any of several descriptors";
const IDLE: &str = "holder idle in transaction";

/// Interval 1000 to 3100, in f 1010 to 3090. PostgreSQL's wait for a lock: a timer's signal ends the first wait, 1020-2020, the thread looks
/// for deadlocks, and waits on, 2030-3080, until a background thread, in g since 900, releases it at 3070.
///   f's own: 1010-1020, 2020-2030, 3080-3090 = 30; woken 3070-3080 = 10; g 1020-2020 and 2030-3070 = 2040
#[test]
fn a_timer_does_not_end_a_wait_that_goes_on() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1020, 2020, Kind::Signal, 9)
        .wait(2030, 3080, Kind::Poll, 5)
        .call(1010, 3090, F)
        .end(3100, &[]);
    let holder = stream().wake(3070, Kind::Signal, 5, &[(900, G)]);
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

/// A queue: interval 1000 to 1500 waits 1020-1220 and, after the timer, 1230-1480 for thread 2. That one waits itself, in the same two parts,
/// 1010-1210 and 1215-1460, for thread 3, which is in k. When the timer strikes the first, the second is in the middle of a wait.
#[test]
fn a_queue_of_waits_that_go_on_leads_to_its_head() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1020, 1220, Kind::Signal, 9)
        .wait(1230, 1480, Kind::Poll, 5)
        .end(1500, &[]);
    let second = stream()
        .wait(1010, 1210, Kind::Signal, 10)
        .wait(1215, 1460, Kind::Poll, 6)
        .wake(1470, Kind::Signal, 5, &[(900, G)]);
    let head = stream().wake(1450, Kind::Signal, 6, &[(800, K)]);
    let profile = profile_of(&[waiter, second, head]);
    let spent = spent(&profile);
    let of = |name: &str| {
        let paths = spent.iter().filter(|(path, _)| path.ends_with(name));
        paths.map(|(_, ticks)| ticks).sum::<i64>()
    };
    // 1020-1210 and 1215-1220, 1230-1450: all but what thread 2 runs for, and what is woken.
    assert_eq!(of("> k"), 190 + 5 + 220, "{spent:?}");
    assert!(
        spent.keys().all(|path| !path.contains("signal")),
        "{spent:?}"
    );
}

/// The same in slices of time, as MariaDB waits for metadata locks: waits for condition 7 end by their limits at 1110 and 1210, and the
/// third by thread 2 at 1290.
#[test]
fn slices_of_one_wait_end_with_the_last() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1110, Kind::Timer, 7)
        .wait(1112, 1210, Kind::Timer, 7)
        .wait(1212, 1300, Kind::Condition, 7)
        .end(1310, &[]);
    let holder = stream().wake(1290, Kind::Condition, 7, &[(900, G)]);
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

/// A sleep in k, or one long before, is another wait: nobody holds it.
#[test]
fn a_sleep_before_a_wait_is_none_of_it() {
    let slept_elsewhere = stream()
        .begin(1000, "")
        .wait(1020, 1120, Kind::Signal, 9)
        .call(1010, 1130, K)
        .wait(1132, 1180, Kind::Poll, 5)
        .call(1131, 1190, F)
        .end(1200, &[]);
    let slept_before = stream()
        .begin(1000, "")
        .wait(1020, 1070, Kind::Timer, 0)
        .wait(1120, 1180, Kind::Mutex, 5)
        .end(1200, &[]);
    for (waiter, kind, slept) in [
        (slept_elsewhere, Kind::Signal, ("k > waits: signal", 100)),
        (slept_before, Kind::Mutex, ("waits: timer", 50)),
    ] {
        let holder = stream().wake(1170, kind, 5, &[(900, G)]);
        let profile = profile_of(&[waiter, holder]);
        assert_eq!(spent(&profile).get(slept.0), Some(&slept.1));
    }
}

/// A commit, 1000 to 2100, waits 1010-2080 for a standby; the walsender wakes it at 2050. Before that the walsender waits twice for what
/// comes first: at 1600 a session, which waits for its client, has woken it; at 2000 the standby has answered.
#[test]
fn a_wait_for_a_standby_ends_at_the_socket_to_it() {
    let commit = stream()
        .begin(1000, "")
        .wait(1010, 2080, Kind::Poll, 5)
        .call(1005, 2090, F)
        .end(2100, &[]);
    let session = stream()
        .wait(900, 1580, Kind::Poll, 8)
        .wake(1590, Kind::Signal, 6, &[(1585, G)]);
    let walsender = |last: Option<u64>| {
        stream()
            .wait(1500, 1600, Kind::Poll, 6)
            .wait(1700, 2000, Kind::Poll, last.unwrap_or(77))
            .wake(2050, Kind::Signal, 5, &[])
    };
    // Whatever woke it last: an answer may come while it is awake.
    for last in [None, Some(6)] {
        let mut analysis = following();
        analysis.name_thread(3, "postgres: walsender rep [local] streaming 3".into());
        let session = session.clone().wake(1990, Kind::Signal, 6, &[(1985, G)]);
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

/// Interval 1000 to 1200 waits 1010-1190 for lock 1. Its holder's statement ends at 1020; then it waits for its client, 1025-1150, whose
/// next statement, 1155-1185, releases the lock at 1180.
#[test]
fn a_holder_that_waits_for_its_client_is_idle_in_transaction() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1190, Kind::Mutex, 1)
        .call(1005, 1195, LOCK)
        .end(1200, &[]);
    let holder = stream()
        .begin(900, "")
        .call(905, 1015, F)
        .end(1020, &[])
        .wait(1025, 1150, Kind::Poll, 8)
        .begin(1155, "")
        .wake(1180, Kind::Mutex, 1, &[(1160, F)])
        .call(1160, 1182, F)
        .end(1185, &[]);
    let mut analysis = following();
    run(&mut analysis, &[waiter, holder]);
    let profile = analysis.profile(&table(), &options());
    let path = ["lock", "waits: mutex", "thread outside of intervals", IDLE];
    let idle = path
        .iter()
        .fold(&profile.tree, |node, name| child(node, name));
    near(3.0 * idle.mean_ns, 125.0);
}

/// The holder's interval began while none were recorded: its call of f shows that it is one, since recorded intervals call f themselves.
/// What the thread does in no such call is not known to be an interval's.
#[test]
fn an_interval_that_is_not_recorded_is_not_taken_for_none() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1090, Kind::Mutex, 1)
        .call(1092, 1094, F)
        .end(1100, &[]);
    let holder = stream()
        .call(900, 1030, F)
        .call(1040, 1050, K)
        .wake(1080, Kind::Mutex, 1, &[(1060, F), (1070, UNLOCK)])
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
    // Both views call it the same.
    let holder = profile.waits[0].holder.as_deref();
    assert_eq!(holder, Some("interval that was not recorded"));
}

/// A send that sleeps for a device, as the kernel says, waits for the file that it sends.
#[test]
fn a_send_that_sleeps_for_a_device_waits_for_a_file() {
    let sends = stream()
        .begin(1000, "")
        .wait(1010, 1090, Kind::Socket, 1)
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
