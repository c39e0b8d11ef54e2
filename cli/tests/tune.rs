//! `evenkeel tune`, end to end: its mechanics, never effects. Servers are private ones of the test's, which tune takes for somebody
//! else's.

mod support;

use std::process::Child;

use evenkeel_servers::{MariaDb, Options, RunningMariaDb, RunningPostgreSql};
use serde_json::Value;
use support::run::{Run, eventually, runs, signal};
use support::servers::installed;
use support::tuning::{self, BUDGET, State, json, quick};

fn postgres() -> Option<(RunningPostgreSql, String)> {
    tuning::postgres(&[("commit_delay", "77")])
}

/// The file that `ALTER SYSTEM` writes.
fn kept(server: &RunningPostgreSql) -> String {
    let sql = "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' ORDER BY name";
    server.psql(sql).unwrap()
}

const AS_FOUND: &str = "commit_delay|77\n";

/// A tuner that is stopped (SIGSTOP) at a moment at which something is changed.
#[track_caller]
fn at_work(state: &State, arguments: &[&str], changed: impl Fn() -> bool) -> Child {
    let mut child = state.tune(arguments).spawn().unwrap();
    let pid = child.id() as i32;
    let stopped = eventually(|| {
        if !changed() {
            return child.try_wait().unwrap().is_some();
        }
        signal(pid, libc::SIGSTOP);
        // It may have gone on until the signal came.
        let is_changed = changed();
        if !is_changed {
            signal(pid, libc::SIGCONT);
        }
        is_changed
    });
    let ended = child.try_wait().unwrap().is_some();
    assert!(stopped && !ended, "{:?}", child.wait_with_output());
    child
}

/// Arguments of a run that lasts, on a PostgreSQL.
fn lasting(url: &str) -> Vec<&str> {
    quick(url, &["--budget", "30m", "--knobs", "commit_delay"])
}

fn ended(child: Child) -> Run {
    child.wait_with_output().unwrap().into()
}

#[test]
fn the_store_is_tuned_and_says_what_was_tried() {
    let (state, folder) = (State::new(), tempfile::tempdir().unwrap());
    let page = folder.path().join("tune.html");
    let more = [
        &BUDGET[..],
        &[
            "--knobs",
            "schedule,page-bytes",
            "--json",
            "--html",
            page.to_str().unwrap(),
        ],
    ]
    .concat();
    // What a process that is gone has left.
    let left = state.temporary().join("evenkeel-left");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("owner"), "").unwrap();
    let run = state.run(&quick("embedded", &more)).ended(0);
    let json = json(&run);
    let says = json["notes"].to_string().contains(left.to_str().unwrap());
    assert!(says && !left.exists(), "{json}");
    let tried = json["candidates"].as_array().unwrap();
    let with_rounds = |one: &&Value| !one["rounds"].as_array().unwrap().is_empty();
    assert!(tried.iter().filter(with_rounds).count() >= 2, "{json}");
    assert!(
        !json["verdict"].as_str().unwrap().is_empty() && json["consistency"] == "ok",
        "{json}"
    );
    assert_eq!(json["helps"].is_null(), json["to_copy"].is_null());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("<table") && html.contains("schedule="),
        "{html}"
    );
}

#[test]
fn knobs_are_listed_with_what_they_cost() {
    let state = State::new();
    let list = |target: &str| {
        state
            .run(&["--target", target, "--list-knobs"])
            .ended(0)
            .stdout
    };
    let postgres = list("postgres");
    for words in [
        "shared_buffers",
        "needs a restart",
        "gives up durability",
        "full_page_writes",
        "never tried",
    ] {
        assert!(postgres.contains(words), "{postgres}");
    }
    assert!(list("mariadb").contains("innodb_buffer_pool_size"));
    assert!(list("embedded").contains("needs a new data directory"));
}

