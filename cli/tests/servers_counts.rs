//! Counts of a PostgreSQL profile against its clients' work: every interval, once, and nothing else.
//!
//! Only what is determined by the work is asserted: counts, closure, which nodes there are. Shares and times are not.

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

use evenkeel_servers::RunningPostgreSql;
use serde_json::Value;
use support::servers::{
    ProfiledPostgres, assert_consistent, count, make_pgbench_tables, nodes, pgbench, pgbench_until,
};

/// A transaction of pgbench's TPC-B: BEGIN, UPDATE accounts, SELECT, UPDATE tellers, UPDATE branches, INSERT, END.
const STATEMENTS: u64 = 7;
/// Statements without those on tellers and branches (`pgbench -N`), for whose few rows clients would wait.
const STATEMENTS_WITHOUT_ROW_LOCKS: u64 = 5;
/// pgbench's queries before it begins, outside of any transaction block: the number of branches, and whether the
/// accounts are partitioned.
const SETUP_QUERIES: u64 = 2;
/// The tables are made by one statement string, which is one transaction.
const TABLES: u64 = 1;

/// The number of intervals of the whole run. Threads without a ring would be missing from it.
#[track_caller]
fn seen(profile: &Value) -> u64 {
    let warnings = profile["warnings"].to_string();
    assert!(
        !warnings.contains("threads were not recorded"),
        "{warnings}"
    );
    count(&profile["intervals_seen"])
}

/// Intervals left out, by reason.
fn discarded(profile: &Value) -> BTreeMap<String, u64> {
    serde_json::from_value(profile["discarded_by_reason"].clone()).unwrap()
}

