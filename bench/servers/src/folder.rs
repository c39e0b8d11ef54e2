//! The temporary folder of a private server.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::account::Account;
use crate::error::{During, ServerError};
use crate::owner::Ownership;

/// Beginning of the folders' names.
pub(crate) const PREFIX: &str = "evenkeel-";
/// Bytes that `sockaddr_un.sun_path` holds beside its final zero, see unix(7).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A folder that belongs to the server's account and goes when this value goes.
#[derive(Debug)]
pub(crate) struct Folder {
    // Declared before the lock: nobody finds it unlocked while it is being removed.
    directory: TempDir,
    #[cfg_attr(not(test), expect(dead_code, reason = "locked until it is dropped"))]
    ownership: Ownership,
    account: Option<Account>,
}

impl Folder {
    /// Makes the folder in `parent` (the system's temporary folder if `None`). Others may pass through it, to reach the
    /// socket, but not list it.
    pub(crate) fn create(
        parent: Option<&Path>,
        account: Option<Account>,
    ) -> Result<Self, ServerError> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let parent = parent
            .canonicalize()
            .during(|| format!("find the folder {}", parent.display()))?;
        if let Some(account) = &account {
            check_reachable(&parent, account)?;
        }
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&parent)
            .during(|| format!("make a folder in {}", parent.display()))?;
        fs::set_permissions(directory.path(), Permissions::from_mode(0o711))
            .during(|| format!("set the mode of {}", directory.path().display()))?;
        let ownership = Ownership::take(directory.path())?;
        let folder = Self {
            directory,
            ownership,
            account,
        };
        folder.give(folder.path())?;
        Ok(folder)
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The account that owns it; `None` means the caller.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Leaves the folder as an owner that is killed would.
    #[cfg(test)]
    pub(crate) fn leave(self) -> PathBuf {
        self.ownership.abandon();
        self.directory.keep()
    }

    /// Makes a folder inside, owned by the server's account.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, ServerError> {
        let path = self.path().join(name);
        fs::create_dir(&path).during(|| format!("make the folder {}", path.display()))?;
        self.give(&path)?;
        Ok(path)
    }

    /// Writes a file inside, owned by the server's account.
    pub(crate) fn write(
        &self,
        name: &str,
        contents: impl AsRef<[u8]>,
    ) -> Result<PathBuf, ServerError> {
        let path = self.path().join(name);
        fs::write(&path, contents).during(|| format!("write {}", path.display()))?;
        self.give(&path)?;
        Ok(path)
    }

    fn give(&self, path: &Path) -> Result<(), ServerError> {
        match &self.account {
            Some(account) => chown(path, Some(account.uid), Some(account.gid))
                .during(|| format!("give {} to {}", path.display(), account.name)),
            None => Ok(()),
        }
    }
}

/// Refuses a folder that the account cannot reach: the server's message would not help.
fn check_reachable(folder: &Path, account: &Account) -> Result<(), ServerError> {
    for ancestor in folder.ancestors() {
        let about = ancestor
            .metadata()
            .during(|| format!("look at {}", ancestor.display()))?;
        let search = if about.uid() == account.uid {
            0o100
        } else if about.gid() == account.gid {
            0o010
        } else {
            0o001
        };
        if about.mode() & search == 0 {
            return Err(ServerError::Unreachable {
                account: account.name.clone(),
                folder: ancestor.to_owned(),
            });
        }
    }
    Ok(())
}

/// Refuses a Unix socket whose path does not fit its address.
pub(crate) fn check_socket_path(path: PathBuf) -> Result<PathBuf, ServerError> {
    let bytes = path.as_os_str().len();
    if bytes > SOCKET_PATH_BYTES_MAX {
        return Err(ServerError::SocketPathTooLong { path, bytes });
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_of_107_bytes_fits_and_one_of_108_does_not() {
        let path = |bytes: usize| PathBuf::from(format!("/{}", "s".repeat(bytes - 1)));
        assert!(check_socket_path(path(107)).is_ok());
        assert!(matches!(
            check_socket_path(path(108)),
            Err(ServerError::SocketPathTooLong { bytes: 108, .. })
        ));
    }

    #[test]
    fn a_folder_closed_to_others_is_refused_for_them_and_named() {
        let root = tempfile::tempdir().unwrap();
        let closed = root.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        let stranger = Account {
            name: "stranger".into(),
            uid: 4_000_000,
            gid: 4_000_000,
        };
        match check_reachable(&closed, &stranger) {
            Err(ServerError::Unreachable { folder, .. }) => assert_eq!(folder, closed),
            other => panic!("expected Unreachable, got {other:?}"),
        }
        let about = closed.metadata().unwrap();
        let owner = Account {
            name: "owner".into(),
            uid: about.uid(),
            gid: about.gid(),
        };
        // Only as far as the folders above the temporary one are open to the owner.
        check_reachable(&closed, &owner).unwrap();
    }

    #[test]
    fn the_folder_goes_with_its_value() {
        let folder = Folder::create(None, None).unwrap();
        let path = folder.path().to_owned();
        folder.write("a", "b").unwrap();
        assert!(path.join("a").exists());
        drop(folder);
        assert!(!path.exists());
    }
}
