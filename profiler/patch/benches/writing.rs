//! How fast plans change, by each way of writing code (`writing`): `cargo bench -p evenkeel-patch --bench writing`.
//!
//! Two processes have the same library and a thread that calls all of its functions. One may make memory executable, and writes through
//! `mprotect`; the other has given that up (`PR_SET_MDWE`), and writes in place through `/proc/self/mem`. They take turns: each
//! switches the same call sites on and off for a while. Printed are medians with the 10th and 90th percentile over the turns.

#[path = "../tests/harness/mod.rs"]
mod harness;

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use evenkeel_patch::writing;
use evenkeel_wire::{Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;

/// Functions of the library, each with one call, on separate pages.
const FUNCTIONS: usize = 200;
/// How many call sites a plan changes.
const CHANGED: [usize; 3] = [1, 20, FUNCTIONS];
const TURNS: usize = 41;
const TURN: Duration = Duration::from_millis(50);
/// Says to this program, run again, how it writes.
const WAY: &str = "EVENKEEL_BENCH_WAY";
const PR_SET_MDWE: i32 = 65;
const PR_MDWE_REFUSE_EXEC_GAIN: usize = 1;

/// Calls of the thread that uses the library.
static CALLS: AtomicU64 = AtomicU64::new(0);

fn main() {
    match std::env::var(WAY) {
        Ok(way) => work(&way),
        Err(_) => compare(),
    }
}

/// What one way did in one turn.
#[derive(Clone, Copy)]
struct Turn {
    changes_per_s: f64,
    /// Processor time of one change, in the kernel and outside of it.
    cpu_us: f64,
    calls_per_s: f64,
}

fn compare() {
    let mut ways = ["mprotect", "in place"].map(Worker::start);
    println!(
        "{:>5} {:<9} {:>26} {:>26} {:>22}",
        "sites", "way", "plan changes a second", "CPU of one change, us", "million calls a second"
    );
    for sites in CHANGED {
        let mut turns: [Vec<Turn>; 2] = Default::default();
        for turn in 0..TURNS {
            // The first of a turn is another one each time.
            for at in [turn % 2, 1 - turn % 2] {
                turns[at].push(ways[at].take_a_turn(sites));
            }
        }
        for (worker, turns) in ways.iter().zip(&turns) {
            println!(
                "{sites:>5} {:<9} {:>26} {:>26} {:>22}",
                worker.way,
                spread(turns.iter().map(|turn| turn.changes_per_s), 0),
                spread(turns.iter().map(|turn| turn.cpu_us), 0),
                spread(turns.iter().map(|turn| turn.calls_per_s / 1e6), 2),
            );
        }
        let ratios = turns[0].iter().zip(&turns[1]);
        let ratios = ratios.map(|(one, other)| other.changes_per_s / one.changes_per_s);
        println!("{sites:>5} in place / mprotect {:>15}", spread(ratios, 2));
    }
}

/// Median, 10th and 90th percentile.
fn spread(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |fraction: f64| values[(values.len() as f64 * fraction) as usize];
    let (low, median, high) = (at(0.1), at(0.5), at(0.9));
    format!("{median:.digits$} ({low:.digits$} to {high:.digits$})")
}

/// A process that writes in one way.
struct Worker {
    way: &'static str,
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start(way: &'static str) -> Worker {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.env(WAY, way);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program runs again");
        let asks = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Worker {
            way,
            child,
            asks,
            answers,
        }
    }

    fn take_a_turn(&mut self, sites: usize) -> Turn {
        writeln!(self.asks, "{sites}").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        let mut numbers = line
            .split_whitespace()
            .map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        Turn {
            changes_per_s: next(),
            cpu_us: next(),
            calls_per_s: next(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes turns until nobody asks.
fn work(way: &str) {
    let library = library();
    let harness = Harness::new(&library);
    if way != "mprotect" {
        // SAFETY: numbers.
        let given_up = unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) };
        assert_eq!(given_up, 0, "the kernel has PR_SET_MDWE (Linux 6.3)");
    }
    assert_eq!(writing::is_in_place(), way != "mprotect", "{way}");
    let ids: Vec<usize> = (0..FUNCTIONS)
        .flat_map(|number| harness.sites_of(&format!("f{number}"), Role::Inner))
        .collect();
    assert_eq!(ids.len(), FUNCTIONS);
    // The first use of a site makes its trampoline, before the measurement.
    harness.set(&ids, Wanted::On);
    harness.set(&ids, Wanted::Off);
    let functions = (0..FUNCTIONS).map(|number| library.symbol(&format!("f{number}")));
    let functions: Vec<u64> = functions.collect();
    std::thread::spawn(move || call_all(&functions));
    for line in io::stdin().lines() {
        let sites: usize = line.expect("a line").parse().expect("a number");
        // Evenly over the library.
        let changed: Vec<usize> = ids
            .iter()
            .copied()
            .step_by(FUNCTIONS / sites)
            .take(sites)
            .collect();
        let turn = change(harness, &changed);
        println!(
            "{} {} {}",
            turn.changes_per_s, turn.cpu_us, turn.calls_per_s
        );
    }
}

fn change(harness: &mut Harness, ids: &[usize]) -> Turn {
    let (calls, cpu, begun) = (CALLS.load(Relaxed), own_cpu_us(), Instant::now());
    let mut changes = 0;
    while begun.elapsed() < TURN {
        harness.set(ids, Wanted::On);
        harness.set(ids, Wanted::Off);
        changes += 2;
    }
    let took = begun.elapsed().as_secs_f64();
    Turn {
        changes_per_s: f64::from(changes) / took,
        cpu_us: (own_cpu_us() - cpu) / f64::from(changes),
        calls_per_s: (CALLS.load(Relaxed) - calls) as f64 / took,
    }
}

/// Processor time of this thread.
fn own_cpu_us() -> f64 {
    // SAFETY: room for the answer, for which zeros are valid.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    }
}

fn call_all(functions: &[u64]) {
    loop {
        for &at in functions {
            // SAFETY: a function of the library.
            let function: extern "C" fn() = unsafe { std::mem::transmute(at) };
            function();
        }
        CALLS.fetch_add(functions.len() as u64, Relaxed);
    }
}

/// Functions that call, on a page each, and what they call.
fn library() -> Library {
    // Without the note the loader makes all stacks executable, which a process may have forbidden itself.
    let mut source = String::from(
        ".section .note.GNU-stack, \"\", @progbits\n.text\n.type leaf, @function\nleaf: ret\n.size leaf, . - leaf\n",
    );
    for number in 0..FUNCTIONS {
        let _ = write!(
            source,
            ".p2align 12\n.globl f{number}\n.type f{number}, @function\nf{number}: push %rbp\nmov %rsp, %rbp\ncall leaf\n\
             pop %rbp\nret\n.size f{number}, . - f{number}\n"
        );
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("pages.s");
    std::fs::write(&path, source).expect("a file");
    Library::build_from(&path, "pages")
}
