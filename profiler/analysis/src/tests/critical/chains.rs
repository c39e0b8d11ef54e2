//! Chains of waits in findings: each thread from the one that an interval waits for to the head.

use evenkeel_wire::ObjectKind;

use super::streams::*;
use crate::findings::{Chain, IdleInTransaction, Link};
use crate::inputs::Started;
use crate::tests::trace::options;
use crate::{Analysis, Options};

/// The chain of the finding of `lock`. An interval of thread 1 that does not wait comes first.
fn chain_of(streams: &[Stream], names: &[(u64, &str)]) -> Option<Chain> {
    let mut analysis: Analysis = following();
    for &(thread, name) in names {
        analysis.name_thread(thread, name.to_owned());
    }
    let fast = stream()
        .begin(100, "select")
        .call(110, 120, LOCK)
        .end(200, &[]);
    let mut streams = streams.to_vec();
    streams[0].0.splice(..0, fast.0);
    run(&mut analysis, &streams);
    let options = Options {
        started: Some(Started {
            ticks: 0,
            unix_ns: 1_000_000,
        }),
        ..options()
    };
    let profile = analysis.profile(&table(), &options);
    let lock = profile
        .findings
        .into_iter()
        .find(|it| it.function == "lock");
    lock.expect("a finding of lock").chain
}

/// A statement waits 1010 to 1500 for a lock, and gets it at 1490 from `alter`.
fn select() -> Stream {
    stream()
        .begin(1000, "select")
        .wait(1010, 1500, ObjectKind::Mutex, 1)
        .call(1005, 1510, LOCK)
        .end(1600, &[])
}

/// `alter` itself waits from 950 until thread 3 wakes it at 1440.
fn alter() -> Stream {
    stream()
        .begin(900, "alter")
        .wait(950, 1450, ObjectKind::Mutex, 2)
        .call(940, 1460, LOCK)
        .wake(1490, ObjectKind::Mutex, 1, &[(1470, F)])
        .call(1470, 1492, F)
        .end(1495, &[])
}

/// A session's `select b` ends at 850. Its client sends `commit` at 1400, which releases the lock.
fn idle(waits: &[(u64, u64)]) -> Stream {
    let before = stream().begin(800, "select b").end(850, &[]);
    let waits = waits.iter();
    let waited = waits.fold(before, |stream, &(from, to)| {
        stream.wait(from, to, ObjectKind::Poll, 8)
    });
    waited
        .begin(1405, "commit")
        .wake(1440, ObjectKind::Mutex, 2, &[(1410, F)])
        .call(1410, 1442, F)
        .end(1450, &[])
}

const NAMES: [(u64, &str); 2] = [
    (2, "postgres: app shop [local] 4712"),
    (3, "postgres: app shop [local] 4711"),
];

#[test]
fn the_head_of_a_chain_of_three_is_idle_in_transaction() {
    let chain = chain_of(&[select(), alter(), idle(&[(860, 1400)]), select()], &NAMES).unwrap();
    let expected = [
        Link {
            class: Some("alter".into()),
            threads: 1,
            thread: Some(NAMES[0].1.into()),
            tid: Some(4712),
            ..Link::default()
        },
        Link {
            role: Some("session in no recorded interval".into()),
            threads: 1,
            thread: Some(NAMES[1].1.into()),
            tid: Some(4711),
            function: Some("holder idle in transaction".into()),
            idle: Some(IdleInTransaction {
                for_ns: 540.0,
                since_unix_ns: Some(1_000_860),
                last: Some("select b".into()),
            }),
            ..Link::default()
        },
    ];
    assert_eq!(chain.links, expected);
    assert_eq!((chain.class.as_str(), chain.waited_ns), ("select", 480.0));
    assert_eq!((chain.ended_unix_ns, chain.intervals), (Some(1_001_490), 2));
}

/// Between two waits for the client there may have been a statement that was not recorded.
#[test]
fn the_last_statement_is_not_guessed() {
    let session = idle(&[(860, 900), (910, 1400)]);
    let chain = chain_of(&[select(), alter(), session, select()], &NAMES).unwrap();
    let idle = chain.links[1].idle.as_ref().unwrap();
    assert_eq!(
        (idle.since_unix_ns, idle.last.as_deref()),
        (Some(1_000_910), None)
    );
}

#[test]
fn the_head_may_be_no_interval() {
    let worker = stream().wake(1490, ObjectKind::Mutex, 1, &[(900, G)]);
    let names = [(2, "postgres: autovacuum worker shop 9")];
    let chain = chain_of(&[select(), worker], &names).unwrap();
    let [link] = &chain.links[..] else {
        panic!("{chain:?}")
    };
    assert_eq!(link.role.as_deref(), Some("autovacuum worker"));
    assert_eq!((link.tid, link.function.as_deref()), (Some(9), Some("g")));
    assert_eq!(link.idle, None);
}

/// One holder in an interval of its own is no chain: its class is among those that the finding waits for.
#[test]
fn one_holder_is_no_chain() {
    let holder = stream()
        .begin(900, "alter")
        .wake(1490, ObjectKind::Mutex, 1, &[(1470, F)]);
    assert_eq!(chain_of(&[select(), holder], &NAMES), None);
}

/// Thread 2 and thread 3 wait for each other: the wait of thread 2 from 1050 goes on when its timer fires at 1100, and
/// it is thread 3 that ends it; thread 3 is then in a wait that thread 2 ends at 1102.
#[test]
fn a_cycle_ends_where_a_thread_comes_again() {
    let waiter = stream()
        .begin(1000, "select")
        .wait(1010, 1130, ObjectKind::Mutex, 1)
        .call(1005, 1135, LOCK)
        .end(1300, &[]);
    let second = stream()
        .wait(1050, 1100, ObjectKind::Signal, 9)
        .wake(1102, ObjectKind::Signal, 6, &[])
        .wait(1105, 1120, ObjectKind::Poll, 5)
        .wake(1125, ObjectKind::Mutex, 1, &[]);
    let third =
        stream()
            .wait(1040, 1112, ObjectKind::Poll, 6)
            .wake(1115, ObjectKind::Signal, 5, &[]);
    let names = [(2, "server 2"), (3, "worker #3")];
    let chain = chain_of(&[waiter, second, third], &names).unwrap();
    let threads: Vec<_> = chain.links.iter().map(|link| link.tid).collect();
    assert_eq!(threads, [Some(2), Some(3)]);
    assert!(chain.links.iter().all(|link| link.threads == 1));
}
