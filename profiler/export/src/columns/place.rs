//! Files that appear all at once, or not at all.
//!
//! An export has many files, and a file system renames one at a time. So the files are written to a separate folder.
//! When all of them are safe on the disk, one rename of that folder completes the export. The next export or query
//! moves the files of such a folder to their place (`finish_all`). The remains of an export that was killed earlier
//! are never read, and the next export removes them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Folders of exports that are being written.
const WRITTEN: &str = ".evenkeel-written-";
/// Folders of exports that have happened.
const DONE: &str = ".evenkeel-done-";
/// Locked by the process that writes.
const LOCK: &str = "lock";

/// An export that is being written.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    folder: PathBuf,
    name: String,
    _lock: File,
}

impl Staged {
    /// Begins an export to `target`, which is made if it is not there.
    ///
    /// # Errors
    /// Of the file system.
    pub fn begin(target: &Path) -> io::Result<Staged> {
        fs::create_dir_all(target)?;
        // So that a folder without a lock is nobody's.
        let _turn = turn(target)?;
        finish_all(target)?;
        remove_abandoned(target)?;
        let nanoseconds = std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0, |it| it.as_nanos());
        let name = format!("{}-{nanoseconds:x}", std::process::id());
        let folder = target.join(format!("{WRITTEN}{name}"));
        fs::create_dir(&folder)?;
        let lock = File::create(folder.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Staged {
            target: target.to_owned(),
            folder,
            name,
            _lock: lock,
        })
    }

    /// Makes a file that will be at `place` below the target.
    ///
    /// # Errors
    /// Of the file system.
    pub fn create(&self, place: &Path) -> io::Result<File> {
        let path = self.folder.join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        File::create_new(path)
    }

    /// Everything is written, and takes its place.
    ///
    /// # Errors
    /// Of the file system; then nothing has happened, or all of it will have.
    pub fn finish(self) -> io::Result<()> {
        for file in files(&self.folder)? {
            File::open(self.folder.join(file))?.sync_all()?;
        }
        // Who moves files finds them where they are, and none is removed under another's hands.
        let _turn = turn(&self.target)?;
        let done = self.target.join(format!("{DONE}{}", self.name));
        fs::rename(&self.folder, &done)?;
        File::open(&self.target)?.sync_all()?;
        finish_all(&self.target)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits until no other export begins or takes its place, and keeps others waiting until it is dropped.
fn turn(target: &Path) -> io::Result<File> {
    let turn = File::open(target)?;
    flock(&turn, FlockOperation::LockExclusive)?;
    Ok(turn)
}

/// Moves what exports have written to its place, where they were stopped before they could.
///
/// # Errors
/// Of the file system.
pub(crate) fn finish_all(target: &Path) -> io::Result<()> {
    for folder in folders(target, DONE)? {
        for file in files(&folder)? {
            if file == Path::new(LOCK) {
                continue;
            }
            let place = target.join(&file);
            if let Some(parent) = place.parent() {
                fs::create_dir_all(parent)?;
            }
            gone_is_fine(fs::rename(folder.join(&file), place))?;
        }
        gone_is_fine(fs::remove_dir_all(folder))?;
    }
    Ok(())
}

/// Removes what killed exports have left; one that is still being written is locked.
fn remove_abandoned(target: &Path) -> io::Result<()> {
    for folder in folders(target, WRITTEN)? {
        let lock = File::open(folder.join(LOCK));
        let is_locked = |lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_err();
        if !lock.is_ok_and(is_locked) {
            gone_is_fine(fs::remove_dir_all(folder))?;
        }
    }
    Ok(())
}

fn folders(target: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(target)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Paths of all files below a folder, relative to it.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    Ok(found)
}

/// Another process may have done it at the same time.
fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn write(staged: &Staged, place: &str, text: &str) {
        let mut file = staged.create(Path::new(place)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn found(target: &Path) -> Vec<PathBuf> {
        let mut found = files(target).unwrap();
        found.sort();
        found
    }

    /// Nothing is there before the end, all of it after; a second export replaces a file of the same name.
    #[test]
    fn all_at_once() {
        let target = tempfile::tempdir().unwrap();
        for text in ["one", "two"] {
            let staged = Staged::begin(target.path()).unwrap();
            write(&staged, "a/day=1/x", text);
            write(&staged, "b/x", text);
            let seen = fs::read_to_string(target.path().join("a/day=1/x"));
            assert_ne!(seen.ok().as_deref(), Some(text));
            staged.finish().unwrap();
            let all = ["a/day=1/x", "b/x"].map(PathBuf::from);
            assert_eq!(found(target.path()), all);
            for file in all {
                assert_eq!(fs::read_to_string(target.path().join(file)).unwrap(), text);
            }
        }
    }

    /// Many at once, of the same run and of others: each succeeds, and each file is there.
    #[test]
    fn exports_at_once() {
        const EXPORTS: usize = 40;
        let target = tempfile::tempdir().unwrap();
        let export = |who: usize| {
            for number in 0..EXPORTS {
                let staged = Staged::begin(target.path())?;
                for place in ["a/same", &format!("b/{who}"), &format!("c/{who}-{number}")] {
                    staged.create(Path::new(place))?.write_all(b"text")?;
                }
                staged.finish()?;
            }
            io::Result::Ok(())
        };
        std::thread::scope(|scope| {
            let export = &export;
            let all = [0, 1, 2, 3].map(|who| scope.spawn(move || export(who)));
            for one in all {
                one.join().unwrap().unwrap();
            }
        });
        assert_eq!(found(target.path()).len(), 1 + 4 + 4 * EXPORTS);
    }

    /// Killed before the rename: the next export removes what is left. Killed after it: whoever is next finishes.
    #[test]
    fn killed_in_the_middle() {
        let target = tempfile::tempdir().unwrap();
        let staged = Staged::begin(target.path()).unwrap();
        write(&staged, "a/x", "half");
        let abandoned = target.path().join(".evenkeel-written-1-1");
        fs::rename(&staged.folder, &abandoned).unwrap();
        finish_all(target.path()).unwrap();
        assert!(!target.path().join("a").exists());
        remove_abandoned(target.path()).unwrap();
        assert!(abandoned.exists(), "its writer lives");
        drop(staged);
        let next = Staged::begin(target.path()).unwrap();
        assert!(!abandoned.exists());

        write(&next, "a/x", "whole");
        let done = target.path().join(".evenkeel-done-1-2");
        fs::rename(&next.folder, &done).unwrap();
        drop(next);
        assert!(!target.path().join("a").exists());
        finish_all(target.path()).unwrap();
        assert_eq!(found(target.path()), [PathBuf::from("a/x")]);
    }
}
