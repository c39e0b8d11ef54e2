//! Every call site of a server's executable redirected at once, from its start to its end: nothing that a client sees may
//! change.

mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use evenkeel_servers::{Apache, MariaDb, Options, PostgreSql, RunningMariaDb, RunningPostgreSql};
use support::servers::{
    Profiled, ProfiledPostgres, ProfiledServer, assert_no_crash, count, installed, postgres_options,
};

/// The sites that the agents refused would be among these reasons; all others are rules that hold before the start.
const AGENT_REFUSALS: [&str; 5] = [
    "in memory",
    "no free memory",
    "does not let code",
    "membarrier",
    "no place for a jump",
];

/// A profile of all the sites there are: at least `sites_min` planted, none refused by an agent.
#[track_caller]
fn assert_every_site(profiled: &Profiled, sites_min: u64) {
    let profile = profiled.profile();
    assert_eq!(
        profile["rounds"].as_array().map(Vec::len),
        Some(1),
        "nothing is refined"
    );
    assert!(
        count(&profile["rounds"][0]["probes"]) >= sites_min,
        "{}",
        profile["rounds"]
    );
    for unpatched in profile["unpatched"].as_array().into_iter().flatten() {
        let reason = unpatched["reason"].as_str().unwrap_or_default();
        assert!(
            !AGENT_REFUSALS
                .iter()
                .any(|refusal| reason.contains(refusal)),
            "{unpatched}"
        );
    }
}

