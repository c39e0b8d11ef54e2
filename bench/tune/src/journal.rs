//! What was changed on a server, written down and synced before it is changed, so that whoever comes later can put it back.
//!
//! A journal is a file of JSON, a line each: first whose server it is, then each setting that will be changed with what it was.
//! It is locked (flock(2)) while its run lives, and removed when everything is as it was; so a journal that is there and not
//! locked is that of a run that was cut short. Passwords are not written.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{During, Error};

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The target as it was named, without a password.
    pub target: String,
    /// Whether there was a password.
    pub password: bool,
    /// A private server's process, which nobody will stop if its run is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<Private>,
}

/// A private server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Private {
    /// Its process.
    pub pid: u32,
    /// When that began, in the kernel's ticks: a number is used again.
    pub start_ticks: u64,
    /// Its folder.
    pub folder: PathBuf,
}

/// A setting that will be, or was, changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// What the server's own configuration says of it; none where that says nothing.
    pub before: Option<String>,
    /// It needs a restart to hold.
    pub restart: bool,
}

/// A journal of this run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    header: Header,
    changes: Vec<Change>,
}

/// One that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub header: Header,
    /// What was changed.
    pub changes: Vec<Change>,
}

/// A target's name without the password in it, and whether there was one.
#[must_use]
pub fn without_password(target: &str) -> (String, bool) {
    let Some((scheme, rest)) = target.split_once("://") else {
        return (target.to_owned(), false);
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, host)| (Some(user), host));
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let mut hidden = false;
    let user = user.map(|user| match user.split_once(':') {
        Some((name, _)) => {
            hidden = true;
            format!("{name}@")
        }
        None => format!("{user}@"),
    });
    let query = query.map(|query| {
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.starts_with("password="))
            .collect();
        hidden |= kept.len() < query.split('&').count();
        if kept.is_empty() {
            String::new()
        } else {
            format!("?{}", kept.join("&"))
        }
    });
    let [user, query] = [user, query].map(Option::unwrap_or_default);
    (format!("{scheme}://{user}{host}{path}{query}"), hidden)
}

/// Where journals are: `$XDG_STATE_HOME/evenkeel/tune`, or below `~/.local/state`.
///
/// # Errors
/// [`Error::Setting`] if neither variable is set.
pub fn directory() -> Result<PathBuf, Error> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")));
    let state = state.ok_or_else(|| {
        Error::Setting(
            "what is changed is written down below $XDG_STATE_HOME or $HOME: set one of them"
                .to_owned(),
        )
    })?;
    Ok(state.join("evenkeel/tune"))
}

impl Journal {
    /// Begins the journal of a target.
    ///
    /// # Errors
    /// [`Error::Unrestored`] if an earlier run left one with changes, [`Error::Busy`] if another run is at work, or the system's.
    pub fn begin(directory: &Path, header: Header) -> Result<Journal, Error> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(directory)
            .during(|| format!("make {}", directory.display()))?;
        let path = directory.join(file_name(&header));
        let wrong = |action: &str| format!("{action} {}", path.display());
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(&path)
            .during(|| wrong("open"))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Error::Busy(header.target));
        }
        if read(&path).is_some_and(|found| !found.changes.is_empty()) {
            return Err(Error::Unrestored {
                target: header.target,
                journal: path,
            });
        }
        file.set_len(0).during(|| wrong("write"))?;
        let mut journal = Journal {
            path,
            file,
            header,
            changes: Vec::new(),
        };
        let line = line(&journal.header);
        journal.write(&line)?;
        // The directory's entry, too.
        File::open(directory)
            .and_then(|opened| opened.sync_all())
            .during(|| format!("sync {}", directory.display()))?;
        Ok(journal)
    }

    /// Writes down that a setting will be changed; the first time counts.
    ///
    /// # Errors
    /// The disk's; then the setting must not be changed.
    pub fn note(&mut self, change: &Change) -> Result<(), Error> {
        if self.changes.iter().any(|known| known.name == change.name) {
            return Ok(());
        }
        self.write(&line(change))?;
        self.changes.push(change.clone());
        Ok(())
    }

    /// What was written down.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The target's name.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.header.target
    }

    /// Everything is as it was, or is to stay.
    ///
    /// # Errors
    /// The system's.
    pub fn end(self) -> Result<(), Error> {
        fs::remove_file(&self.path).during(|| format!("remove {}", self.path.display()))
    }

    fn write(&mut self, line: &str) -> Result<(), Error> {
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_all());
        written.during(|| format!("write {}, so nothing more was changed", self.path.display()))
    }
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain structures serialise") + "\n"
}

