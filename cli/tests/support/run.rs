//! Runs of the command, each with a temporary directory and a mark in its environment by which leftovers are found.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::build::{EVENKEEL, agent};

/// Time after which a program is taken for hung: far beyond the need of a busy machine, and less than any program
/// under test runs by itself.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// Variable that marks a run's processes.
const MARK: &str = "EVENKEEL_TEST_MARK";

/// A place to run the command in.
pub struct Place {
    directory: TempDir,
    mark: String,
    shared_before: BTreeSet<String>,
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Run {
    /// The run, if it ended with `code`.
    #[track_caller]
    pub fn ended(self, code: i32) -> Run {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Number of intervals that the known-answer program of this name printed.
    #[track_caller]
    pub fn printed_intervals(&self, name: &str) -> u64 {
        let printed = self.stdout.lines().find_map(|line| {
            let line = line.strip_prefix(name)?.strip_prefix(": ")?;
            line.split_once(" intervals,")?.0.parse().ok()
        });
        printed.unwrap_or_else(|| panic!("stdout: {}\nstderr: {}", self.stdout, self.stderr))
    }

    /// The run, if it said each of `texts` on standard error, in one run of words whatever its case.
    #[track_caller]
    pub fn said(self, texts: &[&str]) -> Run {
        let said = self.stderr.to_lowercase();
        for text in texts {
            assert!(
                said.contains(&text.to_lowercase()),
                "{text:?} is missing in: {}",
                self.stderr
            );
        }
        self
    }
}

impl Place {
    /// A fresh one.
    pub fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("tmp")).unwrap();
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        Place {
            directory,
            mark,
            shared_before: shared_memory(),
        }
    }

    /// Path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Any command in this place, standard streams captured.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("EVENKEEL_AGENT", agent())
            .env(MARK, &self.mark)
            .env("TMPDIR", self.file("tmp"));
        command
            .env_remove("DEBUGINFOD_URLS")
            .current_dir(self.directory.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `evenkeel` with arguments, to be started.
    pub fn evenkeel<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.command(EVENKEEL);
        command.args(arguments);
        command
    }

    /// Runs `evenkeel`, and sees to it that it leaves nothing.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Run {
        let run = finish(self.evenkeel(arguments).spawn().unwrap());
        self.assert_nothing_left();
        run
    }

    /// Profiles a program until it ends. The profile as JSON is in [`Place::json`], the recording in `run.keel`.
    #[track_caller]
    pub fn profile(&self, options: &[&str], program: &Path, arguments: &[&str]) -> Run {
        let mut words: Vec<&OsStr> = vec![OsStr::new("profile")];
        words.extend(options.iter().map(OsStr::new));
        words.extend(["--json", "run.json", "-o", "run.keel", "--"].map(OsStr::new));
        words.push(program.as_os_str());
        words.extend(arguments.iter().map(OsStr::new));
        let mut command = self.evenkeel(words);
        let run = finish(command.env("PACED", "1").spawn().unwrap());
        self.assert_nothing_left();
        run
    }

    /// Profiles a program that runs until the profiler has nothing left to expand, however long that takes here. Its
    /// argument is the number of intervals after which it checks whether to end; returns the run and the number of
    /// its intervals.
    #[track_caller]
    pub fn profile_until_opened(
        &self,
        options: &[&str],
        program: &Path,
        arguments: &[&str],
    ) -> (Run, u64) {
        let enough = self.file("enough");
        self.profile_hearing(options, program, arguments, move |line| {
            if has_opened_all(line) {
                std::fs::write(&enough, "").unwrap();
            }
        })
    }

    /// Like the above, with `hear` called for each line of standard error. `hear` makes the file `enough` in this
    /// place, which ends the program, and `change`, if the program waits for that.
    #[track_caller]
    pub fn profile_hearing(
        &self,
        options: &[&str],
        program: &Path,
        arguments: &[&str],
        hear: impl FnMut(&str) + Send + 'static,
    ) -> (Run, u64) {
        let mut command = self.evenkeel(["profile"]);
        command
            .args(options)
            .args(["--json", "run.json", "-o", "run.keel", "--"])
            .arg(program)
            .args(arguments)
            .env("PACED", "1")
            .env("UNTIL", self.file("enough"))
            .env("CHANGE", self.file("change"));
        let run = finish_hearing(command.spawn().unwrap(), hear);
        self.assert_nothing_left();
        let name = program.file_name().unwrap().to_str().unwrap();
        let intervals = run.printed_intervals(name);
        (run, intervals)
    }

    /// A JSON file of this place.
    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.file(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// No process of this place runs, nothing is in the temporary directory or new in shared memory.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let gone = eventually(|| self.processes().is_empty());
        assert!(gone, "left running: {:?}", self.processes());
        let files: Vec<_> = std::fs::read_dir(self.file("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(
            files.is_empty(),
            "left in the temporary directory: {files:?}"
        );
        let new: Vec<String> = shared_memory()
            .difference(&self.shared_before)
            .cloned()
            .collect();
        assert!(
            !new.iter().any(|name| name.contains("evenkeel")),
            "left in shared memory: {new:?}"
        );
    }

    /// Processes that run in this place: those with its mark, without zombies (whose environment is empty).
    pub fn processes(&self) -> Vec<i32> {
        let mark = format!("{MARK}={}", self.mark).into_bytes();
        let marked = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|&byte| byte == 0)
                .any(|entry| entry == mark)
        };
        let all = std::fs::read_dir("/proc").unwrap();
        let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(marked).collect()
    }
}

