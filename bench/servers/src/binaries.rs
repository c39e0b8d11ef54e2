//! Where the programs of a server are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of system programs, which an ordinary user's `PATH` often lacks.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The program `name` on `PATH` or in a directory of system programs.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}

/// The directory with PostgreSQL's programs: the newest of Debian's `/usr/lib/postgresql/<major>/bin`, else what
/// `pg_config` says, else the one on `PATH`.
pub(crate) fn postgresql_directory() -> Option<PathBuf> {
    newest_version(Path::new("/usr/lib/postgresql"))
        .or_else(|| {
            let output = Command::new("pg_config").arg("--bindir").output().ok()?;
            let directory = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
            directory.join("postgres").is_file().then_some(directory)
        })
        .or_else(|| find("postgres")?.parent().map(Path::to_owned))
}

/// `<root>/<version>/bin` of the highest version number that holds a server. Versions compare as numbers: 15 is
/// newer than 9.6.
fn newest_version(root: &Path) -> Option<PathBuf> {
    fs::read_dir(root)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: f64 = entry.file_name().to_str()?.parse().ok()?;
            let directory = entry.path().join("bin");
            directory
                .join("postgres")
                .is_file()
                .then_some((version, directory))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, directory)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "common"] {
            let directory = root.path().join(version).join("bin");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("postgres"), "").unwrap();
        }
        // Only the client of 17 is installed.
        fs::create_dir_all(root.path().join("17/bin")).unwrap();
        assert_eq!(
            newest_version(root.path()),
            Some(root.path().join("15/bin"))
        );
    }

    #[test]
    fn a_missing_version_gives_nothing() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(newest_version(root.path()), None);
        assert_eq!(newest_version(&root.path().join("absent")), None);
    }
}
