//! What threads are called. A process names itself some time after its start, so the name of a young thread is read again.

use std::fs;
use std::time::{Duration, Instant};

use evenkeel_attach::namespace;

/// Longest name of a thread, in characters.
const NAME_MAX: usize = 48;
/// A name is read again after so long, and after twice as long each time.
const AGAIN: Duration = Duration::from_millis(20);
/// A thread that is older keeps its name.
const YOUNG: Duration = Duration::from_secs(2);

/// A thread that may still name itself.
#[derive(Debug)]
struct Young {
    thread: u64,
    pid: u32,
    tid: u32,
    name: String,
    due: Instant,
    delay: Duration,
}

/// Threads that began lately.
#[derive(Debug, Default)]
pub struct ThreadNames {
    young: Vec<Young>,
}

impl ThreadNames {
    /// The name of a thread that begins.
    pub fn began(&mut self, thread: u64, pid: u32, tid: u32, now: Instant) -> String {
        let name = thread_name(pid, tid);
        self.young.push(Young {
            thread,
            pid,
            tid,
            name: name.clone(),
            due: now + AGAIN,
            delay: AGAIN,
        });
        name
    }

    /// Threads whose names have changed, with the new ones.
    pub fn changed(&mut self, now: Instant) -> Vec<(u64, String)> {
        let mut changed = Vec::new();
        for young in self.young.iter_mut().filter(|young| young.due <= now) {
            young.delay *= 2;
            young.due = now + young.delay;
            let name = thread_name(young.pid, young.tid);
            // Of a thread that is gone, nothing but its number is left.
            if name != young.name && name.contains(' ') {
                young.name.clone_from(&name);
                changed.push((young.thread, name));
            }
        }
        self.young.retain(|young| young.delay < YOUNG);
        changed
    }

    /// The thread has ended.
    pub fn ended(&mut self, thread: u64) {
        self.young.retain(|young| young.thread != thread);
    }
}

/// What a thread is called: what its process calls itself, as servers with a process a connection do, else the thread's own
/// name; with its number.
fn thread_name(pid: u32, tid: u32) -> String {
    let read = |name: &str| fs::read(namespace::file(pid as i32, name)).unwrap_or_default();
    let title = read("cmdline");
    let title = String::from_utf8_lossy(title.split(|&byte| byte == 0).next().unwrap_or_default());
    let name = if title.contains(": ") {
        title.trim().to_owned()
    } else {
        let name = read(&format!("task/{tid}/comm"));
        String::from_utf8_lossy(&name).trim().to_owned()
    };
    let name: String = name.chars().take(NAME_MAX).collect();
    format!("{name} {tid}").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_names_itself_later_is_renamed() {
        // SAFETY: asks for a number, and sets the name of this thread.
        let tid = unsafe { libc::gettid() } as u32;
        let rename = |name: &std::ffi::CStr| {
            // SAFETY: a string of less than 16 bytes, for this thread.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
        };
        let mut names = ThreadNames::default();
        let now = Instant::now();
        rename(c"young");
        assert_eq!(
            names.began(7, std::process::id(), tid, now),
            format!("young {tid}")
        );
        rename(c"bio_aof");
        assert_eq!(names.changed(now), [], "not due");
        let later = now + AGAIN;
        assert_eq!(names.changed(later), [(7, format!("bio_aof {tid}"))]);
        assert_eq!(names.changed(later + YOUNG), []);
        names.ended(7);
        rename(c"gone");
        assert_eq!(names.changed(later + 2 * YOUNG), []);
    }
}