impl Drop for Place {
    /// A failed test leaves no process behind either.
    fn drop(&mut self) {
        for pid in self.processes() {
            signal(pid, libc::SIGKILL);
        }
    }
}

/// Whether this line of a session's progress says that refinement has come to its end.
pub fn has_opened_all(line: &str) -> bool {
    line.ends_with("nothing left to expand")
}

/// Number of measured intervals in a line of a session's progress.
pub fn intervals_so_far(line: &str) -> Option<u64> {
    let (before, _) = line.split_once(" intervals: ")?;
    let digits = before.rsplit(' ').next()?.replace(',', "");
    digits.parse().ok()
}

/// Waits for a child; one that hangs is killed and fails the test.
#[track_caller]
pub fn finish(child: Child) -> Run {
    finish_hearing(child, |_| ())
}

/// Finishes a session, which is interrupted once it prints such a line.
#[track_caller]
pub fn interrupted_once(session: Child, said: fn(&str) -> bool) -> Run {
    let pid = session.id() as i32;
    finish_hearing(session, move |line| {
        if said(line) {
            signal(pid, libc::SIGINT);
        }
    })
}

/// Finishes a run; `hear` gets each line of standard error.
#[track_caller]
pub fn finish_hearing(mut child: Child, mut hear: impl FnMut(&str) + Send + 'static) -> Run {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let stdout = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stdout {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let stderr = std::thread::spawn(move || {
        let (mut text, mut line) = (String::new(), Vec::new());
        let mut stream = stderr.map(BufReader::new);
        while let Some(1..) = stream
            .as_mut()
            .and_then(|stream| stream.read_until(b'\n', &mut line).ok())
        {
            let read = String::from_utf8_lossy(&line).into_owned();
            hear(read.trim_end());
            text += &read;
            line.clear();
        }
        text
    });
    let mut status = None;
    let ended = eventually(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if !ended {
        kill_with_children(&mut child);
    }
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    assert!(ended, "it hangs; stdout: {stdout}\nstderr: {stderr}");
    Run {
        code: status.and_then(|status| status.code()),
        stdout,
        stderr,
    }
}

/// Kills a child and its children, which would keep its pipes open.
fn kill_with_children(child: &mut Child) {
    let pid = child.id();
    let started = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let _ = child.kill();
    let _ = child.wait();
    for one in started.unwrap_or_default().split_whitespace() {
        signal(one.parse().expect("a number"), libc::SIGKILL);
    }
}

/// Whether `condition` comes true within [`PATIENCE`].
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !condition() {
        if started.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Signals one process that the test started.
pub fn signal(pid: i32, signal: i32) {
    // SAFETY: a plain system call.
    unsafe { libc::kill(pid, signal) };
}

/// Whether a process exists and is no zombie.
pub fn runs(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status
        .rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Runs a command as the user nobody, which needs root.
pub fn as_nobody(command: &mut Command) -> &mut Command {
    command.uid(65534).gid(65534)
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// Whether to skip a test because only root can do this; prints so.
pub fn lacks_root(to: &str) -> bool {
    let lacks = !is_root();
    if lacks {
        eprintln!("skipped: only root can {to}");
    }
    lacks
}

fn shared_memory() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect()
}
