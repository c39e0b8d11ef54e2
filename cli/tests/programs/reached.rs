//! How far the search reaches: through functions that continue in another, between two calls, and into callbacks. The
//! report also gives the reason where the search stopped.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::expect::{Planted, below, named, number, quiet, the, ticks_per_ns};
use super::measure::{
    assert_complete, calls, closed, measured_once, measured_program, measured_quietly, quietest,
};
use crate::support::build::{program, program_with};
use crate::support::run::Place;

/// A function is hooked at its entry, and its only call lies under that hook: the search continues in the callee.
#[test]
fn a_function_that_continues_in_another_is_followed() {
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "thunk", "run_interval", 8_000);
    assert_complete(&profile, intervals);
    let work = below(the(&profile, "thunk"), "work");
    assert_eq!(calls(&work), 1.0, "{:#}", profile["tree"]);
    planted.assert_share(&profile, &work, 1.0);
}

/// A jump that cannot be redirected, short or conditional, leads to a function that is timed at its entry, below the one that jumps.
#[test]
fn jumps_that_cannot_be_redirected_are_followed() {
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "jumps_on", "run_interval", 8_000);
    assert_complete(&profile, intervals);
    // Covariances with the latency: 6.25e8 - 1.25e8 and 0.25e8 - 1.25e8 of 4e8.
    for (function, share) in [("slow", 1.25), ("quick", -0.25)] {
        let found = below(the(&profile, "decide"), function);
        assert!((calls(&found) - 0.5).abs() < 0.05, "{:#}", profile["tree"]);
        let inside = below(found[0], "vary");
        let seen = (&profile["tree"], &profile["rounds"]);
        assert_eq!(calls(&inside), calls(&found), "{seen:#?}");
        planted.assert_share(&profile, &found, share);
    }
    assert_eq!(named(&profile, "decide (not expanded)").len(), 0);
}

/// A function that continues in the middle of another makes calls that are not found, and the report says so.
#[test]
fn a_function_that_continues_inside_another_is_reported() {
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "jumps_inside", "run_interval", 8_000);
    assert_complete(&profile, intervals);
    planted.assert_share(&profile, &[the(&profile, "enter")], 1.0);
    let why = why_unseen(&profile, "enter");
    assert!(why.contains("by a jump"), "{why}");
}

/// Such a function that also makes calls in its own code.
#[test]
fn a_function_with_calls_that_continues_inside_another_is_reported() {
    let program = program_with("jumps_inside", "calls_too", &["-DCALLS_TOO"]);
    let (profile, _) = measured_program(&[], &program, "run_interval", 8_000);
    let unseen = profile["unseen"].to_string();
    assert!(unseen.contains("by a jump"), "{unseen}");
}

/// Code that was made at run time is in no file to be opened. To profile for longer would show no more, and is not advised.
#[test]
fn generated_code_is_reported() {
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "generated", "run_interval", 8_000);
    assert_complete(&profile, intervals);
    let unseen = profile["unseen"].to_string();
    assert!(
        unseen.contains("JIT") && !unseen.contains("--for"),
        "{unseen}"
    );
    // What runs there is not the interval's own code.
    assert_eq!(named(&profile, "body of run_interval").len(), 0);
}

/// The report's reason for not seeing into a function.
fn why_unseen<'p>(profile: &'p Value, name: &str) -> &'p str {
    let unseen = profile["unseen"].as_array().unwrap();
    let found = unseen.iter().find(|unseen| unseen["name"] == name);
    let found = found.unwrap_or_else(|| panic!("{name}: {unseen:#?}"));
    found["why"].as_str().unwrap()
}

/// An import that the search did not follow belongs to an ordinary library, not to the C library. The remedy that the
/// report names is a lower threshold, not --waits.
#[test]
fn an_import_that_was_not_opened_is_not_taken_for_the_c_library() {
    let _quiet = quiet();
    let library = program("imported");
    let beside = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
    let options = [library.to_str().unwrap(), &beside];
    let program = program_with("importer", "linked", &options);
    let options = ["--interval", "imported!handle", "--threshold", "100%"];
    let place = Place::new();
    place.profile(&options, &program, &["1600"]).ended(0);
    let profile = closed(place.json("run.json"));
    let why = why_unseen(&profile, "look_up");
    assert!(why.contains("--threshold"), "{why}");
}

/// A library that the loader found relative to the working folder is opened as any other.
#[test]
fn a_library_with_a_relative_path_is_seen() {
    let _quiet = quiet();
    let library = program("imported");
    let folder = format!("-L{}", library.parent().unwrap().display());
    let options = [folder.as_str(), "-l:imported", "-Wl,-rpath,."];
    let program = program_with("importer", "relative", &options);
    let place = Place::new();
    std::fs::copy(&library, place.file("imported")).unwrap();
    let options = ["--interval", "imported!handle", "--threshold", "100%"];
    place.profile(&options, &program, &["1600"]).ended(0);
    let profile = closed(place.json("run.json"));
    assert_eq!(calls(&[the(&profile, "look_up")]), 1.0);
}

