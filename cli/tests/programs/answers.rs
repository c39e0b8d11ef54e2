//! The planted variance of every program that has one, found by an ordinary run that refines as it likes.

use std::path::Path;

use serde_json::Value;

use super::expect::{Planted, below, named, number, quiet, the, ticks_per_ns};
use super::measure::{
    EVERY_INTERVAL, assert_complete, calls, closed, measured, measured_once, measured_quietly,
    measured_with, quietest, with_truth,
};
use crate::support::build::{program, program_with};
use crate::support::run::{Place, has_opened_all};

/// The pair's covariance below `node`; none is listed where it is next to nothing, as beside stalls of the machine.
fn covariance<'a>(node: &'a Value, a: &str, b: &str) -> Option<&'a Value> {
    let at = |name: &str| {
        node["children"]
            .as_array()
            .unwrap()
            .iter()
            .position(|child| child["name"] == name)
            .unwrap()
    };
    let pair = [at(a), at(b)];
    let covariances = node["covariances"].as_array().unwrap();
    let is_pair = |c: &&Value| {
        [&c["a"], &c["b"]]
            .iter()
            .all(|index| pair.contains(&(index.as_u64().unwrap() as usize)))
    };
    covariances.iter().find(is_pair)
}

#[test]
fn independent_stages() {
    let (profile, intervals, truth) = with_truth("stages", "run_interval", 3000);
    assert_complete(&profile, intervals);
    for (column, stage) in ["stage_a", "stage_b", "stage_c"].into_iter().enumerate() {
        let node = the(&profile, stage);
        assert_eq!(number(node, "calls_mean"), 1.0);
        truth.assert_node(node, column + 1);
    }
    // Where the machine is quiet enough for the planted 80 % to show, it ranks first.
    if number(the(&profile, "stage_a"), "share") > 0.6 {
        assert_eq!(profile["factors"][0]["functions"][0], "stage_a");
    }
}

#[test]
fn a_planted_covariance() {
    let measure = || with_truth("shared_size", "handle_request", 3000);
    let (profile, intervals, truth) = quietest(measure, |(_, _, truth)| truth.covariance(1, 2).1);
    assert_complete(&profile, intervals);
    truth.assert_node(the(&profile, "read_request"), 1);
    truth.assert_node(the(&profile, "write_answer"), 2);
    truth.assert_covariance(
        covariance(&profile["tree"], "read_request", "write_answer"),
        1,
        2,
    );
}

#[test]
fn one_function_from_two_sites() {
    let (profile, intervals, truth) = with_truth("two_sites", "run_interval", 3000);
    assert_complete(&profile, intervals);
    let mut found = named(&profile, "work");
    assert_eq!(
        found.len(),
        2,
        "two sites are two nodes: {:#}",
        profile["tree"]
    );
    // The sites in the order of the code, which is that of the calls.
    found.sort_by_key(|node| {
        u64::from_str_radix(
            node["site"].as_str().unwrap().split("+0x").nth(1).unwrap(),
            16,
        )
        .unwrap()
    });
    truth.assert_node(found[0], 1);
    truth.assert_node(found[1], 2);
    let factor = profile["factors"]
        .as_array()
        .unwrap()
        .iter()
        .find(|factor| factor["functions"][0] == "work")
        .unwrap();
    assert_eq!(
        factor["paths"].as_array().unwrap().len(),
        2,
        "one factor sums both nodes: {factor}"
    );
}

#[test]
fn recursion() {
    // u = 20,000 ticks: Var(L) = 9.25 u^2; walk 5.25/9.25, even (odd within) 4/9.25.
    let planted = Planted {
        mean: 150e3,
        variance: 9.25 * 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "recursion", "run_interval", 6_000);
    assert_complete(&profile, intervals);
    let outermost = |name: &str| -> Vec<&Value> {
        profile["tree"]["children"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|child| child["name"] == name)
            .collect()
    };
    planted.assert_share(&profile, &outermost("walk"), 5.25 / 9.25);
    planted.assert_share(&profile, &outermost("even"), 4.0 / 9.25);
    // Opened, recursion shows level by level: as many calls as there are.
    let (walk, mutual) = (
        calls(&named(&profile, "walk")),
        calls(&named(&profile, "even")) + calls(&named(&profile, "odd")),
    );
    assert!(
        (walk - 4.5).abs() < 0.1 && (mutual - 3.0).abs() < 0.1,
        "walk {walk}, even and odd {mutual}: {:#}",
        profile["rounds"]
    );
}

