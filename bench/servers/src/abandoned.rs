//! Folders of private servers whose owner was killed, and what still runs in them.
//!
//! A process that is killed stops no server and removes nothing. Its folder is recognised by the lock that it no longer holds
//! ([`crate::owner`]), whatever it was doing: making data, starting the server, or using it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{During, ServerError};
use crate::folder::PREFIX;
use crate::owner::{Owner, Ownership};

/// Time for processes of a folder to end in order. A MariaDB that is asked to end while it starts or makes its tables
/// may not do so. Its data is removed anyway, so killing it loses nothing.
const ORDERLY: Duration = Duration::from_secs(15);
/// Time for a process to end at all.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// Time between two requests to end: a program that is just starting may miss the first.
const ASK_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Where servers write their process ids.
const PID_FILES: [&str; 2] = ["data/postmaster.pid", "pid"];

/// A private server's folder whose owner is gone. Nobody else takes it while this value lives.
#[derive(Debug)]
pub struct Abandoned {
    folder: PathBuf,
    _ownership: Ownership,
}

/// Result of the search.
#[derive(Debug, Default)]
pub struct Search {
    /// Folders whose owners are gone.
    pub abandoned: Vec<Abandoned>,
    /// Folders that are locked, though their owners cannot be seen: they may live in another container.
    pub unknown: Vec<PathBuf>,
}

impl Search {
    /// Looks at the folders of private servers in this directory.
    ///
    /// # Errors
    /// [`ServerError::Io`] if the directory cannot be read.
    pub fn directory(&mut self, directory: &Path) -> Result<(), ServerError> {
        let wrong = || format!("read {}", directory.display());
        let directory = directory.canonicalize().during(wrong)?;
        for entry in directory.read_dir().during(wrong)? {
            self.folder(&entry.during(wrong)?.path());
        }
        Ok(())
    }

    /// Looks at the folders below this directory in which servers run.
    pub fn running(&mut self, below: &Path) {
        for pid in processes() {
            let Ok(current) = fs::read_link(format!("/proc/{pid}/cwd")) else {
                continue;
            };
            for folder in current.ancestors().take_while(|at| at.starts_with(below)) {
                self.folder(folder);
            }
        }
    }

    /// Looks at one folder, which need not be one of a private server.
    pub fn folder(&mut self, folder: &Path) {
        let has_name = folder
            .file_name()
            .is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
        let is_known = self.unknown.iter().any(|known| known == folder)
            || self.abandoned.iter().any(|known| known.folder == folder);
        if is_known || !has_name || !fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir()) {
            return;
        }
        match Owner::of(folder) {
            Owner::Another => {}
            Owner::Gone(ownership) => self.abandoned.push(Abandoned {
                folder: folder.to_owned(),
                _ownership: ownership,
            }),
            Owner::Unknown => self.unknown.push(folder.to_owned()),
        }
    }
}

impl Abandoned {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops what runs in the folder, and removes it. Returns whether something ran.
    ///
    /// # Errors
    /// [`ServerError::NotEnded`] if it does not end, or the system's; then the folder stays.
    pub fn remove(self) -> Result<bool, ServerError> {
        self.remove_by_force_after(ORDERLY)
    }

    fn remove_by_force_after(self, orderly: Duration) -> Result<bool, ServerError> {
        let begin = Instant::now();
        let mut asked: Option<Instant> = None;
        loop {
            let running = self.running()?;
            if running.is_empty() {
                break;
            }
            if begin.elapsed() > STOP_LIMIT {
                return Err(ServerError::NotEnded {
                    folder: self.folder,
                    processes: running,
                });
            }
            if asked.is_none_or(|last| last.elapsed() > ASK_EVERY) {
                for pid in running {
                    end(pid, begin.elapsed() > orderly);
                }
                asked = Some(Instant::now());
            }
            thread::sleep(LOOK_EVERY);
        }
        self.remove_files(begin)?;
        Ok(asked.is_some())
    }

    /// Children of what was stopped may be writing still, and end by themselves.
    fn remove_files(&self, begin: Instant) -> Result<(), ServerError> {
        loop {
            match fs::remove_dir_all(&self.folder) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    // A file that another process removed, or the folder itself.
                    if !self.folder.exists() {
                        return Ok(());
                    }
                }
                Err(_) if begin.elapsed() <= STOP_LIMIT => {}
                ended => return ended.during(|| format!("remove {}", self.folder.display())),
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Processes that are truly the folder's: its account's, with two of three signs. They work in it; their arguments name it; its
    /// file of a process id names them. (A reader's shell in the folder has one, Redis changes its arguments, Apache its directory.)
    fn running(&self) -> Result<Vec<i32>, ServerError> {
        let about =
            fs::metadata(&self.folder).during(|| format!("look at {}", self.folder.display()))?;
        let written = PID_FILES.map(|name| written_pid(&self.folder.join(name)));
        let is_there = |pid: &i32| {
            let works = fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|current| current.starts_with(&self.folder));
            let named = fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|arguments| names(&arguments, &self.folder));
            let signs = [works, named, written.contains(&Some(*pid))];
            signs.iter().filter(|sign| **sign).count() >= 2 && runs_as(*pid, about.uid())
        };
        Ok(processes().filter(is_there).collect())
    }
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All servers take SIGTERM or SIGINT for a request to end at once and in order.
fn end(pid: i32, by_force: bool) {
    let signals: &[Signal] = if by_force {
        &[Signal::KILL]
    } else {
        &[Signal::TERM, Signal::INT]
    };
    if let Some(pid) = Pid::from_raw(pid) {
        for &signal in signals {
            // An error means that it is gone, which is what is wanted.
            let _ = kill_process(pid, signal);
        }
    }
}

