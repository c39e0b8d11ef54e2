//! What profiling costs PostgreSQL: `cargo bench -p evenkeel --bench overhead [-- ROUNDS SECONDS [fsync] [NAME..]]`.
//!
//! One private server a variant, all started beforehand; pgbench's simple-update (fsync, checkpoints and autovacuum off, so
//! that the processor is what limits it; with `fsync`, TPC-B with 16 clients on a server as it comes) runs on one after the
//! other, with the plain server between any two, round after round. Printed are throughputs relative to the plain server's
//! just before and after: median, smallest and largest. The variants: the agent preloaded without a session; a session
//! with only the interval's boundaries; with 10, 50, 100 and 500 call sites, at 100 also with edges; bpftrace with uprobe and uretprobe on the
//! functions that 10 and 100 sites call, as far as they have names (bpftrace takes no others), where bpftrace works. With
//! NAMEs, only the variants whose names have one of them in it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_servers::{Length, Options, Pgbench, PostgreSql, RunningPostgreSql, Script};
use evenkeel_symbols::{Callee, DebugSources, Module};

/// One thing to compare.
struct Variant {
    name: String,
    server: RunningPostgreSql,
    /// The server's process, or the profiler's that runs it.
    process: Child,
    /// A bpftrace program to run meanwhile.
    trace: Option<String>,
    ratios: Vec<f64>,
}

fn main() {
    let numbers: Vec<u32> = std::env::args()
        .filter_map(|word| word.parse().ok())
        .collect();
    let (rounds, seconds) = (
        numbers.first().copied().unwrap_or(7),
        numbers.get(1).copied().unwrap_or(2),
    );
    let stock = std::env::args().any(|word| word == "fsync");
    let pgbench = Pgbench {
        clients: if stock { 16 } else { 8 },
        jobs: 2,
        scale: if stock { 20 } else { 10 },
        length: Length::Seconds(seconds),
        script: if stock {
            Script::TpcB
        } else {
            Script::SimpleUpdate
        },
    };
    let options = if stock {
        Options::default()
    } else {
        unhindered()
    };
    let edged = |name: &str, sites| variant(&options, name, sites, None, &["--edges"]);
    let variant = |name: &str, sites, preload| variant(&options, name, sites, preload, &[]);
    let mut plain = variant("plain", None, None);
    let names: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-') && word != "fsync" && word.parse::<u32>().is_err())
        .collect();
    let wanted =
        |name: &str| names.is_empty() || names.iter().any(|wanted| name.contains(wanted.as_str()));
    let mut variants = Vec::new();
    if wanted("agent preloaded, no session") {
        variants.push(variant("agent preloaded, no session", None, Some(agent())));
    }
    for sites in [0, 10, 50, 100, 500] {
        let name = if sites == 0 {
            "intervals only".to_owned()
        } else {
            format!("{sites} call sites")
        };
        if wanted(&name) {
            variants.push(variant(&name, Some(sites), None));
        }
        let name = format!("edges, {name}");
        if sites == 100 && wanted(&name) {
            variants.push(edged(&name, Some(sites)));
        }
    }
    for sites in [10, 100] {
        let name = format!("bpftrace, functions of {sites} sites");
        if !wanted(&name) {
            continue;
        }
        let mut traced = variant(&name, None, None);
        traced.trace = bpftrace_works().then(|| trace_program(&functions_called(sites)));
        if traced.trace.is_some() {
            variants.push(traced);
        } else {
            eprintln!("bpftrace does not work here: left out");
        }
    }
    for variant in std::iter::once(&plain).chain(&variants) {
        pgbench.initialize(&variant.server).expect("pgbench -i");
    }
    // The first run of each warms its caches.
    let warm = Pgbench {
        length: Length::Seconds(1),
        ..pgbench.clone()
    };
    for variant in std::iter::once(&mut plain).chain(&mut variants) {
        measure(&warm, variant);
    }
    for round in 1..=rounds {
        let mut before = measure(&pgbench, &mut plain);
        for variant in &mut variants {
            let throughput = measure(&pgbench, variant);
            let after = measure(&pgbench, &mut plain);
            variant.ratios.push(2.0 * throughput / (before + after));
            before = after;
        }
        eprintln!("round {round} of {rounds}: plain {before:.0} transactions a second");
    }
    println!(
        "{:<36} {:>7} {:>7} {:>7}   throughput / plain, {rounds} rounds of {seconds} s",
        "", "min", "median", "max"
    );
    for variant in &mut variants {
        let ratios = &mut variant.ratios;
        ratios.sort_by(f64::total_cmp);
        let (first, last) = (ratios[0], ratios[ratios.len() - 1]);
        println!(
            "{:<36} {first:>7.3} {:>7.3} {last:>7.3}",
            variant.name,
            ratios[ratios.len() / 2]
        );
    }
    for mut variant in variants.into_iter().chain([plain]) {
        let _ = variant.server.stop();
        let _ = variant.process.wait();
    }
}

