//! Waits that other threads end.

use evenkeel_wire::ObjectKind;

use super::streams::*;

/// Interval 1000 to 1100: f 1010 to 1090, in it lock 1020 to 1080, blocked 1022 to 1078. A background thread runs g
/// since 900, and in it h 1030 to 1050. It calls unlock at 1058, which releases the lock at 1060. Own: root 1000-1010
/// and 1090-1100, f 1010-1020 and 1080-1090, lock 1020-1022 and 1078-1080. Wait 1022-1078 = 56: woken 1060-1078 = 18, g
/// 1022-1030 and 1050-1058 = 16, h 20, unlock 1058-1060 = 2.
#[test]
fn a_lock_held_by_a_background_thread() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1022, 1078, ObjectKind::Mutex, 7)
        .call(1020, 1080, LOCK)
        .call(1010, 1090, F)
        .end(1100, &[]);
    let holder = stream()
        .call(1030, 1050, H)
        .wake(1060, ObjectKind::Mutex, 7, &[(900, G), (1058, UNLOCK)])
        .call(1058, 1062, UNLOCK)
        .call(900, 1200, G);
    let wait = "f > lock > waits: mutex";
    let held = format!("{wait} > thread outside of intervals > g");
    assert_spent(
        &profile_of(&[waiter, holder]),
        &[
            ("", 20),
            ("f", 20),
            ("f > lock", 4),
            (&format!("{wait} > woken, not yet running"), 18),
            (&held, 16),
            (&format!("{held} > h"), 20),
            (&format!("{held} > unlock"), 2),
        ],
    );
}

/// Interval 1000 to 1100 waits for the lock 1010-1040 and 1060-1090. A background thread, in g since 900, releases it
/// at 1038 and 1088. Its call of h, 1020-1065 inside of g, spans the first wait's end and the second's beginning. First
/// wait: g 1010-1020 = 10, h 1020-1038 = 18. Second wait: h 1060-1065 = 5, g 1065-1088 = 23. There are two waits, but g
/// and h were each called once.
#[test]
fn a_call_of_which_two_waits_meet_a_part() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1040, ObjectKind::Mutex, 1)
        .wait(1060, 1090, ObjectKind::Mutex, 1)
        .end(1100, &[]);
    let holder = stream()
        .wake(1038, ObjectKind::Mutex, 1, &[(900, G), (1020, H)])
        .call(1020, 1065, H)
        .wake(1088, ObjectKind::Mutex, 1, &[(900, G)]);
    let profile = profile_of(&[waiter, holder]);
    let wait = "waits: mutex";
    let held = format!("{wait} > thread outside of intervals");
    assert_spent(
        &profile,
        &[
            ("", 40),
            (&format!("{wait} > woken, not yet running"), 4),
            (&format!("{held} > g"), 33),
            (&format!("{held} > g > h"), 23),
        ],
    );
    let counted = [
        wait,
        &held,
        &format!("{held} > g"),
        &format!("{held} > g > h"),
    ]
    .map(|path| calls(&profile, path));
    assert_eq!(counted, [2.0, 2.0, 1.0, 1.0]);
}

/// A (1000 to 1100) waits 1010-1090 for lock 1. B holds it: its interval "pay" runs g since 1005 and releases lock 1 at
/// 1085. B waits 1020-1060 for lock 2 of a background thread, in h since 900, which releases it at 1058. A: root 10 +
///       10, woken 1085-1090 = 5. B during A's wait: g 1010-1020 and 1060-1085 = 35. Its own wait: woken 1058-1060 = 2,
///       h 1020-1058 = 38.
#[test]
fn a_hand_over_through_two_locks() {
    let a = stream()
        .begin(1000, "order")
        .wait(1010, 1090, ObjectKind::Mutex, 1)
        .end(1100, &[]);
    let b = stream()
        .begin(1001, "pay")
        .wait(1020, 1060, ObjectKind::Named, 2)
        .wake(1085, ObjectKind::Mutex, 1, &[(1005, G)]);
    let background = stream().wake(1058, ObjectKind::Named, 2, &[(900, H)]);
    let held = "waits: mutex > other interval: pay > g";
    let further = format!("{held} > waits: named lock");
    assert_spent(
        &profile_of(&[a, b, background]),
        &[
            ("", 20),
            ("waits: mutex > woken, not yet running", 5),
            (held, 35),
            (&format!("{further} > woken, not yet running"), 2),
            (&format!("{further} > thread outside of intervals > h"), 38),
        ],
    );
}

/// Interval 1000 to 1100 is in lock 1005-1095. It waits for the condition 1010-1030: the thread in g wakes it
/// spuriously at
/// 1028. It checks the condition 1030-1032, and waits again 1032-1070. The thread in h signals the condition at 1060,
///       and the thread in g releases the mutex at 1066. First wait: g 1010-1028 = 18, woken 2. Second wait: h
///       1032-1060 = 28, g 1060-1066 = 6, woken 4. Own time of lock: 1005-1010, 1030-1032, 1070-1095 = 32. Root: 5 + 5.
#[test]
fn a_condition_variable_with_a_spurious_wake_up() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1010, 1030, ObjectKind::Condition, 1)
        .wait_both(
            1032,
            1070,
            [(ObjectKind::Condition, 1), (ObjectKind::Mutex, 2)],
        )
        .call(1005, 1095, LOCK)
        .end(1100, &[]);
    let g = stream()
        .wake(1028, ObjectKind::Condition, 1, &[(900, G)])
        .wake(1066, ObjectKind::Mutex, 2, &[(900, G)]);
    let h = stream().wake(1060, ObjectKind::Condition, 1, &[(900, H)]);
    let wait = "lock > waits: condition variable";
    assert_spent(
        &profile_of(&[waiter, g, h]),
        &[
            ("", 10),
            ("lock", 32),
            (&format!("{wait} > thread outside of intervals > g"), 24),
            (&format!("{wait} > thread outside of intervals > h"), 28),
            (&format!("{wait} > woken, not yet running"), 6),
        ],
    );
}