/// A function is hooked at its entry, and its first instructions, under the hook, are a call: the callee is timed,
/// below it.
#[test]
fn a_call_under_the_hook_at_an_inner_entry_is_timed() {
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    for (variant, option) in [("wrapping-import", "-g"), ("wrapping", "-Wl,-Bsymbolic")] {
        let library = program_with("wrapped", variant, &[option]);
        let beside = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
        let options = [library.to_str().unwrap(), &beside];
        let program = program_with("importer", &format!("of-{variant}"), &options);
        let interval = format!("{}!handle", library.file_name().unwrap().to_str().unwrap());
        let measure = || measured_program(&[], &program, &interval, 8_000);
        let (profile, _) = quietest(measure, |(profile, _)| planted.noise(profile));
        let work = below(the(&profile, "wrap"), "work");
        assert_eq!(calls(&work), 1.0, "{variant}: {:#}", profile["tree"]);
        planted.assert_share(&profile, &work, 1.0);
        assert_eq!(named(&profile, "wrap (not expanded)").len(), 0, "{variant}");
    }
}

/// `under_entry` whose call goes through a pointer.
fn through_pointer() -> PathBuf {
    program_with("under_entry", "through_pointer", &["-DTHROUGH_POINTER"])
}

/// A call through a pointer lies under the hook of its function: the report names a remedy, and the remedy works.
#[test]
fn a_pointer_under_the_hook_is_reported_with_a_remedy() {
    let place = Place::new();
    let program = through_pointer();
    place
        .profile(&["--interval", "handle_request"], &program, &["8000"])
        .ended(0);
    let profile = closed(place.json("run.json"));
    let unseen = profile["unseen"].as_array().unwrap();
    let why = unseen.iter().filter_map(|unseen| unseen["why"].as_str());
    assert!(
        why.clone().any(|why| why.contains("caller>function")),
        "{unseen:#?}"
    );
    let (found, _) = measured_program(&[], &program, "main>handle_request", 8_000);
    assert_eq!(calls(&[the(&found, "work")]), 1.0);
}

/// The culprit of `around`: no function calls both what begins the interval and what ends it.
const AROUND: Planted = Planted {
    mean: 40e3,
    variance: 4e8,
};

/// Calls between two boundary calls are found in the functions that were active at both.
#[test]
fn calls_between_two_boundaries_are_expanded() {
    let name = "open_request..close_request";
    let (profile, _) = measured_quietly(&AROUND, "around", name, 8_000);
    let compute = below(the(&profile, "work"), "compute");
    AROUND.assert_share(&profile, &compute, 1.0);
    let body = named(&profile, &format!("body of {name}"));
    assert!(
        body.iter().all(|body| number(body, "share") < 0.1),
        "{:#}",
        profile["tree"]
    );
}

/// Annotated intervals, without a hint at the functions that they run in.
#[test]
fn calls_of_an_annotated_interval_are_expanded() {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include");
    let include = format!("-I{}", header.display());
    let options = ["-DANNOTATED", include.as_str()];
    let program = program_with("around", "around_annotated", &options);
    let place = Place::new();
    let _quiet = quiet();
    // On a busy machine nearly all of the variance is that of preemption.
    let options = ["--interval", "annotated", "--waits", "--threshold", "0.01%"];
    let (run, _) = place.profile_until_opened(&options, &program, &["8000"]);
    run.ended(0);
    let profile = closed(place.json("run.json"));
    let work = below(the(&profile, "work"), "compute");
    let ticks: f64 = work
        .iter()
        .map(|node| number(node, "mean_ns") * ticks_per_ns())
        .sum();
    assert!(ticks > 0.9 * AROUND.mean, "{:#}", profile["tree"]);
}

/// A callback of a C library function is timed below it, whether its caller names the callback or was given it.
#[test]
fn callbacks_of_the_c_library_are_expanded() {
    let planted = Planted {
        mean: 30e3,
        variance: 2.25e8,
    };
    for program in [
        program("callback"),
        program_with("callback", "given", &["-DGIVEN"]),
    ] {
        let (profile, _) = measured_program(&[], &program, "handle", 8_000);
        let weigh = named(&profile, "weigh");
        assert!(!weigh.is_empty(), "{:#}", profile["tree"]);
        let share: f64 = weigh.iter().map(|node| number(node, "share")).sum();
        assert!(
            share > 0.9 - planted.noise(&profile),
            "{:#}",
            profile["tree"]
        );
        assert_eq!(below(the(&profile, "qsort"), "weigh").len(), weigh.len());
    }
}

/// Smallest number of instructions in an interval of `interpreter`.
const INSTRUCTIONS: u64 = 200_000;

/// A process applies a plan at its next interval, and an interpreter's interval makes hundreds of thousands of calls.
/// The whole run traps fewer calls than one interval makes. They are a sample, and the report says so.
#[test]
fn an_interpreters_dispatch_is_sampled() {
    let profile = measured_once(&[], "interpreter", "run_interval", 3_000);
    let traps = profile["overhead"]["traps"].as_u64().unwrap();
    assert!(0 < traps && traps < INSTRUCTIONS, "{traps}");
    assert!(number(&profile["overhead"], "trapping_fraction") > 0.0);
    let warnings = profile["warnings"].to_string();
    assert!(warnings.contains("only a sample of them"), "{warnings}");
}
