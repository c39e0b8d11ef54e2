//! A terminal of the test's own, for what only happens on one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::run::eventually;

/// A pseudo-terminal: the side of the person.
pub struct Terminal {
    person: File,
    line: OwnedFd,
}

impl Terminal {
    /// Opens one, 100 columns wide.
    pub fn open() -> Terminal {
        let (mut person, mut line) = (-1, -1);
        let size = libc::winsize {
            ws_row: 40,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: descriptors are returned in the integers; the other arguments are optional or live.
        let opened = unsafe {
            libc::openpty(
                &mut person,
                &mut line,
                std::ptr::null_mut(),
                std::ptr::null(),
                &size,
            )
        };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: just opened, owned by nobody else.
        unsafe {
            libc::fcntl(person, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::fcntl(line, libc::F_SETFD, libc::FD_CLOEXEC);
            Terminal {
                person: File::from_raw_fd(person),
                line: OwnedFd::from_raw_fd(line),
            }
        }
    }

    /// Starts a command with this as its controlling terminal and as all of its standard streams.
    pub fn start(&self, command: &mut Command) -> Child {
        let stream = || Stdio::from(self.line.try_clone().unwrap());
        command.stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: system calls only, between fork and exec.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        command.spawn().unwrap()
    }

    /// Types.
    pub fn type_text(&self, text: &str) {
        (&self.person).write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the command's end; its exit code and everything that appeared.
    pub fn watch(self, child: Child) -> (Option<i32>, String) {
        self.watch_until(child, |_| {})
    }

    /// Watches until `seen` is satisfied; it is shown the screen at times and may type.
    pub fn watch_until(
        self,
        mut child: Child,
        mut seen: impl FnMut(&str),
    ) -> (Option<i32>, String) {
        let Terminal { person, line } = self;
        drop(line);
        // SAFETY: the descriptor belongs to `person`.
        unsafe { libc::fcntl(person.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        let mut screen = Vec::new();
        let mut code = None;
        let ended = eventually(|| {
            let status = child.try_wait().unwrap();
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = (&person).read(&mut buffer) {
                screen.extend_from_slice(&buffer[..read]);
            }
            seen(&String::from_utf8_lossy(&screen));
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        let screen = String::from_utf8_lossy(&screen).into_owned();
        if !ended {
            let _ = child.kill();
            let _ = child.wait();
        }
        assert!(ended, "it hangs: {screen}");
        (code, screen)
    }
}
