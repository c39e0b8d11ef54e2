//! What profiling costs a server: `cargo bench -p evenkeel --bench overhead [-- ROUNDS SECONDS [SERVER] [NAME..]]`.
//!
//! SERVER is `cpu` (PostgreSQL, pgbench's simple-update with fsync off, so that the processor is what limits it; the
//! default), `fsync` (PostgreSQL, TPC-B with 16 clients) or `mariadb` (TATP with 8 clients).
//!
//! What a shared machine does from one second to the next is more than what is to be measured, so two servers of the kind run
//! *at the same time* under the same load, one of them profiled, then the other one: the geometric mean of the two ratios of
//! their throughputs owes nothing to the machine's moods nor to what one server has better than the other. The profiler's own
//! process takes from both alike; its share of the machine's processor time is measured by itself and taken off. The same is told of
//! the processor time that a transaction takes, of server and load: where the processor is the limit, throughput goes with it, and how the
//! kernel divides the processors between the two servers does not matter. Printed are quartiles over the rounds, below 1
//! where profiling costs something. The first variant is a plain server: what it differs from 1 is the noise of the method.
//!
//! The other variants: the agent preloaded without a session; a session with only the intervals' boundaries; with 10, 50, 100
//! and 500 call sites, at 100 also with edges; with PostgreSQL bpftrace with uprobe and uretprobe on the functions that 10 and
//! 100 sites call, where bpftrace works: these are compared with the same server before, since a uprobe is in a file and so
//! in both. With NAMEs, only the variants whose names have one of them in it.

mod bpftrace;
mod processor;
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
    /// What the rounds gave.
    outcomes: Vec<Outcome>,
}

/// What a round gave.
#[derive(Clone, Copy)]
struct Outcome {
    /// Throughput relative to the plain server's.
    throughput: f64,
    /// The plain server's processor time a transaction relative to this one's.
    processor: f64,
    /// The profiler's part of the machine's processor time; the others are without it.
    share: f64,
}

impl Outcome {
    /// Of two with the servers' roles exchanged.
    fn middle(one: Outcome, other: Outcome) -> Outcome {
        Outcome {
            throughput: (one.throughput * other.throughput).sqrt(),
            processor: (one.processor * other.processor).sqrt(),
            share: f64::midpoint(one.share, other.share),
        }
    }
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
    let mut pair = [(); 2].map(|()| -> Box<dyn Subject> {
        match asked.server.as_str() {
            "mariadb" => Box::new(Maria::new()),
            server => Box::new(Postgres::new(server == "fsync")),
        }
    });
    let mut variants = variants(&*pair[0], &asked);
    for round in 1..=asked.rounds {
        for variant in &mut variants {
            variant.outcomes.push(match &variant.trace {
                Some(program) => traced(&*pair[0], program, asked.seconds),
                None => beside_plain(&mut pair, variant.wrap.as_deref(), asked.seconds),
            });
        }
        eprintln!("round {round} of {}", asked.rounds);
        print(&variants, round, asked.seconds);
    }
}

/// The server behind the command beside the plain one, at the same time.
fn beside_plain(
    pair: &mut [Box<dyn Subject>; 2],
    wrap: Option<&[OsString]>,
    seconds: u32,
) -> Outcome {
    let mut turn = |profiled: usize| {
        pair[profiled].restart(wrap);
        pair[1 - profiled].restart(None);
        together(pair, WARM_S);
        // A command that became the server leaves it to this process.
        let parent = processor::parent(pair[profiled].pid());
        let command = parent.filter(|&parent| parent != std::process::id());
        let before_s = command.map_or(0.0, processor::used_s);
        let [plain, own] = {
            let measured = together(pair, seconds);
            [measured[1 - profiled], measured[profiled]]
        };
        let used_s = command.map_or(0.0, processor::used_s) - before_s;
        Outcome {
            throughput: own.per_s / plain.per_s,
            processor: plain.processor_s / own.processor_s,
            share: used_s / processor::available_s(seconds),
        }
    };
    Outcome::middle(turn(0), turn(1))
}

/// What a server did under load.
#[derive(Clone, Copy)]
struct Load {
    /// Transactions a second.
    per_s: f64,
    /// Processor time a transaction, of the server and of what puts it under load, s.
    processor_s: f64,
}

/// Both under load at the same time.
fn together(pair: &[Box<dyn Subject>; 2], seconds: u32) -> [Load; 2] {
    let [one, other] = pair;
    let used = || [one, other].map(|server| processor::used_with_children_s(server.pid()));
    let (servers_before_s, loads_before_s) = (used(), processor::ended_children_s());
    let throughputs = std::thread::scope(|scope| {
        let one = scope.spawn(|| one.throughput(seconds));
        let other = other.throughput(seconds);
        [one.join().expect("the load"), other]
    });
    let transactions = throughputs.map(|per_s| per_s * f64::from(seconds));
    // What sends a transaction does the same whoever serves it.
    let load_s =
        (processor::ended_children_s() - loads_before_s) / transactions.iter().sum::<f64>();
    let servers_s = used();
    [0, 1].map(|i| Load {
        per_s: throughputs[i],
        processor_s: (servers_s[i] - servers_before_s[i]) / transactions[i] + load_s,
    })
}

/// A server under bpftrace beside itself just before.
fn traced(subject: &dyn Subject, program: &str, seconds: u32) -> Outcome {
    subject.throughput(WARM_S);
    let measure = || {
        let used_s =
            || processor::used_with_children_s(subject.pid()) + processor::ended_children_s();
        let before_s = used_s();
        let per_s = subject.throughput(seconds);
        (per_s, (used_s() - before_s) / per_s)
    };
    let before = measure();
    let _tracer = bpftrace::Tracer::start(program);
    subject.throughput(WARM_S);
    let traced = measure();
    Outcome {
        throughput: traced.0 / before.0,
        processor: before.1 / traced.1,
        share: 0.0,
    }
}

/// The table after so many rounds.
fn print(variants: &[Variant], rounds: u32, seconds: u32) {
    println!("{rounds} rounds of {seconds} s, relative to the plain server: quartiles");
    println!(
        "{:<36} {:^23}   {:^23}  profiler",
        "", "throughput", "processor"
    );
    for variant in variants {
        print!("{:<36}", variant.name);
        let all = |of: fn(&Outcome) -> f64| variant.outcomes.iter().map(of).collect::<Vec<_>>();
        for mut ratios in [
            all(|outcome| outcome.throughput * (1.0 - outcome.share)),
            all(|outcome| outcome.processor * (1.0 - outcome.share)),
        ] {
            for q in [0.25, 0.5, 0.75] {
                print!(" {:>7.3}", quantile(&mut ratios, q));
            }
            print!("  ");
        }
        let share = quantile(&mut all(|outcome| outcome.share), 0.5);
        println!("  {:>5.2}%", 100.0 * share);
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
        outcomes: Vec::new(),
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
