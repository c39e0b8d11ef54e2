//! A private MariaDB from its start to its end. Needs MariaDB: scripts/install.sh mariadb.

mod support;

use std::net::{Ipv4Addr, TcpStream};

use evenkeel_servers::{MariaDb, Options, Release};
use support::{assert_ends_well, log_of_refusal, or_explain};

#[test]
fn starts_answers_and_stops() {
    let server =
        or_explain(MariaDb::prepare(&Options::default()).and_then(|server| server.start(None)));
    assert_eq!(or_explain(server.query("SELECT 6 * 7, 'a'")), "42\ta\n");
    assert_eq!(or_explain(server.query("SELECT @@skip_networking")), "1\n");
    or_explain(
        server.query("CREATE TABLE test.t (a INT) ENGINE=InnoDB; INSERT INTO test.t VALUES (1)"),
    );
    assert_eq!(
        or_explain(server.query("SELECT count(*) FROM test.t")),
        "1\n"
    );
    assert_ends_well(server);
}

#[test]
fn settings_and_a_loopback_port() {
    let options = Options {
        loopback: true,
        fsync: false,
        settings: vec![("max-connections".into(), "23".into())],
        ..Options::default()
    };
    let server = or_explain(MariaDb::prepare(&options).and_then(|server| server.start(None)));
    assert_eq!(or_explain(server.query("SELECT @@max_connections")), "23\n");
    assert_eq!(
        or_explain(server.query("SELECT @@innodb_flush_method")),
        "nosync\n"
    );
    let port = server.port().expect("asked for");
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
}

#[test]
fn a_wrong_setting_fails_with_the_servers_own_words() {
    let options = Options {
        settings: vec![("no-such-setting".into(), "1".into())],
        ..Options::default()
    };
    let log = log_of_refusal(MariaDb::prepare(&options).and_then(|server| server.start(None)));
    assert!(log.contains("no-such-setting"), "{log}");
}

/// Where they were fetched (scripts/install.sh mariadb-10.2.11 mariadb-11.4.5): 200 MB that no other test needs.
#[test]
fn official_builds_start_answer_and_stop() {
    for version in ["10.2.11", "11.4.5"] {
        let Ok(release) = Release::find(version) else {
            eprintln!("skipped: there is no MariaDB {version}");
            continue;
        };
        let options = Options {
            release: Some(release),
            ..Options::default()
        };
        let server = or_explain(MariaDb::prepare(&options).and_then(|server| server.start(None)));
        let found = or_explain(server.query("SELECT version()"));
        assert!(found.starts_with(version), "{found}");
        assert_eq!(or_explain(server.query("SHOW TABLES IN test")), "");
        assert_ends_well(server);
    }
}
