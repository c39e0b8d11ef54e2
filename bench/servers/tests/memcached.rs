//! A private memcached from its start to its end. Needs memcached: scripts/install.sh memcached.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use evenkeel_servers::{Memcached, ServerError};

fn or_explain<T>(result: Result<T, ServerError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// All that the server answers until it ends the connection.
fn ask(port: u16, lines: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn starts_answers_and_stops() {
    let server = or_explain(
        Memcached::default()
            .prepare()
            .and_then(|server| server.start(None)),
    );
    let (folder, port) = (server.folder().to_owned(), server.port());
    assert_eq!(
        ask(port, "set a 0 0 2\r\n42\r\nget a\r\nquit\r\n"),
        "STORED\r\nVALUE a 0 2\r\n42\r\nEND\r\n"
    );
    let stopped = or_explain(server.stop());
    assert!(
        stopped.status.is_some_and(|status| status.success()),
        "{stopped:?}"
    );
    assert!(!folder.exists(), "{} is left", folder.display());
}

#[test]
fn threads_and_arguments_are_set() {
    let memcached = Memcached {
        threads: 2,
        args: ["-c", "77"].map(Into::into).to_vec(),
        ..Memcached::default()
    };
    let server = or_explain(memcached.prepare().and_then(|server| server.start(None)));
    let answer = ask(server.port(), "stats settings\r\nquit\r\n");
    assert!(answer.contains("STAT num_threads 2\r\n"), "{answer}");
    assert!(answer.contains("STAT maxconns 77\r\n"), "{answer}");
}
