//! Redirects and restores thousands of call sites of a loaded server, at random, many times a second. No result is
//! wrong, and at the end the code equals the file's.
//!
//! Refinement changes few sites at a time and then stops. This test drives the session's parts by hand instead, in a
//! separate process: the same test again, with its orders in the environment ([`flips_as_ordered`]).

#[path = "servers_flips/flipping.rs"]
mod flipping;
mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use evenkeel_servers::{Launch, MariaDb, Options, PostgreSql, RunningMariaDb};
use flipping::Flipping;
use serde_json::{Value, json};
use support::build::agent;
use support::run::eventually;
use support::servers::{
    assert_consistent, assert_no_crash, count, installed, make_pgbench_tables, pgbench_until,
    postgres_options,
};

/// Variable with the flipper's orders.
const ORDERS: &str = "EVENKEEL_TEST_FLIPPER";

/// Shortest length of the load; `EVENKEEL_FLIP_SECONDS` overrides it for a longer test.
fn load_length() -> Duration {
    let asked = std::env::var("EVENKEEL_FLIP_SECONDS").ok();
    let seconds = asked.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

// The flipper, as the tests see it ------------------------------------------------------------------------------------

/// The process that flips. Dropping it kills it; the server then takes its hooks out by itself.
struct Flipper {
    child: Child,
    folder: tempfile::TempDir,
}

impl Flipper {
    /// Runs `test` of this file once more, with orders.
    fn start(test: &str, launch: &Launch, interval: &str, stop_signal: i32) -> Flipper {
        let folder = tempfile::tempdir().unwrap();
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open.clone()).unwrap();
        let own_agent = folder.path().join("libevenkeel_agent.so");
        std::fs::copy(agent(), &own_agent).unwrap();
        std::fs::set_permissions(&own_agent, open).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let orders = json!({
            "program": text(&launch.program),
            "arguments": launch.args.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>(),
            "user": launch.user(),
            "directory": text(&launch.working_directory),
            "interval": interval,
            "stop_signal": stop_signal,
            "folder": text(folder.path()),
        });
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", test, "--nocapture"])
            .env(ORDERS, orders.to_string());
        command
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .env("EVENKEEL_AGENT", own_agent);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        Flipper {
            child: command.spawn().unwrap(),
            folder,
        }
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join("log")).unwrap_or_default())
            .into_owned()
    }

    /// Whether the load may end: it has run for long enough since `begin`, and sites were flipped often enough under it. Also where
    /// the flipper has ended, which [`Flipper::finish`] then says.
    fn has_enough(&mut self, begin: Instant) -> bool {
        let has_ended = self.child.try_wait().unwrap().is_some();
        let is_long_enough = begin.elapsed() >= load_length();
        has_ended || (is_long_enough && self.folder.path().join("enough").exists())
    }

    /// Ends flipping: the server is to take its hooks out.
    fn detach(&self) {
        std::fs::write(self.folder.path().join("detach"), "").unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }

    /// Stops the server and returns what was seen.
    fn finish(mut self) -> Value {
        std::fs::write(self.folder.path().join("end"), "").unwrap();
        let mut status = None;
        let ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let log = self.log();
        assert!(ended && status.unwrap().success(), "{log}");
        assert_no_crash(&log);
        let result = std::fs::read_to_string(self.folder.path().join("result"))
            .unwrap_or_else(|_| panic!("{log}"));
        serde_json::from_str(&result).unwrap()
    }
}

impl Drop for Flipper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Conditions after any load.
#[track_caller]
fn assert_flipped(result: &Value) {
    eprintln!("flips: {result}");
    assert!(count(&result["generations"]) > 50, "{result}");
    assert!(count(&result["applications"]) > 50, "{result}");
    assert!(count(&result["intervals"]) > 1000, "{result}");
    assert_eq!(result["closure_error"], 0, "{result}");
    assert_eq!(result["refused"], 0, "{result}");
    assert_eq!(
        result["left_hooked"], 0,
        "the code is the file's again: {result}"
    );
}

/// Whether this process has orders; then it has carried them out.
fn flips_as_ordered() -> bool {
    let Ok(orders) = std::env::var(ORDERS) else {
        return false;
    };
    let orders: Value = serde_json::from_str(&orders).unwrap();
    let result = Flipping::new(orders).run();
    std::fs::write(result.0, result.1.to_string()).unwrap();
    true
}

