//! `evenkeel snapshot` shows what a running session has seen so far. A process without a session is refused.

mod support;
#[path = "attach/working.rs"]
mod working;

use support::run::{Place, Run, eventually, finish, signal};
use working::Working;

fn ask(place: &Place, arguments: &[&str]) -> Run {
    let words = [&["snapshot"], arguments].concat();
    finish(place.evenkeel(words).spawn().unwrap())
}

/// Asks until the session has something to say.
fn answer(place: &Place, arguments: &[&str]) -> Run {
    let mut last = None;
    eventually(|| {
        let run = ask(place, arguments);
        let answered = run.code == Some(0);
        last = Some(run);
        answered
    });
    last.unwrap().ended(0)
}

#[test]
fn a_session_shows_what_it_has_seen_and_goes_on() {
    let working = Working::threads();
    let options = ["--interval", "run_interval", "-o", "run.keel"];
    let session = working.attach(&options).spawn().unwrap();
    let (target, itself) = (working.pid().to_string(), session.id().to_string());
    let place = &working.place;

    let text = answer(place, &[&target, "--slowest=3", "--html", "now.html"]);
    for part in ["FINDINGS", "SLOWEST INTERVALS"] {
        assert!(text.stdout.contains(part), "{text:?}");
    }
    let text = text.said(&["its recording is", "run.keel"]);
    assert!(
        text.stderr
            .contains(place.file("run.keel").to_str().unwrap())
    );
    let page = std::fs::read_to_string(place.file("now.html")).unwrap();
    assert!(page.contains("</html>"));

    let json = answer(place, &[&itself, "--json"]);
    let profile: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let seen = profile["intervals_seen"].as_u64().unwrap();
    assert!(seen > 0);
    assert!(!profile["slowest"].as_array().unwrap().is_empty());

    signal(session.id() as i32, libc::SIGINT);
    finish(session).ended(0);
    let report = ["report", "run.keel", "--json=end.json"];
    finish(place.evenkeel(report).spawn().unwrap()).ended(0);
    let whole = place.json("end.json");
    assert!(whole["intervals_seen"].as_u64().unwrap() >= seen);
    // Gone with the session.
    ask(place, &[&target]).ended(2);
    working.end().ended(0);
}

#[test]
fn nothing_is_asked_of_a_process_without_a_session() {
    let place = Place::new();
    let number = std::process::id().to_string();
    ask(&place, &[&number]).ended(2).said(&["no session"]);
}
