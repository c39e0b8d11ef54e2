//! Knowledge about servers, checked with recordings of them: the pattern that each recording's findings fit.

use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{Finding, Profile};
use evenkeel_recording::Replay;
use evenkeel_report::advice;
use evenkeel_report::paths::Paths;
use evenkeel_report::terminal::{Style, render};

fn replayed(name: &str) -> Profile {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/recordings");
    let replayed = Replay::open(&recordings.join(name)).unwrap().run().unwrap();
    let mut profile = replayed.profile(&Options::default());
    advice::add(&mut profile);
    let shares: f64 = profile.findings.iter().map(|finding| finding.share).sum();
    assert!(
        (shares + profile.uncovered.share - 1.0).abs() < 1e-6,
        "{shares}"
    );
    profile
}

fn finding<'a>(profile: &'a Profile, function: &str) -> &'a Finding {
    let is_named = |finding: &&Finding| finding.function.split('(').next() == Some(function);
    let found = profile.findings.iter().find(is_named);
    found.unwrap_or_else(|| panic!("no {function} among {:?}", profile.findings))
}

/// The client's time between the statements of a transaction.
#[test]
fn a_transaction_that_waits_for_its_client() {
    let profile = replayed("postgres-transaction.keel");
    let client = finding(&profile, "pq_getbyte");
    assert!(client.means.as_deref().unwrap().contains("client"));
    assert!(client.advice[0].what.contains("pipeline"));
    // A function without a name is in no pattern.
    assert!(finding(&profile, "0x1e4360").advice.is_empty());
}

/// Rows of a PostgreSQL without the wait's own function in the plan: the report names the holder, and gives no
/// advice.
#[test]
fn rows_whose_owners_commit() {
    let profile = replayed("postgres-rows.keel");
    let rows = &profile.findings[0];
    assert_eq!(rows.function, "standard_ExecutorRun");
    assert_eq!(rows.meanwhile.as_ref().unwrap().function, "XLogFlush");
    let end = rows
        .waits_for
        .iter()
        .find(|holder| holder.class == "end")
        .unwrap();
    assert_eq!(end.function.as_deref(), Some("XLogFlush"));
    assert!(rows.advice.is_empty());
}

/// `postgres-owners.keel` is PostgreSQL 15.18 of Debian 12, stripped, with pgbench's tables at scale 1. It was
/// recorded by `evenkeel profile --preset postgres --waits --threshold 1% --max-probes 100 --max-overhead 100% -o
/// ...`. The load was forty times `pgbench -n -c 6 -t 2`, 2.5 s apart, and then `-t 12`. Records of earlier rounds
/// are cut out, and all but a quarter of the last round.
///
/// The whole sentence: the waiter, the holder, and the holder's work during the wait.
#[test]
fn rows_whose_owners_wait_for_the_log() {
    let profile = replayed("postgres-owners.keel");
    let rows = &profile.findings[0];
    assert_eq!(rows.function, "XactLockTableWait");
    assert_eq!(rows.called_by.as_deref(), Some("~heapam_tuple_lock"));
    assert_eq!(
        rows.means.as_deref(),
        Some(
            "Statements wait for the row's owner, until its transaction ends; the owner meanwhile waits for its commit to reach the log's disk (issue_xlog_fsync)"
        )
    );
    assert_eq!(rows.waits_for[0].class, "end");
    assert!(rows.advice[1].what.contains("pg_advisory_xact_lock"));
    assert_eq!(rows.advice[0].gives_up, None);
}

/// A stripped MariaDB: what waits for the log has no name, and is known by who calls it.
#[test]
fn commits_that_wait_for_the_log() {
    let profile = replayed("mariadb-rows.keel");
    for function in ["ha_commit_one_phase", "Protocol::end_statement"] {
        let commit = finding(&profile, function);
        assert!(
            commit.means.as_deref().unwrap().contains("redo log"),
            "{function}"
        );
        assert_eq!(commit.waits_for[0].class, "commit");
    }
    let text = render(&profile, &Style::default());
    assert!(text.contains("GIVES UP DURABILITY"));
    assert!(
        text.contains("> What helps 1 helps here, too."),
        "not twice the same: {text}"
    );
}

#[test]
fn requests_that_wait_outside_and_for_their_turn() {
    let apache = replayed("apache-request.keel");
    assert!(
        finding(&apache, "ap_invoke_handler")
            .means
            .as_deref()
            .unwrap()
            .contains("outside")
    );
    let nginx = replayed("nginx-request.keel");
    assert!(
        finding(&nginx, "waiting for its turn").advice[0]
            .what
            .contains("aio threads")
    );
}

/// `redis-keys.keel` is Redis 7.0.15 of Debian 12. Its client asks `GET` of 250 keys, every ninth time followed by
/// `KEYS key:7*`, with 2 ms between two rounds. It was recorded by `evenkeel profile --preset redis -o
/// redis-keys.keel -- redis-server redis.conf`.
#[test]
fn a_command_that_goes_over_all_keys() {
    let redis = replayed("redis-keys.keel");
    let keys = finding(&redis, "keysCommand");
    assert!(
        keys.means
            .as_deref()
            .unwrap()
            .contains("goes over many elements")
    );
    assert!(keys.advice[0].what.contains("SCAN"));
    // It is called once in nine commands.
    assert!(
        (0.05..0.2).contains(&keys.calls_mean),
        "{}",
        keys.calls_mean
    );
}

/// Commands that all do the same little: nothing is advised.
#[test]
fn commands_without_a_cause() {
    let redis = replayed("redis-command.keel");
    assert!(
        redis
            .findings
            .iter()
            .all(|finding| finding.advice.is_empty())
    );
}

/// A stripped memcached: the report names the holders that its events wait for, and guesses no names.
#[test]
fn events_of_a_memcached_without_names() {
    let memcached = replayed("memcached-event.keel");
    let first = &memcached.findings[0];
    assert!(first.share > 0.5 && !first.waits_for.is_empty());
    assert!(first.means.is_none() && first.advice.is_empty());
}

/// The comparison of the slowest with the middle, and the tree, have the same names.
#[test]
fn cohorts_and_factors_name_nodes_as_the_tree_does() {
    for name in [
        "redis-command.keel",
        "redis-keys.keel",
        "postgres-transaction.keel",
        "mariadb-rows.keel",
        "nginx-request.keel",
    ] {
        let profile = replayed(name);
        let paths = Paths::of(&profile.tree);
        for node in &profile.cohorts.as_ref().unwrap().nodes {
            let found = paths
                .find(node.node.unwrap())
                .map(|found| found.node().kind);
            assert_eq!(found, Some(node.kind), "{name}: {}", node.path);
        }
        let variances = profile.factors.iter().filter(|it| it.functions.len() == 1);
        for &node in variances.flat_map(|factor| factor.nodes.iter().flatten()) {
            assert!(paths.find(node).is_some(), "{name}: {node}");
        }
    }
}
