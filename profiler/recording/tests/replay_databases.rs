//! Databases whose clients wait for each other's rows, recorded with critical paths. The tests assert only what
//! follows from the records, and so holds in every replay.
//!
//! `recordings/postgres-rows.keel` is PostgreSQL 15.18 of Debian 12, stripped, with pgbench's tables at scale 1. It
//! was recorded by `evenkeel profile --preset postgres --waits --threshold 5% --max-probes 60 --max-overhead 100% -o
//! ...`. The load was nine times `pgbench -n -c 6 -t 1`, four seconds apart, and then `pgbench -n -c 6 -t 7`.
//!
//! `recordings/mariadb-rows.keel` is MariaDB 10.11.19 of Debian 12 with a thread for each connection. It was recorded
//! by `evenkeel profile --preset mariadb --waits --threshold 5% --max-probes 150 --max-overhead 100% -o ...`. The
//! load was nine times four `mariadb` clients with 5 transactions each, four seconds apart, and then four with 25. A
//! transaction is `BEGIN; UPDATE counter SET value = value + 1 WHERE id = 1; COMMIT;`.
//!
//! Both recordings were shortened: records of earlier rounds of refinement are cut out, and so are sites without
//! calls in the rest. The profile is that of the whole.

use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_recording::Replay;

/// The profile of a recording, with the critical path of an interval near the 99th percentile.
fn replayed(name: &str) -> Profile {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let replayed = Replay::open(&recordings.join(name)).unwrap().run().unwrap();
    assert!(!replayed.cut && replayed.meta.waits);
    replayed.profile(&Options {
        timelines: vec!["p99".parse().unwrap()],
        ..Options::default()
    })
}

/// Every interval closes, and so does what is made of them: shares and times below a node add up to its own.
#[track_caller]
fn assert_closes(profile: &Profile) {
    fn check(node: &Node) {
        let children = node.children.iter();
        let (share, mean_ns) = children.fold((0.0, 0.0), |(share, mean_ns), child| {
            check(child);
            (share + child.share, mean_ns + child.mean_ns)
        });
        if !node.children.is_empty() {
            assert!((share - node.share).abs() < 1e-9, "share of {}", node.name);
            let error = (mean_ns - node.mean_ns).abs();
            assert!(
                error <= 1e-9 * node.mean_ns.abs().max(1.0),
                "mean of {}",
                node.name
            );
        }
    }
    assert_eq!(profile.closure.max_abs_error_ticks, 0);
    check(&profile.tree);
}

/// The one timeline asked for has no gap and no overlap from the interval's begin to its end.
#[track_caller]
fn assert_timeline_partitions(profile: &Profile) {
    let [timeline] = profile.timelines.as_slice() else {
        panic!("{:?}", profile.timelines);
    };
    assert!(timeline.pick == "p99" && !timeline.is_cut);
    let mut at_ns = 0.0;
    for span in &timeline.spans {
        assert_eq!(span.from_ns, at_ns, "{span:?}");
        assert!(span.to_ns > span.from_ns && span.lane < timeline.lanes.len());
        at_ns = span.to_ns;
    }
    assert_eq!(at_ns, timeline.latency_ns);
}

/// Whether a call path of the tree passes through `parts`, in their order; C++ names are given with their parameters.
fn has_path(node: &Node, parts: &[&str]) -> bool {
    let rest = match parts.split_first() {
        Some((part, rest)) if is_named(&node.name, part) => rest,
        _ => parts,
    };
    rest.is_empty() || node.children.iter().any(|child| has_path(child, rest))
}

fn is_named(name: &str, part: &str) -> bool {
    let rest = name.strip_prefix(part);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

/// Number of waits for such an object that were ended by a thread in a call of `holder`, on an interval of `class`.
fn waits(profile: &Profile, object: &str, class: &str, holder: &str) -> u64 {
    let is_holder = |call: &String| is_named(call.split(" [").next().unwrap_or(call), holder);
    let lines = profile.waits.iter().filter(|line| {
        line.object == object
            && line.holder.as_deref() == Some(class)
            && line.holder_calls.iter().any(is_holder)
    });
    lines.map(|line| line.count).sum()
}

/// Intervals of the class whose name begins so.
fn intervals_of(profile: &Profile, class: &str) -> u64 {
    let classes = profile.classes.classes.iter();
    let found = classes.filter(|found| found.name.starts_with(class));
    found.map(|class| class.intervals).sum()
}

/// 249 statements. Six backends want one branch, and one has it: it flushes its commit, then releases.
#[test]
fn postgres_rows() {
    let profile = replayed("postgres-rows.keel");
    assert_closes(&profile);
    assert_timeline_partitions(&profile);
    assert_eq!((profile.intervals, profile.closure.intervals), (249, 249));
    let classes = ["begin", "update pgbench_branches", "end"];
    assert_eq!(
        classes.map(|class| intervals_of(&profile, class)),
        [37, 35, 33]
    );
    let (latch, end) = ("waits: any of several descriptors", "other interval: end");
    let flush = [
        "CommitTransactionCommand",
        "XLogFlush",
        "pg_fdatasync",
        "fdatasync",
        "waits: file",
    ];
    let path = [
        &["PortalRun", "standard_ExecutorRun", latch, end],
        &flush[..],
    ]
    .concat();
    assert!(has_path(&profile.tree, &path));
    // One holder waits for another row in turn.
    let update =
        "other interval: update pgbench_branches set bbalance = bbalance + ? where bid = ?";
    assert!(has_path(
        &profile.tree,
        &[latch, update, latch, end, "XLogFlush"]
    ));
    let ended = waits(
        &profile,
        "any of several descriptors",
        "end",
        "CommitTransactionCommand",
    );
    assert_eq!(ended, 72);
}

/// 259 statements. Four connections update one row: a condition variable that the holder signals in its commit. A commit's
/// reply waits likewise, until another commit's flush of the log has taken it along.
#[test]
fn mariadb_rows() {
    let profile = replayed("mariadb-rows.keel");
    assert_closes(&profile);
    assert_timeline_partitions(&profile);
    assert_eq!((profile.intervals, profile.closure.intervals), (259, 259));
    let classes = ["begin", "update counter", "commit"];
    assert_eq!(
        classes.map(|class| intervals_of(&profile, class)),
        [84, 84, 85]
    );
    let (wait, commit) = ("waits: condition variable", "other interval: commit");
    let work = [
        wait,
        commit,
        "mysql_execute_command",
        "trans_commit",
        "ha_commit_one_phase",
    ];
    for waiter in ["mysql_execute_command", "Protocol::end_statement"] {
        assert!(
            has_path(&profile.tree, &[&[waiter], &work[..]].concat()),
            "{waiter}"
        );
    }
    assert_eq!(
        waits(&profile, "condition variable", "commit", "trans_commit"),
        45
    );
}
