//! Runs of `evenkeel tune` that leave nothing outside of a directory of their own.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use evenkeel_servers::{Options, PostgreSql, RunningPostgreSql};

use super::run::Run;
use super::servers::installed;

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
pub const BUDGET: [&str; 2] = ["--budget", "45s"];

/// Where a test's runs write down what they change, and make private servers.
pub struct State(tempfile::TempDir);

/// `--restore` looks for private servers wherever they run: no other test's while one is about to be found.
pub fn restoring() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// A fresh one.
    pub fn new() -> State {
        let state = State(tempfile::tempdir().unwrap());
        // The server's account has to pass.
        let open = || std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(state.0.path(), open()).unwrap();
        std::fs::create_dir(state.temporary()).unwrap();
        std::fs::set_permissions(state.temporary(), open()).unwrap();
        state
    }

    /// Where private servers are made.
    pub fn temporary(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    /// `evenkeel tune`, to be started.
    pub fn tune(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .arg("tune")
            .args(arguments)
            .env("XDG_STATE_HOME", self.0.path())
            .env("TMPDIR", self.temporary());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The result of a quick race on a server, with further arguments.
    pub fn raced(&self, url: &str, arguments: &[&str]) -> Value {
        let more = [&BUDGET[..], &["--json"], arguments].concat();
        json(&self.run(&quick(url, &more)).ended(0))
    }

    /// A run to its end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.tune(arguments).output().unwrap().into()
    }

    /// `evenkeel tune --restore` with further arguments.
    pub fn restore(&self, arguments: &[&str]) -> Run {
        let _alone = restoring();
        self.run(&[&["--restore"], arguments].concat())
    }

    /// Number of journals.
    pub fn journals(&self) -> usize {
        self.journals_in().read_dir().map_or(0, Iterator::count)
    }

    /// Where they are.
    pub fn journals_in(&self) -> PathBuf {
        self.0.path().join("evenkeel/tune")
    }

    /// Folders of private servers.
    pub fn folders(&self) -> Vec<PathBuf> {
        let entries = self.temporary().read_dir().unwrap();
        let folders = entries.map(|entry| entry.unwrap().path());
        folders
            .filter(|folder| folder.join("owner").exists())
            .collect()
    }
}

/// A PostgreSQL with these settings in the file that `ALTER SYSTEM` writes, and its URL.
pub fn postgres(settings: &[(&str, &str)]) -> Option<(RunningPostgreSql, String)> {
    let options = Options {
        loopback: true,
        ..Options::default()
    };
    let server = installed(PostgreSql::prepare(&options))?
        .start(None)
        .unwrap();
    for (name, value) in settings {
        server
            .psql(&format!("ALTER SYSTEM SET {name} = {value}"))
            .unwrap();
    }
    server.psql("SELECT pg_reload_conf()").unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    Some((server, url))
}

/// Arguments of a quick load on a target, and more.
pub fn quick<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let target = ["--target", target];
    QUICK.iter().chain(&target).chain(more).copied().collect()
}

/// The result that was printed.
pub fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}
