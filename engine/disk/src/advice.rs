//! What to do about an error of the disk.

use std::io;

/// Whether `error` says that there is no space left, for anybody or for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// What the user can do about `error`, to be put behind its text; empty if nothing is known to help.
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
