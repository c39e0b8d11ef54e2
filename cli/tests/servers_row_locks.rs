//! Contended rows of real servers: the waiter of a row lock, its holder, and the holder's work during the wait.
//!
//! Every client writes the same few rows, so that each waits for the others' commits. What stands where is asserted, not how
//! long it took.

mod support;

use std::ops::RangeInclusive;
use std::path::Path;

use evenkeel_servers::{MariaDb, Options, RunningMariaDb};
use serde_json::Value;
use support::run::eventually;
use support::servers::{
    ProfiledPostgres, ProfiledServer, count, installed, nodes, pgbench, pgbench_until,
};

/// pgbench's tables at scale 1, so that every transaction updates the one branch.
const ONE_BRANCH: &str = "
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88));
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
INSERT INTO pgbench_branches VALUES (1, 0);
INSERT INTO pgbench_tellers SELECT i, 1, 0 FROM generate_series(1, 10) i;
INSERT INTO pgbench_accounts SELECT i, 1, 0, '' FROM generate_series(1, 100000) i;";

/// Whether a call path of the tree passes through `parts` in their order, with anything in between.
fn has_path(profile: &Value, parts: &[&str]) -> bool {
    let passes = |names: &[String]| {
        let mut names = names.iter();
        parts
            .iter()
            .all(|part| names.any(|name| is_named(name, part)))
    };
    nodes(profile).iter().any(|(names, _)| passes(names))
}

