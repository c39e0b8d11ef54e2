//! Cost of profiling for a server: `cargo bench -p evenkeel --bench overhead [-- ROUNDS SECONDS [SERVER] [NAME..]]`.
//!
//! SERVER is one of:
//! - `cpu` (the default): PostgreSQL with pgbench's simple-update and fsync off, so that the processor is the limit;
//! - `fsync`: PostgreSQL with TPC-B and 16 clients;
//! - `mariadb`: TATP with 8 clients.
//!
//! The speed of a shared machine changes by more than the cost of profiling. Therefore two servers run *at the same
//! time* under the same load, and each is profiled in turn. The geometric mean of the two ratios of throughput
//! cancels the machine's changes and differences of the two servers. The profiler's own process takes time from both;
//! its share of the processors is measured and subtracted. The output is quartiles over the rounds. The first variant
//! is a plain server: its distance from 1 is the noise of the method.
//!
//! The other variants are:
//! - the agent preloaded without a session;
//! - a session with only the intervals' boundaries;
//! - 10, 50, 100 and 500 call sites, and 100 also with waits;
//! - where bpftrace works, on PostgreSQL: uprobe and uretprobe on the functions that 10 and 100 sites call.
//!
//! The last is compared with the same server's earlier run: a uprobe is in a file, and so in both servers. NAMEs
//! select the variants whose names contain one of them.

mod bpftrace;
mod processor;
mod subject;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use subject::{Maria, Postgres, Subject};

/// Load before a measurement, s: caches fill, and a session settles within its budget.
const WARM_S: u32 = 2;

/// A variant to compare with the plain server.
struct Variant {
    name: String,
    /// The command that starts the server.
    wrap: Option<Vec<OsString>>,
    /// A bpftrace program to run during the measurement.
    trace: Option<String>,
    /// Throughput relative to the plain server's, a round each.
    ratios: Vec<f64>,
    /// The profiler's part of the machine's processor time, a round each.
    shares: Vec<f64>,
}

/// The requested run.
struct Asked {
    rounds: u32,
    seconds: u32,
    server: String,
    names: Vec<String>,
}

