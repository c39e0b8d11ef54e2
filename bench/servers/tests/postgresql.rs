//! A private PostgreSQL from its start to its end, and pgbench on it. Needs PostgreSQL: scripts/install.sh postgresql.

mod support;

use std::net::{Ipv4Addr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use evenkeel_servers::{Length, Limits, Options, Pgbench, PostgreSql, Script, ServerError};
use support::{assert_ends_well, log_of_refusal, or_explain};

#[test]
fn starts_answers_and_stops() {
    let server = or_explain(PostgreSql::prepare(&Options::default()));
    let server = or_explain(server.start(None));
    assert_eq!(or_explain(server.psql("SELECT 6 * 7, 'ü'")), "42|ü\n");
    assert_eq!(or_explain(server.psql("SHOW fsync")), "on\n");
    assert_eq!(or_explain(server.psql("SHOW listen_addresses")), "\n");
    let stopped = assert_ends_well(server);
    assert!(
        stopped.log.contains("received fast shutdown request"),
        "{}",
        stopped.log
    );
}

#[test]
fn settings_and_a_loopback_port() {
    let options = Options {
        loopback: true,
        fsync: false,
        settings: vec![("work_mem".into(), "64kB".into())],
        ..Options::default()
    };
    let server = or_explain(PostgreSql::prepare(&options).and_then(|server| server.start(None)));
    assert_eq!(or_explain(server.psql("SHOW work_mem")), "64kB\n");
    assert_eq!(or_explain(server.psql("SHOW fsync")), "off\n");
    TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("it listens");
}

#[test]
fn two_servers_do_not_meet() {
    let start = || {
        or_explain(PostgreSql::prepare(&Options::default()).and_then(|server| server.start(None)))
    };
    let (one, two) = (start(), start());
    or_explain(one.psql("CREATE TABLE only_in_one (a int)"));
    let error = two.psql("TABLE only_in_one").unwrap_err().to_string();
    assert!(
        error.contains("relation \"only_in_one\" does not exist"),
        "{error}"
    );
}

#[test]
fn starts_behind_another_command() {
    let server = or_explain(PostgreSql::prepare(&Options::default()));
    let wrap = [
        "/bin/sh",
        "-c",
        "\"$@\"; echo the server ended with $?",
        "sh",
    ]
    .map(Into::into);
    let server = or_explain(server.start(Some(&wrap)));
    assert_eq!(or_explain(server.psql("SELECT 1")), "1\n");
    let stopped = or_explain(server.stop());
    assert!(
        stopped.log.ends_with("the server ended with 0\n"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_caller_may_start_it_and_have_it_adopted() {
    let server = or_explain(PostgreSql::prepare(&Options::default()));
    let mut child = server
        .command()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let server = or_explain(server.adopt());
    assert_eq!(server.pid(), Some(child.id()));
    let waiter = std::thread::spawn(move || child.wait().expect("it ends"));
    or_explain(server.stop());
    assert!(waiter.join().expect("no panic").success());
}

#[test]
fn a_wrong_setting_fails_with_the_servers_own_words() {
    let options = Options {
        settings: vec![("no_such_setting".into(), "1".into())],
        ..Options::default()
    };
    let log = log_of_refusal(PostgreSql::prepare(&options).and_then(|server| server.start(None)));
    assert!(log.contains("no_such_setting"), "{log}");
}

#[test]
fn a_server_that_is_not_up_in_time_is_given_up() {
    let limits = Limits {
        start: Duration::ZERO,
        ..Limits::default()
    };
    let server = or_explain(PostgreSql::prepare(&Options {
        limits,
        ..Options::default()
    }));
    // A command that never comes to run the server: only the limit can end the waiting.
    let result = server.start(Some(&["/bin/sh", "-c", "exec sleep 1000"].map(Into::into)));
    assert!(
        matches!(result, Err(ServerError::StartTimeout { .. })),
        "{result:?}"
    );
}

#[test]
fn pgbench_counts_what_the_server_committed() {
    let server =
        or_explain(PostgreSql::prepare(&Options::default()).and_then(|server| server.start(None)));
    let load = Pgbench {
        clients: 4,
        jobs: 2,
        scale: 1,
        length: Length::Transactions(25),
        script: Script::TpcB,
    };
    or_explain(load.initialize(&server));
    let result = or_explain(load.run(&server));
    assert_eq!((result.transactions, result.failed), (100, 0));
    assert!(result.latency_mean_ms > 0.0 && result.transactions_per_s > 0.0);
    // Each TPC-B transaction leaves one line of history.
    assert_eq!(
        or_explain(server.psql("SELECT count(*) FROM pgbench_history")),
        "100\n"
    );
}
