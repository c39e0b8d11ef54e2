//! Servers that send a wrong or foreign greeting: an error with words, never a panic and never a hang.

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

/// The beginning of a MariaDB server's greeting, with random changes in each part: a packet's header, version 10 of
/// the protocol, the server's version, and the rest.
fn mariadb_greeting() -> impl Strategy<Value = Vec<u8>> {
    let header = (0u8..120, 0u8..3).prop_map(|(length, sequence)| vec![length, 0, 0, sequence]);
    let version = "[0-9.]{0,8}(-MariaDB)?".prop_map(|text| [text.into_bytes(), vec![0]].concat());
    let rest = proptest::collection::vec(any::<u8>(), 0..80);
    let protocol = prop_oneof![Just(10u8), any::<u8>()];
    (header, protocol, version, rest).prop_map(|(header, protocol, version, rest)| {
        [header, vec![protocol], version, rest].concat()
    })
}

/// A greeting that is whole and right, but for the length of the scramble that it says follows.
fn greeting_with_scramble_of(length: u8) -> Vec<u8> {
    let fixed = [
        b"\x0a10.11.6-MariaDB\0".as_slice(),
        &[1, 0, 0, 0],
        b"saltsalt\0",
        // Capabilities, collation, status, more capabilities.
        &[0xfe, 0xf7, 45, 2, 0, 0xff, 0x81],
        &[length],
        &[0; 10],
        b"saltsaltsalt\0",
        b"mysql_native_password\0",
    ]
    .concat();
    let size = u8::try_from(fixed.len()).expect("it is short");
    [vec![size, 0, 0, 0], fixed].concat()
}

/// A whole greeting with some bytes changed, and all that follows cut off.
fn changed_greeting() -> impl Strategy<Value = Vec<u8>> {
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (changes, any::<prop::sample::Index>()).prop_map(|(changes, end)| {
        let mut greeting = greeting_with_scramble_of(21);
        for (at, byte) in changes {
            let at = at.index(greeting.len());
            greeting[at] = byte;
        }
        greeting.truncate(1 + end.index(greeting.len()));
        greeting
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

/// No server follows the greeting, so each is refused. Lengths from 128 are negative to a parser that reads them as
/// signed.
#[test]
fn scrambles_of_any_length_are_refused() {
    for length in [0, 7, 8, 21, 127, 128, 131, 135, 136, 255] {
        let url = format!(
            "mysql://root@127.0.0.1:{}/test",
            greeter(greeting_with_scramble_of(length))
        );
        let refused = mariadb::Target::at(&url, &[]).map(|_| ());
        let error = refused.expect_err("nobody answers").to_string();
        assert!(!error.is_empty(), "a scramble of {length} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn of_a_mariadb(greeting in prop_oneof![mariadb_greeting(), changed_greeting()]) {
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
