//! Output of the command while the screen is taken: its end is printed afterwards.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most bytes of output that are kept.
const KEPT_BYTES: usize = 64 << 10;
/// Longest wait for the last output.
const END_LIMIT: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    dropped: u64,
}

/// Redirects standard streams that are a terminal, also for processes started later: input to /dev/null, output into
/// this buffer.
pub struct Diverted {
    /// The descriptors before the redirection.
    saved: Vec<(RawFd, OwnedFd)>,
    tail: Arc<Mutex<Tail>>,
    reader: JoinHandle<()>,
}

/// Whether the command's output would be redirected.
pub fn has_output() -> bool {
    io::stdout().is_terminal() || io::stderr().is_terminal()
}

impl Diverted {
    /// Starts to redirect.
    pub fn begin() -> io::Result<Diverted> {
        let (mut read, write) = io::pipe()?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let kept = Arc::clone(&tail);
        let mut saved = Vec::new();
        let nothing = File::open("/dev/null")?;
        divert(io::stdin().as_fd(), nothing.as_fd(), &mut saved)?;
        divert(io::stdout().as_fd(), write.as_fd(), &mut saved)?;
        divert(io::stderr().as_fd(), write.as_fd(), &mut saved)?;
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = read.read(&mut buffer) {
                let mut tail = kept.lock().expect("no panic with the lock held");
                tail.bytes.extend(&buffer[..count]);
                let more = tail.bytes.len().saturating_sub(KEPT_BYTES);
                tail.bytes.drain(..more);
                tail.dropped += more as u64;
            }
        });
        Ok(Diverted {
            saved,
            tail,
            reader,
        })
    }

    /// Restores the streams and prints the collected output.
    pub fn end(self) {
        for (descriptor, was) in &self.saved {
            // SAFETY: both are open.
            unsafe { libc::dup2(was.as_raw_fd(), *descriptor) };
        }
        // What the command has left running may hold its end open.
        let started = Instant::now();
        while !self.reader.is_finished() && started.elapsed() < END_LIMIT {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut tail = self.tail.lock().expect("no panic with the lock held");
        if tail.dropped > 0 {
            tell!(
                "evenkeel: the command printed {} bytes more than these, its last; send its output to a file to keep it",
                tail.dropped
            );
        }
        let _ = io::stderr().write_all(tail.bytes.make_contiguous());
    }
}

/// Lets `from` lead to `to` if it is a terminal.
fn divert(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    saved: &mut Vec<(RawFd, OwnedFd)>,
) -> io::Result<()> {
    if !from.is_terminal() {
        return Ok(());
    }
    saved.push((from.as_raw_fd(), from.try_clone_to_owned()?));
    // SAFETY: both are open.
    if unsafe { libc::dup2(to.as_raw_fd(), from.as_raw_fd()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
