//! Whether a JVM's compilers work. Loading classes again throws compiled code away: JDK 17 throws all of it away the
//! first time. Until it is compiled again, intervals take several times as long.

use std::fs;
use std::path::PathBuf;

use evenkeel_attach::namespace;

/// How the names of their threads begin: `C2 CompilerThread0`, `JVMCI-native CompilerThread0`.
const NAMES: [&str; 3] = ["C1 Compiler", "C2 Compiler", "JVMCI"];

/// The threads of a JVM that compile.
pub(super) struct Compilers {
    /// Their files with their state. HotSpot starts and ends such threads as it needs them.
    threads: Vec<PathBuf>,
}

impl Compilers {
    /// Those that there are now.
    pub(super) fn of(pid: i32) -> Compilers {
        let tasks = fs::read_dir(namespace::file(pid, "task"));
        let files = tasks
            .into_iter()
            .flatten()
            .flatten()
            .map(|task| task.path().join("stat"));
        let compiles = |file: &PathBuf| {
            let stat = read(file);
            stat.is_some_and(|stat| NAMES.iter().any(|known| name(&stat).starts_with(known)))
        };
        Compilers {
            threads: files.filter(compiles).collect(),
        }
    }

    /// Whether one of them runs, or waits for a processor.
    pub(super) fn are_busy(&self) -> bool {
        let mut stats = self.threads.iter().filter_map(read);
        stats.any(|stat| state(&stat) == Some('R'))
    }
}

fn read(file: &PathBuf) -> Option<String> {
    fs::read(file)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The thread's name in a line of proc(5)'s `stat`: between the first and the last bracket.
fn name(stat: &str) -> &str {
    let after = stat.split_once('(').map_or("", |(_, after)| after);
    after.rsplit_once(')').map_or("", |(name, _)| name)
}

/// The letter of its state, behind the name.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::*};
    use std::sync::mpsc;

    use super::*;

    /// A thread with such a name is busy while it runs, and not while it waits.
    #[test]
    fn a_compiler_is_known_by_its_name() {
        let pid = std::process::id() as i32;
        let rests = AtomicBool::new(false);
        let (end, ends) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let named = std::thread::Builder::new().name("C2 CompilerThread0".to_owned());
            let still = &rests;
            let runs = move || {
                while !still.load(Relaxed) {
                    std::hint::spin_loop();
                }
                let _ended = ends.recv();
            };
            named.spawn_scoped(scope, runs).expect("a thread");
            while !Compilers::of(pid).are_busy() {}
            rests.store(true, Relaxed);
            while Compilers::of(pid).are_busy() {}
            assert_eq!(Compilers::of(pid).threads.len(), 1);
            drop(end);
        });
    }

    #[test]
    fn a_line_has_a_name_and_a_state() {
        let line = "4711 (C2 CompilerThre) R 4700 4711 4700 0 -1";
        assert_eq!((name(line), state(line)), ("C2 CompilerThre", Some('R')));
        let line = "4711 (a) (b) S 1";
        assert_eq!((name(line), state(line)), ("a) (b", Some('S')));
        assert_eq!((name(""), state("")), ("", None));
    }
}
