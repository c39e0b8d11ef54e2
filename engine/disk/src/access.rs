//! The two traits everything durable goes through, and what their errors mean to the user.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The way of a file's data to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Through the operating system's page cache.
    Buffered,
    /// Past the page cache where the file system allows it, else as `Buffered`; [`File::is_direct`] tells. Buffers,
    /// offsets and lengths must then be multiples of [`ALIGNMENT`](crate::ALIGNMENT).
    Direct,
}

/// Whether [`Directory::open`] may create the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Create {
    /// Open what exists, else `NotFound`.
    Never,
    /// Open what exists, else create.
    IfMissing,
    /// Create, else `AlreadyExists`.
    New,
}

/// A directory. Names are single path components.
pub trait Directory: Send + Sync + fmt::Debug {
    /// Opens a file for reading and writing. A new name is durable after [`sync`](Directory::sync) only.
    fn open(&self, name: &str, access: Access, create: Create) -> io::Result<Arc<dyn File>>;

    /// The names of the files in it, sorted; subdirectories are left out.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Gives `from` the name `to`, replacing what had it, atomically. Durable after [`sync`](Directory::sync).
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Durable after [`sync`](Directory::sync).
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable.
    fn sync(&self) -> io::Result<()>;

    /// The directory of this name in it, created (durably) if missing.
    fn subdirectory(&self, name: &str) -> io::Result<Arc<dyn Directory>>;

    /// Takes the lock file `name` for this process, so that no second one opens the same data. `WouldBlock` if taken, `NotFound` if it
    /// must not be made and nobody has made it.
    fn lock(&self, name: &str, create: Create) -> io::Result<DirectoryLock>;

    /// Whether files can be made in it: an error says why not. Changes nothing.
    fn check_writable(&self) -> io::Result<()>;
}

/// Holds the lock of [`Directory::lock`] until dropped.
pub struct DirectoryLock(
    #[allow(dead_code, reason = "its drop releases the lock")] Box<dyn Any + Send + Sync>,
);

impl DirectoryLock {
    pub(crate) fn new(held: impl Any + Send + Sync) -> DirectoryLock {
        DirectoryLock(Box::new(held))
    }
}

impl fmt::Debug for DirectoryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DirectoryLock")
    }
}

/// An open file. All calls may come from several threads at once.
pub trait File: Send + Sync + fmt::Debug {
    /// Reads from `offset` until `buffer` is full or the file ends; the number of bytes read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `data` at `offset`, extending the file if needed. After an error any part may have been written.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()>;

    /// Makes what was written, and the file's length, durable. What a *failed* sync leaves unsynced is lost: see the
    /// [crate's documentation](crate#what-a-caller-may-rely-on).
    fn sync_data(&self) -> io::Result<()>;

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the length is zero.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or extends it by zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Whether transfers must be aligned: see [`Access::Direct`].
    fn is_direct(&self) -> bool;
}

/// Whether `error` says that there is no space left, for anybody or for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Advice to the user about `error`, to follow its text; empty if no remedy is known.
pub fn advice(error: &io::Error) -> &'static str {
    if error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error()) {
        return "; give a shorter name: most file systems take 255 bytes, and 4095 with all directories";
    }
    match error.kind() {
        _ if is_full(error) => "; free space on the disk and try again",
        io::ErrorKind::ReadOnlyFilesystem => "; make the file system writable and try again",
        io::ErrorKind::PermissionDenied => {
            "; give this user the right to read and write there and try again"
        }
        io::ErrorKind::NotADirectory => "; give the path of a directory",
        _ => "",
    }
}
