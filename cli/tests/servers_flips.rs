//! Thousands of call sites of a server under load, redirected and restored at random many times a second: no wrong result,
//! and the code of the file in the end.
//!
//! Refinement changes few sites at a time and comes to rest. Here the session's parts are driven by hand instead, in a
//! process of their own (`flipper`), which takes its orders from the environment.

mod support;

use std::collections::{HashSet, VecDeque};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use evenkeel_analysis::{Analysis, Options as AnalysisOptions, ProbeCost};
use evenkeel_servers::{Launch, MariaDb, Options, PostgreSql, RunningMariaDb};
use evenkeel_session::arena::Arena;
use evenkeel_session::clock::TickClock;
use evenkeel_session::drain::{Drain, Sink};
use evenkeel_session::interval::{self, Interval};
use evenkeel_session::launch::{CommandLine, Target};
use evenkeel_session::modules::Modules;
use evenkeel_session::plan::Plan;
use evenkeel_session::presets::Preset;
use evenkeel_symbols::{Callee, Module};
use evenkeel_wire::{Form, Mode, ModuleState, Record, Wanted};
use serde_json::{Value, json};
use support::build::agent;
use support::run::eventually;
use support::servers::{
    assert_consistent, assert_no_crash, count, installed, make_pgbench_tables, pgbench,
    postgres_options,
};

/// Variable with the flipper's orders.
const ORDERS: &str = "EVENKEEL_TEST_FLIPPER";
/// Call sites that are flipped, breadth first from the interval's functions: those that run.
const SITES: usize = 3000;
/// Pause between two generations.
const PERIOD: Duration = Duration::from_millis(50);

/// How long the load runs; `EVENKEEL_FLIP_SECONDS` overrides it for a longer look.
fn load_seconds() -> u64 {
    std::env::var("EVENKEEL_FLIP_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20)
}

// The flipper, as the tests see it ------------------------------------------------------------------------------------

/// The process that flips. Dropping it kills it; the server then takes its hooks out by itself.
struct Flipper {
    child: Child,
    folder: tempfile::TempDir,
}

impl Flipper {
    fn start(launch: &Launch, interval: &str, stop_signal: i32) -> Flipper {
        let folder = tempfile::tempdir().unwrap();
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open.clone()).unwrap();
        let own_agent = folder.path().join("libevenkeel_agent.so");
        std::fs::copy(agent(), &own_agent).unwrap();
        std::fs::set_permissions(&own_agent, open).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let orders = json!({
            "program": text(&launch.program),
            "arguments": launch.args.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>(),
            "user": launch.user(),
            "directory": text(&launch.working_directory),
            "interval": interval,
            "stop_signal": stop_signal,
            "folder": text(folder.path()),
        });
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "flipper", "--nocapture"])
            .env(ORDERS, orders.to_string());
        command
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .env("EVENKEEL_AGENT", own_agent);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        Flipper {
            child: command.spawn().unwrap(),
            folder,
        }
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join("log")).unwrap_or_default())
            .into_owned()
    }

    /// Ends flipping: the server is to take its hooks out.
    fn detach(&self) {
        std::fs::write(self.folder.path().join("detach"), "").unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }

    /// Stops the server and returns what was seen.
    fn finish(mut self) -> Value {
        std::fs::write(self.folder.path().join("end"), "").unwrap();
        let mut status = None;
        let ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let log = self.log();
        assert!(ended && status.unwrap().success(), "{log}");
        assert_no_crash(&log);
        let result = std::fs::read_to_string(self.folder.path().join("result"))
            .unwrap_or_else(|_| panic!("{log}"));
        serde_json::from_str(&result).unwrap()
    }
}

impl Drop for Flipper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What holds after any load.
#[track_caller]
fn assert_flipped(result: &Value) {
    eprintln!("flips: {result}");
    assert!(count(&result["generations"]) > 50, "{result}");
    assert!(count(&result["applications"]) > 50, "{result}");
    assert!(count(&result["intervals"]) > 1000, "{result}");
    assert_eq!(result["closure_error"], 0, "{result}");
    assert_eq!(result["refused"], 0, "{result}");
    assert_eq!(
        result["left_hooked"], 0,
        "the code is the file's again: {result}"
    );
}

