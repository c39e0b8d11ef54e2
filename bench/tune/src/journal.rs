//! Changes of a server's settings, written down and synced before they are made, so that a later run can undo them.
//!
//! A journal is a file of JSON lines: first the server, then each setting that will be changed, with its original
//! value. It is locked (flock(2)) while its run lives, and removed when everything is restored. So an unlocked
//! journal is that of a run that was cut short. Passwords are not written.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evenkeel_servers::Process;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{During, Error, Unreadable};

/// Time that a lock may outlive its run: a child that was just being started has it until it runs its program.
const CHILD_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The target as it was named, without a password.
    pub target: String,
    /// Whether there was a password.
    pub password: bool,
    /// The process that tunes, by its number and its beginning.
    pub tuner: (u32, u64),
    /// A private server, which nobody will stop if its run is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<Private>,
}

/// A private server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Private {
    /// Its folder, which says itself whether its owner lives.
    pub folder: PathBuf,
}

/// A setting that will be, or was, changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// The value in the server's own configuration; `None` without one.
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

/// The journals of runs that are over.
#[derive(Debug, Default)]
pub struct Left {
    /// Readable journals.
    pub journals: Vec<FoundJournal>,
    /// Unreadable journals, with the reason: their content is not known.
    pub unreadable: Vec<Unreadable>,
}

/// An existing journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundJournal {
    /// Where it is.
    pub path: PathBuf,
    /// Its owner.
    pub header: Header,
    /// The changes.
    pub changes: Vec<Change>,
}

/// A target's name without the password in it, and whether there was one.
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
        remove_if_left(&path, &header.target)?;
        let file = whole_at_once(directory, &path, &header)?;
        let journal = Journal {
            path,
            file,
            header,
            changes: Vec::new(),
        };
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

    /// The changes written down.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The target's name.
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

/// Removes the journal of an earlier run that had changed nothing.
fn remove_if_left(path: &Path, target: &str) -> Result<(), Error> {
    let Ok(left) = File::open(path) else {
        return Ok(());
    };
    let is_locked = flock(&left, FlockOperation::NonBlockingLockExclusive).is_err();
    let inode = |metadata: std::io::Result<fs::Metadata>| metadata.ok().map(|it| it.ino());
    // Or another run has removed it since, and begun its own.
    if is_locked || inode(left.metadata()) != inode(fs::metadata(path)) {
        return Err(Error::Busy(target.to_owned()));
    }
    match read(path) {
        Ok(found) if found.changes.is_empty() => {}
        Ok(_) => {
            return Err(Error::Unrestored {
                target: target.to_owned(),
                journal: path.to_owned(),
            });
        }
        Err(unreadable) => return Err(Error::Unreadable(unreadable)),
    }
    fs::remove_file(path).during(|| format!("remove {}", path.display()))
}

/// Creates a journal that is locked and has its first line as soon as it exists: it records a private server, which a
/// killed run leaves behind.
fn whole_at_once(directory: &Path, path: &Path, header: &Header) -> Result<File, Error> {
    let wrong = || format!("write {}", path.display());
    let beside = directory.parent().unwrap_or(directory);
    let begun = tempfile::Builder::new()
        .prefix(".tune-")
        .append(true)
        .tempfile_in(beside)
        .during(wrong)?;
    flock(&begun, FlockOperation::NonBlockingLockExclusive)
        .map_err(std::io::Error::from)
        .during(wrong)?;
    let written = begun
        .as_file()
        .write_all(line(header).as_bytes())
        .and_then(|()| begun.as_file().sync_all());
    written.during(wrong)?;
    begun.persist_noclobber(path).map_err(|error| {
        if error.error.kind() == std::io::ErrorKind::AlreadyExists {
            return Error::Busy(header.target.clone());
        }
        Error::System {
            action: wrong(),
            source: error.error,
        }
    })
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain structures serialise") + "\n"
}

/// Letters of the target, and a number that distinguishes targets whose letters are the same (FNV-1a).
fn file_name(header: &Header) -> String {
    let private = header
        .private
        .as_ref()
        .map(|private| format!("-{}", private.folder.display()));
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

/// A journal's content. A last line that was cut short was not synced, so its setting was not changed. Any other
/// unreadable line is damage: then the changes are unknown.
fn read(path: &Path) -> Result<FoundJournal, Unreadable> {
    let wrong = |why: String| Unreadable {
        path: path.to_owned(),
        why,
    };
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines().enumerate();
    let Some((_, first)) = lines.next() else {
        return Err(wrong("it has no first line".to_owned()));
    };
    let damaged = |at: usize, error: &serde_json::Error| wrong(format!("line {}: {error}", at + 1));
    let header = serde_json::from_str(first).map_err(|error| damaged(0, &error))?;
    let changes = lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| damaged(at, &error)))
        .collect::<Result<_, _>>()?;
    Ok(FoundJournal {
        path: path.to_owned(),
        header,
        changes,
    })
}

/// The journals of runs that are over. Those of runs that still live are left out.
///
/// # Errors
/// The directory cannot be read.
pub fn left(directory: &Path) -> Result<Left, Error> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Left::default()),
        entries => entries.during(|| format!("read {}", directory.display()))?,
    };
    let mut left = Left::default();
    for entry in entries {
        let path = entry
            .during(|| format!("read {}", directory.display()))?
            .path();
        match over(&path).and_then(|is_over| is_over.then(|| read(&path)).transpose()) {
            Ok(found) => left.journals.extend(found),
            Err(unreadable) => left.unreadable.push(unreadable),
        }
    }
    left.journals.sort_by(|a, b| a.path.cmp(&b.path));
    left.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(left)
}

/// Whether the run of a journal is over: it has neither removed it nor keeps it locked.
fn over(path: &Path) -> Result<bool, Unreadable> {
    let wrong = |why: String| Unreadable {
        path: path.to_owned(),
        why,
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(|error| wrong(error.to_string()))?,
    };
    let begin = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(path.exists()),
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(error) => return Err(wrong(error.to_string())),
        }
        let is_over = read(path).is_ok_and(|found| {
            let (pid, start_ticks) = found.header.tuner;
            !Process { pid, start_ticks }.lives()
        });
        if !is_over || !path.exists() {
            return Ok(false);
        }
        if begin.elapsed() > CHILD_LIMIT {
            return Err(wrong("another process has it locked".to_owned()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests;
