//! The files by which a JVM and those who attach to it meet, in the JVM's own `/tmp`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use evenkeel_wire::jvm::OWN_SOCKET;

use crate::error::Refused;
use crate::{permission, process};

/// Where the JVM keeps its socket.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) pid: i32,
    /// The process's number as it sees itself.
    own_pid: String,
    /// `/tmp` of the process, opened with the rights of this one: the process's user may have less.
    tmp: File,
    /// The directory that the process is in, where the JVM looks as well.
    current: Option<File>,
}

impl Directory {
    pub(crate) fn of(pid: i32) -> Result<Self, Refused> {
        let open = |path: PathBuf| {
            OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
                .open(path)
        };
        let process = Path::new("/proc").join(pid.to_string());
        let tmp = open(process.join("root").join("tmp")).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => permission::not_permitted(pid),
            _ => failed(pid, "its directory /tmp cannot be opened", &error),
        })?;
        // In a namespace, the last number is the one that the process has there.
        let own_pid = process::status(pid, "NSpid")
            .and_then(|ids| Some(ids.split_ascii_whitespace().last()?.to_owned()));
        let own_pid = own_pid.unwrap_or_else(|| pid.to_string());
        Ok(Self {
            pid,
            own_pid,
            tmp,
            current: open(process.join("cwd")).ok(),
        })
    }

    /// A path through the open directory, which needs no rights on what leads there.
    fn path(directory: &File, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
    }

    /// A file in the JVM's `/tmp`.
    pub(crate) fn in_tmp(&self, name: &str) -> PathBuf {
        Self::path(&self.tmp, name)
    }

    /// The JVM's socket, whether it is there or not.
    pub(crate) fn socket(&self) -> PathBuf {
        Self::path(&self.tmp, &format!(".java_pid{}", self.own_pid))
    }

    /// The socket of an agent that the JVM was started with, whether it is there or not.
    pub(crate) fn agents_socket(&self) -> PathBuf {
        Self::path(&self.tmp, &format!("{OWN_SOCKET}{}", self.own_pid))
    }

    /// Leaves the file that has the JVM open its socket at the next SIGQUIT.
    pub(crate) fn leave_trigger(&self) -> Result<Temporary, Refused> {
        let name = format!(".attach_pid{}", self.own_pid);
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for directory in [Some(&self.tmp), self.current.as_ref()]
            .into_iter()
            .flatten()
        {
            let path = Self::path(directory, &name);
            match OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
            {
                Ok(_) => return Ok(Temporary(path)),
                Err(error) => last = error,
            }
        }
        Err(failed(
            self.pid,
            "the file that has it open its socket cannot be made in its /tmp",
            &last,
        ))
    }
}

/// A file that is removed in the end.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// A file that is there.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The agent library, opened with the rights of this process: the JVM's user may have less.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    path: PathBuf,
}

impl Opened {
    pub(crate) fn open(pid: i32, library: &Path) -> Result<Self, Refused> {
        let open = || {
            Ok(Self {
                file: File::open(library)?,
                path: fs::canonicalize(library)?,
            })
        };
        open().map_err(|error| not_given(pid, library, &error))
    }
}

fn not_given(pid: i32, library: &Path, error: &io::Error) -> Refused {
    failed(
        pid,
        &format!("{} cannot be given to it", library.display()),
        error,
    )
}

/// The agent library as the JVM can open it.
#[derive(Debug)]
pub(crate) struct Library {
    path: String,
    _copy: Option<Temporary>,
}

impl Library {
    /// The library itself where the JVM sees the same file at its path, else a copy in the JVM's `/tmp`.
    ///
    /// This runs with the rights of the JVM's user, so that it is seen what that user may open.
    pub(crate) fn for_jvm(directory: &Directory, library: &Opened) -> Result<Self, Refused> {
        let pid = directory.pid;
        let fail = |error: &io::Error| not_given(pid, &library.path, error);
        let here = library.file.metadata().map_err(|error| fail(&error))?;
        let same = |there: &File| {
            let there = there.metadata().ok()?;
            Some((here.dev(), here.ino()) == (there.dev(), there.ino()))
        };
        if let Some(path) = library.path.to_str() {
            let there = File::open(process::readable(pid, path)).ok();
            if there.as_ref().and_then(same) == Some(true) {
                return Ok(Self {
                    path: path.to_owned(),
                    _copy: None,
                });
            }
        }
        let name = format!(".evenkeel-agent-{}-{:x}.so", std::process::id(), here.ino());
        let to = Directory::path(&directory.tmp, &name);
        let _ = fs::remove_file(&to);
        let mut copy = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&to)
            .map_err(|error| fail(&error))?;
        let temporary = Temporary(to);
        io::copy(&mut &library.file, &mut copy).map_err(|error| fail(&error))?;
        Ok(Self {
            path: format!("/tmp/{name}"),
            _copy: Some(temporary),
        })
    }

    /// The path as the JVM sees it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// A failure of this side or of the JVM's.
pub(crate) fn failed(pid: i32, what: &str, error: &io::Error) -> Refused {
    Refused::Failed {
        pid,
        why: format!("{what}: {error}; the JVM runs on, try again"),
    }
}
