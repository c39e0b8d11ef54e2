//! Connections that wait in a listen queue are in no interval. The report begins with them.

mod support;
#[path = "attach/working.rs"]
mod working;

use support::build::own_program;
use support::run::finish;
use working::Working;

#[test]
fn connections_that_wait_to_be_accepted_are_reported_before_the_intervals() {
    let program = own_program("listening", include_str!("listening/listening.c"));
    let working = Working::start(program, &[]);
    let options = [
        "--interval",
        "handle_request",
        "--for",
        "3s",
        "-o",
        "run.keel",
    ];
    let session = working.attached(&options).ended(0);
    assert!(session.stderr.contains("before it"), "{}", session.stderr);
    let place = &working.place;
    let report = ["report", "run.keel", "--json=run.json", "--html=run.html"];
    finish(place.evenkeel(report).spawn().unwrap()).ended(0);
    let profile = place.json("run.json");
    let queues = profile["listen_queues"].as_array().unwrap();
    let [queue] = &queues[..] else {
        panic!("{queues:#?}")
    };
    assert!(queue["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    // One connection of twenty is served at a time; clients may be slow to come back.
    assert!(queue["mean"].as_f64().unwrap() > 2.0, "{queue}");
    let page = std::fs::read_to_string(place.file("run.html")).unwrap();
    assert!(page.contains("waited in the listen queue of 127.0.0.1:"));
    assert_eq!(working.end().code, Some(0));
}

#[test]
fn a_program_that_listens_nowhere_has_no_queue() {
    let working = Working::threads();
    let session = working.attached(&["--interval", "run_interval", "--for", "1s"]);
    assert!(!session.stderr.contains("before it"), "{}", session.stderr);
    working.end().ended(0);
}