/// Letters of the target, and a number that tells targets apart whose letters are the same (FNV-1a).
fn file_name(header: &Header) -> String {
    let private = header
        .private
        .as_ref()
        .map(|private| format!("-{}", private.pid));
    let name = format!("{}{}", header.target, private.unwrap_or_default());
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let letters = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let letters: String = letters.take(60).collect();
    format!("{letters}-{hash:016x}.jsonl")
}

/// A journal's content; none where there is no whole first line. A line that was cut short was not synced, so what it names was
/// not changed.
fn read(path: &Path) -> Option<Found> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    let header = serde_json::from_str(lines.next()?).ok()?;
    let changes = lines
        .map_while(|line| serde_json::from_str(line).ok())
        .collect();
    Some(Found {
        path: path.to_owned(),
        header,
        changes,
    })
}

/// The journals of runs that are over. Those of runs that still live are left out.
///
/// # Errors
/// The directory cannot be read.
pub fn found(directory: &Path) -> Result<Vec<Found>, Error> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.during(|| format!("read {}", directory.display()))?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry
            .during(|| format!("read {}", directory.display()))?
            .path();
        let is_free = File::open(&path)
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_free && let Some(found) = read(&path) {
            all.push(found);
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(target: &str) -> Header {
        let (target, password) = without_password(target);
        Header {
            target,
            password,
            private: None,
        }
    }

    fn change(name: &str, before: Option<&str>) -> Change {
        Change {
            name: name.to_owned(),
            before: before.map(str::to_owned),
            restart: false,
        }
    }

    #[test]
    fn passwords_are_not_written() {
        for (given, kept, hidden) in [
            (
                "postgres://me:secret@host:5432/db?x=1",
                "postgres://me@host:5432/db?x=1",
                true,
            ),
            (
                "postgres://me:se@cr:et@host/db",
                "postgres://me@host/db",
                true,
            ),
            (
                "postgres://host/db?password=secret&user=me",
                "postgres://host/db?user=me",
                true,
            ),
            (
                "mysql://root@127.0.0.1:3306/test",
                "mysql://root@127.0.0.1:3306/test",
                false,
            ),
            ("postgres", "postgres", false),
        ] {
            assert_eq!(without_password(given), (kept.to_owned(), hidden));
        }
    }

    #[test]
    fn what_is_noted_is_found_once_its_run_is_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = "postgres://me:secret@host/db";
        let mut journal = Journal::begin(directory.path(), header(target)).expect("a journal");
        let changes = [change("a", Some("1")), change("b", None)];
        changes
            .iter()
            .for_each(|one| journal.note(one).expect("noted"));
        // What it was before the second change is not what it was at first.
        journal.note(&change("a", Some("2"))).expect("noted");
        assert_eq!(found(directory.path()).expect("read"), []);
        let busy = Journal::begin(directory.path(), header(target)).expect_err("locked");
        assert!(matches!(busy, Error::Busy(_)), "{busy}");
        drop(journal);
        let left = found(directory.path()).expect("read");
        assert_eq!((left.len(), &left[0].changes[..]), (1, &changes[..]));
        let text = fs::read_to_string(&left[0].path).expect("a file");
        assert!(!text.contains("secret"), "{text}");
        let error = Journal::begin(directory.path(), header(target)).expect_err("left");
        assert!(error.to_string().contains("--restore"), "{error}");
    }

    #[test]
    fn a_line_that_was_cut_short_was_not_acted_on() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut journal =
            Journal::begin(directory.path(), header("mysql://h/db")).expect("a journal");
        journal.note(&change("a", None)).expect("noted");
        let path = journal.path().to_owned();
        drop(journal);
        let whole = fs::read(&path).expect("a file");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            let left = found(directory.path()).expect("read");
            assert!(
                left.iter()
                    .all(|one| one.changes.is_empty() || length + 1 >= whole.len()),
                "{length}"
            );
        }
    }

    #[test]
    fn a_run_that_changed_nothing_leaves_nothing_in_the_way() {
        let directory = tempfile::tempdir().expect("a directory");
        for _ in 0..2 {
            drop(Journal::begin(directory.path(), header("mysql://h/db")).expect("a journal"));
        }
        let journal = Journal::begin(directory.path(), header("mysql://h/db")).expect("a journal");
        journal.end().expect("removed");
        assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 0);
    }
}