fn measure(pgbench: &Pgbench, variant: &mut Variant) -> f64 {
    let mut tracer = variant.trace.as_ref().map(|program| {
        let tracer = Command::new("bpftrace")
            .args(["-e", program])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut tracer = tracer.expect("bpftrace");
        // Attaching takes its time.
        std::thread::sleep(Duration::from_secs(3));
        assert!(
            tracer.try_wait().is_ok_and(|ended| ended.is_none()),
            "bpftrace gave up"
        );
        tracer
    });
    let result = pgbench.run(&variant.server).expect("pgbench");
    if let Some(tracer) = &mut tracer {
        let _ = tracer.kill();
        let _ = tracer.wait();
    }
    result.transactions_per_s
}

/// A server, under a session with so many call sites if `sites` says so, or with a library preloaded.
fn variant(
    options: &Options,
    name: &str,
    sites: Option<usize>,
    preload: Option<PathBuf>,
    more: &[&str],
) -> Variant {
    let server = PostgreSql::prepare(options).expect("PostgreSQL");
    let mut launch = server.launch();
    let folder = launch.working_directory.clone();
    let share = |file: &Path| {
        let copy = folder.join(file.file_name().expect("a file"));
        std::fs::copy(file, &copy).expect("copy");
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755))
            .expect("permissions");
        copy
    };
    let process = if let Some(sites) = sites {
        share(&agent());
        let mut words: Vec<OsString> = ["profile", "--preset", "postgres", "--plant"]
            .map(Into::into)
            .into();
        words.push(sites.to_string().into());
        words.extend(more.iter().map(Into::into));
        if let Some(account) = &launch.account {
            words.extend(["--user".into(), account.name.clone().into()]);
        }
        words.push("--".into());
        words.push(launch.program.clone().into());
        words.extend(launch.args.iter().cloned());
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(words).env(
            "EVENKEEL_AGENT",
            folder.join(agent().file_name().expect("a file")),
        );
        command
            .envs(launch.env.iter().cloned())
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().expect("evenkeel")
    } else {
        if let Some(library) = preload {
            launch
                .env
                .push(("LD_PRELOAD".into(), share(&library).into()));
        }
        launch
            .command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres")
    };
    let server = server.adopt().expect("the server starts");
    Variant {
        name: name.to_owned(),
        server,
        process,
        trace: None,
        ratios: Vec::new(),
    }
}

/// A server that nothing but the processor holds up.
fn unhindered() -> Options {
    let settings = [
        ("autovacuum", "off"),
        ("checkpoint_timeout", "1h"),
        ("max_wal_size", "16GB"),
    ];
    Options {
        fsync: false,
        settings: settings
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        ..Options::default()
    }
}

fn agent() -> PathBuf {
    let agent = Path::new(env!("CARGO_BIN_EXE_evenkeel")).with_file_name("libevenkeel_agent.so");
    assert!(
        agent.exists(),
        "build it first: cargo build --release -p evenkeel-agent"
    );
    agent
}

fn bpftrace_works() -> bool {
    let probe = Command::new("bpftrace")
        .args(["-e", "BEGIN { exit(); }"])
        .output();
    probe.is_ok_and(|output| output.status.success())
}

/// The functions that the first `sites` call sites below exec_simple_query call, as `--plant` chooses them.
fn functions_called(sites: usize) -> Vec<String> {
    let program = PostgreSql::prepare(&Options::default())
        .expect("PostgreSQL")
        .launch()
        .program;
    let module = Module::load(&program, &DebugSources::none()).expect("postgres");
    let find = |name: &str| module.find(name).expect("an exported function");
    let calls = |entry: u64, callee: u64| {
        module
            .call_sites(entry)
            .iter()
            .any(|s| s.callee == Callee::Function(callee))
    };
    let (parse, run) = (find("pg_parse_query"), find("PortalRun"));
    let simple = module
        .call_sites(find("PostgresMain"))
        .into_iter()
        .find_map(|site| match site.callee {
            Callee::Function(entry) if calls(entry, parse) && calls(entry, run) => Some(entry),
            _ => None,
        });
    let mut queue = std::collections::VecDeque::from([simple.expect("exec_simple_query"), run]);
    let (mut planted, mut functions) = (0, Vec::new());
    while let Some(entry) = queue.pop_front() {
        for site in module
            .call_sites(entry)
            .into_iter()
            .filter(|site| site.unpatchable().is_none())
        {
            planted += 1;
            if let Callee::Function(callee) = site.callee
                && !functions.contains(&(program.clone(), callee))
            {
                functions.push((program.clone(), callee));
                queue.push_back(callee);
            }
            if planted == sites {
                break;
            }
        }
        if planted == sites {
            break;
        }
    }
    let named = |(program, entry): &(PathBuf, u64)| {
        Some(format!("{}:{}", program.display(), module.symbol(*entry)?))
    };
    functions.iter().filter_map(named).collect()
}

fn trace_program(functions: &[String]) -> String {
    let probe = |(i, at): (usize, &String)| {
        format!(
            "uprobe:{at} {{ @s[tid,{i}] = nsecs; }} uretprobe:{at} /@s[tid,{i}]/ {{ @t[{i}] = sum(nsecs - @s[tid,{i}]); }} "
        )
    };
    functions.iter().enumerate().map(probe).collect()
}
