//! What is asked about: servers and programs with a known cause.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenkeel_servers::{
    Length, MariaDb, Options, Pgbench, PostgreSql, Redis, RunningLoopbackServer, RunningMariaDb,
    RunningPostgreSql, Script,
};

/// A server or program, and its load.
pub trait Subject {
    /// The right answers: functions.
    fn causes(&self) -> &'static [&'static str];
    /// Options of the session.
    fn options(&self) -> Vec<&'static str>;
    /// Starts the load. It lasts for this long at least.
    fn load(&mut self, time: Duration) -> Vec<Child>;
    /// The process to attach to, under load.
    fn pid(&self) -> u32;
}

/// Starts one.
pub type Start = fn() -> Box<dyn Subject>;

/// All of them, by their names.
pub const SUBJECTS: [(&str, Start); 5] = [
    ("postgres", || Box::new(Postgres::start())),
    ("mariadb", || Box::new(Maria::start())),
    ("redis", || Box::new(KeysOfRedis::start())),
    ("stages", || {
        Box::new(Planted::of("stages", "run_interval", &["stage_a"]))
    }),
    ("stalls", || {
        Box::new(Planted::of("stalls", "serve", &["write_log"]))
    }),
];

/// A quiet command.
fn spawn(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::null());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the load's command")
}

/// PostgreSQL with its defaults under TPC-B, with 16 clients and 20 branches. Commits wait for the log's sync. Other transactions wait for the
/// row of a branch until then.
struct Postgres(RunningPostgreSql);

impl Postgres {
    fn start() -> Postgres {
        let server = PostgreSql::prepare(&Options::default()).expect("PostgreSQL");
        let server = server.start(None).expect("PostgreSQL");
        let load = Pgbench {
            clients: 16,
            jobs: 2,
            scale: 20,
            length: Length::Seconds(1),
            script: Script::TpcB,
        };
        load.initialize(&server).expect("pgbench -i");
        Postgres(server)
    }
}

impl Subject for Postgres {
    fn causes(&self) -> &'static [&'static str] {
        &[
            "XactLockTableWait",
            "XLogFlush",
            "XLogWrite",
            "issue_xlog_fsync",
            "pg_fdatasync",
            "fdatasync",
        ]
    }

    fn options(&self) -> Vec<&'static str> {
        vec!["--preset", "postgres"]
    }

    fn load(&mut self, time: Duration) -> Vec<Child> {
        let seconds = time.as_secs().to_string();
        let mut pgbench = self.0.client("pgbench");
        pgbench.args(["-c", "16", "-j", "2", "-T", &seconds, "postgres"]);
        vec![spawn(&mut pgbench)]
    }

    fn pid(&self) -> u32 {
        self.0.pid().expect("it runs")
    }
}

/// MariaDB with its defaults under TATP with 8 clients: updates wait for the log's sync, reads do not.
struct Maria(RunningMariaDb);

impl Maria {
    fn start() -> Maria {
        let server = MariaDb::prepare(&Options::default()).expect("MariaDB");
        let maria = Maria(server.start(None).expect("MariaDB"));
        maria
            .0
            .query("CREATE DATABASE evenkeel")
            .expect("a database");
        maria
    }
}

impl Subject for Maria {
    fn causes(&self) -> &'static [&'static str] {
        &[
            "log_write_up_to",
            "log_t::write_buf",
            "log_t::flush",
            "trx_flush_log_if_needed",
            "fdatasync",
            "fsync",
        ]
    }

    fn options(&self) -> Vec<&'static str> {
        vec!["--preset", "mariadb"]
    }

    fn load(&mut self, time: Duration) -> Vec<Child> {
        let socket = self.0.socket().display();
        let target = format!("mysql://root@localhost/evenkeel?socket={socket}");
        let mut bench = Command::new(super::EVENKEEL);
        bench.args([
            "bench",
            "tatp",
            "--clients",
            "8",
            "--no-check",
            "--target",
            &target,
        ]);
        bench.args(["--warmup", "500ms", "--for", &time.as_secs().to_string()]);
        vec![spawn(&mut bench)]
    }

    fn pid(&self) -> u32 {
        self.0.pid().expect("it runs")
    }
}

/// Redis with many short commands, and twice a second `KEYS` over all that it has.
struct KeysOfRedis(RunningLoopbackServer);

impl KeysOfRedis {
    fn start() -> KeysOfRedis {
        let redis = Redis {
            directives: vec!["enable-debug-command local".to_owned()],
            ..Redis::default()
        };
        let server = redis.prepare().expect("Redis");
        let redis = KeysOfRedis(server.start(None).expect("Redis"));
        let filled = redis
            .client()
            .args(["DEBUG", "POPULATE", "300000"])
            .output();
        assert!(filled.expect("redis-cli").status.success());
        redis
    }

    fn client(&self) -> Command {
        let mut client = Command::new("redis-cli");
        client.args(["-p", &self.0.port().to_string()]);
        client
    }
}

impl Subject for KeysOfRedis {
    fn causes(&self) -> &'static [&'static str] {
        &["keysCommand", "stringmatchlen", "stringmatchlen_impl"]
    }

    fn options(&self) -> Vec<&'static str> {
        vec!["--preset", "redis", "--interval", "turn"]
    }

    fn load(&mut self, _: Duration) -> Vec<Child> {
        let port = self.0.port().to_string();
        let mut many = Command::new("redis-benchmark");
        many.args(["-p", &port, "-c", "4", "-l", "-q", "-t", "get"]);
        let mut keys = self.client();
        keys.args(["-r", "-1", "-i", "0.5", "KEYS", "nothing*"]);
        vec![spawn(&mut many), spawn(&mut keys)]
    }

    fn pid(&self) -> u32 {
        self.0.pid().expect("it runs")
    }
}

/// A known-answer program.
struct Planted {
    causes: &'static [&'static str],
    interval: [&'static str; 2],
    program: PathBuf,
    pid: u32,
}

impl Planted {
    fn of(name: &'static str, interval: &'static str, causes: &'static [&'static str]) -> Planted {
        let sources =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiler/session/tests/programs");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("answer-{name}"));
        let built = Command::new("gcc")
            .args(["-O1", "-g", "-o"])
            .arg(&program)
            .arg(sources.join(name).with_extension("c"))
            .status();
        assert!(built.expect("gcc").success());
        Planted {
            causes,
            interval: ["--interval", interval],
            program,
            pid: 0,
        }
    }
}

impl Subject for Planted {
    fn causes(&self) -> &'static [&'static str] {
        self.causes
    }

    fn options(&self) -> Vec<&'static str> {
        self.interval.into()
    }

    fn load(&mut self, _: Duration) -> Vec<Child> {
        let program = spawn(Command::new(&self.program).arg(u32::MAX.to_string()));
        self.pid = program.id();
        vec![program]
    }

    fn pid(&self) -> u32 {
        self.pid
    }
}
