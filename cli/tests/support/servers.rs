//! Real servers under `evenkeel profile`, which runs as the user of the tests (usually root) while the server has its
//! own user.

use std::fs::Permissions;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use evenkeel_servers::{
    Launch, Options, PostgreSql, PreparedServer, RunningPostgreSql, RunningServer, ServerError,
    Site,
};
use serde_json::Value;
use tempfile::TempDir;

use super::build::{EVENKEEL, agent};
use super::run::{eventually, has_opened_all, runs, signal};

/// Messages of servers when one of their processes crashes.
const CRASHES: [&str; 6] = [
    "terminated by signal",
    "PANIC:",
    "exit signal",
    "got signal",
    "Assertion",
    "Segmentation fault",
];

/// A running `evenkeel profile`. Dropping it kills it.
pub struct Profiler {
    child: Child,
    folder: TempDir,
}

/// A profiler that has ended.
pub struct Profiled {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The server's streams and the profiler's, as they came.
    pub log: String,
    /// The profile, if one was written.
    pub json: Option<Value>,
}

/// The result of preparing a server; `None`, said on standard error, where it is not installed. In continuous integration,
/// which sets `CI`, it has to be.
#[track_caller]
pub fn installed<S>(prepared: Result<S, ServerError>) -> Option<S> {
    match prepared {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Says that a test is left out because something is not installed; a failure in continuous integration.
#[track_caller]
pub fn skip(missing: &str) {
    assert!(
        std::env::var_os("CI").is_none(),
        "{missing}; run scripts/install.sh test"
    );
    eprintln!("skipped: {missing}");
}

impl Profiler {
    /// Starts what `launch` describes under `evenkeel profile` with `options`.
    pub fn start(launch: &Launch, options: &[&str]) -> Profiler {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        // The server's user may not be allowed to look where cargo builds.
        let own_agent = folder.path().join("libevenkeel_agent.so");
        std::fs::copy(agent(), &own_agent).unwrap();
        std::fs::set_permissions(&own_agent, Permissions::from_mode(0o755)).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();

        let mut command = Command::new(EVENKEEL);
        command
            .arg("profile")
            .args(options)
            .arg("--json")
            .arg(folder.path().join("json"));
        if let Some(account) = &launch.account {
            command.args(["--user", &account.name]);
        }
        command.arg("--").arg(&launch.program).args(&launch.args);
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        command
            .env("EVENKEEL_AGENT", own_agent)
            .env_remove("DEBUGINFOD_URLS")
            .current_dir(&launch.working_directory);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        // Whoever started the tests in the background may have left Ctrl-C ignored.
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        Profiler {
            child: command.spawn().unwrap(),
            folder,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The server's streams and the profiler's so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path("log")).unwrap_or_default()).into_owned()
    }

    /// Whether the session has reported that nothing is left to expand since it first named this function. An earlier
    /// report may be about making the tables only; a later one comes once, if nothing changes.
    pub fn rests_after(&self, function: &str) -> bool {
        let log = self.log();
        let mut since = log.lines().skip_while(|line| !line.contains(function));
        since.any(has_opened_all)
    }

    /// Ends the session as Ctrl-C does, and waits.
    #[track_caller]
    pub fn interrupt(self) -> Profiled {
        signal(self.pid(), libc::SIGINT);
        self.wait()
    }

    /// Waits for the session's end.
    #[track_caller]
    pub fn wait(mut self) -> Profiled {
        let mut status = None;
        let ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let log = self.log();
        assert!(ended, "evenkeel hangs:\n{log}");
        let json = std::fs::read_to_string(self.path("json")).ok();
        let json = json.map(|text| serde_json::from_str(&text).expect("the profile is JSON"));
        Profiled {
            code: status.and_then(|status| status.code()),
            log,
            json,
        }
    }

    /// Kills it, and nothing else.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Profiled {
    /// The profile of a session that went well, around a server that did not crash.
    #[track_caller]
    pub fn profile(&self) -> &Value {
        assert_eq!(self.code, Some(0), "{}", self.log);
        assert_no_crash(&self.log);
        self.closed_profile()
    }

    /// The profile, however the server ended: every interval closes.
    #[track_caller]
    pub fn closed_profile(&self) -> &Value {
        let profile = self
            .json
            .as_ref()
            .unwrap_or_else(|| panic!("there is no profile:\n{}", self.log));
        assert_eq!(profile["closure"]["max_abs_error_ticks"], 0, "{}", self.log);
        assert!(count(&profile["closure"]["intervals"]) >= count(&profile["intervals"]));
        profile
    }
}

/// No process of the server died of a signal.
#[track_caller]
pub fn assert_no_crash(log: &str) {
    for crash in CRASHES {
        assert!(!log.contains(crash), "{crash:?} in the log:\n{log}");
    }
}

/// A number of the profile.
#[track_caller]
pub fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is not a count"))
}