/// A process waits 1010-1050 for bytes of another one, which writes at 1040 from f (since 1020). Before, the writer was
/// blocked on a device 1005-1020. The reader then polls, 1060-1090: bytes come at 1080 from g. The poll's key is the
/// descriptor found ready. Root: 1000-1010, 1050-1060, 1090-1100 = 30. Pipe: woken 10, f 1020-1040 = 20, the device
/// 1010-1020 = 10. Poll: woken 10, g 1060-1080 = 20.
#[test]
fn a_pipe_between_processes() {
    let reader = stream()
        .begin(1000, "")
        .wait(1010, 1050, ObjectKind::Pipe, 33)
        .wait(1060, 1090, ObjectKind::Poll, 33)
        .end(1100, &[]);
    let writer = stream()
        .wait(1005, 1020, ObjectKind::File, 0)
        .wake(1040, ObjectKind::Pipe, 33, &[(1020, F)])
        .call(1020, 1042, F)
        .wake(1080, ObjectKind::Pipe, 33, &[(1045, G)]);
    let other = "thread outside of intervals";
    assert_spent(
        &profile_of(&[reader, writer]),
        &[
            ("", 30),
            (&format!("waits: pipe > {other} > f"), 20),
            (&format!("waits: pipe > {other} > waits: file"), 10),
            ("waits: pipe > woken, not yet running", 10),
            (
                &format!("waits: any of several descriptors > {other} > g"),
                20,
            ),
            (
                "waits: any of several descriptors > woken, not yet running",
                10,
            ),
        ],
    );
}

/// None of these explains the wait: a release before it began, one by the thread itself, and one of another kind.
#[test]
fn what_no_edge_explains_stays_under_the_call() {
    let waiter = stream()
        .begin(1000, "")
        .wake(1005, ObjectKind::Mutex, 1, &[])
        .wait(1010, 1090, ObjectKind::Mutex, 1)
        .call(1008, 1092, LOCK)
        .end(1100, &[]);
    let others = stream()
        .wake(1009, ObjectKind::Mutex, 1, &[])
        .wake(1050, ObjectKind::Semaphore, 1, &[])
        .wake(1095, ObjectKind::Mutex, 1, &[]);
    assert_spent(
        &profile_of(&[waiter, others]),
        &[("", 16), ("lock", 4), ("lock > waits: mutex", 80)],
    );
}

/// A named lock that sleeps on a semaphore: 1010-1090 in all, asleep 1020-1050 and 1060-1080. The thread in g ends the
/// first sleep at 1045; the waker of the second is unknown. The thread in h releases the lock itself at 1070.
/// Semaphore: g 1020-1045 = 25, woken 5. The second sleep, 20, is unexplained. Around it: until 1070 h, 1010-1020 and
/// 1050-1060 = 20. Then 1080-1090 = 10, woken.
#[test]
fn a_lock_that_sleeps_on_another_object() {
    let waiter = stream()
        .begin(1000, "")
        .wait(1020, 1050, ObjectKind::Semaphore, 5)
        .wait(1060, 1080, ObjectKind::Semaphore, 5)
        .wait(1010, 1090, ObjectKind::Named, 9)
        .end(1100, &[]);
    let g = stream().wake(1045, ObjectKind::Semaphore, 5, &[(900, G)]);
    let h = stream().wake(1070, ObjectKind::Named, 9, &[(900, H)]);
    let named = "waits: named lock";
    let other = "thread outside of intervals";
    assert_spent(
        &profile_of(&[waiter, g, h]),
        &[
            ("", 20),
            (&format!("{named} > {other} > h"), 20),
            (&format!("{named} > woken, not yet running"), 10),
            (&format!("{named} > waits: semaphore > {other} > g"), 25),
            (
                &format!("{named} > waits: semaphore > woken, not yet running"),
                5,
            ),
            (&format!("{named} > waits: semaphore"), 20),
        ],
    );
}

/// Fourteen threads, each waiting for the next. The path follows twelve of them; the rest is not seen.
#[test]
fn a_chain_of_holders_is_followed_up_to_a_bound() {
    let mut streams = vec![
        stream()
            .begin(1000, "")
            .wait(1010, 1090, ObjectKind::Mutex, 1)
            .end(1100, &[]),
    ];
    for holder in 1..=13u64 {
        let since = 1010 + holder;
        streams.push(
            stream()
                .wait(since, 1090 - holder, ObjectKind::Mutex, holder + 1)
                .wake(1090 - holder, ObjectKind::Mutex, holder, &[]),
        );
    }
    let profile = profile_of(&streams);
    let spent = spent(&profile);
    let unseen = spent.iter().find(|(path, _)| path.ends_with("not seen"));
    let (path, &ticks) = unseen.expect("the bound was met");
    assert_eq!(
        path.matches("waits: mutex").count(),
        crate::critical::walk::HOPS_MAX + 1
    );
    // Holder 12 waits from 1022 on for holder 13, which releases at 1077.
    assert_eq!(ticks, 1077 - 1022);
}
