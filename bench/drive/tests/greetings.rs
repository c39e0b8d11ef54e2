//! Servers that are none, or that greet in bytes of their own: an error with words, never a panic and never a hang.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use evenkeel_drive::target::{mariadb, postgres};
use proptest::prelude::*;

/// A listener that says `greeting` to whoever connects, takes what is answered for a moment, and hangs up. Its port.
fn greeter(greeting: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        // A client may try again.
        for mut stream in listener.incoming().take(8).flatten() {
            let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
            let _ = stream.write_all(&greeting);
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    port
}

/// The beginning of a server's greeting as MariaDB sends it, each part of which may be something else: a packet's header, version 10 of
/// the protocol, the server's version, and what follows.
fn mariadb_greeting() -> impl Strategy<Value = Vec<u8>> {
    let header = (0u8..120, 0u8..3).prop_map(|(length, sequence)| vec![length, 0, 0, sequence]);
    let version = "[0-9.]{0,8}(-MariaDB)?".prop_map(|text| [text.into_bytes(), vec![0]].concat());
    let rest = proptest::collection::vec(any::<u8>(), 0..80);
    let protocol = prop_oneof![Just(10u8), any::<u8>()];
    (header, protocol, version, rest).prop_map(|(header, protocol, version, rest)| {
        [header, vec![protocol], version, rest].concat()
    })
}

/// An answer to a startup packet: the kind of a message, its length, and a body.
fn postgres_answer() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(b'R'), Just(b'S'), Just(b'E'), Just(b'Z'), any::<u8>()];
    let body = proptest::collection::vec(any::<u8>(), 0..60);
    let message = (kind, 0i32..70, body).prop_map(|(kind, length, body)| {
        [vec![kind], length.to_be_bytes().to_vec(), body].concat()
    });
    proptest::collection::vec(message, 0..3).prop_map(|messages| messages.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn of_a_mariadb(greeting in mariadb_greeting()) {
        let url = format!("mysql://root@127.0.0.1:{}/test", greeter(greeting));
        let refused = mariadb::Target::at(&url, &[]);
        prop_assert!(refused.is_err_and(|error| !error.to_string().is_empty()));
    }

    #[test]
    fn of_a_postgresql(answer in postgres_answer()) {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", greeter(answer));
        let refused = postgres::Target::at(&url, &[]);
        prop_assert!(refused.is_err_and(|error| !error.to_string().is_empty()));
    }
}
