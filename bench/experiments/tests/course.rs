//! Sequences of cheap experiments: their results, and how a stopped run continues.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_experiments::course::{Course, chosen, read, run};
use evenkeel_experiments::document::markdown;
use evenkeel_experiments::experiment::Effort;
use evenkeel_experiments::page::html;
use evenkeel_experiments::result::Outcome;
use evenkeel_experiments::verdict::Verdict;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Runs these, quickly, and counts how often an experiment was begun.
fn course(file: &Path, experiments: &[&str], resume: bool) -> (Vec<Outcome>, usize) {
    let (names, begun) = (names(experiments), AtomicUsize::new(0));
    let course = Course {
        names: &names,
        effort: Effort::Quick,
        file,
        resume,
        threads: 2,
        evenkeel: Path::new("evenkeel"),
    };
    let outcomes = run(&course, &AtomicBool::new(false), &|position| {
        begun.fetch_add(usize::from(position.part == 0.0), Ordering::Relaxed);
    });
    (outcomes.expect("a course"), begun.into_inner())
}

#[test]
fn the_theorems_hold_where_they_are_tried() {
    let folder = tempfile::tempdir().expect("a directory");
    let theorems = [
        "theorem-3.1",
        "theorem-4.2",
        "theorem-4.3",
        "lemma-4.4",
        "theorem-4.5",
        "theorem-4.6",
    ];
    let (outcomes, _) = course(&folder.path().join("results"), &theorems, false);
    for outcome in &outcomes {
        // That a ratio has no bound is seen in its growth only.
        let expected = match outcome.id.as_str() {
            "theorem-4.5" => Verdict::Direction,
            _ => Verdict::Agrees,
        };
        assert_eq!(outcome.verdict, expected, "{outcome:?}");
    }
    assert_eq!(outcomes.len(), theorems.len());
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("results");
    let (first, _) = course(&file, &["lemma-4.4"], false);
    // Killed while it wrote the next one.
    let written = std::fs::read_to_string(&file).expect("results");
    std::fs::write(&file, written + "{\"id\": \"theorem").expect("written");
    let both = ["lemma-4.4", "figure-2.1"];
    let (outcomes, begun) = course(&file, &both, true);
    assert_eq!(begun, 1);
    assert_eq!(
        outcomes.iter().find(|outcome| outcome.id == "lemma-4.4"),
        first.first()
    );
    // In the order of the list, whatever the order of the names; all of them are in the file.
    let ids = |outcomes: &[Outcome]| {
        outcomes
            .iter()
            .map(|one| one.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&outcomes), ["figure-2.1", "lemma-4.4"]);
    assert_eq!(read(&file).expect("results").len(), 2);
    // Without --resume all is measured again.
    assert_eq!(course(&file, &both, false).1, 2);
    // And what was measured before stays where others are.
    let (outcomes, begun) = course(&file, &["figure-2.1"], false);
    assert_eq!((begun, ids(&outcomes).len()), (1, 2));
}

#[test]
fn a_failed_measurement_has_its_reason_and_is_tried_again() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("results");
    // The commands that the first is made of are those of a program that is not there; the second needs none.
    let names = names(&["figure-3.2", "theorem-4.2"]);
    let run_with = |evenkeel: &str, resume: bool| {
        let course = Course {
            names: &names,
            effort: Effort::Quick,
            file: &file,
            resume,
            threads: 2,
            evenkeel: Path::new(evenkeel),
        };
        run(&course, &AtomicBool::new(false), &|_| ()).expect("a course")
    };
    let outcomes = run_with("/nowhere/evenkeel", false);
    let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    assert_eq!(verdicts, [Verdict::CannotTell, Verdict::Agrees]);
    assert!(
        outcomes[0].why.contains("cannot run another command"),
        "{outcomes:?}"
    );
    // A program that says why it could not.
    let outcomes = run_with("/bin/false", true);
    assert!(outcomes[0].why.contains("gave no result"), "{outcomes:?}");
    assert_eq!(outcomes[1].verdict, Verdict::Agrees);
}

#[test]
fn the_time_left_falls_to_nothing() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("results");
    let names = names(&["theorem-4.2", "lemma-4.4"]);
    let course = Course {
        names: &names,
        effort: Effort::Quick,
        file: &file,
        resume: false,
        threads: 1,
        evenkeel: Path::new("evenkeel"),
    };
    let left = Mutex::new(Vec::new());
    let outcomes = run(&course, &AtomicBool::new(false), &|position| {
        left.lock().expect("no panic").push(position.left);
    });
    assert_eq!(outcomes.expect("a course").len(), 2);
    let left = left.into_inner().expect("no panic");
    assert!(
        left[0] > Duration::ZERO && left[left.len() - 1] < left[0],
        "{left:?}"
    );
}

#[test]
fn a_file_of_something_else_is_refused_and_named() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("results");
    std::fs::write(&file, "{\"id\": 3}\n").expect("written");
    let error = read(&file).expect_err("no result").to_string();
    assert!(
        error.contains("results line 1") && error.contains("--resume"),
        "{error}"
    );
    let unknown = names(&["figure-9.9"]);
    let error = chosen(&unknown)
        .map(|_| ())
        .expect_err("unknown")
        .to_string();
    assert!(
        error.contains("figure-9.9") && error.contains("--list"),
        "{error}"
    );
}

#[test]
fn a_simulated_item_stands_on_the_page_and_in_the_document_with_its_verdict() {
    let folder = tempfile::tempdir().expect("a directory");
    let (outcomes, _) = course(
        &folder.path().join("results"),
        &["figure-4.16", "table-2.4"],
        false,
    );
    let (page, document) = (html(&outcomes), markdown(&outcomes));
    for outcome in &outcomes {
        assert!(page.contains(&outcome.id) && page.contains(outcome.verdict.words()));
        assert!(document.contains(&outcome.paper.item));
    }
    // The first table has every claim, and a line for an item without one.
    let (opening, _) = document.split_once("\n## Figure").expect("sections");
    for line in ["FIFO over bLDSF, all exclusive | 70 |", "| manual effort |"] {
        assert!(opening.contains(line), "{line}\n{opening}");
    }
    let section =
        "[Figure 4.16](#figure-416-latency-by-the-number-of-exclusive-locks-microbenchmark)";
    assert!(opening.contains(section), "{opening}");
    assert!(page.contains("<svg") && document.contains("FIFO over bLDSF, all exclusive | 70 |"));
    let figure = outcomes
        .iter()
        .find(|outcome| outcome.id == "figure-4.16")
        .expect("measured");
    // At FIFO's throughput bLDSF has no queue, FIFO has all of its 300 clients: that much is certain for any draws.
    let gain = figure
        .finding
        .claims
        .iter()
        .find(|claim| claim.what.contains("FIFO over bLDSF, all"));
    assert!(gain.expect("a claim").low > 2.0, "{figure:?}");
    assert_eq!(
        outcomes[0].measured.is_some(),
        outcomes[0].interval.is_some()
    );
}
