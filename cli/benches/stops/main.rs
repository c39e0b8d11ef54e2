//! How long attaching stops a thread: `cargo bench -p evenkeel --bench stops [-- RUNS]`.
//!
//! Attaching stops one thread of each process, once. The targets are a program with 1,000 threads, and PostgreSQL with
//! 100 backends that have little to do. Each run is a session of two seconds, which attaches to all of the target's
//! processes and detaches. Both numbers are what the session reports.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_servers::{Options, PostgreSql, RunningPostgreSql};
use serde_json::Value;

/// The command under test.
const EVENKEEL: &str = env!("CARGO_BIN_EXE_evenkeel");
/// Until a load runs evenly.
const WARM: Duration = Duration::from_secs(3);
const THREADS: &str = "1000";
const BACKENDS: &str = "100";

fn main() {
    let number = std::env::args().find_map(|word| word.parse().ok());
    let runs: u32 = number.unwrap_or(5);
    let place = tempfile::tempdir().expect("a directory");
    println!(
        "{:<26} {:>9} {:>9} {:>9}",
        "target", "processes", "mean ms", "most ms"
    );
    let mut threads = threads(place.path());
    std::thread::sleep(WARM);
    for _ in 0..runs {
        let options = ["--interval", "run_interval"];
        print_stops("1,000 threads", threads.id(), &options, place.path());
    }
    end(&mut threads);
    let (server, mut load) = backends(u64::from(runs));
    std::thread::sleep(WARM);
    for _ in 0..runs {
        let pid = server.pid().expect("it runs");
        let options = ["--preset", "postgres"];
        print_stops("PostgreSQL, 100 backends", pid, &options, place.path());
    }
    end(&mut load);
}

fn threads(place: &Path) -> Child {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/stops/threads.c");
    let program = place.join("threads");
    let built = Command::new("gcc")
        .args(["-O1", "-g", "-pthread", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.expect("a compiler is installed").success());
    spawn(Command::new(program).arg(THREADS))
}

/// As many clients, each with a short statement now and then.
fn backends(runs: u64) -> (RunningPostgreSql, Child) {
    let options = Options {
        settings: vec![("max_connections".into(), "200".into())],
        ..Options::default()
    };
    let server = PostgreSql::prepare(&options).expect("PostgreSQL");
    let server = server.start(None).expect("PostgreSQL");
    let mut pgbench = server.client("pgbench");
    let built = pgbench.args(["-i", "-q", "postgres"]).stderr(Stdio::null());
    assert!(built.status().expect("pgbench").success());
    let seconds = (30 + 20 * runs).to_string();
    let mut pgbench = server.client("pgbench");
    pgbench.args([
        "-S", "-c", BACKENDS, "-R", "200", "-T", &seconds, "postgres",
    ]);
    let load = spawn(&mut pgbench);
    (server, load)
}

fn spawn(command: &mut Command) -> Child {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.spawn().expect("the load starts")
}

fn end(load: &mut Child) {
    let _ = load.kill();
    let _ = load.wait();
}

fn print_stops(target: &str, pid: u32, options: &[&str], place: &Path) {
    let report = place.join("run.json");
    let session = Command::new(EVENKEEL)
        .args(["attach", &pid.to_string(), "--for", "2s"])
        .args(options)
        .arg(format!("--json={}", report.display()))
        .stderr(Stdio::piped())
        .output()
        .expect("evenkeel attach");
    assert!(
        session.status.success(),
        "{}",
        String::from_utf8_lossy(&session.stderr)
    );
    let report = std::fs::read(report).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("a report");
    let stops = &report["overhead"]["stops"];
    let number = |name: &str| stops[name].as_f64().expect("a number");
    let processes = number("processes");
    println!(
        "{target:<26} {processes:>9} {:>9.2} {:>9.2}",
        number("sum_ns") / processes / 1e6,
        number("max_ns") / 1e6
    );
}
