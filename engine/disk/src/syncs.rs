//! A disk whose syncs somebody else does, to hold them up or to give them the latency of another device.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::{Access, Create, Directory, DirectoryLock, File};

/// A layer between a file and its users.
pub(crate) trait Between: Send + Sync {
    /// A write, which goes to the file.
    fn write(&self, file: &dyn File, data: &[u8], offset: u64) -> io::Result<()> {
        file.write_at(data, offset)
    }

    /// A sync, which goes where it likes.
    fn sync(&self, file: &dyn File) -> io::Result<()>;
}

impl<F: Fn(&dyn File) -> io::Result<()> + Send + Sync> Between for F {
    fn sync(&self, file: &dyn File) -> io::Result<()> {
        self(file)
    }
}

/// The directory, but a sync of a file in it or in its subdirectories calls `sync` with that file. `sync` may call
/// the file's [`File::sync_data`] at any time, or not at all.
pub fn with_syncs(
    directory: Arc<dyn Directory>,
    sync: impl Fn(&dyn File) -> io::Result<()> + Send + Sync + 'static,
) -> Arc<dyn Directory> {
    through(directory, Arc::new(sync))
}

/// The directory, with `between` before all of its files.
pub(crate) fn through(
    directory: Arc<dyn Directory>,
    between: Arc<dyn Between>,
) -> Arc<dyn Directory> {
    Arc::new(Through {
        inner: directory,
        between,
    })
}

/// Everything reaches `inner`, but writes and syncs go through `between`.
struct Through<T: ?Sized> {
    inner: Arc<T>,
    between: Arc<dyn Between>,
}

impl<T: ?Sized> Through<T> {
    fn with<U: ?Sized>(&self, inner: Arc<U>) -> Arc<Through<U>> {
        let between = Arc::clone(&self.between);
        Arc::new(Through { inner, between })
    }
}

impl Directory for Through<dyn Directory> {
    fn open(&self, name: &str, access: Access, create: Create) -> io::Result<Arc<dyn File>> {
        let file = self.inner.open(name, access, create)?;
        Ok(self.with(file))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn subdirectory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        let directory = self.inner.subdirectory(name)?;
        Ok(self.with(directory))
    }

    fn lock(&self, name: &str, create: Create) -> io::Result<DirectoryLock> {
        self.inner.lock(name, create)
    }

    fn check_writable(&self) -> io::Result<()> {
        self.inner.check_writable()
    }
}

impl File for Through<dyn File> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.between.write(&*self.inner, data, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.between.sync(&*self.inner)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Through<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Through").field(&&self.inner).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::FaultDisk;

    /// Lengths of the file that power failures leave.
    fn left(disk: &FaultDisk) -> Vec<u64> {
        let left = |seed| disk.after_power_failure(seed).files()[0].1;
        (0..20).map(left).collect()
    }

    #[test]
    fn a_sync_is_what_it_is_made() {
        for honest in [true, false] {
            let disk = FaultDisk::new();
            let sync = move |file: &dyn File| if honest { file.sync_data() } else { Ok(()) };
            let directory = with_syncs(disk.root(), sync);
            let below = directory.subdirectory("below").unwrap();
            let file = below.open("f", Access::Buffered, Create::New).unwrap();
            below.sync().unwrap();
            file.write_at(b"data", 0).unwrap();
            file.sync_data().unwrap();
            assert_eq!(left(&disk).iter().all(|&len| len == 4), honest);
        }
    }

    #[test]
    fn everything_else_reaches_the_disk() {
        let disk = FaultDisk::new();
        let directory = with_syncs(disk.root(), |_| unreachable!("nothing is synced"));
        let file = directory.open("a", Access::Direct, Create::New).unwrap();
        file.write_at(b"data", 1).unwrap();
        file.set_len(3).unwrap();
        let mut read = [9; 8];
        assert_eq!(file.read_at(&mut read, 0).unwrap(), 3);
        assert_eq!((&read[..3], file.len().unwrap()), (&b"\0da"[..], 3));
        directory.open("c", Access::Direct, Create::New).unwrap();
        directory.rename("a", "b").unwrap();
        directory.remove("c").unwrap();
        directory.sync().unwrap();
        assert_eq!(directory.list().unwrap(), ["b"]);
        assert_eq!(disk.files(), [("b".to_owned(), 3)]);
        let _lock = directory.lock("lock", Create::IfMissing).unwrap();
        assert!(disk.root().lock("lock", Create::IfMissing).is_err());
    }
}