/// C++ names are given with their parameters.
fn is_named(name: &str, part: &str) -> bool {
    let rest = name.strip_prefix(part);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

#[track_caller]
fn assert_path(profile: &Value, parts: &[&str]) {
    assert!(
        has_path(profile, parts),
        "no path through {parts:?}; waits:\n{}",
        paths_of_waits(profile)
    );
}

/// For debugging a missing path.
fn paths_of_waits(profile: &Value) -> String {
    let all = nodes(profile).into_iter();
    let others = all.filter(|(names, _)| names.iter().any(|name| name.starts_with("waits: ")));
    let lines: Vec<String> = others.map(|(names, _)| names.join(" > ")).collect();
    lines.join("\n")
}

/// Somebody with a call of one of `holders` open ended a wait for such an object.
#[track_caller]
fn assert_holder(profile: &Value, object: &str, holders: &[&str]) {
    let waits = profile["waits"].as_array().unwrap();
    let holds = |line: &&Value| {
        let calls = line["holder_calls"].as_array().unwrap().iter();
        let mut names = calls.filter_map(|call| call.as_str()?.split(" [").next());
        let is_holder = |name: &str| holders.iter().any(|holder| is_named(name, holder));
        line["object"] == object && names.any(is_holder)
    };
    assert!(
        waits.iter().any(|line| holds(&line)),
        "{object}, ended in {holders:?}: {waits:#?}"
    );
}

// PostgreSQL ------------------------------------------------------------------------------------------------------------

/// Functions that release a transaction's locks at its commit, outermost first. They take almost no time, so how deep
/// the search has expanded them at the end depends on the machine.
const RELEASES_OF_LOCKS: [&str; 4] = [
    "ResourceOwnerRelease",
    "~ResourceOwnerReleaseInternal",
    "ProcReleaseLocks",
    "LockReleaseAll",
];
/// The wait of a backend at its latch: in epoll_wait.
const LATCH: &str = "waits: any of several descriptors";

/// Runs of the load at most.
const RUNS: u32 = 8;

/// Sixteen backends under pgbench at scale 1, with further arguments: for half a minute, and until the search has opened a function and
/// has seen a whole run of the load since. How long that takes depends on the machine and what else it does. Where stacks led the search
/// there, nobody is told.
fn postgres_profile(interval: &str, arguments: &[&str], opened: &str) -> Option<Value> {
    let options = [
        "--interval",
        interval,
        "--waits",
        "--threshold",
        "0.5%",
        "--max-overhead",
        "20%",
    ];
    let profiled = ProfiledPostgres::start(&options, &[])?;
    profiled.server.psql(ONE_BRANCH).unwrap();
    let mut runs = 1;
    let has_opened = || {
        runs += 1;
        let log = profiled.profiler.log();
        let mut steps = log
            .lines()
            .filter_map(|line| Some(line.split_once("next: ")?.1));
        runs == RUNS || steps.any(|steps| steps.contains(opened))
    };
    let load = ["-c", "16", "-j", "2", "-T", "15"];
    let load = [&load, arguments].concat();
    let (first, _) = pgbench_until(&profiled.server, &load, has_opened);
    let transactions = first + pgbench(&profiled.server, &load);
    let history = profiled
        .server
        .psql("SELECT count(*) FROM pgbench_history")
        .unwrap();
    assert_eq!(history.trim().parse(), Ok(transactions));
    let finished = profiled.finish();
    eprintln!("{}", finished.log);
    Some(finished.profile().clone())
}

/// A row's lock is the lock of the transaction that wrote it (heap_update, XactLockTableWait). The backend sleeps at
/// its latch until that transaction releases all its locks (LockReleaseAll), after its commit is flushed.
#[test]
fn postgres_statements_wait_for_the_branch() {
    let Some(profile) = postgres_profile("statement", &[], "issue_xlog_fsync") else {
        return;
    };
    let end = "other interval: end";
    assert_path(
        &profile,
        &[
            "PortalRun",
            LATCH,
            end,
            "CommitTransactionCommand",
            "XLogFlush",
        ],
    );
    assert_path(
        &profile,
        &[LATCH, end, "XLogFlush", "pg_fdatasync", "waits: file"],
    );
    assert_holder(&profile, "any of several descriptors", &RELEASES_OF_LOCKS);
}

/// Transactions have no labels and so one class, which also is the class of the row's holder.
#[test]
fn postgres_transactions_wait_for_the_branch() {
    let Some(profile) = postgres_profile("transaction", &[], "CommitTransaction") else {
        return;
    };
    let other = "other interval: (no label)";
    assert_path(
        &profile,
        &["PortalRun", LATCH, other, "CommitTransactionCommand"],
    );
    assert_holder(
        &profile,
        "any of several descriptors",
        &["CommitTransactionCommand"],
    );
}

/// WALWriteLock is a lightweight lock: a semaphore of each backend that waits, posted by the backend that has flushed. Without
/// updates of branches and tellers (-N) nothing else is waited for.
#[test]
fn postgres_statements_wait_for_the_log() {
    let Some(profile) = postgres_profile("statement", &["-N"], "issue_xlog_fsync") else {
        return;
    };
    let waits = [
        "XLogFlush",
        "LWLockAcquireOrWait",
        "waits: semaphore",
        "other interval: end",
    ];
    assert_path(
        &profile,
        &[&waits[..], &["XLogFlush", "pg_fdatasync"]].concat(),
    );
    assert_holder(&profile, "semaphore", &["XLogFlush"]);
}

// MariaDB ---------------------------------------------------------------------------------------------------------------

/// Clients at a time, how often all of them restart, and transactions of each between restarts. On a busy machine one
/// client may be far ahead of another. Without restarts the last part of the load, on which the profile may rest,
/// would be a few clients that do not meet at a row.
const CLIENTS: u64 = 8;
const TURNS: u64 = 30;
const TRANSACTIONS: u64 = 50;
/// All transactions of all clients.
const ALL: u64 = CLIENTS * TURNS * TRANSACTIONS;

/// Commands other than the transactions' own: `SELECT 1` of the check that the server is up, CREATE and INSERT of the
/// table, SELECT of the sum. Each of these three sessions, and of the clients', also ends (COM_QUIT).
const OTHER_COMMANDS: u64 = 1 + 2 + 1 + 3 + CLIENTS * TURNS;
/// Other transactions that write to the log: CREATE and INSERT of the table.
const OTHER_COMMITS: u64 = 2;

/// Settings for a thread for each connection, which does all of its work.
const THREAD_EACH: [(&str, &str); 1] = [("thread-handling", "one-thread-per-connection")];
/// Settings for threads that take up whatever connection has something to do.
const POOL: [(&str, &str); 1] = [("thread-handling", "pool-of-threads")];

/// Clients that each update one of two rows, in transactions.
fn mariadb_profile(interval: &str, settings: &[(&str, &str)]) -> Option<Value> {
    let settings = settings.iter();
    let prepared = installed(MariaDb::prepare(&Options {
        settings: settings
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..Options::default()
    }))?;
    let options = [
        "--preset",
        "mariadb",
        "--interval",
        interval,
        "--waits",
        "--threshold",
        "0.5%",
        "--max-overhead",
        "20%",
        "--max-probes",
        "800",
    ];
    let profiled = ProfiledServer::of(prepared, &options);
    let server = &profiled.server;
    let table = "CREATE TABLE test.counter (id INT PRIMARY KEY, value INT) ENGINE = InnoDB;
                 INSERT INTO test.counter VALUES (1, 0), (2, 0)";
    server.query(table).unwrap();
    for _ in 0..TURNS {
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || count_up(server, 1 + client % 2));
            }
        });
    }
    let sum = server.query("SELECT SUM(value) FROM test.counter").unwrap();
    assert_eq!(sum.trim().parse(), Ok(ALL));
    // A client does not wait until the server has taken notice of its end.
    assert!(eventually(|| connections(server.socket()) == 0));
    Some(profiled.finish().profile().clone())
}