impl Asked {
    fn read() -> Asked {
        let words: Vec<String> = std::env::args()
            .skip(1)
            .filter(|word| !word.starts_with('-'))
            .collect();
        let (numbers, words): (Vec<String>, Vec<String>) = words
            .into_iter()
            .partition(|word| word.parse::<u32>().is_ok());
        let number = |i: usize| numbers.get(i).and_then(|word: &String| word.parse().ok());
        let (servers, names): (Vec<String>, Vec<String>) = words
            .into_iter()
            .partition(|word| ["cpu", "fsync", "mariadb"].contains(&word.as_str()));
        Asked {
            rounds: number(0).unwrap_or(7),
            seconds: number(1).unwrap_or(4),
            server: servers.into_iter().next().unwrap_or_else(|| "cpu".into()),
            names,
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty()
            || self
                .names
                .iter()
                .any(|wanted| name.contains(wanted.as_str()))
    }
}

fn main() {
    let asked = Asked::read();
    let mut pair = [(); 2].map(|()| -> Box<dyn Subject> {
        match asked.server.as_str() {
            "mariadb" => Box::new(Maria::new()),
            server => Box::new(Postgres::new(server == "fsync")),
        }
    });
    let mut variants = variants(&*pair[0], &asked);
    for round in 1..=asked.rounds {
        for variant in &mut variants {
            let (ratio, share) = match &variant.trace {
                Some(program) => (traced(&*pair[0], program, asked.seconds), 0.0),
                None => beside_plain(&mut pair, variant.wrap.as_deref(), asked.seconds),
            };
            variant.ratios.push(ratio * (1.0 - share));
            variant.shares.push(share);
        }
        eprintln!("round {round} of {}", asked.rounds);
        print(&mut variants, round, asked.seconds);
    }
}

/// Throughput under the command relative to a plain server at the same time, and the command's own share of the
/// machine.
fn beside_plain(
    pair: &mut [Box<dyn Subject>; 2],
    wrap: Option<&[OsString]>,
    seconds: u32,
) -> (f64, f64) {
    let mut turn = |profiled: usize| {
        pair[profiled].restart(wrap);
        pair[1 - profiled].restart(None);
        together(pair, WARM_S);
        // A command that became the server leaves it to this process.
        let parent = processor::parent(pair[profiled].pid());
        let command = parent.filter(|&parent| parent != std::process::id());
        let before_s = command.map_or(0.0, processor::used_s);
        let throughputs = together(pair, seconds);
        let used_s = command.map_or(0.0, processor::used_s) - before_s;
        let share = used_s / processor::available_s(seconds);
        (throughputs[profiled] / throughputs[1 - profiled], share)
    };
    let (one, other) = (turn(0), turn(1));
    ((one.0 * other.0).sqrt(), f64::midpoint(one.1, other.1))
}

/// Throughputs of both under load at the same time.
fn together(pair: &[Box<dyn Subject>; 2], seconds: u32) -> [f64; 2] {
    let [one, other] = pair;
    std::thread::scope(|scope| {
        let one = scope.spawn(|| one.throughput(seconds));
        let other = other.throughput(seconds);
        [one.join().expect("the load"), other]
    })
}

/// Throughput under bpftrace relative to that just before.
fn traced(subject: &dyn Subject, program: &str, seconds: u32) -> f64 {
    subject.throughput(WARM_S);
    let before = subject.throughput(seconds);
    let _tracer = bpftrace::Tracer::start(program);
    subject.throughput(WARM_S);
    subject.throughput(seconds) / before
}

/// The table after this many rounds.
fn print(variants: &mut [Variant], rounds: u32, seconds: u32) {
    println!(
        "{:<36} {:>7} {:>7} {:>7} {:>7} {:>7}  {:>8}   throughput / plain, {rounds} rounds of {seconds} s",
        "", "min", "q1", "median", "q3", "max", "profiler"
    );
    for variant in variants {
        print!("{:<36}", variant.name);
        for q in [0.0, 0.25, 0.5, 0.75, 1.0] {
            print!(" {:>7.3}", quantile(&mut variant.ratios, q));
        }
        println!("  {:>7.2}%", 100.0 * quantile(&mut variant.shares, 0.5));
    }
}

fn quantile(numbers: &mut [f64], q: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let at = q * (numbers.len() - 1) as f64;
    let (below, above) = (numbers[at.floor() as usize], numbers[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

fn variants(subject: &dyn Subject, asked: &Asked) -> Vec<Variant> {
    let agent = shared(subject.folder(), &agent());
    let command = shared(subject.folder(), Path::new(env!("CARGO_BIN_EXE_evenkeel")));
    let session = |sites: u32, more: &[&str]| {
        let mut words: Vec<OsString> = vec![command.clone().into(), "profile".into()];
        words.extend(["--preset", subject.preset(), "--plant"].map(OsString::from));
        words.push(sites.to_string().into());
        words.extend(more.iter().map(OsString::from));
        words.push("--".into());
        Some(words)
    };
    let variant = |name: String, wrap, trace| Variant {
        name,
        wrap,
        trace,
        ratios: Vec::new(),
        shares: Vec::new(),
    };
    let mut preload = OsString::from("LD_PRELOAD=");
    preload.push(&agent);
    let mut all = vec![
        variant("plain".into(), None, None),
        variant(
            "agent preloaded, no session".into(),
            Some(vec!["env".into(), preload]),
            None,
        ),
        variant("intervals only".into(), session(0, &[]), None),
    ];
    for sites in [10, 50, 100, 500] {
        all.push(variant(
            format!("{sites} call sites"),
            session(sites, &[]),
            None,
        ));
    }
    all.push(variant(
        "waits, 100 call sites".into(),
        session(100, &["--waits"]),
        None,
    ));
    if subject.preset() == "postgres" && asked.wants("bpftrace") {
        if bpftrace::works() {
            for sites in [10, 100] {
                let name = format!("bpftrace, functions of {sites} sites");
                all.push(variant(name, None, Some(bpftrace::program(sites))));
            }
        } else {
            eprintln!("bpftrace does not work here: left out");
        }
    }
    all.retain(|variant| variant.name == "plain" || asked.wants(&variant.name));
    all
}

/// A copy of the file where the server's account may read it.
fn shared(folder: &Path, file: &Path) -> PathBuf {
    let copy = folder.join(file.file_name().expect("a file"));
    std::fs::copy(file, &copy).expect("copy");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    copy
}

fn agent() -> PathBuf {
    let agent = Path::new(env!("CARGO_BIN_EXE_evenkeel")).with_file_name("libevenkeel_agent.so");
    assert!(
        agent.exists(),
        "build it first: cargo build --release -p evenkeel-agent"
    );
    agent
}
