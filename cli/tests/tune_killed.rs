//! Remains of a private server after `evenkeel tune` or `evenkeel bench` was killed at any time, and their removal.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_servers::{MariaDb, Options, PostgreSql};
use support::run::eventually;
use support::servers::installed;
use support::tuning::{State, quick, restoring};

/// Kills a tuner of a private server once the server's folder has each of these files, the earliest first, and demands that
/// `--restore` leaves nothing of it.
fn killed_when_there_is(target: &str, files: &[&str]) {
    let state = State::new();
    let arguments = quick(target, &["--budget", "30m"]);
    for file in files {
        let child = state.tune(&arguments).spawn().unwrap();
        let is_there = |folder: &PathBuf| folder.join(file).exists();
        let child = alive_until(child, file, || state.folders().iter().any(is_there));
        kill_and_restore(&state, child, file);
    }
    let child = state.tune(&arguments).spawn().unwrap();
    let mut child = alive_until(child, "journal", || state.journals() == 1);
    // What its owner uses is nobody else's.
    let before = state.folders();
    state.restore(&[]).ended(0);
    assert_eq!((state.folders(), state.journals()), (before, 1));
    assert!(child.try_wait().unwrap().is_none());
    kill_and_restore(&state, child, "journal");
}

/// Waits for something that the child does, however long a busy machine takes for it: it gives up by itself.
#[track_caller]
fn alive_until(mut child: Child, moment: &str, mut is_so: impl FnMut() -> bool) -> Child {
    loop {
        if is_so() {
            return child;
        }
        if child.try_wait().unwrap().is_some() {
            panic!("{moment}: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn kill_and_restore(state: &State, mut child: Child, moment: &str) {
    let alone = restoring();
    child.kill().unwrap();
    child.wait().unwrap();
    let folders = state.folders();
    assert_eq!(folders.len(), 1, "{moment}");
    let run = state.run(&["--restore"]).ended(0);
    drop(alone);
    let folder = folders[0].to_string_lossy();
    assert!(run.stdout.contains(&*folder), "{moment}: {}", run.stdout);
    assert!(
        eventually(|| running_below(&state.temporary()).is_empty()),
        "{moment}"
    );
    assert_eq!(
        (state.folders(), state.journals()),
        (Vec::new(), 0),
        "{moment}"
    );
}

#[test]
fn a_private_postgres_whose_tuner_was_killed_is_stopped_and_removed() {
    if installed(PostgreSql::prepare(&Options::default())).is_some() {
        killed_when_there_is(
            "postgres",
            &["owner", "data/PG_VERSION", "data/postmaster.pid"],
        );
    }
}

#[test]
fn a_private_mariadb_whose_tuner_was_killed_is_stopped_and_removed() {
    if installed(MariaDb::prepare(&Options::default())).is_some() {
        killed_when_there_is("mariadb", &["owner", "data/ibdata1", "pid"]);
    }
}

#[test]
fn the_next_run_removes_what_a_killed_bench_has_left() {
    if installed(PostgreSql::prepare(&Options::default())).is_none() {
        return;
    }
    let state = State::new();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    bench
        .args([
            "bench",
            "--target",
            "postgres",
            "ycsb-a",
            "-o",
            "records=200",
            "--for",
            "30m",
        ])
        .env("TMPDIR", state.temporary())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let bench = bench.spawn().unwrap();
    let runs = || {
        state
            .folders()
            .iter()
            .any(|folder| folder.join("data/postmaster.pid").exists())
    };
    let mut bench = alive_until(bench, "bench", runs);
    let alone = restoring();
    bench.kill().unwrap();
    bench.wait().unwrap();
    assert_eq!(state.folders().len(), 1);
    // It comes before what this run refuses.
    state.run(&quick("embedded", &["--budget", "1s"])).ended(2);
    drop(alone);
    assert!(eventually(|| running_below(&state.temporary()).is_empty()));
    assert_eq!(state.folders(), Vec::<PathBuf>::new());
}

#[test]
fn a_journal_that_cannot_be_read_is_not_nothing() {
    let state = State::new();
    std::fs::create_dir_all(state.journals_in()).unwrap();
    let journal = state.journals_in().join("damaged.jsonl");
    std::fs::write(&journal, "{\"target\":\n").unwrap();
    let run = state.restore(&[]).ended(2);
    let says = run
        .stdout
        .contains("damaged.jsonl cannot be read (line 1: ");
    assert!(
        says && !run.stdout.contains("nothing was left"),
        "{}",
        run.stdout
    );
    assert!(journal.exists());
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
