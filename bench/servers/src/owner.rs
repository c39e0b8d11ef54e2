//! The process that made a private server's folder, and whether it is alive.
//!
//! The folder holds a file `owner` that its maker keeps locked (flock(2)): the system unlocks it when the maker is
//! gone, however it ended. The file has its name only once it is locked. So a process that finds it unlocked knows
//! that the owner is gone.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::error::{During, ServerError};
use crate::process::Process;

/// The file.
pub(crate) const OWNER: &str = "owner";
/// Time that a lock may outlive its owner: a child that the owner was just starting has it until it runs its program.
const CHILD_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The lock of a folder. Dropping it unlocks the folder.
#[derive(Debug)]
pub(crate) struct Ownership {
    #[cfg_attr(not(test), expect(dead_code, reason = "it is locked while it is open"))]
    file: File,
}

impl Ownership {
    /// Makes the caller the owner of this folder.
    pub(crate) fn take(folder: &Path) -> Result<Ownership, ServerError> {
        let wrong = || format!("lock {}", folder.join(OWNER).display());
        // Opened with O_CLOEXEC, as all files of the standard library are: programs that the owner starts do not have the lock.
        let begun = tempfile::Builder::new()
            .prefix(".owner-")
            .tempfile_in(folder)
            .during(wrong)?;
        flock(&begun, FlockOperation::NonBlockingLockExclusive)
            .map_err(std::io::Error::from)
            .during(wrong)?;
        write_caller(begun.as_file()).during(wrong)?;
        let file = begun
            .persist_noclobber(folder.join(OWNER))
            .map_err(|error| error.error)
            .during(wrong)?;
        Ok(Ownership { file })
    }

    /// Ends it as the death of its process would: programs that other tests are starting may have the lock for a moment longer.
    #[cfg(test)]
    pub(crate) fn abandon(mut self) {
        self.file.set_len(0).unwrap();
        self.file.rewind().unwrap();
        self.file.write_all(b"0 0\n").unwrap();
    }
}

/// The state of a folder's owner.
#[derive(Debug)]
pub(crate) enum Owner {
    /// It lives, or this is not a server's folder, or not the caller's.
    Another,
    /// It is gone, and the caller owns the folder now.
    Gone(Ownership),
    /// It cannot be seen, and yet the folder is locked.
    Unknown,
}

impl Owner {
    /// Looks at the folder. Only one whose owner was the caller's user is looked into.
    pub(crate) fn of(folder: &Path) -> Owner {
        let path = folder.join(OWNER);
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let Ok(file) = options.open(&path) else {
            return Owner::Another;
        };
        let begin = Instant::now();
        loop {
            // A file of the caller's, and no other name of a file elsewhere.
            let same = |about: fs::Metadata| {
                about.uid() == rustix::process::geteuid().as_raw()
                    && about.nlink() == 1
                    && fs::symlink_metadata(&path)
                        .is_ok_and(|now| (now.dev(), now.ino()) == (about.dev(), about.ino()))
            };
            if !file.metadata().is_ok_and(same) {
                return Owner::Another;
            }
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                // It may have been removed since, by its owner's end.
                let is_taken = file.metadata().is_ok_and(same) && write_caller(&file).is_ok();
                return if is_taken {
                    Owner::Gone(Ownership { file })
                } else {
                    Owner::Another
                };
            }
            if lives(&path) {
                return Owner::Another;
            }
            if begin.elapsed() > CHILD_LIMIT {
                return Owner::Unknown;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// Names the caller as the owner.
fn write_caller(mut file: &File) -> std::io::Result<()> {
    let Process { pid, start_ticks } = Process::this();
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{pid} {start_ticks}")
}

/// Whether the process that the file names runs.
fn lives(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map_while(|one| one.parse().ok())
        .collect();
    let &[pid, start_ticks] = &numbers[..] else {
        return false;
    };
    u32::try_from(pid).is_ok_and(|pid| Process { pid, start_ticks }.lives())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_anothers_while_its_owner_lives_and_gone_after() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Owner::of(folder.path()), Owner::Another));
        let mine = Ownership::take(folder.path()).unwrap();
        assert!(matches!(Owner::of(folder.path()), Owner::Another));
        mine.abandon();
        let taken = Owner::of(folder.path());
        assert!(matches!(taken, Owner::Gone(_)));
        // The first process to find it removes it.
        assert!(matches!(Owner::of(folder.path()), Owner::Another));
    }

    #[test]
    fn a_lock_that_outlives_its_owner_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let mine = Ownership::take(folder.path()).unwrap();
        // As if its owner were gone, and a child of its had the lock.
        let child = mine.file.try_clone().unwrap();
        mine.abandon();
        let child = thread::spawn(move || {
            thread::sleep(LOOK_EVERY);
            drop(child);
        });
        assert!(matches!(Owner::of(folder.path()), Owner::Gone(_)));
        child.join().unwrap();
    }

    #[test]
    fn a_link_is_not_followed() {
        let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [link, file] = [&folder, &other].map(|folder| folder.path().join(OWNER));
        fs::write(&file, "0 0\n").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(matches!(Owner::of(folder.path()), Owner::Another));
        fs::remove_file(&link).unwrap();
        fs::hard_link(&file, &link).unwrap();
        assert!(matches!(Owner::of(folder.path()), Owner::Another));
        fs::remove_file(&file).unwrap();
        assert!(matches!(Owner::of(folder.path()), Owner::Gone(_)));
    }
}
