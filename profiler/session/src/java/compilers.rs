//! Whether a JVM's compilers work. Loading classes again throws compiled code away: JDK 17 throws all of it away the
//! first time. Until it is compiled again, intervals take several times as long.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use evenkeel_attach::namespace;

use super::session::Session;
use crate::profile::Observer;

/// How the names of their threads begin: `C2 CompilerThread0`, `JVMCI-native CompilerThread0`.
const NAMES: [&str; 3] = ["C1 Compiler", "C2 Compiler", "JVMCI"];

/// Window in which the JVM's compilers have to be idle, but for this part of it, and the longest wait for that.
const SETTLED_WINDOW: Duration = Duration::from_millis(500);
const BUSY_MAX: f64 = 0.2;
const SETTLES_AT_MOST: Duration = Duration::from_secs(30);

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

impl Session<'_> {
    /// Waits until the JVM has compiled its code again.
    pub(super) fn settle(&mut self, interrupted: &AtomicBool, observer: &mut dyn Observer) {
        let began = Instant::now();
        let seen = self.records.drain.unplanned;
        let at_most = self
            .settings
            .duration
            .unwrap_or(SETTLES_AT_MOST)
            .min(SETTLES_AT_MOST);
        while began.elapsed() < at_most && !self.is_over(interrupted) {
            if !self.compiles(interrupted, observer) {
                break;
            }
        }
        let took = began.elapsed();
        self.compiled.time += took;
        if self.run.hooked.is_none() {
            self.compiled.first = took;
        }
        self.compiled.intervals += self.records.drain.unplanned - seen;
    }

    /// Whether the JVM compiles for more than a part of a window.
    fn compiles(&mut self, interrupted: &AtomicBool, observer: &mut dyn Observer) -> bool {
        let began = Instant::now();
        let compilers = Compilers::of(self.jvm.pid());
        let (mut looks, mut busy) = (0.0, 0.0);
        while began.elapsed() < SETTLED_WINDOW && !interrupted.load(Relaxed) {
            self.records.pass(false);
            looks += 1.0;
            busy += f64::from(u8::from(compilers.are_busy()));
            std::thread::sleep(self.records.period);
        }
        self.run.tick(&self.records, self.plan.planted(), observer);
        busy > BUSY_MAX * looks
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