fn written_pid(path: &Path) -> Option<i32> {
    let text = fs::read_to_string(path).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Whether arguments (each ended by a zero) name the folder or something in it.
fn names(arguments: &[u8], folder: &Path) -> bool {
    let folder = folder.as_os_str().as_bytes();
    let at = |(begin, window): (usize, &[u8])| {
        let next = arguments.get(begin + folder.len());
        window == folder && next.is_none_or(|next| !next.is_ascii_alphanumeric())
    };
    arguments.windows(folder.len()).enumerate().any(at)
}

/// Whether the process is more than an exit status, and its effective user this one; see proc(5).
fn runs_as(pid: i32, uid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|line| line.split_whitespace().collect::<Vec<_>>())
    };
    let is_dead = field("State:").is_none_or(|state| matches!(state.first(), Some(&("Z" | "X"))));
    let effective = field("Uid:").and_then(|ids| ids.get(1)?.parse().ok());
    !is_dead && effective == Some(uid)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, ChildStdin, Command, Stdio};

    use super::*;
    use crate::folder::Folder;
    use crate::owner::OWNER;

    /// A folder whose owner is gone.
    fn abandoned(parent: &Path) -> PathBuf {
        let path = Folder::create(Some(parent), None).unwrap().leave();
        assert!(path.join(OWNER).exists());
        path
    }

    fn found(parent: &Path) -> Vec<Abandoned> {
        let mut search = Search::default();
        search.directory(parent).unwrap();
        assert!(search.unknown.is_empty());
        search.abandoned
    }

    /// A program that ends when it is asked to, or when what comes with it is dropped.
    fn sleeper(folder: &Path, arguments: &[&str]) -> (Child, ChildStdin) {
        running("echo; read line", folder, arguments)
    }

    fn running(script: &str, folder: &Path, arguments: &[&str]) -> (Child, ChildStdin) {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]);
        let mut child = command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It runs its own program now, and not a copy of this one.
        let mut line = [0];
        let output = child.stdout.as_mut().unwrap();
        std::io::Read::read_exact(output, &mut line).unwrap();
        let input = child.stdin.take().unwrap();
        (child, input)
    }

    #[test]
    fn a_live_owners_folder_is_not_found() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::create(Some(parent.path()), None).unwrap();
        assert!(found(parent.path()).is_empty());
        assert!(folder.path().exists());
    }

    #[test]
    fn a_folder_of_another_kind_is_not_found() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["evenkeel-0", "other"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        fs::write(parent.path().join("other").join(OWNER), "1 1\n").unwrap();
        fs::write(parent.path().join("evenkeel-file"), "").unwrap();
        assert!(found(parent.path()).is_empty());
    }

    #[test]
    fn processes_in_the_folder_are_ended_and_readers_of_it_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let folder = abandoned(&parent.path().canonicalize().unwrap());
        let data = format!("--datadir={}/data", folder.display());
        let (mut server, _input) = sleeper(&folder, &[&data]);
        let other = format!("--datadir={}x", folder.display());
        let lookers = [
            (folder.as_path(), "nothing"),
            (folder.as_path(), other.as_str()),
            (Path::new("/"), data.as_str()),
        ];
        let mut lookers = lookers.map(|(current, named)| sleeper(current, &[named]));
        let reaper = thread::spawn(move || server.wait());
        let mut all = found(parent.path());
        assert_eq!(all.len(), 1);
        assert!(all.remove(0).remove().unwrap());
        reaper.join().unwrap().unwrap();
        assert!(!folder.exists());
        for (looker, _) in &mut lookers {
            assert!(looker.try_wait().unwrap().is_none());
            looker.kill().unwrap();
            looker.wait().unwrap();
        }
    }

    #[test]
    fn a_process_is_known_by_its_number_in_the_folder_where_it_has_changed_its_arguments() {
        let parent = tempfile::tempdir().unwrap();
        let folder = abandoned(&parent.path().canonicalize().unwrap());
        let (mut server, _input) = sleeper(&folder, &[]);
        fs::write(folder.join("pid"), format!("{}\n", server.id())).unwrap();
        let reaper = thread::spawn(move || server.wait());
        assert!(found(parent.path()).remove(0).remove().unwrap());
        reaper.join().unwrap().unwrap();
    }

    #[test]
    fn a_process_that_does_not_end_in_order_is_killed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = abandoned(&parent.path().canonicalize().unwrap());
        let deaf = "trap '' TERM INT; echo; read line";
        let (mut server, _input) = running(deaf, &folder, &[&folder.display().to_string()]);
        let reaper = thread::spawn(move || server.wait());
        let found = found(parent.path()).remove(0);
        assert!(found.remove_by_force_after(Duration::ZERO).unwrap());
        let status = reaper.join().unwrap().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9)
        );
        assert!(!folder.exists());
    }

    #[test]
    fn it_is_found_by_what_runs_in_it_too_and_only_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = abandoned(&parent.path().canonicalize().unwrap());
        let (mut server, _input) = sleeper(&folder, &[&folder.display().to_string()]);
        let mut search = Search::default();
        search.running(&parent.path().canonicalize().unwrap());
        let ours = |one: &&Abandoned| one.folder() == folder;
        assert_eq!(search.abandoned.iter().filter(ours).count(), 1);
        search.directory(parent.path()).unwrap();
        assert_eq!(search.abandoned.iter().filter(ours).count(), 1);
        // Another search leaves it to this one.
        assert!(found(parent.path()).is_empty());
        server.kill().unwrap();
        server.wait().unwrap();
    }
}