// The loads -----------------------------------------------------------------------------------------------------------

#[test]
fn postgres_under_pgbench() {
    if flips_as_ordered() {
        return;
    }
    let Some(prepared) = installed(PostgreSql::prepare(&postgres_options(&[]))) else {
        return;
    };
    let mut flipper = Flipper::start(
        "postgres_under_pgbench",
        &prepared.launch(),
        "postgres:statement",
        libc::SIGINT,
    );
    let server = prepared
        .adopt()
        .unwrap_or_else(|error| panic!("{error}\n{}", flipper.log()));
    make_pgbench_tables(&server);
    let load = ["-c", "16", "-j", "2", "-T", "5"];
    let begin = Instant::now();
    let (transactions, _) = pgbench_until(&server, &load, || flipper.has_enough(begin));
    assert_consistent(&server, Some(transactions));
    flipper.detach();
    // The postmaster looks at the plan when it forks.
    server.psql("SELECT 1").unwrap();
    assert_flipped(&flipper.finish());
}

/// Threads of one process, so that code changes under their feet. Each client moves money from one account to another, in
/// the order of their numbers, which keeps deadlocks out; nothing may get lost or fail.
#[test]
fn mariadb_under_transfers() {
    if flips_as_ordered() {
        return;
    }
    let Some(prepared) = installed(MariaDb::prepare(&Options {
        fsync: false,
        ..Options::default()
    })) else {
        return;
    };
    let interval = "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool)";
    let mut flipper = Flipper::start(
        "mariadb_under_transfers",
        &prepared.launch(),
        interval,
        libc::SIGTERM,
    );
    let server = prepared
        .adopt()
        .unwrap_or_else(|error| panic!("{error}\n{}", flipper.log()));
    server
        .query(
            "USE test;
             CREATE TABLE test.account (id INT PRIMARY KEY, balance INT) ENGINE = InnoDB;
             CREATE TABLE test.history (source INT, target INT, amount INT) ENGINE = InnoDB;
             INSERT INTO test.account SELECT seq, 1000 FROM seq_1_to_1000",
        )
        .unwrap();
    let (server, over, begin) = (&server, &AtomicBool::new(false), Instant::now());
    let transfers: u64 = std::thread::scope(|scope| {
        let client = |number| scope.spawn(move || transfer_until(server, number, over));
        let clients: Vec<_> = (0..8).map(client).collect();
        // A client that has failed ends it, too.
        while !flipper.has_enough(begin) && !clients.iter().any(|client| client.is_finished()) {
            std::thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    let sums = "SELECT COUNT(*), SUM(balance) FROM test.account; SELECT COUNT(*) FROM test.history;
                SELECT COUNT(*) FROM (SELECT id, balance - 1000 +
                    (SELECT COALESCE(SUM(amount), 0) FROM test.history WHERE source = id) -
                    (SELECT COALESCE(SUM(amount), 0) FROM test.history WHERE target = id) AS error
                    FROM test.account WHERE id <= 20) AS checked WHERE error <> 0";
    assert_eq!(
        server.query(sums).unwrap(),
        format!("1000\t1000000\n{transfers}\n0\n")
    );
    flipper.detach();
    server.query("SELECT 1").unwrap();
    server.query("SELECT 1").unwrap();
    assert_flipped(&flipper.finish());
}

/// Transfers of one client in batches, each a run of the `mariadb` client, which ends at the first error.
fn transfer_until(server: &RunningMariaDb, client: u64, over: &AtomicBool) -> u64 {
    const BATCH: u64 = 200;
    let mut done = 0;
    while !over.load(Relaxed) {
        let mut script = String::new();
        for number in done..done + BATCH {
            let source = 1 + (number * 7919 + client * 131) % 999;
            let target = source + 1 + (number * 104_729) % (1000 - source);
            let amount = number % 10;
            script += &format!(
                "BEGIN; UPDATE account SET balance = balance - {amount} WHERE id = {source};
                 UPDATE account SET balance = balance + {amount} WHERE id = {target};
                 INSERT INTO history VALUES ({source}, {target}, {amount}); COMMIT;\n"
            );
        }
        let output = server
            .client()
            .args(["-e", &script, "test"])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}\n{}",
            String::from_utf8_lossy(&output.stderr),
            server.log()
        );
        done += BATCH;
    }
    done
}
