//! Names of threads. A process sets its title some time after its start, so the name of a young thread is read again. A thread with
//! the name of its program is named by the function that it runs.

use std::fs;
use std::time::{Duration, Instant};

use evenkeel_attach::namespace;

/// Longest name of a thread, in characters.
const NAME_MAX: usize = 48;
/// The same of the function that it runs.
const FUNCTION_MAX: usize = 256;
/// A name is read again after so long, and after twice as long each time.
const AGAIN: Duration = Duration::from_millis(20);
/// A thread that is older keeps its name.
const YOUNG: Duration = Duration::from_secs(2);
/// One that has none yet is looked at for so long: it may run all the time at first.
const YOUNG_UNNAMED: Duration = Duration::from_secs(60);

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

/// A thread with the name of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nameless {
    /// Its key.
    pub thread: u64,
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
}

/// What a thread is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Name {
    text: String,
    /// It gave it to itself, or its process did; otherwise it has that of the program.
    is_own: bool,
    /// It is the title of its process.
    is_title: bool,
    /// It is the function that the thread runs.
    is_function: bool,
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
            due: now,
            delay: AGAIN,
        });
        text
    }

    /// Threads whose names have changed, with the new ones. `function`: what a thread runs, if that is known.
    pub fn changed(
        &mut self,
        now: Instant,
        mut function: impl FnMut(Nameless) -> Option<String>,
    ) -> Vec<(u64, String)> {
        let mut changed = Vec::new();
        for young in self.young.iter_mut().filter(|young| young.due <= now) {
            let (thread, pid, tid) = (young.thread, young.pid, young.tid);
            let mut name = thread_name(pid, tid);
            if !name.is_own && tid != pid {
                let known = young.name.is_function.then(|| young.name.clone());
                name = known.unwrap_or_else(|| match function(Nameless { thread, pid, tid }) {
                    Some(function) => Name {
                        text: first(&function, FUNCTION_MAX),
                        is_function: true,
                        ..Name::default()
                    },
                    None => young.name.clone(),
                });
            }
            // Of a thread that is gone, nothing but its number is left.
            if name != young.name && !name.text.is_empty() {
                changed.push((thread, name.with_number(tid)));
                young.name = name;
            }
            young.due = now + young.delay;
            young.delay *= 2;
        }
        self.young
            .retain(|young| match young.name.is_own || young.name.is_function {
                true => young.delay < 2 * YOUNG,
                false => young.delay < YOUNG_UNNAMED,
            });
        changed
    }

    /// The thread has ended.
    pub fn ended(&mut self, thread: u64) {
        self.young.retain(|young| young.thread != thread);
    }
}

/// The name of a thread: the title of its process, which servers with a process a connection set, else its own name. A name inherited
/// from the program is marked.
fn thread_name(pid: u32, tid: u32) -> Name {
    let read = |name: &str| {
        let text = fs::read(namespace::file(pid as i32, name)).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    let title = read("cmdline");
    let title = title.split('\0').next().unwrap_or_default().trim();
    let is_title = title.contains(": ");
    let (text, is_own) = match is_title {
        true => (title.to_owned(), true),
        false => {
            let name = read(&format!("task/{tid}/comm"));
            let is_own = tid != pid && name != read("comm");
            (name, is_own)
        }
    };
    Name {
        text: first(&text, NAME_MAX),
        is_own,
        is_title,
        is_function: false,
    }
}

fn first(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

impl Name {
    /// The name and the thread's number; `#` marks a name that identifies a pool of threads.
    fn with_number(&self, tid: u32) -> String {
        let mark = match self.is_function || (self.is_own && !self.is_title) {
            true => "#",
            false => "",
        };
        format!("{} {mark}{tid}", self.text).trim_start().to_owned()
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
        let mut changed = |now| names.changed(now, |_| panic!("it has a name"));
        assert_eq!(changed(now), [(7, format!("bio_aof #{tid}"))]);
        rename(c"renamed");
        assert_eq!(changed(now), [], "not due");
        assert_eq!(changed(now + AGAIN), [(7, format!("renamed #{tid}"))]);
        names.ended(7);
        rename(c"gone");
        assert_eq!(names.changed(now + YOUNG, |_| None), []);
    }

    /// A worker that is called as its program is looked at until it stands still.
    #[test]
    fn a_thread_without_a_name_is_called_by_its_function() {
        let pid = std::process::id();
        let program = fs::read_to_string("/proc/self/comm").unwrap();
        let program = std::ffi::CString::new(program.trim()).unwrap();
        // SAFETY: asks for a number, and gives this thread the name of the first.
        let tid = unsafe {
            libc::prctl(libc::PR_SET_NAME, program.as_ptr());
            libc::gettid() as u32
        };
        let mut names = ThreadNames::default();
        let now = Instant::now();
        names.began(7, pid, tid, now);
        assert_eq!(names.changed(now, |_| None), [], "it runs");
        let mut asked = Vec::new();
        let changed = names.changed(now + AGAIN, |thread| {
            asked.push(thread);
            Some("ns::work()".into())
        });
        assert_eq!(changed, [(7, format!("ns::work() #{tid}"))]);
        assert_eq!(
            asked,
            [Nameless {
                thread: 7,
                pid,
                tid
            }]
        );
    }
}