/// Runs `script` by psql, which continues after errors, one statement at a time.
#[track_caller]
fn run_script(server: &RunningPostgreSql, script: &str) {
    let mut psql = server.client("psql");
    psql.args(["-X", "-q", "-d", "postgres"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut psql = psql.spawn().unwrap();
    psql.stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(psql.wait().unwrap().success());
}

/// Every transaction of every client is one interval. The start of a backend is not an interval, because it precedes
/// the first command and the gate. Background workers and checks of readiness run no transaction.
#[test]
fn every_transaction_is_an_interval() {
    let options = ["--interval", "transaction", "--max-overhead", "20%"];
    let Some(profiled) = ProfiledPostgres::start(&options, &[]) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let transactions = pgbench(&profiled.server, &["-c", "16", "-j", "2", "-T", "10"]);
    assert_consistent(&profiled.server, Some(transactions));
    let profiled = profiled.finish();
    let profile = profiled.profile();
    // One more: the sums that show consistency.
    assert_eq!(
        seen(profile),
        TABLES + SETUP_QUERIES + transactions + 1,
        "{}",
        profiled.log
    );
    assert_eq!(profile["interval"], "transaction");
    let all = nodes(profile);
    // The client thinks between its statements, inside the transaction.
    let thinks = all
        .iter()
        .find(|(_, node)| node["kind"] == "client")
        .expect("a node of the client's");
    assert_eq!(thinks.1["name"], "pq_getbyte");
    assert!(
        thinks.1["calls_mean"].as_f64().unwrap() > 1.0,
        "{}",
        thinks.1
    );
    assert!(!profile["rounds"].as_array().unwrap().is_empty());
}

/// The commit waits for the log behind other commits, and refinement alone finds that. The writer of the log sleeps
/// for 20 ms first, whatever the disk, so that others wait for it on every machine.
#[test]
fn the_way_to_the_log_is_found() {
    let options = ["--threshold", "0.1%", "-k", "40"];
    let together = [("commit_delay", "20000"), ("commit_siblings", "1")];
    let Some(profiled) = ProfiledPostgres::start(&options, &together) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let load = ["-N", "-c", "16", "-j", "2", "-T", "6"];
    let opened = || profiled.profiler.rests_after("LWLockAcquireOrWait");
    let (transactions, runs) = pgbench_until(&profiled.server, &load, opened);
    let profiled = profiled.finish();
    let profile = profiled.profile();
    assert_eq!(
        seen(profile),
        TABLES + SETUP_QUERIES * runs + STATEMENTS_WITHOUT_ROW_LOCKS * transactions,
        "{}",
        profiled.log
    );
    let factors = profile["factors"].as_array().unwrap();
    let paths = factors
        .iter()
        .flat_map(|factor| factor["paths"].as_array().into_iter().flatten());
    let waits = |path: &&Value| {
        let path = path.as_str().unwrap_or_default();
        path.find("XLogFlush")
            .is_some_and(|flush| path[flush..].contains("> LWLockAcquireOrWait ["))
    };
    assert!(
        paths.clone().any(|path| waits(&path)),
        "{:#?}",
        paths.collect::<Vec<_>>()
    );
}

/// Each of the seven statements is a class, with as many intervals as the others but for the windows without probes and
/// the first and last moments.
#[test]
fn each_statement_is_a_class() {
    // Where not all are kept, a class counts those for which its intervals stand, which is an estimate.
    let options = ["--plant", "40", "--sampling", "all"];
    let Some(profiled) = ProfiledPostgres::start(&options, &[("fsync", "off")]) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let transactions = pgbench(&profiled.server, &["-c", "8", "-j", "2", "-t", "500"]);
    assert_eq!(transactions, 4000);
    let profiled = profiled.finish();
    let profile = profiled.profile();
    assert_eq!(
        seen(profile),
        TABLES + SETUP_QUERIES + STATEMENTS * transactions,
        "{}",
        profiled.log
    );
    assert_eq!(profile["rounds"].as_array().unwrap().len(), 1);
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let beginnings = [
        "begin",
        "end",
        "update pgbench_accounts",
        "select abalance from pgbench_accounts",
        "update pgbench_tellers",
        "update pgbench_branches",
        "insert into pgbench_history",
    ];
    let mut of_transactions = 0;
    for beginning in beginnings {
        let class: Vec<&Value> = classes
            .iter()
            .filter(|class| class["name"].as_str().unwrap().starts_with(beginning))
            .collect();
        assert_eq!(class.len(), 1, "one class of {beginning}: {classes:#?}");
        let intervals = count(&class[0]["intervals"]);
        assert!(
            intervals > 0 && intervals <= transactions,
            "{beginning}: {intervals} of {transactions}"
        );
        of_transactions += intervals;
    }
    let others: u64 = classes
        .iter()
        .map(|class| count(&class["intervals"]))
        .sum::<u64>()
        - of_transactions;
    assert!(others <= TABLES + SETUP_QUERIES, "{classes:#?}");
    assert_eq!(of_transactions + others, count(&profile["intervals"]));
}

/// In the extended protocol a statement lasts from its first message to the client's next turn. There are as many
/// intervals as with simple queries, and one more for each statement that pgbench prepares, because the client waits
/// for each.
#[test]
fn the_extended_protocol_is_counted() {
    const CLIENTS: u64 = 8;
    const PREPARED: u64 = CLIENTS * STATEMENTS;
    for (mode, interval) in [("prepared", "statement"), ("extended", "transaction")] {
        let options = ["--interval", interval, "--plant", "40"];
        let Some(profiled) = ProfiledPostgres::start(&options, &[("fsync", "off")]) else {
            return;
        };
        make_pgbench_tables(&profiled.server);
        let clients = CLIENTS.to_string();
        let load = ["-M", mode, "-c", &clients, "-j", "2", "-t", "250"];
        let transactions = pgbench(&profiled.server, &load);
        let profiled = profiled.finish();
        let profile = profiled.profile();
        let expected = match interval {
            "statement" => STATEMENTS * transactions + PREPARED,
            _ => transactions,
        };
        assert_eq!(
            seen(profile),
            TABLES + SETUP_QUERIES + expected,
            "{mode}, {interval}: {}",
            profiled.log
        );
    }
}

/// An error ends a transaction, and with it the interval; what is sent to an aborted block is in no transaction.
#[test]
fn an_aborted_transaction_is_one_interval() {
    let Some(profiled) =
        ProfiledPostgres::start(&["--interval", "transaction", "--plant", "40"], &[])
    else {
        return;
    };
    let script = "
        CREATE TABLE t (i int PRIMARY KEY);
        INSERT INTO t VALUES (1);
        INSERT INTO t VALUES (1);
        SELECT 1 / 0;
        BEGIN; INSERT INTO t VALUES (2); ROLLBACK;
        BEGIN; INSERT INTO t VALUES (1); SELECT 2; SELECT 3; ROLLBACK;
        BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1); ROLLBACK TO s; INSERT INTO t VALUES (3); COMMIT;
        DO $$ BEGIN INSERT INTO t VALUES (1); EXCEPTION WHEN unique_violation THEN NULL; END $$;
        SYNTAX ERROR;
    ";
    // One a line, though the last but two hold several statements: subtransactions are part of theirs.
    let transactions = script.trim().lines().count() as u64;
    for _ in 0..20 {
        run_script(&profiled.server, script);
    }
    let profiled = profiled.finish();
    let profile = profiled.profile();
    // Of the 20 runs the first alone creates the table; in the others that fails.
    assert_eq!(seen(profile), 20 * transactions, "{}", profiled.log);
    assert!(
        !discarded(profile)
            .keys()
            .any(|reason| reason.contains("left early")),
        "{:?}",
        discarded(profile)
    );
}

/// A statement that fails leaves by `longjmp`, and lasts until the client's turn: it is seen, and complete.
#[test]
fn a_failed_statement_goes_on_to_the_clients_turn() {
    let Some(profiled) = ProfiledPostgres::start(&["--plant", "40"], &[]) else {
        return;
    };
    let failing = "SELECT 1 / 0;\nSELECT * FROM no_such_table;\nSELEC;\n";
    run_script(
        &profiled.server,
        &format!("{}SELECT 1;\n", failing.repeat(50)),
    );
    let profiled = profiled.finish();
    let profile = profiled.profile();
    assert_eq!(seen(profile), 151, "{}", profiled.log);
    assert!(discarded(profile).is_empty(), "{:?}", discarded(profile));
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
}
