//! Files that this program carries in ELF sections, so that it can be installed as one file.
//!
//! A library can be preloaded only from a file. A descriptor of this process (`/proc/PID/fd/N`) would not do. A
//! program that runs as another user may not open it, and programs that a target executes after the session would
//! look for a process that is gone. So the file is put, once for each version, into a directory that everyone can
//! read and only its owner can write: `FOLDER/evenkeel-UID/HASH/NAME`. It stays there, because a target that was left
//! running may execute programs at any time; tmpfiles.d(5) removes it like any other file there.

use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::error::Error;

/// A file that this program carries.
#[derive(Debug)]
pub struct Carried {
    name: &'static str,
    bytes: Vec<u8>,
}

/// Directories to try: the first two for everyone, the last for this user's processes alone.
pub fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let shared = ["/var/tmp", "/tmp"].map(PathBuf::from);
    shared.into_iter().chain(own).collect()
}

impl Carried {
    /// The file that this program carries in `section`, to be called `name`; `None` if it has no such section.
    ///
    /// # Errors
    /// This program's file cannot be read.
    pub fn find(section: &str, name: &'static str) -> Result<Option<Carried>, Error> {
        let bytes = evenkeel_symbols::section(Path::new("/proc/self/exe"), section)
            .map_err(Error::OwnFile)?;
        Ok(bytes.map(|bytes| Carried { name, bytes }))
    }

    /// The contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The file of these bytes, written if it is not there yet.
    ///
    /// # Errors
    /// In none of [`folders`] can a file be made that programs may be run from.
    pub fn unpack(&self) -> Result<PathBuf, Error> {
        self.unpack_into(&folders())
    }

    fn unpack_into(&self, folders: &[PathBuf]) -> Result<PathBuf, Error> {
        let mut tried = Vec::new();
        for folder in folders {
            match self.put(folder) {
                Ok(path) => return Ok(path),
                Err(error) => tried.push(format!("{}: {error}", folder.display())),
            }
        }
        Err(Error::NoFolder {
            name: self.name,
            tried: tried.join("; "),
        })
    }

    fn put(&self, folder: &Path) -> io::Result<PathBuf> {
        if statvfs(folder)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            return Err(io::Error::other("mounted noexec"));
        }
        // SAFETY: no arguments.
        let user = unsafe { libc::geteuid() };
        let own = folder.join(format!("evenkeel-{user}"));
        own_folder(&own, user)?;
        let version = own.join(self.hash());
        own_folder(&version, user)?;
        let path = version.join(self.name);
        if !self.is(&path, user) {
            // Whole or not at all: other sessions may preload it at this moment.
            let fresh = version.join(format!(".{}.{}", self.name, std::process::id()));
            let written = fs::write(&fresh, &self.bytes)
                .and_then(|()| fs::set_permissions(&fresh, Permissions::from_mode(0o755)))
                .and_then(|()| fs::rename(&fresh, &path));
            if let Err(error) = written {
                let _ = fs::remove_file(&fresh);
                return Err(error);
            }
        }
        Ok(path)
    }

    /// Whether `path` is a file of this user's with these bytes, which others cannot change.
    fn is(&self, path: &Path, user: u32) -> bool {
        let sound = |found: &fs::Metadata| {
            found.is_file() && found.uid() == user && found.mode() & 0o777 == 0o755
        };
        fs::symlink_metadata(path).is_ok_and(|found| sound(&found))
            && fs::read(path).is_ok_and(|bytes| bytes == self.bytes)
    }

    fn hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.bytes.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// Makes a directory that everyone can read and only `user` can write, or finds it so.
fn own_folder(path: &Path, user: u32) -> io::Result<()> {
    match fs::create_dir(path) {
        // Whatever the mask.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o755))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "{} can be changed by others; remove it",
            path.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(bytes: &[u8]) -> Carried {
        Carried {
            name: "libcarried.so",
            bytes: bytes.to_owned(),
        }
    }

    #[test]
    fn written_once_for_everyone_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        let path = carried(b"first").unpack_into(&folders).unwrap();
        assert_eq!(path.file_name().unwrap(), "libcarried.so");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        for part in path.ancestors().take_while(|part| *part != folder.path()) {
            assert_eq!(part.metadata().unwrap().mode() & 0o777, 0o755, "{part:?}");
        }
        let inode = path.metadata().unwrap().ino();
        assert_eq!(carried(b"first").unpack_into(&folders).unwrap(), path);
        assert_eq!(path.metadata().unwrap().ino(), inode);
        let second = carried(b"second").unpack_into(&folders).unwrap();
        assert_ne!(second, path);
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        let path = carried(b"whole").unpack_into(&folders).unwrap();
        fs::write(&path, b"who").unwrap();
        assert_eq!(carried(b"whole").unpack_into(&folders).unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        carried(b"whole").unpack_into(&folders).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o755);
    }

    /// Someone was there first, with a directory of theirs or a link to one: what lies there is not run.
    #[test]
    fn what_others_can_change_is_passed_over() {
        let (open, linked, good) = (
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        // SAFETY: no arguments.
        let name = format!("evenkeel-{}", unsafe { libc::geteuid() });
        let theirs = open.path().join(&name);
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, Permissions::from_mode(0o777)).unwrap();
        std::os::unix::fs::symlink("/tmp", linked.path().join(&name)).unwrap();
        let bad = [open.path().to_owned(), linked.path().to_owned()];
        let error = carried(b"x").unpack_into(&bad).unwrap_err().to_string();
        assert_eq!(
            error.matches("can be changed by others").count(),
            2,
            "{error}"
        );
        let all = [&bad[..], &[good.path().to_owned()]].concat();
        let path = carried(b"x").unpack_into(&all).unwrap();
        assert!(path.starts_with(good.path()));
    }
}
