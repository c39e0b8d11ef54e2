//! All the ways in which a profiled server, its processes, or the profiler itself may end.

mod support;

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use evenkeel_servers::{PostgreSql, RunningPostgreSql};
use support::run::{eventually, runs, signal};
use support::servers::{
    ProfiledPostgres, Profiler, assert_consistent, assert_ends, assert_no_crash, assert_unhooked,
    changed_code_bytes, count, installed, make_pgbench_tables, pgbench, postgres_options,
};

const STATEMENT: &[&str] = &["--interval", "statement"];
/// Duration in which even a busy machine starts a server and 20 sessions, and runs some statements.
const LONG_ENOUGH: &str = "20s";

/// A `pgbench` that runs until its server is gone or it is killed.
struct Load(Child);

impl Load {
    fn start(server: &RunningPostgreSql, arguments: &[&str]) -> Load {
        let mut command = server.client("pgbench");
        command
            .args(["-n", "-T", "600"])
            .args(arguments)
            .arg("postgres");
        let load = Load(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        assert!(
            eventually(|| commits(server) > 200),
            "the load does not get going: {}",
            server.log()
        );
        load
    }

    /// Until it has ended by itself.
    fn wait(mut self) {
        assert!(
            eventually(|| self.0.try_wait().unwrap().is_some()),
            "pgbench goes on"
        );
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Rows in pgbench's history.
fn commits(server: &RunningPostgreSql) -> u64 {
    let rows = server
        .psql("SELECT count(*) FROM pgbench_history")
        .unwrap_or_default();
    rows.trim().parse().unwrap_or(0)
}

/// A backend that serves pgbench.
fn backend(server: &RunningPostgreSql) -> i32 {
    let sql = "SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'";
    server.psql(sql).unwrap().trim().parse().unwrap()
}

/// A `psql` that is connected and waits for its next command.
struct Session {
    psql: Child,
    input: Option<ChildStdin>,
}

impl Session {
    fn open(server: &RunningPostgreSql) -> Session {
        let mut command: Command = server.client("psql");
        command.args(["-X", "-q", "-A", "-t", "-d", "postgres"]);
        let mut psql = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = psql.stdin.take();
        Session { psql, input }
    }

    fn send(&mut self, sql: &str) {
        writeln!(self.input.as_mut().unwrap(), "{sql}").unwrap();
    }

    /// All that it printed, after its input has ended.
    fn close(mut self) -> String {
        drop(self.input.take());
        let mut said = String::new();
        self.psql
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        self.psql.wait().unwrap();
        said
    }
}

/// PostgreSQL answers the death of a backend by a restart; the profile covers both sides of it.
#[test]
fn a_killed_backend() {
    let Some(profiled) = ProfiledPostgres::start(STATEMENT, &[]) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let load = Load::start(&profiled.server, &["-c", "8"]);
    signal(backend(&profiled.server), libc::SIGKILL);
    load.wait();
    assert!(
        eventually(|| profiled.server.psql("SELECT 1").is_ok()),
        "it did not recover: {}",
        profiled.profiler.log()
    );
    assert_consistent(&profiled.server, None);
    pgbench(&profiled.server, &["-c", "8", "-t", "50"]);
    assert_consistent(&profiled.server, None);
    let profiled = profiled.finish();
    assert_eq!(profiled.code, Some(0), "{}", profiled.log);
    assert!(
        profiled
            .log
            .contains("all server processes terminated; reinitializing"),
        "{}",
        profiled.log
    );
    // 200 transactions before the death, 400 after it, of seven statements each.
    assert!(
        count(&profiled.closed_profile()["intervals_seen"]) >= 600 * 7,
        "{}",
        profiled.log
    );
}

/// The backends follow their postmaster; what was measured is reported, and how it ended.
#[test]
fn a_killed_postmaster() {
    let Some(profiled) = ProfiledPostgres::start(STATEMENT, &[]) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let load = Load::start(&profiled.server, &["-c", "8"]);
    signal(profiled.server.pid().unwrap() as i32, libc::SIGKILL);
    load.wait();
    let ended = profiled.profiler.wait();
    assert_eq!(ended.code, Some(1), "{}", ended.log);
    assert!(
        ended.log.contains("the command was killed by signal 9"),
        "{}",
        ended.log
    );
    assert!(
        count(&ended.closed_profile()["intervals_seen"]) >= 200 * 7,
        "{}",
        ended.log
    );
}

/// The server runs on without its profiler, and restores its code once the lease has run out.
#[test]
fn a_killed_profiler() {
    let Some(ProfiledPostgres { profiler, server }) = ProfiledPostgres::start(STATEMENT, &[])
    else {
        return;
    };
    make_pgbench_tables(&server);
    let load = Load::start(&server, &["-c", "8"]);
    let postmaster = server.pid().unwrap();
    assert!(changed_code_bytes(postmaster) > 0, "nothing was hooked");
    profiler.kill();
    let before = commits(&server);
    assert!(
        eventually(|| commits(&server) > before + 200),
        "the load stands still"
    );
    // `commits` connects, so the postmaster forks, and looks at the lease.
    let unhooked = eventually(|| commits(&server) > 0 && changed_code_bytes(postmaster) == 0);
    assert!(unhooked, "{} bytes differ", changed_code_bytes(postmaster));
    drop(load);
    pgbench(&server, &["-c", "8", "-t", "50"]);
    assert_consistent(&server, None);
    server.stop().unwrap();
}

/// As `pg_ctl stop -m immediate` does it: backends leave without cleaning up.
#[test]
fn an_immediate_shutdown() {
    let Some(profiled) = ProfiledPostgres::start(STATEMENT, &[]) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let load = Load::start(&profiled.server, &["-c", "8"]);
    signal(profiled.server.pid().unwrap() as i32, libc::SIGQUIT);
    load.wait();
    let ended = profiled.profiler.wait();
    assert_no_crash(&ended.log);
    assert!(
        ended.log.contains("received immediate shutdown request"),
        "{}",
        ended.log
    );
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert!(
        count(&ended.closed_profile()["intervals_seen"]) >= 200 * 7,
        "{}",
        ended.log
    );
}

/// A server that cannot start says why, and the profiler says with which code it ended.
#[test]
fn a_start_that_fails() {
    let Some(prepared) = installed(PostgreSql::prepare(&postgres_options(&[]))) else {
        return;
    };
    let launch = prepared.launch();

    let mut elsewhere = launch.clone();
    let data = elsewhere.args.iter().position(|word| word == "-D").unwrap() + 1;
    elsewhere.args[data] = "/no/such/directory".into();
    let ended = Profiler::start(&elsewhere, &["--preset", "postgres"]).wait();
    assert_eq!(ended.code, Some(2), "{}", ended.log);
    assert!(
        ended.log.contains("/no/such/directory") && ended.log.contains("exit code 2"),
        "{}",
        ended.log
    );

    // A second server in the data directory of one that runs.
    let running = prepared.start(None).unwrap();
    let ended = Profiler::start(&launch, &["--preset", "postgres"]).wait();
    assert_eq!(ended.code, Some(2), "{}", ended.log);
    assert!(
        ended.log.contains("already exists") && ended.log.contains("exit code 1"),
        "{}",
        ended.log
    );
    assert_eq!(running.psql("SELECT 42").unwrap(), "42\n");
    running.stop().unwrap();
}

/// The end of `--for` is a fast shutdown: clients are sent away, a checkpoint is written.
#[test]
fn after_the_time_a_fast_shutdown() {
    let Some(profiled) = ProfiledPostgres::start(&["--for", LONG_ENOUGH], &[]) else {
        return;
    };
    let postmaster = profiled.server.pid();
    let mut idle = Session::open(&profiled.server);
    idle.send("SELECT 'before';");
    let mut answers = 0;
    while profiled.server.psql("SELECT 1").is_ok() {
        answers += 1;
    }
    let ended = profiled.profiler.wait();
    idle.send("SELECT 'after';");
    assert_eq!(idle.close(), "before\n");
    if let Some(postmaster) = postmaster {
        assert_ends(postmaster);
    }
    let seen = count(&ended.profile()["intervals_seen"]);
    assert!(
        seen >= 1 && seen <= answers + 2,
        "{seen} of {answers}: {}",
        ended.log
    );
    for said in [
        "received fast shutdown request",
        "database system is shut down",
    ] {
        assert!(ended.log.contains(said), "{}", ended.log);
    }
}

/// `--keep` leaves the server running without hooks; sessions that were idle all the while go on as if nothing had been.
#[test]
fn a_kept_server() {
    let options = ["--for", LONG_ENOUGH, "--keep"];
    let Some(ProfiledPostgres { profiler, server }) = ProfiledPostgres::start(&options, &[]) else {
        return;
    };
    let mut idle: Vec<Session> = (0..20).map(|_| Session::open(&server)).collect();
    idle.iter_mut()
        .for_each(|session| session.send("BEGIN; SELECT 'before';"));
    let ended = profiler.wait();
    assert!(
        count(&ended.profile()["intervals_seen"]) >= 2,
        "{}",
        ended.log
    );
    idle.iter_mut().for_each(|session| {
        session.send("SELECT sum(i) FROM generate_series(1, 100) i; COMMIT; SELECT 1 / 0;")
    });
    for session in idle {
        assert_eq!(session.close(), "before\n5050\n");
    }
    // The postmaster, which runs no interval, takes its hooks out when it next forks.
    make_pgbench_tables(&server);
    assert_unhooked(server.pid().unwrap());
    let transactions = pgbench(&server, &["-c", "8", "-t", "20"]);
    assert_consistent(&server, Some(transactions));
    let stopped = server.stop();
    assert!(stopped.is_ok(), "{stopped:?}");
}

/// A process for each of a thousand connections, a hundred at a time, which come and go faster than anybody looks.
#[test]
fn many_short_connections() {
    let Some(profiled) = ProfiledPostgres::start(STATEMENT, &[]) else {
        return;
    };
    make_pgbench_tables(&profiled.server);
    let transactions = pgbench(
        &profiled.server,
        &["-S", "-C", "-c", "100", "-j", "2", "-t", "10"],
    );
    assert_eq!(transactions, 1000);
    let profiled = profiled.finish();
    let profile = profiled.profile();
    // One statement a transaction, the tables, and what pgbench asks at first.
    let (seen, expected) = (count(&profile["intervals_seen"]), 1000 + 1 + 2);
    // On a busy machine a burst of new processes may find no ring for a moment: the report says so, and invents
    // nothing.
    let some_unseen = profile["warnings"]
        .to_string()
        .contains("threads were not recorded");
    assert!(
        seen == expected || (some_unseen && seen < expected),
        "{seen} of {expected}: {}",
        profiled.log
    );
}

/// Backends ended by an administrator in the middle of a statement and of a transaction.
#[test]
fn terminated_backends() {
    for interval in ["statement", "transaction"] {
        let Some(profiled) = ProfiledPostgres::start(&["--interval", interval], &[]) else {
            return;
        };
        make_pgbench_tables(&profiled.server);
        let mut sessions: Vec<Session> = (0..10).map(|_| Session::open(&profiled.server)).collect();
        sessions
            .iter_mut()
            .for_each(|session| session.send("BEGIN; SELECT pg_sleep(600);"));
        let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        assert!(eventually(
            || profiled.server.psql(asleep).unwrap() == "10\n"
        ));
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        assert_eq!(profiled.server.psql(end).unwrap(), "10\n");
        // Each psql loses its connection, makes a new one, and ends with its input.
        sessions
            .into_iter()
            .for_each(|session| drop(session.close()));
        let transactions = pgbench(&profiled.server, &["-c", "4", "-t", "100"]);
        assert_consistent(&profiled.server, Some(transactions));
        let pid = profiled.server.pid().unwrap();
        let profiled = profiled.finish();
        assert!(!runs(pid as i32));
        assert!(
            count(&profiled.profile()["intervals_seen"]) >= transactions,
            "{interval}: {}",
            profiled.log
        );
    }
}

/// Hardly any time to profile: the session ends while the server starts.
#[test]
fn an_interrupt_during_the_start() {
    for pause_ms in [0, 30, 100, 300] {
        let Some(prepared) = installed(PostgreSql::prepare(&postgres_options(&[]))) else {
            return;
        };
        let profiler = Profiler::start(&prepared.launch(), &["--preset", "postgres"]);
        std::thread::sleep(Duration::from_millis(pause_ms));
        let ended = profiler.interrupt();
        assert_no_crash(&ended.log);
        // Nothing could be profiled, or Ctrl-C came before anybody listened.
        assert!(
            matches!(ended.code, Some(2) | None),
            "after {pause_ms} ms: {:?} {}",
            ended.code,
            ended.log
        );
    }
}
