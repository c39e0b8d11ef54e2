//! Names of threads. A process sets its title some time after its start, and a thread of a pool its name. So the name
//! of a young thread is read again.

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
    name: Name,
    due: Instant,
    delay: Duration,
}

/// What a thread is called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    text: String,
    /// It gave it to itself, which identifies a pool of threads; otherwise it is that of the program, or the title of
    /// its process.
    is_own: bool,
}

impl Name {
    /// The name and the thread's number; `#` marks a name that identifies a pool of threads.
    fn with_number(&self, tid: u32) -> String {
        let mark = if self.is_own { "#" } else { "" };
        format!("{} {mark}{tid}", self.text).trim_start().to_owned()
    }
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
        let text = name.with_number(tid);
        self.young.push(Young {
            thread,
            pid,
            tid,
            name,
            due: now + AGAIN,
            delay: AGAIN,
        });
        text
    }

    /// Threads whose names have changed, with the new ones.
    pub fn changed(&mut self, now: Instant) -> Vec<(u64, String)> {
        let mut changed = Vec::new();
        for young in self.young.iter_mut().filter(|young| young.due <= now) {
            young.delay *= 2;
            young.due = now + young.delay;
            let name = thread_name(young.pid, young.tid);
            // Of a thread that is gone, nothing but its number is left.
            if name != young.name && !name.text.is_empty() {
                changed.push((young.thread, name.with_number(young.tid)));
                young.name = name;
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

/// Whether a thread is not its process' first, and has no name but its program's.
pub fn is_unnamed_worker(pid: u32, tid: u32) -> bool {
    let name = thread_name(pid, tid);
    tid != pid && !name.is_own && !name.text.contains(": ")
}

/// The name of a thread: the title of its process, which servers with a process a connection set, else its own name.
fn thread_name(pid: u32, tid: u32) -> Name {
    let read = |name: &str| {
        let text = fs::read(namespace::file(pid as i32, name)).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    let title = read("cmdline");
    let title = title.split('\0').next().unwrap_or_default().trim();
    let (text, is_own) = match title.contains(": ") {
        true => (title.to_owned(), false),
        false => {
            let name = read(&format!("task/{tid}/comm"));
            let is_own = tid != pid && name != read("comm");
            (name, is_own)
        }
    };
    Name {
        text: text.chars().take(NAME_MAX).collect(),
        is_own,
    }
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
            format!("young #{tid}")
        );
        rename(c"bio_aof");
        let mut changed = |now| names.changed(now);
        let later = now + AGAIN;
        assert_eq!(changed(later), [(7, format!("bio_aof #{tid}"))]);
        rename(c"renamed");
        assert_eq!(changed(later), [], "not due");
        assert_eq!(changed(later + 2 * AGAIN), [(7, format!("renamed #{tid}"))]);
        names.ended(7);
        rename(c"gone");
        assert_eq!(names.changed(now + YOUNG), []);
    }
}