/// Connections of a server at a Unix socket: state 3 in `/proc/net/unix`.
fn connections(socket: &Path) -> usize {
    let all = std::fs::read_to_string("/proc/net/unix").unwrap();
    // number references protocol flags type state inode path
    let connected = |line: &&str| {
        let mut fields = line.split_ascii_whitespace().skip(5);
        fields.next() == Some("03") && fields.nth(1) == socket.to_str()
    };
    all.lines().filter(connected).count()
}

/// A client's transactions on one row: a run of the `mariadb` client, which ends at the first error.
fn count_up(server: &RunningMariaDb, row: u64) {
    let transaction =
        format!("BEGIN; UPDATE counter SET value = value + 1 WHERE id = {row}; COMMIT;\n");
    let script = transaction.repeat(TRANSACTIONS as usize);
    let output = server
        .client()
        .args(["-e", &script, "test"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{}", server.log());
}

/// InnoDB's row locks: a condition variable of the waiting thread, signalled in the commit that releases the row. What lies
/// between is timed as refinement goes, and looked at in a recording (`replay_databases.rs` of the session).
const ROW: &str = "waits: condition variable";

/// `again`: how many commands were taken up a second time.
#[track_caller]
fn assert_statements(settings: &[(&str, &str)], again: RangeInclusive<u64>) {
    let Some(profile) = mariadb_profile("statement", settings) else {
        return;
    };
    let seen = count(&profile["intervals_seen"]);
    // BEGIN, UPDATE and COMMIT.
    let commands = 3 * ALL + OTHER_COMMANDS;
    assert!(
        (commands + again.start()..=commands + again.end()).contains(&seen),
        "{seen} of {commands}"
    );
    let commit = "other interval: commit";
    assert_path(&profile, &["mysql_parse", ROW, commit, "mysql_parse"]);
    assert_holder(&profile, "condition variable", &["mysql_parse"]);
}

/// A transaction may take each of its statements to another thread of a pool.
///
/// None is left early. But on a very busy machine the profiler may empty a ring too late, which it reports, and the
/// end of a transaction may be lost. Then only the beginning of the THD's next transaction shows the end.
#[track_caller]
fn assert_transactions(settings: &[(&str, &str)]) {
    let Some(profile) = mariadb_profile("transaction", settings) else {
        return;
    };
    assert_eq!(count(&profile["intervals_seen"]), ALL, "{profile:#}");
    let reasons = profile["discarded_by_reason"].as_object().unwrap();
    let has = |what| reasons.keys().any(|why| why.contains(what));
    let some_lost = has("records lost") || has("the ring was full");
    assert!(some_lost || !has("left early"), "{reasons:?}");
    let other = "other interval: (no label)";
    assert_path(&profile, &["dispatch_command", ROW, other, "trans_commit"]);
    assert_holder(&profile, "condition variable", &["trans_commit"]);
}

#[test]
fn mariadb_statements_wait_for_rows() {
    assert_statements(&THREAD_EACH, 0..=0);
}

/// A commit that would have to wait for the log returns from `dispatch_command` and leaves its thread to the pool.
/// Another thread calls the function again to answer the client (MDEV-24341), which is a separate interval. The
/// number of commits that find the log already flushed by another is not known.
#[test]
fn mariadb_statements_wait_for_rows_in_a_pool() {
    assert_statements(&POOL, 0..=ALL + OTHER_COMMITS);
}

/// Where no commit waits for the log each command is one call, whichever thread has it.
#[test]
fn mariadb_statements_in_a_pool_are_counted() {
    let settings = [POOL[0], ("innodb-flush-log-at-trx-commit", "0")];
    assert_statements(&settings, 0..=0);
}

#[test]
fn mariadb_transactions_wait_for_rows() {
    assert_transactions(&THREAD_EACH);
}

#[test]
fn mariadb_transactions_wait_for_rows_in_a_pool() {
    assert_transactions(&POOL);
}