// The flipper itself --------------------------------------------------------------------------------------------------

/// Not a test of its own: what [`Flipper::start`] runs.
#[test]
fn flipper() {
    let Ok(orders) = std::env::var(ORDERS) else {
        return;
    };
    let orders: Value = serde_json::from_str(&orders).unwrap();
    let result = Flipping::new(orders).run();
    std::fs::write(result.0, result.1.to_string()).unwrap();
}

struct Flipping {
    orders: Value,
    arena: Arena,
    clock: TickClock,
    target: Target,
    modules: Modules,
    plan: Plan,
    drain: Drain,
    records: Records,
    judged: usize,
    /// Probes to flip.
    inner: Vec<u32>,
    random: u64,
}

/// Checks that what is recorded meanwhile closes.
struct Records(Analysis);

impl Sink for Records {
    fn records(&mut self, thread: u64, records: &[Record]) {
        self.0.push(thread, records);
    }

    fn ended(&mut self, thread: u64) {
        self.0.thread_ended(thread);
    }
}

impl Flipping {
    fn new(orders: Value) -> Flipping {
        let arena = Arena::create().unwrap();
        let clock = TickClock::start();
        clock.renew_lease(&arena);
        arena.control().mode.store(Mode::Record as u32, Release);
        let arguments = orders["arguments"].as_array().unwrap().iter();
        let words = std::iter::once(&orders["program"])
            .chain(arguments)
            .map(|word| word.as_str().unwrap().into());
        let command = CommandLine {
            words: words.collect(),
            user: serde_json::from_value(orders["user"].clone()).unwrap(),
            directory: orders["directory"].as_str().map(PathBuf::from),
            ..CommandLine::default()
        };
        let target = Target::start(&arena, &command).unwrap();
        Flipping {
            orders,
            arena,
            clock,
            target,
            modules: Modules::default(),
            plan: Plan::new("", 0),
            drain: Drain::default(),
            records: Records(Analysis::new(ProbeCost::default())),
            judged: 0,
            inner: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn run(mut self) -> (PathBuf, Value) {
        let folder = PathBuf::from(self.orders["folder"].as_str().unwrap());
        let mut generations = 0;
        let mut flipped = Instant::now();
        let mut looked = Instant::now();
        while !folder.join("end").exists() && self.target.is_running() {
            self.judge();
            if folder.join("detach").exists() {
                self.arena
                    .control()
                    .mode
                    .store(Mode::Detach as u32, Release);
            } else if flipped.elapsed() >= PERIOD && !self.inner.is_empty() {
                flipped = Instant::now();
                generations += self.flip();
            }
            let slow = looked.elapsed() >= Duration::from_millis(100);
            let unused = self.drain.run(&self.arena, &mut self.records, slow);
            self.arena.provide_rings(unused);
            if slow {
                looked = Instant::now();
                self.clock.renew_lease(&self.arena);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let left_hooked = self.left_hooked();
        self.target
            .stop(self.orders["stop_signal"].as_i64().unwrap() as i32, || {});
        self.drain.run(&self.arena, &mut self.records, true);
        let profile = self
            .records
            .0
            .profile(&self.plan.sites, &AnalysisOptions::default());
        let refused = self
            .arena
            .probes()
            .iter()
            .filter(|probe| probe.refused.load(Relaxed) != 0)
            .count();
        let control = self.arena.control();
        let result = json!({
            "sites": self.inner.len(),
            "generations": generations,
            "applications": control.applications.load(Relaxed),
            "traps": control.traps.load(Relaxed),
            "intervals": profile.intervals_seen,
            "discarded": profile.discarded_by_reason,
            "closure_error": profile.closure.max_abs_error_ticks,
            "records": self.drain.read,
            "refused": refused,
            "left_hooked": left_hooked,
        });
        (folder.join("result"), result)
    }

    /// Plans the interval and the sites around it in the server's executable; nothing else is wanted.
    fn judge(&mut self) {
        while self.judged < self.arena.modules().len() {
            let index = self.judged;
            self.judged += 1;
            let program = Path::new(self.orders["program"].as_str().unwrap())
                .canonicalize()
                .unwrap();
            let wanted = Modules::path(&self.arena, index)
                .canonicalize()
                .is_ok_and(|path| path == program);
            if wanted {
                let module = self.modules.get(&self.arena, index).unwrap().unwrap();
                let interval = self.interval(&module);
                for boundary in &interval.boundaries {
                    assert!(
                        self.plan
                            .add_boundary(&mut self.arena, index, &module, boundary)
                    );
                }
                if interval
                    .boundaries
                    .iter()
                    .any(|boundary| boundary.role == evenkeel_wire::Role::Gate)
                {
                    self.arena.control().gated.store(1, Release);
                }
                self.add_sites(index, &module, &interval.scope);
                self.publish();
            }
            let verdict = if wanted {
                ModuleState::Wanted
            } else {
                ModuleState::Ignored
            };
            self.arena.modules()[index]
                .state
                .store(verdict as u32, Release);
        }
    }

    fn interval(&self, module: &Module) -> Interval {
        match self.orders["interval"]
            .as_str()
            .unwrap()
            .strip_prefix("postgres:")
        {
            Some(known) => {
                let preset = Preset::named("postgres").unwrap();
                preset
                    .resolve(preset.interval(Some(known)).unwrap(), module)
                    .unwrap()
            }
            None => interval::resolve(
                &self.orders["interval"].as_str().unwrap().parse().unwrap(),
                module,
            )
            .unwrap(),
        }
    }

    fn add_sites(&mut self, index: usize, module: &Rc<Module>, scope: &[u64]) {
        let mut queue: VecDeque<u64> = scope.iter().copied().collect();
        let mut met: HashSet<u64> = scope.iter().copied().collect();
        while let Some(function) = queue.pop_front() {
            for site in module.call_sites(function) {
                if let Callee::Function(callee) = site.callee
                    && met.insert(callee)
                {
                    queue.push_back(callee);
                }
                if self.inner.len() < SITES
                    && let Some(id) = self.plan.add_site(&mut self.arena, index, module, &site)
                    && self.plan.probes()[id as usize].role == evenkeel_wire::Role::Inner
                {
                    self.inner.push(id);
                }
            }
        }
    }

    /// Changes every fourth site or so: to its trampoline, to a breakpoint that tells the callee, or back.
    fn flip(&mut self) -> u32 {
        for at in 0..self.inner.len() {
            let id = self.inner[at];
            let dice = self.next();
            if dice % 4 != 0 {
                continue;
            }
            let discovered_only = matches!(
                self.plan.probes()[id as usize].form,
                Form::ShortIndirectCall | Form::IndirectJump
            );
            let wanted = match (dice >> 8) % 16 {
                0..8 => Wanted::Off,
                8 => Wanted::Discover,
                _ if discovered_only => Wanted::Off,
                _ => Wanted::On,
            };
            self.plan.want(&self.arena, id, wanted);
        }
        self.publish();
        1
    }

    fn publish(&mut self) {
        let generation = self.plan.publish(&self.arena);
        if let Some(generation) = generation {
            self.records
                .0
                .begin_round(generation, self.plan.planted().count() as u32);
        }
        std::sync::atomic::fence(AcqRel);
    }

    /// Sites of the running server whose code is not the file's.
    fn left_hooked(&self) -> usize {
        let pid = self.target.pid();
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let program = Path::new(self.orders["program"].as_str().unwrap())
            .canonicalize()
            .unwrap();
        // The first mapping of the file: its address is that of the file's first byte.
        let first = maps
            .lines()
            .find(|line| line.ends_with(program.to_str().unwrap()))
            .expect("it is mapped");
        let bias = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
        let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
        let differs = |probe: &&evenkeel_wire::Probe| {
            let mut bytes = [0; 16];
            let len = usize::from(probe.len).min(16);
            memory
                .read_exact_at(&mut bytes[..len], bias + probe.address)
                .unwrap();
            bytes[..len] != probe.bytes[..len]
        };
        assert!(self.arena.control().generation.load(Acquire) > 0);
        self.arena.probes().iter().filter(differs).count()
    }

    /// Marsaglia's xorshift.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 3
    }
}

// The loads -----------------------------------------------------------------------------------------------------------

#[test]
fn postgres_under_pgbench() {
    let Some(prepared) = installed(PostgreSql::prepare(&postgres_options(&[]))) else {
        return;
    };
    let flipper = Flipper::start(&prepared.launch(), "postgres:statement", libc::SIGINT);
    let server = prepared
        .adopt()
        .unwrap_or_else(|error| panic!("{error}\n{}", flipper.log()));
    make_pgbench_tables(&server);
    let seconds = load_seconds().to_string();
    let transactions = pgbench(&server, &["-c", "16", "-j", "2", "-T", &seconds]);
    assert_consistent(&server, Some(transactions));
    flipper.detach();
    // The postmaster looks at the plan when it forks.
    server.psql("SELECT 1").unwrap();
    assert_flipped(&flipper.finish());
}

/// Threads of one process, so that code changes under their feet. Each client moves money from one account to another, in
/// the order of their numbers, which keeps deadlocks out; nothing may get lost or fail.
#[test]
fn mariadb_under_transfers() {
    let Some(prepared) = installed(MariaDb::prepare(&Options {
        fsync: false,
        ..Options::default()
    })) else {
        return;
    };
    let interval = "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool)";
    let flipper = Flipper::start(&prepared.launch(), interval, libc::SIGTERM);
    let server = prepared
        .adopt()
        .unwrap_or_else(|error| panic!("{error}\n{}", flipper.log()));
    server
        .query(
            "USE test;
             CREATE TABLE test.account (id INT PRIMARY KEY, balance INT) ENGINE = InnoDB;
             CREATE TABLE test.history (source INT, target INT, amount INT) ENGINE = InnoDB;
             INSERT INTO test.account SELECT seq, 1000 FROM seq_1_to_1000",
        )
        .unwrap();
    let end = Instant::now() + Duration::from_secs(load_seconds());
    let server = &server;
    let transfers: u64 = std::thread::scope(|scope| {
        let client = |number| scope.spawn(move || transfer_until(server, number, end));
        let clients: Vec<_> = (0..8).map(client).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    let sums = "SELECT COUNT(*), SUM(balance) FROM test.account; SELECT COUNT(*) FROM test.history;
                SELECT COUNT(*) FROM (SELECT id, balance - 1000 +
                    (SELECT COALESCE(SUM(amount), 0) FROM test.history WHERE source = id) -
                    (SELECT COALESCE(SUM(amount), 0) FROM test.history WHERE target = id) AS error
                    FROM test.account WHERE id <= 20) AS checked WHERE error <> 0";
    assert_eq!(
        server.query(sums).unwrap(),
        format!("1000\t1000000\n{transfers}\n0\n")
    );
    flipper.detach();
    server.query("SELECT 1").unwrap();
    server.query("SELECT 1").unwrap();
    assert_flipped(&flipper.finish());
}

/// Transfers of one client in batches, each a run of the `mariadb` client, which ends at the first error.
fn transfer_until(server: &RunningMariaDb, client: u64, end: Instant) -> u64 {
    const BATCH: u64 = 200;
    let mut done = 0;
    while Instant::now() < end {
        let mut script = String::new();
        for number in done..done + BATCH {
            let source = 1 + (number * 7919 + client * 131) % 999;
            let target = source + 1 + (number * 104_729) % (1000 - source);
            let amount = number % 10;
            script += &format!(
                "BEGIN; UPDATE account SET balance = balance - {amount} WHERE id = {source};
                 UPDATE account SET balance = balance + {amount} WHERE id = {target};
                 INSERT INTO history VALUES ({source}, {target}, {amount}); COMMIT;\n"
            );
        }
        let output = server
            .client()
            .args(["-e", &script, "test"])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}\n{}",
            String::from_utf8_lossy(&output.stderr),
            server.log()
        );
        done += BATCH;
    }
    done
}