#[test]
fn callees_of_short_pointer_calls() {
    let planted = Planted {
        mean: 120e3,
        variance: 3.2e9,
    };
    let (profile, intervals) = measured_quietly(&planted, "indirect", "run_interval", 10_000);
    assert_complete(&profile, intervals);
    for caller in ["call_register", "call_memory"] {
        let node = the(&profile, caller);
        planted.assert_share(&profile, &[node], 0.5);
        for callee in ["quick", "slow"] {
            let found = below(node, callee);
            assert!(
                (calls(&found) - 0.5).abs() < 0.02,
                "{caller} calls {callee} half of the time: {node:#}"
            );
        }
    }
}

/// 273 call sites, more than the budget of probes. Four of them run, and none in the first half second.
#[test]
fn a_dispatcher_that_begins_late() {
    let planted = Planted {
        mean: 65e3,
        variance: 180e3 * 180e3 * 3.0 / 16.0,
    };
    let (profile, intervals) = measured_quietly(&planted, "dispatcher", "dispatch", 20_000);
    assert_complete(&profile, intervals);
    // The slow step takes 200,000 ticks instead of 20,000 of another: those covary with the latency, by a little and negatively.
    planted.assert_share(&profile, &[the(&profile, "step_1272")], 10.0 / 9.0);
    for step in ["step_1007", "step_1100", "step_1200"] {
        planted.assert_share(&profile, &[the(&profile, step)], -1.0 / 27.0);
    }
    for step in ["step_1007", "step_1100", "step_1200", "step_1272"] {
        let found = named(&profile, step);
        assert!(
            (calls(&found) - 0.25).abs() < 0.01,
            "{step}: {:#}",
            profile["tree"]
        );
    }
}

/// The profile of a program whose `serve` changes once all is opened, and that ends when all is opened again, with `inner` among it.
fn across_a_change(name: &str, block: &str) -> Value {
    let place = Place::new();
    let (change, enough) = (place.file("change"), place.file("enough"));
    let _quiet = quiet();
    let hear = move |line: &str| {
        if has_opened_all(line) {
            let has_changed = line.contains("inner");
            std::fs::write(if has_changed { &enough } else { &change }, "").unwrap();
        }
    };
    let options = ["--interval", "serve"];
    let (run, _) = place.profile_hearing(&options, &program(name), &[block], hear);
    run.ended(0);
    closed(place.json("run.json"))
}

/// A function is in the tree, or was found in a round that the report does not rest on.
#[track_caller]
fn assert_found(profile: &Value, name: &str) {
    let seen = profile["seen_elsewhere"].as_array().into_iter().flatten();
    let mut paths = seen.map(|path| path["path"].as_str().unwrap());
    let is_found = !named(profile, name).is_empty() || paths.any(|path| path.contains(name));
    assert!(is_found, "{name}: {:#}", profile["tree"]);
}

/// The calls that run after the first rest were not there when the search began: inner, one call below late.
#[test]
fn a_load_that_changes() {
    let profile = across_a_change("phases", "20000");
    assert!(!named(&profile, "late").is_empty(), "{:#}", profile["tree"]);
    assert_found(&profile, "early");
    assert_found(&profile, "inner");
}

/// A call that cost too much while intervals were short is timed again when they are slow, so that its time is not
/// serve's own. The report may rest on the many short intervals, where only noise varies, also serve's own. It must
/// not show the slow ones' time as serve's own, and it names the round and call that have it.
#[test]
fn intervals_that_become_slow() {
    let profile = across_a_change("slower", "2000");
    assert_found(&profile, "work");
    assert_found(&profile, "inner");
    for own in named(&profile, "body of serve") {
        let is_short = number(own, "mean_ns") * ticks_per_ns() < 0.1 * 20e3;
        let seen = profile["seen_elsewhere"].as_array().into_iter().flatten();
        let mut slow = seen.filter(|path| path["path"].as_str().unwrap().contains("inner"));
        let is_told_apart = slow.any(|path| number(path, "share") > 0.9);
        let is_noise = is_short && is_told_apart;
        assert!(is_noise || number(own, "share") < 0.1, "{own:#}");
    }
}

/// 41 calls through a register in one function: the last one lies far from the first 24, and calls forty callees.
#[test]
fn forty_pointers_and_forty_callees() {
    let (profile, _) = measured("pointers", "evaluate", 100_000);
    for (name, expected) in [
        ("slow", 0.5),
        ("quick", 0.5),
        ("callee_10", 0.025),
        ("callee_49", 0.025),
    ] {
        let found = named(&profile, name);
        assert!(
            (calls(&found) - expected).abs() < 0.02,
            "{name}: {:#}",
            profile["tree"]
        );
    }
}

