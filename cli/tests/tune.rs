//! `evenkeel tune`, end to end: its mechanics, never effects. Servers are private ones of the test's, which tune takes for somebody
//! else's.

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use evenkeel_servers::{MariaDb, Options, PostgreSql, RunningMariaDb, RunningPostgreSql};
use serde_json::Value;
use support::run::{Run, eventually, runs, signal};
use support::servers::installed;

/// A load that is quick to make and to run, with the shortest race that can confirm anything.
const QUICK: [&str; 10] = [
    "ycsb-a",
    "-o",
    "records=200",
    "--clients",
    "2",
    "--for",
    "300ms",
    "--warmup",
    "50ms",
    "--no-profile",
];
/// Time enough for such a race on a machine that is busy.
const BUDGET: [&str; 2] = ["--budget", "45s"];

/// Where a test's runs write down what they change.
struct State(tempfile::TempDir);

impl State {
    fn new() -> State {
        State(tempfile::tempdir().unwrap())
    }

    fn tune(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .arg("tune")
            .args(arguments)
            .env("XDG_STATE_HOME", self.0.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.tune(arguments).output().unwrap().into()
    }

    fn journals(&self) -> usize {
        let directory = self.0.path().join("evenkeel/tune");
        directory.read_dir().map_or(0, Iterator::count)
    }
}

fn quick<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let target = ["--target", target];
    QUICK.iter().chain(&target).chain(more).copied().collect()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// A PostgreSQL with a setting of its own in the file that `ALTER SYSTEM` writes, and its URL.
fn postgres() -> Option<(RunningPostgreSql, String)> {
    let options = Options {
        loopback: true,
        ..Options::default()
    };
    let server = installed(PostgreSql::prepare(&options))?
        .start(None)
        .unwrap();
    server.psql("ALTER SYSTEM SET commit_delay = 77").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    Some((server, url))
}

/// What `ALTER SYSTEM` has written.
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
    let run = state.run(&quick("embedded", &more)).ended(0);
    let json = json(&run);
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
fn what_makes_no_sense_is_refused_by_name() {
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
    let more = [
        &BUDGET[..],
        &[
            "--knobs",
            "commit_delay,shared_buffers,synchronous_commit",
            "--json",
        ],
    ]
    .concat();
    let json = json(&state.run(&quick(&url, &more)).ended(0));
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
    // Restarting is not what this test is about: that the command is run, and the settings are put back all the same.
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
fn what_a_killed_tuner_has_left_is_put_back() {
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
    let run = state.run(&["--restore", "--target", &url]).ended(0);
    assert!(run.stdout.contains("put back"), "{}", run.stdout);
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
    let again = state.run(&["--restore"]).ended(0);
    assert!(
        again.stdout.contains("nothing was left changed"),
        "{}",
        again.stdout
    );
}

#[test]
fn what_was_changed_on_a_server_that_died_is_put_back_once_it_lives() {
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
    state.run(&["--restore"]).ended(0);
    assert_eq!((kept(&server).as_str(), state.journals()), (AS_FOUND, 0));
}

#[test]
fn an_account_without_rights_is_told_whom_to_be() {
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

#[test]
fn a_private_server_whose_tuner_was_killed_is_stopped_and_removed() {
    let Some(prepared) = installed(PostgreSql::prepare(&Options::default())) else {
        return;
    };
    drop(prepared);
    let (state, temporary) = (State::new(), tempfile::tempdir().unwrap());
    std::fs::set_permissions(
        temporary.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut command = state.tune(&quick(
        "postgres",
        &["--budget", "30m", "--knobs", "commit_delay"],
    ));
    let mut child = command.env("TMPDIR", temporary.path()).spawn().unwrap();
    let begun = eventually(|| state.journals() == 1 && !running_below(temporary.path()).is_empty());
    assert!(begun && child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!running_below(temporary.path()).is_empty());
    let run = state.run(&["--restore", "--target", "postgres"]).ended(0);
    assert!(
        run.stdout.contains("stopped the private server"),
        "{}",
        run.stdout
    );
    assert!(eventually(|| running_below(temporary.path()).is_empty()));
    assert_eq!(
        (
            temporary.path().read_dir().unwrap().count(),
            state.journals()
        ),
        (0, 0)
    );
}

/// Processes whose arguments name the directory.
fn running_below(directory: &Path) -> Vec<i32> {
    let name = directory.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pid = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let names_it = |pid: &i32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(&name)
    };
    processes.filter_map(pid).filter(names_it).collect()
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
fn what_a_killed_tuner_has_left_on_a_mariadb_is_put_back() {
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
    state.run(&["--restore"]).ended(0);
    assert_eq!((depth().as_str(), state.journals()), ("1234", 0));
}