/// Waits until a server process is gone.
#[track_caller]
pub fn assert_ends(pid: u32) {
    assert!(eventually(|| !runs(pid as i32)), "process {pid} goes on");
}

/// The code of a process' program is that of its file: no hook is in place.
#[track_caller]
pub fn assert_unhooked(pid: u32) {
    assert!(
        eventually(|| changed_code_bytes(pid) == 0),
        "{} bytes differ",
        changed_code_bytes(pid)
    );
}

/// Bytes of code in which a process differs from its program's file.
pub fn changed_code_bytes(pid: u32) -> usize {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    let file = std::fs::read(&program).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let code = maps
        .lines()
        .filter(|line| line.ends_with(program.to_str().unwrap()) && line.contains("xp "));
    code.map(|line| {
        // address-address permissions offset device inode path, see proc(5)
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (from, to) = fields[0].split_once('-').unwrap();
        let (from, to, offset) = (number(from), number(to), number(fields[2]) as usize);
        let mut present = vec![0; (to - from) as usize];
        memory.read_exact_at(&mut present, from).unwrap();
        // The last page of the mapping may reach beyond the end of the file.
        let original = &file[offset..file.len().min(offset + present.len())];
        present
            .iter()
            .zip(original)
            .filter(|(present, original)| present != original)
            .count()
    })
    .sum()
}

/// All nodes of a profile's tree, each with the names from the root to it.
pub fn nodes(profile: &Value) -> Vec<(Vec<String>, &Value)> {
    fn visit<'a>(node: &'a Value, above: &[String], all: &mut Vec<(Vec<String>, &'a Value)>) {
        let mut path = above.to_vec();
        path.push(node["name"].as_str().unwrap_or_default().to_owned());
        for child in node["children"].as_array().into_iter().flatten() {
            visit(child, &path, all);
        }
        all.push((path, node));
    }
    let mut all = Vec::new();
    visit(&profile["tree"], &[], &mut all);
    all
}

/// A server, profiled.
pub struct ProfiledServer<R> {
    /// The profiler around it.
    pub profiler: Profiler,
    /// The server.
    pub server: R,
}

impl<S: Site> ProfiledServer<RunningServer<S>> {
    /// A prepared server under `evenkeel profile` with `options`; it answers.
    #[track_caller]
    pub fn of(prepared: PreparedServer<S>, options: &[&str]) -> Self {
        let profiler = Profiler::start(&prepared.launch(), options);
        match prepared.adopt() {
            Ok(server) => ProfiledServer { profiler, server },
            Err(error) => panic!("{error}\n{}", profiler.log()),
        }
    }

    /// Ends the session with Ctrl-C, which stops the server.
    #[track_caller]
    pub fn finish(self) -> Profiled {
        let pid = self.server.pid().expect("the server runs");
        let profiled = self.profiler.interrupt();
        assert_ends(pid);
        profiled
    }
}

/// A PostgreSQL, profiled.
pub type ProfiledPostgres = ProfiledServer<RunningPostgreSql>;