#[test]
fn virtual_functions() {
    let planted = Planted {
        mean: 120e3,
        variance: 4e9,
    };
    let (profile, intervals) = measured_quietly(&planted, "virtual", "run_interval", 10_000);
    assert_complete(&profile, intervals);
    let both = |method: &str| {
        [
            named(&profile, &format!("Circle::{method}")),
            named(&profile, &format!("Square::{method}")),
        ]
        .concat()
    };
    for (method, share) in [("area", 0.1), ("scale", 0.9)] {
        let found = both(method);
        assert!(
            (calls(&found) - 1.0).abs() < 0.02,
            "{method}: {:#}",
            profile["tree"]
        );
        planted.assert_share(&profile, &found, share);
    }
}

#[test]
fn a_library_opened_at_run_time() {
    // Opened from the executable: through call_plugin's pointer into plugin.so.
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "dlopen", "main>run_interval", 20_000);
    assert_complete(&profile, intervals);
    planted.assert_share(&profile, &[the(&profile, "call_plugin")], 1.0);
    let found = named(&profile, "plugin_work");
    // The library is unloaded and loaded again; a hook has to be back within moments.
    assert!(calls(&found) > 0.9, "{:#}", profile["tree"]);
}

#[test]
fn an_interval_in_a_library_opened_later() {
    // The program opens it four times; every one of its calls is an interval, from the first on.
    let (profile, intervals) = measured("dlopen", "plugin.so!plugin_work", 1600);
    assert_complete(&profile, intervals);
}

#[test]
fn think_time_between_two_functions() {
    let planted = Planted {
        mean: 140e3,
        variance: 4e9,
    };
    let (profile, intervals) = measured_quietly(
        &planted,
        "pair",
        "begin_transaction..commit_transaction|roll_back_transaction",
        4_000,
    );
    assert_complete(&profile, intervals);
    let statements = named(&profile, "execute_statement");
    assert_eq!(statements.len(), 2, "two sites: {:#}", profile["tree"]);
    planted.assert_share(&profile, &statements, 0.1);
    // The client's time lies outside of every timed call.
    let root = profile["tree"]["name"].as_str().unwrap();
    planted.assert_share(&profile, &[the(&profile, &format!("body of {root}"))], 0.9);
    // One in sixteen is rolled back once in its interval; the second roll-back ends none.
    let (commits, roll_backs) = (
        site_calls(&profile, "commit_transaction"),
        site_calls(&profile, "roll_back_transaction"),
    );
    assert!(
        (commits - 15.0 / 16.0).abs() < 0.02 && (roll_backs - 1.0 / 16.0).abs() < 0.02,
        "{commits} {roll_backs}"
    );
}

/// Calls of a function from `serve`.
fn site_calls(profile: &Value, name: &str) -> f64 {
    calls(
        &named(profile, name)
            .into_iter()
            .filter(|node| node["site"].as_str().unwrap().starts_with("serve"))
            .collect::<Vec<_>>(),
    )
}

/// The hook at the entry carries out the call that it displaces, and times it.
#[test]
fn a_call_under_the_hook_at_the_entry() {
    // 10,000 or 50,000 ticks, all of them in work.
    let planted = Planted {
        mean: 30e3,
        variance: 4e8,
    };
    let (profile, intervals) = measured_quietly(&planted, "under_entry", "handle_request", 8_000);
    assert_complete(&profile, intervals);
    let work = the(&profile, "work");
    assert_eq!(number(work, "calls_mean"), 1.0);
    planted.assert_share(&profile, &[work], 1.0);
    assert_eq!(profile["unpatched"].as_array().unwrap().len(), 0);
}

/// Only the call that explains most has room. The time of the others is not shown as the function's own code, and the
/// report says what would time them.
#[test]
fn time_of_calls_that_are_not_timed_is_no_own_code() {
    let options = [&EVERY_INTERVAL[..], &["--max-probes", "1"]].concat();
    let (profile, _) = measured_with(&options, "longjmp", "handle_statement", 8_000);
    // parse is called and has no variance.
    let rest = named(&profile, "handle_statement (not expanded)");
    assert_eq!(rest.len(), 1, "{:#}", profile["unpatched"]);
    assert_eq!(rest[0]["kind"], "not_opened");
    let is_parse = |site: &&Value| {
        let name = site["site"].as_str().unwrap();
        name.starts_with("handle_statement+") && site["hides_time"] == true
    };
    let unpatched = profile["unpatched"].as_array().unwrap();
    let site = unpatched.iter().find(is_parse);
    let site = site.unwrap_or_else(|| panic!("{unpatched:#?}"));
    let reason = site["reason"].as_str().unwrap();
    assert!(reason.contains("--max-probes"), "{reason}");
}

