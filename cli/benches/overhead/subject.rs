//! The servers that are slowed down, and their loads.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use evenkeel_servers::{
    Length, MariaDb, Options, Pgbench, PostgreSql, RunningMariaDb, RunningPostgreSql, Script,
};

/// A server with data, which can be started again on them behind another command.
pub trait Subject: Sync {
    /// Restarts it under the command.
    fn restart(&mut self, wrap: Option<&[OsString]>);
    /// Transactions a second over this many seconds of load.
    fn throughput(&self, seconds: u32) -> f64;
    /// Folder that its account may read.
    fn folder(&self) -> &Path;
    /// Process id of the server, which runs.
    fn pid(&self) -> u32;
    /// Its name for `--preset`.
    fn preset(&self) -> &'static str;
}

/// PostgreSQL under pgbench.
pub struct Postgres {
    server: RunningPostgreSql,
    load: Pgbench,
}

impl Postgres {
    /// With commits that wait for the disk: TPC-B with 16 clients, scale 20. Without: simple-update with 8 clients, scale 10,
    /// so that nothing but the processor holds it up.
    pub fn new(fsync: bool) -> Postgres {
        // What begins by itself from time to time is left out: it would fall into some measurements and not into others.
        let settings = [
            ("autovacuum", "off"),
            ("checkpoint_timeout", "1h"),
            ("max_wal_size", "16GB"),
        ];
        let options = Options {
            fsync,
            settings: settings
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            ..Options::default()
        };
        let load = Pgbench {
            clients: if fsync { 16 } else { 8 },
            jobs: 2,
            scale: if fsync { 20 } else { 10 },
            length: Length::Seconds(1),
            script: if fsync {
                Script::TpcB
            } else {
                Script::SimpleUpdate
            },
        };
        let server = PostgreSql::prepare(&options).expect("PostgreSQL");
        let server = server.start(None).expect("PostgreSQL");
        load.initialize(&server).expect("pgbench -i");
        Postgres { server, load }
    }
}

impl Subject for Postgres {
    fn restart(&mut self, wrap: Option<&[OsString]>) {
        self.server.restart(wrap).expect("PostgreSQL");
    }

    fn throughput(&self, seconds: u32) -> f64 {
        let load = Pgbench {
            length: Length::Seconds(seconds),
            ..self.load.clone()
        };
        load.run(&self.server).expect("pgbench").transactions_per_s
    }

    fn folder(&self) -> &Path {
        self.server.folder()
    }

    fn pid(&self) -> u32 {
        self.server.pid().expect("it runs")
    }

    fn preset(&self) -> &'static str {
        "postgres"
    }
}

/// MariaDB under `evenkeel bench tatp` with 8 clients: short transactions, mostly reads.
pub struct Maria {
    server: RunningMariaDb,
}

impl Maria {
    /// Commits wait for the disk.
    pub fn new() -> Maria {
        let server = MariaDb::prepare(&Options::default()).expect("MariaDB");
        let maria = Maria {
            server: server.start(None).expect("MariaDB"),
        };
        let database = maria.server.query("CREATE DATABASE evenkeel");
        database.expect("a database");
        maria.throughput(1);
        maria
    }
}

impl Subject for Maria {
    fn restart(&mut self, wrap: Option<&[OsString]>) {
        self.server.restart(wrap).expect("MariaDB");
    }

    fn throughput(&self, seconds: u32) -> f64 {
        let socket = self.server.socket().display();
        let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["bench", "tatp", "--clients", "8", "--no-check", "--json"])
            .args(["--warmup", "500ms", "--for", &seconds.to_string()])
            .args([
                "--target",
                &format!("mysql://root@localhost/evenkeel?socket={socket}"),
            ])
            .stderr(Stdio::inherit())
            .output()
            .expect("evenkeel bench");
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a report in JSON");
        report["throughput_per_s"].as_f64().expect("a throughput")
    }

    fn folder(&self) -> &Path {
        self.server.folder()
    }

    fn pid(&self) -> u32 {
        self.server.pid().expect("it runs")
    }

    fn preset(&self) -> &'static str {
        "mariadb"
    }
}