#[test]
fn contradictory_options_are_refused_by_name() {
    let state = State::new();
    for (arguments, says) in [
        (&["tpcc", "--knobs", "colour"][..], "no knob colour"),
        (
            &[
                "tpcc",
                "--target",
                "postgres",
                "--knobs",
                "full_page_writes",
            ],
            "never tried",
        ),
        (&["tpcc", "--objective", "median"], "p99.9"),
        (&["tpcc", "--apply"], "--apply is for a server that stays"),
        (&["tpcc", "--target", "sqlite"], "no knobs of SQLite"),
        (&["tpcc", "--allow", "restart"], "--restart-command"),
        (&["--command", "true"], "by a WORKLOAD"),
        (&["--budget", "1m"], "name a workload"),
    ] {
        state.run(arguments).ended(2).said(&[says]);
    }
    let short = quick("embedded", &["--budget", "1s"]);
    state.run(&short).ended(2).said(&["longer --budget"]);
}

#[test]
fn a_postgres_is_left_as_it_was_found() {
    let Some((server, url)) = postgres() else {
        return;
    };
    let state = State::new();
    let options = ["--knobs", "commit_delay,shared_buffers,synchronous_commit"];
    let json = state.raced(&url, &options);
    assert_eq!(json["before"]["commit_delay"], "77", "{json}");
    let skipped = json["skipped"].to_string();
    assert!(
        skipped.contains("--allow restart") && skipped.contains("--allow durability"),
        "{skipped}"
    );
    assert_eq!(kept(&server), AS_FOUND);
    let holds = server.psql("SHOW commit_delay").unwrap();
    assert_eq!((holds.as_str(), state.journals()), ("77\n", 0));
}

#[test]
fn a_restart_is_done_by_the_command_that_was_given() {
    let Some((server, url)) = postgres() else {
        return;
    };
    let state = State::new();
    // This test does not restart the server: it checks that the command is run, and that the settings are restored.
    let mark = server.folder().join("restarted");
    let command = format!("echo once >> {}", mark.display());
    let knobs = [
        "--knobs",
        "wal_buffers",
        "--allow",
        "restart",
        "--restart-command",
        &command,
        "--json",
    ];
    let json = json(
        &state
            .run(&quick(&url, &[&BUDGET[..], &knobs].concat()))
            .ended(0),
    );
    // The server was not really restarted, and tune says that the setting does not hold.
    assert!(
        json["candidates"]
            .to_string()
            .contains("refused: wal_buffers stays"),
        "{json}"
    );
    assert!(mark.exists());
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
}

#[test]
fn ctrl_c_puts_settings_back() {
    let Some((server, url)) = postgres() else {
        return;
    };
    let state = State::new();
    let child = at_work(&state, &lasting(&url), || kept(&server) != AS_FOUND);
    signal(child.id() as i32, libc::SIGINT);
    signal(child.id() as i32, libc::SIGCONT);
    let run = ended(child).ended(0);
    assert!(
        run.stdout.contains("Stopped before a winner was confirmed"),
        "{}",
        run.stdout
    );
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
}