/// All of the variance is in a call that cannot be timed, of a function that is called through a pointer and cannot be hooked. Nothing of
/// that is a function's own code, and what is not seen has the function's name.
#[test]
fn callees_of_pointers_are_named() {
    let _quiet = quiet();
    let measure = |program: &Path| {
        let place = Place::new();
        let options = [&EVERY_INTERVAL[..], &["--interval", "handle"]].concat();
        let (run, _) = place.profile_until_opened(&options, program, &["8000"]);
        run.ended(0);
        closed(place.json("run.json"))
    };
    let answer = |program: &Path| {
        let error = |profile: &Value| number(&profile["unseen"][0], "se");
        let profile = quietest(|| measure(program), error);
        let unseen = &profile["unseen"][0];
        let tolerance = 0.1 + 4.0 * error(&profile);
        let all = number(unseen, "share") + tolerance >= 1.0;
        assert!(all, "{:#}", profile["unseen"]);
        let why = unseen["why"].as_str().unwrap().to_owned();
        (profile, why)
    };
    let (_, why) = answer(&program("behind_pointer"));
    assert!(why.starts_with("it calls work: a call in it"), "{why}");
    let (profile, why) = answer(&program_with("behind_pointer", "short", &["-DSHORT"]));
    assert!(why.contains(" to work, whose entry cannot be"), "{why}");
    assert_eq!(named(&profile, "handle (not expanded)").len(), 1);
    assert_eq!(named(&profile, "body of handle").len(), 0);
}

/// Slow intervals make many tiny calls, more than a ring holds. The profiler stops timing these calls, so that slow
/// intervals are kept. Otherwise the mean would be that of the fast ones, less than a thirtieth.
#[test]
fn slow_intervals_of_many_calls_are_kept() {
    // The program's guaranteed mean. A slow machine stops some intervals for long, and intervals with timed calls
    // take longer, so the durations of the whole run differ from those of a round.
    const MEAN_AT_LEAST_TICKS: f64 = 620_000.0;
    const SLOW_AT_LEAST_TICKS: f64 = 6_000_000.0;
    let (profile, _, truth) = with_truth("crowded", "run_interval", 2000);
    let mean = number(&profile, "mean_ns") * ticks_per_ns();
    let rounds = &profile["rounds"];
    assert!(mean > 0.8 * MEAN_AT_LEAST_TICKS, "{mean} ticks: {rounds:#}");
    // The median of the slow ones. Were half of them lost, it would be the time of a fast one.
    let percentile = |name| number(&profile["percentiles_ns"], name) * ticks_per_ns();
    assert!(percentile("p95") >= SLOW_AT_LEAST_TICKS, "{rounds:#}");
    assert!(percentile("max") < 1.01 * truth.quantile(0, 1.0));
    assert!(number(the(&profile, "work"), "share") > 0.9);
    let reported = profile["unpatched"].to_string() + &profile["warnings"].to_string();
    assert!(reported.contains("lost records"), "{reported}");
}

/// One interval in 5,000 stalls for 40 ms. Where not all can be recorded, every stall is, and the stalls are the
/// answer.
#[test]
fn rare_stalls_are_all_kept() {
    const ONE_IN: f64 = 5_000.0;
    let options = ["--max-overhead", "4%"];
    let profile = measured_once(&options, "stalls", "serve", 300_000);
    let sampling = &profile["sampling"];
    assert_eq!(sampling["rule"], "latency");
    assert!(number(sampling, "seen") > 0.9 * 300_000.0, "{sampling:#}");
    assert!(number(sampling, "slowest") >= 0.9 / ONE_IN, "{sampling:#}");
    // What a busy machine adds is no stall.
    let share = number(the(&profile, "write_log"), "share");
    assert!(share > 0.6, "{share}: {sampling:#}");
    // As clients see it: one of 5,000 takes 40 ms, so the deviation is at least 0.57 ms.
    let sd_ms = 1e-6 * number(sampling, "sd_ns");
    assert!(sd_ms > 0.5, "{sd_ms}");
}
