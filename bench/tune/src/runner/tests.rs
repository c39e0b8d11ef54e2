//! Settings of a server are put back whatever became of its clients: on a private PostgreSQL that is used by its URL.

use evenkeel_drive::arrivals::Spread;
use evenkeel_drive::settings::Pace;
use evenkeel_drive::target::address::Address;
use evenkeel_servers::{Options, PostgreSql, Process, RunningPostgreSql};

use super::*;
use crate::journal::{Header, Journal};
use crate::race::Candidate;

/// Connections that the server takes.
const CONNECTIONS: &str = "12";

fn server() -> (RunningPostgreSql, Address) {
    let options = Options {
        loopback: true,
        fsync: false,
        settings: vec![("max_connections".to_owned(), CONNECTIONS.to_owned())],
        ..Options::default()
    };
    let server = PostgreSql::prepare(&options).and_then(|server| server.start(None));
    let server = server.expect("a PostgreSQL");
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    let address = url.parse().expect("an address");
    (server, address)
}

fn settings(target: Address, clients: u32) -> BenchmarkSettings {
    BenchmarkSettings {
        workload: "ycsb-a".to_owned(),
        scale: 1,
        options: vec![("records".to_owned(), "200".to_owned())],
        seed: 1,
        target,
        target_settings: Vec::new(),
        schedule: None,
        data: None,
        reload: true,
        loaders: Some(1),
        pace: Pace::Closed { thinking: false },
        clients,
        round_trip: None,
        arrivals: Spread::Poisson,
        in_flight_max: 100,
        length: Duration::from_millis(50),
        warmup: Some(Duration::ZERO),
        retries_max: 10,
        check: false,
    }
}

/// Sets the flag when data is being loaded.
struct StopsLoading<'a>(&'a AtomicBool);

impl Progress for StopsLoading<'_> {
    fn loaded(&self, _: u64) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Silent;

impl Progress for Silent {}

const KNOB: &str = "commit_delay";

/// A server's setting that was changed.
fn candidate() -> Candidate {
    Candidate {
        settings: vec![(KNOB.to_owned(), "77".to_owned())],
    }
}

fn runner<'a>(
    settings: &'a BenchmarkSettings,
    directory: &std::path::Path,
    progress: &'a dyn Progress,
    interrupted: &'a AtomicBool,
) -> TargetRunner<'a> {
    let target = settings.open_target().expect("the server answers");
    let this = Process::this();
    let header = Header {
        target: settings.target.to_string(),
        password: false,
        tuner: (this.pid, this.start_ticks),
        private: None,
    };
    let server = Server::new(TargetKind::Postgres, &target, false, &[KNOB], None);
    let mut server = server.expect("the server says what is set");
    server.keep(Journal::begin(directory, header).expect("a journal"));
    TargetRunner::new(
        (settings, &LoadSource::Workload),
        (TargetKind::Postgres, None, None),
        (Some(target), Changed::Server(Box::new(server))),
        progress,
        interrupted,
    )
}

fn changed(server: &RunningPostgreSql) -> String {
    let sql = "SELECT setting FROM pg_file_settings WHERE name = 'commit_delay'";
    server.psql(sql).expect("an answer")
}

fn journals(directory: &std::path::Path) -> usize {
    directory.read_dir().map_or(0, Iterator::count)
}

/// Makes a run with a changed setting and this many clients, and restores the setting; returns the result of the run.
fn run_and_restore(
    clients: u32,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Outcome, Error> {
    let (server, address) = server();
    let folder = tempfile::tempdir().expect("a directory");
    let settings = settings(address, clients);
    let mut runner = runner(&settings, folder.path(), progress, interrupted);
    let outcome = runner.run(Arm::Of(&candidate()), 0);
    assert_eq!(changed(&server), "77\n");
    runner.restore().expect("put back");
    assert_eq!(
        (changed(&server).as_str(), journals(folder.path())),
        ("", 0)
    );
    outcome
}

#[test]
fn settings_are_put_back_though_a_client_cannot_connect() {
    let outcome = run_and_restore(100, &Silent, &AtomicBool::new(false));
    let error = outcome.expect_err("too many clients").to_string();
    assert!(error.contains("cannot connect"), "{error}");
}

#[test]
fn settings_are_put_back_though_the_user_stops_a_reload() {
    let stopped = AtomicBool::new(false);
    let outcome = run_and_restore(2, &StopsLoading(&stopped), &stopped);
    assert_eq!(outcome.expect("no error"), Outcome::Interrupted);
}

#[test]
fn a_server_that_cannot_be_reached_is_not_as_it_was_found() {
    let (_server, address) = server();
    let folder = tempfile::tempdir().expect("a directory");
    let (settings, never) = (settings(address, 2), AtomicBool::new(false));
    let mut runner = runner(&settings, folder.path(), &Silent, &never);
    runner
        .apply(&candidate().settings)
        .map_err(|_| ())
        .expect("set");
    runner.setup = Setup::Empty;
    let error = runner.restore().expect_err("nobody could ask the server");
    assert!(
        error.to_string().contains("commit_delay (was not set)"),
        "{error}"
    );
    assert_eq!(journals(folder.path()), 1);
}