fn sql(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The output of a client on its two streams.
type Said = (String, String);

fn mixed_postgres(server: &RunningPostgreSql) -> Said {
    let script = sql("../profiler/recording/tests/sql/mixed.sql");
    let mut psql = server.client("psql");
    // From its folder, so that messages name the file alike.
    psql.current_dir(script.parent().unwrap());
    let output = psql
        .args(["-X", "-a", "-f", "mixed.sql", "-d", "postgres"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "psql: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Compares line by line, so that a failure shows the first difference and not two files.
#[track_caller]
fn assert_same(profiled: &Said, plain: &Said) {
    for (profiled, plain) in [(&profiled.0, &plain.0), (&profiled.1, &plain.1)] {
        for (number, (profiled, plain)) in profiled.lines().zip(plain.lines()).enumerate() {
            assert_eq!(profiled, plain, "line {}", number + 1);
        }
        assert_eq!(profiled.len(), plain.len());
    }
}

/// Errors, PL/pgSQL exceptions from hundreds of frames deep, cancellations, parallel query, COPY, CREATE DATABASE,
/// and extensions loaded at run time; the script has the details.
#[test]
fn postgres() {
    let settings = [("fsync", "off")];
    let Some(plain) = installed(PostgreSql::prepare(&postgres_options(&settings))) else {
        return;
    };
    let plain = plain.start(None).unwrap();
    let expected = mixed_postgres(&plain);
    plain.stop().unwrap();
    assert!(
        expected.0.lines().count() > 500,
        "the script ran: {}",
        expected.0
    );

    let profiled = ProfiledPostgres::start(&["--plant", "every"], &settings).unwrap();
    let found = mixed_postgres(&profiled.server);
    let profiled = profiled.finish();
    assert_same(&found, &expected);
    // PostgreSQL 15 for x86-64 has 130,312 calls.
    assert_every_site(&profiled, 100_000);
}

/// A client that continues after errors, with every answer and every error on one stream.
fn mixed_mariadb(server: &RunningMariaDb) -> Said {
    let script = std::fs::File::open(sql("tests/sql/mariadb.sql")).unwrap();
    let mut client = server.client();
    client
        .args(["--force", "-vv", "test"])
        .stdin(Stdio::from(script));
    let output = client.output().unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn mariadb() {
    let options = Options {
        fsync: false,
        ..Options::default()
    };
    let Some(plain) = installed(MariaDb::prepare(&options)) else {
        return;
    };
    let plain = plain.start(None).unwrap();
    let expected = mixed_mariadb(&plain);
    plain.stop().unwrap();
    assert!(
        expected.0.ends_with("the end\n") || expected.0.contains("the end"),
        "{expected:?}"
    );

    let prepared = MariaDb::prepare(&options).unwrap();
    let interval = "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool)";
    let every = ["--plant", "every", "--interval", interval];
    let profiled = ProfiledServer::of(prepared, &every);
    let found = mixed_mariadb(&profiled.server);
    let profiled = profiled.finish();
    assert_same(&found, &expected);
    // MariaDB 10.11 for x86-64 has 157,724 calls, 86 % of them direct.
    assert_every_site(&profiled, 100_000);
    assert!(
        profiled.log.contains("Shutdown complete"),
        "{}",
        profiled.log
    );
}

/// The answer of a server to bytes on one connection, without the parts that depend on the time and the port.
fn exchange(port: u16, request: &[u8]) -> Vec<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).replace(&port.to_string(), "PORT");
    let varies = ["Date:", "Last-Modified:", "ETag:"];
    answer
        .split("\r\n")
        .filter(|line| !varies.iter().any(|name| line.starts_with(name)))
        .map(str::to_owned)
        .collect()
}

const REQUESTS: [&[u8]; 8] = [
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET /64k.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET /1m.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=1000-1999\r\nConnection: close\r\n\r\n",
    b"HEAD /1k.txt HTTP/1.0\r\n\r\n",
    b"GET /missing HTTP/1.0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    b"nonsense\r\n\r\n",
    b"GET /1k.txt HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
];

fn answers(port: u16) -> Vec<Vec<String>> {
    REQUESTS
        .iter()
        .map(|request| exchange(port, request))
        .collect()
}

#[test]
fn apache() {
    let Some(plain) = installed(Apache::default().prepare()) else {
        return;
    };
    let plain = plain.start(None).unwrap();
    let expected = answers(plain.port());
    plain.stop().unwrap();
    assert!(
        expected[0][0].contains("200 OK") && expected[4][0].contains("404"),
        "{expected:?}"
    );

    let (profiled, seen, asked) = profiled_apache("ap_run_process_connection", &expected);
    assert_every_site(&profiled, 5_000);
    assert!(
        seen >= asked,
        "{seen} connections of {asked}: {}",
        profiled.log
    );
    // The interval and all its sites in a library instead.
    let (profiled, seen, asked) = profiled_apache("libapr-1.so!apr_socket_sendv", &expected);
    assert_every_site(&profiled, 1_000);
    assert!(
        seen >= asked,
        "{seen} writes of {asked} answers: {}",
        profiled.log
    );
}

/// Apache with every site of the interval's module redirected, which must answer as expected. Returns the intervals seen
/// and the connections made.
#[track_caller]
fn profiled_apache(interval: &str, expected: &[Vec<String>]) -> (Profiled, u64, u64) {
    // So few threads that the profiler has a ring for each from the first request on.
    let prepared = Apache::in_one_process(8).prepare().unwrap();
    let every = ["--plant", "every", "--interval", interval];
    let profiled = ProfiledServer::of(prepared, &every);
    let port = profiled.server.port();
    let threads: Vec<_> = (0..8)
        .map(|_| std::thread::spawn(move || (answers(port), answers(port))))
        .collect();
    for thread in threads {
        let (first, second) = thread.join().unwrap();
        assert!(
            first == expected && second == expected,
            "{first:?}\n{expected:?}"
        );
    }
    let error_log = profiled.server.folder().join("error.log");
    let error_log = std::fs::read_to_string(error_log).unwrap();
    let profiled = profiled.finish();
    assert_no_crash(&error_log);
    // The parent forks and the child makes threads; whoever asked was served by one of them.
    let seen = count(&profiled.profile()["intervals_seen"]);
    (profiled, seen, 16 * REQUESTS.len() as u64)
}
