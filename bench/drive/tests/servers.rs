//! The workloads on private PostgreSQL and MariaDB servers, which are used by their URLs, as any server would be.

mod testbeds;

use std::sync::OnceLock;
use std::time::Duration;

use evenkeel_drive::Error;
use evenkeel_drive::target::{Target, mariadb, postgres};
use evenkeel_servers::{MariaDb, Options, PostgreSql, RunningMariaDb, RunningPostgreSql};
use testbeds::{SMALL, run, set, works};

fn options() -> Options {
    Options {
        loopback: true,
        fsync: false,
        ..Options::default()
    }
}

fn start_postgres() -> (RunningPostgreSql, String) {
    let server = PostgreSql::prepare(&options())
        .unwrap()
        .start(None)
        .unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    (server, url)
}

fn start_mariadb() -> (RunningMariaDb, String) {
    let server = MariaDb::prepare(&options()).unwrap().start(None).unwrap();
    let url = format!("mysql://root@127.0.0.1:{}/test", server.port().unwrap());
    (server, url)
}

fn postgres(url: &str) -> Target {
    Target::from(postgres::Target::at(url, &[]).unwrap())
}

fn mariadb(url: &str) -> Target {
    Target::from(mariadb::Target::at(url, &[]).unwrap())
}

#[test]
fn every_workload_runs_on_postgresql() {
    let (_server, url) = start_postgres();
    for (name, options) in SMALL {
        let (mut testbed, _) = set(postgres(&url), name, options, false)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        works(&mut testbed);
    }
}

#[test]
fn every_workload_runs_on_mariadb() {
    let (_server, url) = start_mariadb();
    for (name, options) in SMALL {
        let (mut testbed, _) = set(mariadb(&url), name, options, false)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        works(&mut testbed);
    }
}

/// Data that is there is used, unless other data is wanted; tables of somebody else are not touched.
fn tables_are_respected(target: &dyn Fn() -> Target, sql: &dyn Fn(&str) -> String) {
    let used = "using the data that is there".to_owned();
    let (name, options) = SMALL[5];
    for (reload, expected) in [(false, false), (false, true), (true, false)] {
        let (_, said) = set(target(), name, options, reload).unwrap();
        assert_eq!(said.contains(&used), expected, "{said:?}");
    }
    let (_, said) = set(target(), name, &[("records", "100")], false).unwrap();
    assert!(!said.contains(&used), "{said:?}");
    sql("DROP TABLE usertable");
    sql("CREATE TABLE usertable (precious INTEGER)");
    sql("INSERT INTO usertable VALUES (42)");
    for reload in [false, true] {
        let error = set(target(), name, options, reload).map(drop).unwrap_err();
        assert!(
            matches!(&error, Error::Foreign { table, .. } if table == "usertable"),
            "{error}"
        );
    }
    assert_eq!(sql("SELECT precious FROM usertable").trim(), "42");
}

#[test]
fn tables_of_others_are_left_alone_on_postgresql() {
    let (server, url) = start_postgres();
    tables_are_respected(&|| postgres(&url), &|sql| server.psql(sql).unwrap());
}

#[test]
fn tables_of_others_are_left_alone_on_mariadb() {
    let (server, url) = start_mariadb();
    let sql = |sql: &str| server.query(&format!("USE test; {sql}")).unwrap();
    tables_are_respected(&|| mariadb(&url), &sql);
}

/// A server that is killed in the middle of a run ends the run with an error.
fn a_loss_is_reported(target: Target, pid: u32) {
    let (name, options) = SMALL[5];
    let (mut testbed, _) = set(target, name, options, false).unwrap();
    let killed = OnceLock::new();
    let lost = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            killed
                .set(rustix::process::kill_process(
                    pid,
                    rustix::process::Signal::QUIT,
                ))
                .unwrap();
        });
        // Far longer than it takes.
        run(&mut testbed, 600_000)
    });
    assert_eq!(killed.get(), Some(&Ok(())));
    let error = lost.map(drop).unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");
}

#[test]
fn a_lost_postgresql_is_reported() {
    let (server, url) = start_postgres();
    // SIGQUIT is its immediate shutdown.
    a_loss_is_reported(postgres(&url), server.pid().unwrap());
}

#[test]
fn a_lost_mariadb_is_reported() {
    let (server, url) = start_mariadb();
    a_loss_is_reported(mariadb(&url), server.pid().unwrap());
}

#[test]
fn nobody_at_the_url_is_reported() {
    // Port 1 is nobody's.
    for error in [
        postgres::Target::at("postgres://nobody@127.0.0.1:1/nothing", &[])
            .map(drop)
            .unwrap_err(),
        mariadb::Target::at("mysql://nobody@127.0.0.1:1/nothing", &[])
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(
            matches!(error, Error::Connect { .. })
                && error.to_string().contains("127.0.0.1:1/nothing")
                && error.to_string().contains("check that the server runs"),
            "{error}"
        );
    }
    let nameless = mariadb::Target::at("mysql://root@127.0.0.1:1", &[])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(nameless.contains("names no database"), "{nameless}");
}
