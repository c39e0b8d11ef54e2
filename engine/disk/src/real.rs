//! Directories and files of the operating system.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags, accessat, fcntl_getfl, fcntl_setfl, flock};

use crate::{Access, Create, Directory, DirectoryLock, File};

/// Bytes a name may have, on nearly all file systems.
const NAME_BYTES_MAX: usize = 255;

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDirectory {
    path: PathBuf,
}

impl RealDirectory {
    /// Opens `path`, creating it and its parents if missing.
    ///
    /// # Errors
    /// If it cannot be created or is not a directory.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Arc<dyn Directory>> {
        let path = path.as_ref().to_path_buf();
        if path.exists() && !path.is_dir() {
            // Making it would say that there is something, which is no help.
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut names = path.components();
        if names.any(|name| name.as_os_str().len() > NAME_BYTES_MAX) {
            // Before those above it are made.
            return Err(rustix::io::Errno::NAMETOOLONG.into());
        }
        let missing = path.ancestors().take_while(|path| !path.is_dir()).count();
        fs::create_dir_all(&path)?;
        for made in path.ancestors().take(missing) {
            sync_parent(made)?;
        }
        if missing == 0 {
            // The process that made it may have been killed before its name was durable. A user who may not read its
            // directory has not made it.
            let _ = sync_parent(&path);
        }
        Ok(Arc::new(RealDirectory { path }))
    }

    fn file(&self, name: &str, create: Create) -> io::Result<fs::File> {
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(create == Create::IfMissing)
            .create_new(create == Create::New)
            .truncate(false)
            .open(self.path.join(name))
    }
}

/// Makes the name of a directory durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        None => Ok(()),
        Some(parent) if parent.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
        Some(parent) => fs::File::open(parent)?.sync_all(),
    }
}

impl Directory for RealDirectory {
    fn open(&self, name: &str, access: Access, create: Create) -> io::Result<Arc<dyn File>> {
        let file = self.file(name, create)?;
        // tmpfs and some network file systems refuse O_DIRECT, then or at the first transfer.
        let direct = access == Access::Direct && set_direct(&file, true).is_ok();
        Ok(Arc::new(RealFile {
            file,
            direct: AtomicBool::new(direct),
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        fs::File::open(&self.path)?.sync_all()
    }

    fn subdirectory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        RealDirectory::open(self.path.join(name))
    }

    fn lock(&self, name: &str, create: Create) -> io::Result<DirectoryLock> {
        let file = self.file(name, create)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(DirectoryLock::new(file))
    }

    fn check_writable(&self) -> io::Result<()> {
        let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        Ok(accessat(CWD, &self.path, wanted, AtFlags::EACCESS)?)
    }
}

#[derive(Debug)]
struct RealFile {
    file: fs::File,
    /// Cleared at the first transfer the file system refuses as direct.
    direct: AtomicBool,
}

impl RealFile {
    /// Runs a transfer; should the file system refuse it because it is direct, runs it again buffered.
    fn transfer<T>(&self, mut run: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match run() {
            Err(error)
                if error.kind() == io::ErrorKind::InvalidInput
                    && self.direct.load(Ordering::Relaxed) =>
            {
                set_direct(&self.file, false)?;
                self.direct.store(false, Ordering::Relaxed);
                run()
            }
            result => result,
        }
    }
}

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let read =
                self.transfer(|| self.file.read_at(&mut buffer[done..], offset + done as u64));
            match read {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.transfer(|| self.file.write_all_at(data, offset))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }
}

fn set_direct(file: &fs::File, direct: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, direct);
    Ok(fcntl_setfl(file, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALIGNMENT, AlignedBuffer};

    #[test]
    fn writes_are_read_back_directly_or_not() {
        let place = tempfile::tempdir().unwrap();
        let directory = RealDirectory::open(place.path().join("a/b")).unwrap();
        for access in [Access::Direct, Access::Buffered] {
            let name = format!("{access:?}");
            let file = directory.open(&name, access, Create::New).unwrap();
            let mut page = AlignedBuffer::zeroed(ALIGNMENT);
            page.fill(7);
            file.write_at(&page, ALIGNMENT as u64).unwrap();
            file.sync_data().unwrap();
            assert_eq!(file.len().unwrap(), 2 * ALIGNMENT as u64);
            let mut both = AlignedBuffer::zeroed(4 * ALIGNMENT);
            assert_eq!(file.read_at(&mut both, 0).unwrap(), 2 * ALIGNMENT);
            assert!(both[..ALIGNMENT].iter().all(|&byte| byte == 0));
            assert!(both[ALIGNMENT..2 * ALIGNMENT].iter().all(|&byte| byte == 7));
        }
        directory.sync().unwrap();
        directory.rename("Direct", "renamed").unwrap();
        directory.subdirectory("sub").unwrap();
        assert_eq!(directory.list().unwrap(), ["Buffered", "renamed"]);
        directory.remove("renamed").unwrap();
        let missing = directory.open("renamed", Access::Buffered, Create::Never);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        let taken = directory.open("Buffered", Access::Buffered, Create::New);
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_locked_directory_is_refused_until_the_lock_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let directory = RealDirectory::open(place.path()).unwrap();
        let missing = directory.lock("lock", Create::Never).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(directory.list().unwrap().is_empty());
        let lock = directory.lock("lock", Create::IfMissing).unwrap();
        for create in [Create::IfMissing, Create::Never] {
            let second = directory.lock("lock", create).unwrap_err();
            assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
        }
        drop(lock);
        directory.lock("lock", Create::IfMissing).unwrap();
    }

    #[test]
    fn unaligned_transfers_still_succeed() {
        let place = tempfile::tempdir().unwrap();
        let directory = RealDirectory::open(place.path()).unwrap();
        let file = directory.open("f", Access::Direct, Create::New).unwrap();
        file.write_at(b"abc", 5).unwrap();
        let mut read = [0; 3];
        assert_eq!(file.read_at(&mut read, 5).unwrap(), 3);
        assert_eq!(&read, b"abc");
    }
}
