//! What profiling costs a server: `cargo bench -p evenkeel --bench overhead [-- ROUNDS SECONDS [SERVER] [NAME..]]`.
//!
//! SERVER is `cpu` (PostgreSQL, pgbench's simple-update with fsync off, so that the processor is what limits it; the
//! default), `fsync` (PostgreSQL, TPC-B with 16 clients) or `mariadb` (TATP with 8 clients). It is one server with one data
//! directory, started anew for each measurement: plain, as a variant, plain, as the next variant, round after round.
//! Printed are throughputs relative to the plain server's just before and after: least, quartiles, median, largest. The first
//! variant is the plain server once more: what it differs from 1 is the noise of the method.
//!
//! The other variants: the agent preloaded without a session; a session with only the intervals' boundaries; with 10, 50, 100
//! and 500 call sites, at 100 also with edges; with PostgreSQL bpftrace with uprobe and uretprobe on the functions that 10 and
//! 100 sites call, where bpftrace works. With NAMEs, only the variants whose names have one of them in it.

mod bpftrace;
mod subject;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use subject::{Maria, Postgres, Subject};

/// Load before a measurement, s: caches fill, and a session settles within its budget.
const WARM_S: u32 = 2;

/// One thing to compare with the plain server.
struct Variant {
    name: String,
    /// What the server is started behind.
    wrap: Option<Vec<OsString>>,
    /// A bpftrace program to run meanwhile.
    trace: Option<String>,
    ratios: Vec<f64>,
}

/// What was asked for.
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
    let mut subject: Box<dyn Subject> = match asked.server.as_str() {
        "mariadb" => Box::new(Maria::new()),
        server => Box::new(Postgres::new(server == "fsync")),
    };
    let mut variants = variants(&*subject, &asked);
    let plain = |subject: &mut Box<dyn Subject>| measure(&mut **subject, None, &asked);
    plain(&mut subject); // fills the caches
    for round in 1..=asked.rounds {
        let mut before = plain(&mut subject);
        for variant in &mut variants {
            let throughput = measure(&mut *subject, Some(variant), &asked);
            let after = plain(&mut subject);
            variant.ratios.push(2.0 * throughput / (before + after));
            before = after;
        }
        eprintln!(
            "round {round} of {}: plain {before:.0} transactions a second",
            asked.rounds
        );
        print(&mut variants, round, asked.seconds);
    }
}

/// Throughput of the server started plain or as the variant says.
fn measure(subject: &mut dyn Subject, variant: Option<&Variant>, asked: &Asked) -> f64 {
    subject.restart(variant.and_then(|variant| variant.wrap.as_deref()));
    let trace = variant.and_then(|variant| variant.trace.as_deref());
    let _tracer = trace.map(bpftrace::Tracer::start);
    subject.throughput(WARM_S);
    subject.throughput(asked.seconds)
}

/// The table after so many rounds.
fn print(variants: &mut [Variant], rounds: u32, seconds: u32) {
    println!(
        "{:<36} {:>7} {:>7} {:>7} {:>7} {:>7}   throughput / plain, {rounds} rounds of {seconds} s",
        "", "min", "q1", "median", "q3", "max"
    );
    for variant in variants {
        variant.ratios.sort_by(f64::total_cmp);
        let ratios = &variant.ratios;
        let quantile = |q: f64| {
            let at = q * (ratios.len() - 1) as f64;
            let (below, above) = (ratios[at.floor() as usize], ratios[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        print!("{:<36}", variant.name);
        for q in [0.0, 0.25, 0.5, 0.75, 1.0] {
            print!(" {:>7.3}", quantile(q));
        }
        println!();
    }
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
    };
    let mut preload = OsString::from("LD_PRELOAD=");
    preload.push(&agent);
    let mut all = vec![
        variant("plain again".into(), None, None),
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
        "edges, 100 call sites".into(),
        session(100, &["--edges"]),
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
    all.retain(|variant| variant.name == "plain again" || asked.wants(&variant.name));
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