/// pgbench's tables with four branches, made by one statement string, so that making them is one interval of either
/// kind: what `pgbench -i` sends differs between versions.
const TABLES: &str = "
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88)) WITH (fillfactor = 100);
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84)) WITH (fillfactor = 100);
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84)) WITH (fillfactor = 100);
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
INSERT INTO pgbench_branches SELECT i, 0 FROM generate_series(1, 4) i;
INSERT INTO pgbench_tellers SELECT i, (i - 1) / 10 + 1, 0 FROM generate_series(1, 40) i;
INSERT INTO pgbench_accounts SELECT i, (i - 1) / 100000 + 1, 0, '' FROM generate_series(1, 400000) i;";

impl ProfiledPostgres {
    /// A fresh server under `evenkeel profile --preset postgres` with `options`.
    pub fn start(options: &[&str], settings: &[(&str, &str)]) -> Option<ProfiledPostgres> {
        let prepared = installed(PostgreSql::prepare(&postgres_options(settings)))?;
        let options: Vec<&str> = ["--preset", "postgres"]
            .iter()
            .chain(options)
            .copied()
            .collect();
        Some(ProfiledServer::of(prepared, &options))
    }
}

/// Settings of a private server: room for many connections, and no background work that would make counts differ.
pub fn postgres_options(settings: &[(&str, &str)]) -> Options {
    let fixed = [("max_connections", "300"), ("autovacuum", "off")];
    let all = fixed
        .iter()
        .chain(settings)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Options {
        settings: all.collect(),
        ..Options::default()
    }
}

/// Makes pgbench's tables: one statement, one transaction.
#[track_caller]
pub fn make_pgbench_tables(server: &RunningPostgreSql) {
    server
        .psql(TABLES)
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Runs `pgbench -n` with `arguments` to its end and returns the transactions it completed. None may fail.
#[track_caller]
pub fn pgbench(server: &RunningPostgreSql, arguments: &[&str]) -> u64 {
    let output = server
        .client("pgbench")
        .arg("-n")
        .args(arguments)
        .arg("postgres")
        .output()
        .unwrap();
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{said}\n{errors}\n{}",
        server.log()
    );
    let number = |before: &str| -> Option<u64> {
        let rest = said
            .lines()
            .find_map(|line| line.strip_prefix(before))?
            .trim_start();
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    // Servers before version 15 do not count failures: pgbench then ends with an error.
    assert_eq!(
        number("number of failed transactions:").unwrap_or(0),
        0,
        "{said}\n{errors}"
    );
    number("number of transactions actually processed:")
        .unwrap_or_else(|| panic!("{said}\n{errors}"))
}

/// Longest load for an event that a test waits for; far beyond the need of a busy machine.
const LOAD_MAX: Duration = Duration::from_secs(300);

/// Runs [`pgbench`] again and again until it is `enough`, however long that takes here. Returns the transactions and the runs.
#[track_caller]
pub fn pgbench_until(
    server: &RunningPostgreSql,
    arguments: &[&str],
    mut enough: impl FnMut() -> bool,
) -> (u64, u64) {
    let begin = Instant::now();
    let (mut transactions, mut runs) = (0, 0);
    while runs == 0 || !enough() {
        assert!(begin.elapsed() < LOAD_MAX, "{}", server.log());
        transactions += pgbench(server, arguments);
        runs += 1;
    }
    (transactions, runs)
}

/// TPC-B's consistency: every delta reached its account, its teller and its branch once. `transactions`: how many there
/// must be, if that is known.
#[track_caller]
pub fn assert_consistent(server: &RunningPostgreSql, transactions: Option<u64>) {
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers), \
                (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history), \
                (SELECT count(*) FROM pgbench_history)";
    let row = server.psql(sums).unwrap_or_else(|error| panic!("{error}"));
    let fields: Vec<i64> = row
        .trim()
        .split('|')
        .map(|field| field.parse().unwrap())
        .collect();
    assert!(
        fields[..4].iter().all(|&sum| sum == fields[0]),
        "accounts|tellers|branches|history|count: {row}"
    );
    if let Some(transactions) = transactions {
        assert_eq!(
            fields[4] as u64, transactions,
            "transactions in the history"
        );
    }
}
