//! Times the same functions by bpftrace, an administrator's usual tool.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_servers::{Options, PostgreSql};
use evenkeel_symbols::{Callee, DebugSources, Module};

/// Whether bpftrace is there and may load programs.
pub fn works() -> bool {
    let probe = Command::new("bpftrace")
        .args(["-e", "BEGIN { exit(); }"])
        .output();
    probe.is_ok_and(|output| output.status.success())
}

/// A running bpftrace; dropping it ends it.
pub struct Tracer(Child);

impl Tracer {
    /// Starts `program` and waits until its probes are attached.
    pub fn start(program: &str) -> Tracer {
        let tracer = Command::new("bpftrace")
            .args(["-e", program])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut tracer = Tracer(tracer.expect("bpftrace"));
        // It does not say when it is ready.
        std::thread::sleep(Duration::from_secs(3));
        let ended = tracer.0.try_wait();
        assert!(ended.is_ok_and(|ended| ended.is_none()), "bpftrace gave up");
        tracer
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A bpftrace program that times the functions called by the first `sites` call sites below exec_simple_query, chosen
/// as by `--plant`. Functions without a name are left out, because bpftrace cannot trace them.
pub fn program(sites: usize) -> String {
    let probe = |(i, at): (usize, &String)| {
        format!(
            "uprobe:{at} {{ @s[tid,{i}] = nsecs; }} uretprobe:{at} /@s[tid,{i}]/ {{ @t[{i}] = sum(nsecs - @s[tid,{i}]); }} "
        )
    };
    functions_called(sites)
        .iter()
        .enumerate()
        .map(probe)
        .collect()
}

fn functions_called(sites: usize) -> Vec<String> {
    let program: PathBuf = PostgreSql::prepare(&Options::default())
        .expect("PostgreSQL")
        .launch()
        .program;
    let module = Module::load(&program, &DebugSources::none()).expect("postgres");
    let mut queue = VecDeque::from(roots(&module));
    let (mut planted, mut functions) = (0, Vec::new());
    while planted < sites
        && let Some(entry) = queue.pop_front()
    {
        let calls = module.call_sites(entry).into_iter();
        for site in calls
            .filter(|site| site.unpatchable().is_none())
            .take(sites - planted)
        {
            planted += 1;
            if let Callee::Function(callee) = site.callee
                && !functions.contains(&callee)
            {
                functions.push(callee);
                queue.push_back(callee);
            }
        }
    }
    functions
        .iter()
        .filter_map(|&entry| Some(format!("{}:{}", program.display(), module.symbol(entry)?)))
        .collect()
}

/// exec_simple_query, which has no name in a stripped binary, and PortalRun.
fn roots(module: &Module) -> [u64; 2] {
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
    [simple.expect("exec_simple_query"), run]
}
