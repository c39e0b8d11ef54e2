//! Threads that use the thread-local memory of another one, which `clone` makes: their calls cannot be followed.

use std::fs;

use super::support::build::own_program;
use super::support::run::{Place, finish_hearing, has_opened_all};
use super::support::servers::assert_unhooked;
use super::working::Working;

fn start(arguments: &[&str]) -> Working {
    let program = own_program("shared", include_str!("shared.c"));
    Working::start(program, arguments)
}

const OUTPUT: &str = "2 threads, 0 wrong\n";
const SAID: &[&str] = &["one process left the session", "CLONE_SETTLS"];

/// Such a thread begins in the middle of a session.
#[test]
fn a_process_that_begins_such_a_thread_leaves_the_session() {
    let working = start(&[]);
    let pid = working.pid();
    let options = ["--interval", "handle_request", "--for", "6s"];
    let session = working.attach(&options).spawn().unwrap();
    let now = working.place.file("now");
    let run = finish_hearing(session, move |line| {
        if has_opened_all(line) {
            fs::write(&now, "").unwrap();
        }
    });
    run.ended(0).said(SAID);
    assert_unhooked(pid);
    let run = working.end();
    assert_eq!(run.ended(0).stdout, OUTPUT);
}

#[test]
fn a_program_that_begins_such_a_thread_goes_on_without_hooks() {
    let place = Place::new();
    let program = own_program("shared", include_str!("shared.c"));
    let mut command = place.evenkeel(["profile", "--interval", "handle_request", "--"]);
    command.arg(program).env("READY", place.file("ready"));
    let [now, enough] = ["now", "enough"].map(|name| place.file(name));
    command.env("WHEN", &now).env("UNTIL", &enough);
    let run = finish_hearing(command.spawn().unwrap(), move |line| {
        if has_opened_all(line) {
            fs::write(&now, "").unwrap();
            std::thread::sleep(std::time::Duration::from_secs(1));
            fs::write(&enough, "").unwrap();
        }
    });
    assert_eq!(run.ended(0).said(SAID).stdout, OUTPUT);
}

/// The thread was there before: nothing is changed.
#[test]
fn a_process_with_such_a_thread_is_refused() {
    let working = start(&["at once"]);
    let run = working.attached(&["--interval", "handle_request"]);
    run.ended(2).said(&["CLONE_SETTLS"]);
    assert_unhooked(working.pid());
    let run = working.end();
    assert_eq!(run.ended(0).stdout, OUTPUT);
}