#[test]
fn settings_of_a_killed_tuner_are_restored() {
    let Some((server, url)) = postgres() else {
        return;
    };
    let state = State::new();
    let mut child = at_work(&state, &lasting(&url), || kept(&server) != AS_FOUND);
    // While it lives nobody else tunes this server.
    state
        .run(&quick(&url, &BUDGET))
        .ended(2)
        .said(&["another evenkeel tune is at work"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(kept(&server), AS_FOUND);
    state
        .run(&quick(&url, &BUDGET))
        .ended(2)
        .said(&["--restore --target", "cut short"]);
    let run = state.restore(&["--target", &url]).ended(0);
    assert!(run.stdout.contains("put back"), "{}", run.stdout);
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
    let again = state.restore(&[]).ended(0);
    assert!(
        again.stdout.contains("nothing was left changed"),
        "{}",
        again.stdout
    );
}

#[test]
fn settings_of_a_dead_server_are_restored_once_it_runs() {
    let Some((mut server, url)) = postgres() else {
        return;
    };
    let state = State::new();
    let child = at_work(&state, &lasting(&url), || kept(&server) != AS_FOUND);
    let pid = server.pid().unwrap() as i32;
    signal(pid, libc::SIGQUIT);
    assert!(eventually(|| !runs(pid)));
    signal(child.id() as i32, libc::SIGCONT);
    let run = ended(child).ended(2).said(&["--restore --target"]);
    assert!(
        state.journals() == 1 && run.stderr.contains("commit_delay (was 77)"),
        "{}",
        run.stderr
    );
    server.restart(None).unwrap();
    state.restore(&[]).ended(0);
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
}

#[test]
fn an_account_without_rights_learns_the_needed_account() {
    let Some((server, url)) = postgres() else {
        return;
    };
    server.psql("CREATE ROLE clerk LOGIN").unwrap();
    let state = State::new();
    let url = url.replace("postgres@", "clerk@");
    let run = state
        .run(&quick(&url, &BUDGET))
        .ended(2)
        .said(&["clerk may not change settings", "superuser"]);
    assert_eq!(
        (kept(&server).as_str(), state.journals()),
        (AS_FOUND, 0),
        "{run:?}"
    );
}

#[test]
fn a_load_that_fails_ends_it_with_the_loads_own_words() {
    let Some((server, url)) = postgres() else {
        return;
    };
    let state = State::new();
    let load = "psql -c 'SELECT 1 FROM nowhere' || { echo the load is broken >&2; exit 9; }";
    let run = state.run(&[
        "--target",
        &url,
        "--command",
        load,
        "--no-profile",
        "--for",
        "100ms",
        "--budget",
        "60s",
    ]);
    run.ended(2)
        .said(&["the load", "exit status: 9", "the load is broken"]);
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
}

/// A MariaDB, and its URL.
fn mariadb() -> Option<(RunningMariaDb, String)> {
    let options = Options {
        loopback: true,
        settings: vec![("local-infile".to_owned(), "ON".to_owned())],
        ..Options::default()
    };
    let server = installed(MariaDb::prepare(&options))?.start(None).unwrap();
    server
        .query("SET GLOBAL innodb_lru_scan_depth = 1234")
        .unwrap();
    let url = format!("mysql://root@127.0.0.1:{}/test", server.port()?);
    Some((server, url))
}

const DEPTH: &str = "SELECT @@GLOBAL.innodb_lru_scan_depth";

#[test]
fn a_mariadb_is_left_as_it_was_found() {
    let Some((server, url)) = mariadb() else {
        return;
    };
    let state = State::new();
    let knobs = ["--knobs", "innodb_lru_scan_depth,thread_handling", "--json"];
    let json = json(
        &state
            .run(&quick(&url, &[&BUDGET[..], &knobs].concat()))
            .ended(0),
    );
    assert_eq!(json["before"]["innodb_lru_scan_depth"], "1234", "{json}");
    assert!(
        json["skipped"].to_string().contains("private server"),
        "{json}"
    );
    assert_eq!(
        (server.query(DEPTH).unwrap().trim(), state.journals()),
        ("1234", 0)
    );
    server
        .query("CREATE USER clerk@'127.0.0.1'; GRANT ALL ON test.* TO clerk@'127.0.0.1'")
        .unwrap();
    let url = url.replace("root@", "clerk@");
    state
        .run(&quick(&url, &BUDGET))
        .ended(2)
        .said(&["clerk", "may not change settings"]);
}

#[test]
fn settings_of_a_killed_tuner_are_restored_on_a_mariadb() {
    let Some((server, url)) = mariadb() else {
        return;
    };
    let state = State::new();
    let long = quick(
        &url,
        &["--budget", "30m", "--knobs", "innodb_lru_scan_depth"],
    );
    let depth = || server.query(DEPTH).unwrap().trim().to_owned();
    let mut child = at_work(&state, &long, || depth() != "1234");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(depth(), "1234");
    state.restore(&[]).ended(0);
    assert_eq!((depth().as_str(), state.journals()), ("1234", 0));
}
