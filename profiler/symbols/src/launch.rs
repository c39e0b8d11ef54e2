//! The program that a command finally runs, and whether an agent can be preloaded into it.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::load::{Image, LoadError};

/// Interpreters of interpreters that are followed; the kernel follows four.
const SCRIPT_DEPTH_MAX: usize = 4;
/// Bytes of a `#!` line that the kernel reads.
const SCRIPT_LINE_MAX: u64 = 256;

/// Why an agent cannot be preloaded into a command. Each text ends with what to do.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The program, or the interpreter of the script, is not one that can be profiled.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The file is not executable for this user.
    #[error("{} may not be executed; check its permissions (chmod +x)", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// The program would run with other rights than the caller's, so the loader ignores preloaded libraries.
    #[error("{} is {how}: the loader ignores preloaded libraries there; run a copy of it without that, or run as the user it switches to", path.display())]
    Privileged {
        /// The program.
        path: PathBuf,
        /// `setuid`, `setgid` or `given file capabilities`.
        how: &'static str,
    },
    /// Interpreters without an end.
    #[error("{} is a script whose interpreters never end in a program; name the program itself", path.display())]
    EndlessScript {
        /// The script.
        path: PathBuf,
    },
}

/// The ELF file that the kernel runs for `path`: the file itself, or the interpreter of a script.
///
/// # Errors
/// Says why no agent could be preloaded.
pub fn launchable(path: &Path) -> Result<PathBuf, LaunchError> {
    let mut program = path.to_owned();
    for _ in 0..=SCRIPT_DEPTH_MAX {
        if rustix::fs::access(&program, rustix::fs::Access::EXEC_OK).is_err() && program.is_file() {
            return Err(LaunchError::NotExecutable { path: program });
        }
        match interpreter(&program)? {
            Some(next) => program = next,
            None => {
                Image::read(&program)?;
                check_rights(&program)?;
                return Ok(program);
            }
        }
    }
    Err(LaunchError::EndlessScript {
        path: path.to_owned(),
    })
}

/// The program named by the `#!` line of a script.
fn interpreter(path: &Path) -> Result<Option<PathBuf>, LoadError> {
    let unreadable = |source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut line = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(SCRIPT_LINE_MAX)
        .read_to_end(&mut line)
        .map_err(unreadable)?;
    let Some(line) = line.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    match words.next() {
        Some(word) => Ok(Some(PathBuf::from(
            String::from_utf8_lossy(word).into_owned(),
        ))),
        None => Err(LoadError::NotElf {
            path: path.to_owned(),
        }),
    }
}

/// The conditions under which the kernel sets `AT_SECURE` (ld.so(8), "secure-execution mode").
fn check_rights(path: &Path) -> Result<(), LaunchError> {
    const SETUID: u32 = 0o4000;
    const SETGID: u32 = 0o2010;
    let refuse = |how| {
        Err(LaunchError::Privileged {
            path: path.to_owned(),
            how,
        })
    };
    let metadata = std::fs::metadata(path).map_err(|source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let user = rustix::process::geteuid().as_raw();
    if metadata.mode() & SETUID != 0 && metadata.uid() != user {
        return refuse("setuid");
    }
    // Without the group's execute bit, the setgid bit means mandatory locking.
    if metadata.mode() & SETGID == SETGID && metadata.gid() != rustix::process::getegid().as_raw() {
        return refuse("setgid");
    }
    let mut value = [0_u8; 64];
    let capable = rustix::fs::getxattr(path, "security.capability", &mut value).is_ok();
    if capable && user != 0 {
        refuse("given file capabilities")
    } else {
        Ok(())
    }
}
