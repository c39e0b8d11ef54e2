//! The planted answer of every program, found by an ordinary run that refines as it likes.

use serde_json::Value;

use super::expect::{Planted, Truth, below, named, number, quiet, the};
use crate::support::build::program;
use crate::support::run::Place;

/// Reasons for which refinement itself may cost intervals: it changes the plan while they run.
const CHANGED: [&str; 2] = ["plan changed or thread forked", "plan changed under it"];
const LEFT_EARLY: &str = "left early (longjmp, exception or error)";

/// The profile of a run with nothing else of this test program beside it.
fn measured(name: &str, interval: &str, intervals: u64) -> Value {
    let program = program(name);
    let place = Place::new();
    let _quiet = quiet();
    place.profile(&["--interval", interval], &program, &[&intervals.to_string()]).ended(0);
    closed(place.json("run.json"))
}

/// The same with the durations that the program measured.
fn with_truth(name: &str, interval: &str, intervals: u64) -> (Value, Truth) {
    let program = program(name);
    let place = Place::new();
    let _quiet = quiet();
    place.profile(&["--interval", interval], &program, &[&intervals.to_string(), "truth"]).ended(0);
    let truth = Truth::read(&place.file("truth"));
    assert_eq!(truth.intervals() as u64, intervals);
    (closed(place.json("run.json")), truth)
}

fn closed(profile: Value) -> Value {
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
    assert_eq!(number(&profile["tree"], "share"), 1.0, "the root's share");
    profile
}

fn discarded(profile: &Value, reason: &str) -> u64 {
    profile["discarded_by_reason"][reason].as_u64().unwrap_or(0)
}

/// Every interval was seen, and none left out but for changes of the plan, a handful a round.
#[track_caller]
fn assert_complete(profile: &Value, intervals: u64) {
    assert_eq!(profile["intervals_seen"], intervals, "{:?} {:?}", profile["discarded_by_reason"], profile["warnings"]);
    let changed: u64 = CHANGED.iter().map(|reason| discarded(profile, reason)).sum();
    assert_eq!(profile["discarded"], changed, "{}", profile["discarded_by_reason"]);
    let rounds = profile["rounds"].as_array().unwrap().len() as u64;
    assert!(changed <= rounds, "one thread runs one interval at a time: {}", profile["discarded_by_reason"]);
}

/// The pair's covariance below `node`.
#[track_caller]
fn covariance<'a>(node: &'a Value, a: &str, b: &str) -> &'a Value {
    let at = |name: &str| node["children"].as_array().unwrap().iter().position(|child| child["name"] == name).unwrap();
    let pair = [at(a), at(b)];
    let covariances = node["covariances"].as_array().unwrap();
    let is_pair = |c: &&Value| [&c["a"], &c["b"]].iter().all(|index| pair.contains(&(index.as_u64().unwrap() as usize)));
    covariances.iter().find(is_pair).unwrap_or_else(|| panic!("{a} and {b} covary: {covariances:?}"))
}

fn calls(found: &[&Value]) -> f64 {
    found.iter().map(|node| number(node, "calls_mean")).sum()
}

#[test]
fn independent_stages() {
    let (profile, truth) = with_truth("stages", "run_interval", 3000);
    assert_complete(&profile, 3000);
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
    let (profile, truth) = with_truth("shared_size", "handle_request", 3000);
    assert_complete(&profile, 3000);
    truth.assert_node(the(&profile, "read_request"), 1);
    truth.assert_node(the(&profile, "write_answer"), 2);
    truth.assert_covariance(covariance(&profile["tree"], "read_request", "write_answer"), 1, 2);
}

#[test]
fn one_function_from_two_sites() {
    let (profile, truth) = with_truth("two_sites", "run_interval", 3000);
    assert_complete(&profile, 3000);
    let mut found = named(&profile, "work");
    assert_eq!(found.len(), 2, "two sites are two nodes: {:#}", profile["tree"]);
    // The sites in the order of the code, which is that of the calls.
    found.sort_by_key(|node| u64::from_str_radix(node["site"].as_str().unwrap().split("+0x").nth(1).unwrap(), 16).unwrap());
    truth.assert_node(found[0], 1);
    truth.assert_node(found[1], 2);
    let factor = profile["factors"].as_array().unwrap().iter().find(|factor| factor["functions"][0] == "work").unwrap();
    assert_eq!(factor["paths"].as_array().unwrap().len(), 2, "one factor sums both nodes: {factor}");
}

#[test]
fn recursion() {
    // u = 20,000 ticks: Var(L) = 9.25 u^2; walk 5.25/9.25, even (odd within) 4/9.25.
    let planted = Planted { mean: 150e3, variance: 9.25 * 4e8 };
    let profile = measured("recursion", "run_interval", 24_000);
    assert_complete(&profile, 24_000);
    let outermost = |name: &str| -> Vec<&Value> {
        profile["tree"]["children"].as_array().unwrap().iter().filter(|child| child["name"] == name).collect()
    };
    planted.assert_share(&profile, &outermost("walk"), 5.25 / 9.25);
    planted.assert_share(&profile, &outermost("even"), 4.0 / 9.25);
    // Opened, recursion shows level by level: as many calls as there are.
    let (walk, mutual) = (calls(&named(&profile, "walk")), calls(&named(&profile, "even")) + calls(&named(&profile, "odd")));
    assert!((walk - 4.5).abs() < 0.1 && (mutual - 3.0).abs() < 0.1, "walk {walk}, even and odd {mutual}: {:#}", profile["rounds"]);
}

#[test]
fn errors_that_leave_the_interval_by_longjmp() {
    let profile = measured("longjmp", "handle_statement", 32_000);
    // Half of the intervals are left by siglongjmp, which is noticed when the next one begins. They count as seen and
    // are discarded as "left early"; if the last one is of that kind, nothing begins after it to tell.
    let seen = profile["intervals_seen"].as_u64().unwrap();
    assert!(seen == 32_000 || seen == 31_999, "{seen}");
    let changed: u64 = CHANGED.iter().map(|reason| discarded(&profile, reason)).sum();
    let left = discarded(&profile, LEFT_EARLY);
    assert!((15_999 - changed..=16_000).contains(&left), "{}", profile["discarded_by_reason"]);
    // Two rows, 20,000 ticks each, in each complete one: nothing of an abandoned interval is attributed to the next.
    let mean = number(&profile, "mean_ns") * super::expect::ticks_per_ns();
    assert!(mean > 0.95 * 40e3, "{mean}");
    // Half of the complete ones catch the error of their first row: that call never returns and is its caller's own time.
    let rows = calls(&named(&profile, "fetch_row"));
    assert!((rows - 1.5).abs() < 0.05, "{rows}: {:#}", profile["tree"]);
}

#[test]
fn errors_that_leave_the_interval_by_an_exception() {
    let profile = measured("exceptions", "handle_request", 16_000);
    let seen = profile["intervals_seen"].as_u64().unwrap();
    assert!(seen == 16_000 || seen == 15_999, "{seen}");
    // A quarter is left by the exception; noticed like longjmp, at the next beginning.
    let changed: u64 = CHANGED.iter().map(|reason| discarded(&profile, reason)).sum();
    let left = discarded(&profile, LEFT_EARLY);
    assert!((3_999 - changed..=4_000).contains(&left), "{}", profile["discarded_by_reason"]);
    assert!((calls(&named(&profile, "outer")) - 1.0).abs() < 0.01);
    assert!(number(&profile, "mean_ns") * super::expect::ticks_per_ns() > 0.95 * 20e3);
}

#[test]
fn children_of_fork() {
    let profile = measured("fork", "handle_request", 60);
    // 60 in the parent, 5 in each of 20 executed and 20 serving children. The interval in whose middle a child was forked
    // is its parent's: the child that returns from it too has not begun it, so its copy is neither seen nor discarded.
    assert_complete(&profile, 60 + 20 * 5 + 20 * 5);
    assert_eq!(number(the(&profile, "spawn"), "calls_mean"), 1.0);
}

#[test]
fn vfork_spawn_and_system() {
    let profile = measured("vfork", "handle_request", 80);
    assert_complete(&profile, 80);
    assert_eq!(number(the(&profile, "step"), "calls_mean"), 1.0);
}

#[test]
fn handlers_of_signals() {
    let profile = measured("signals", "run_interval", 40_000);
    assert_complete(&profile, 40_000);
    // Two calls by the interval itself; those by handlers that struck in between come on top.
    let work = calls(&named(&profile, "work").into_iter().filter(|node| node["site"].as_str().unwrap().starts_with("run_interval")).collect::<Vec<_>>());
    assert!((work - 2.0).abs() < 0.01, "{work}");
}

#[test]
fn short_lived_threads() {
    // All of the variance is in work: 10,000 or 30,000 ticks.
    let planted = Planted { mean: 20e3, variance: 1e8 };
    let profile = measured("threads", "serve>run_interval", 2016);
    assert_complete(&profile, 2016);
    planted.assert_share(&profile, &named(&profile, "work"), 1.0);
}

#[test]
fn tail_calls() {
    // handle_small, handle_large and finish are jumped to: their time is that of the one call there is.
    let planted = Planted { mean: 50e3, variance: 1.2e9 };
    let profile = measured("tail", "main>run_interval", 16_000);
    assert_complete(&profile, 16_000);
    let dispatch = the(&profile, "dispatch");
    assert_eq!(number(dispatch, "calls_mean"), 1.0);
    planted.assert_share(&profile, &[dispatch], 1.0);
}

#[test]
fn callees_of_short_pointer_calls() {
    let planted = Planted { mean: 120e3, variance: 3.2e9 };
    let profile = measured("indirect", "run_interval", 40_000);
    assert_complete(&profile, 40_000);
    for caller in ["call_register", "call_memory"] {
        let node = the(&profile, caller);
        planted.assert_share(&profile, &[node], 0.5);
        for callee in ["quick", "slow"] {
            let found = below(node, callee);
            assert!((calls(&found) - 0.5).abs() < 0.02, "{caller} calls {callee} half of the time: {node:#}");
        }
    }
}

#[test]
fn virtual_functions() {
    let planted = Planted { mean: 120e3, variance: 4e9 };
    let profile = measured("virtual", "run_interval", 40_000);
    assert_complete(&profile, 40_000);
    let both = |method: &str| [named(&profile, &format!("Circle::{method}")), named(&profile, &format!("Square::{method}"))].concat();
    for (method, share) in [("area", 0.1), ("scale", 0.9)] {
        let found = both(method);
        assert!((calls(&found) - 1.0).abs() < 0.02, "{method}: {:#}", profile["tree"]);
        planted.assert_share(&profile, &found, share);
    }
}

#[test]
fn a_library_opened_at_run_time() {
    // Opened from the executable: through call_plugin's pointer into plugin.so.
    let planted = Planted { mean: 30e3, variance: 4e8 };
    let profile = measured("dlopen", "main>run_interval", 80_000);
    assert_complete(&profile, 80_000);
    planted.assert_share(&profile, &[the(&profile, "call_plugin")], 1.0);
    let found = named(&profile, "plugin_work");
    // The library is unloaded and loaded again; a hook has to be back within moments.
    assert!(calls(&found) > 0.9, "{:#}", profile["tree"]);
}

#[test]
fn coroutines() {
    let profile = measured("coroutines", "run_interval", 16_000);
    // Four are open at a time on one thread. One open interval a thread is what is followed: the others are taken for
    // recursion or for left early, so between a quarter and all of them are seen, and those are whole.
    let seen = profile["intervals_seen"].as_u64().unwrap();
    assert!((3_900..=16_000).contains(&seen), "{seen}");
    assert!(number(&profile, "mean_ns") * super::expect::ticks_per_ns() > 0.95 * 10e3);
}

#[test]
fn classes_from_sql_text() {
    // Ticks by class: select 20,000, update 60,000 (a quarter each), insert 10,000 (half).
    let profile = measured("args", "execute_sql,label=text:0", 3200);
    assert_complete(&profile, 3200);
    assert_classes(
        &profile,
        &[
            ("insert into history values (?, ?, ?)", 0.5, 10e3),
            ("select balance from accounts where id = ? and name = ?", 0.25, 20e3),
            ("update accounts set balance = balance + ? where id = ?", 0.25, 60e3),
        ],
    );
    // Between the classes 4.25e8 ticks^2, and no more than noise within them.
    let planted = Planted { mean: 25e3, variance: 4.25e8 };
    let between = number(&profile["classes"], "between_fraction");
    assert!(between >= 1.0 - planted.noise(&profile) - 0.1, "{between}: {:#}", profile["classes"]);
}

#[test]
fn classes_from_an_integer() {
    let profile = measured("args", "execute_command,label=integer:0", 3200);
    assert_complete(&profile, 3200);
    assert_classes(&profile, &[("1", 0.25, 10e3), ("2", 0.25, 20e3), ("3", 0.25, 30e3), ("4", 0.25, 40e3)]);
}

#[test]
fn labels_that_cannot_be_read() {
    let profile = measured("args", "look_at,label=text:0", 2600);
    assert_complete(&profile, 2600);
    let warnings = profile["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains("labels could not be read")), "{warnings:?}");
    // Thirteen pointers in turns; the text of 1 MiB is cut, the one that is not UTF-8 is shown with a mark.
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let has = |part: &str| classes.iter().any(|class| class["name"].as_str().unwrap().contains(part));
    assert!(has("yyyyyyyy") && has("select ? from"), "{classes:#?}");
}

#[track_caller]
fn assert_classes(profile: &Value, planted: &[(&str, f64, f64)]) {
    let classes = profile["classes"]["classes"].as_array().unwrap();
    assert_eq!(classes.len(), planted.len(), "{classes:#?}");
    let intervals = number(profile, "intervals");
    for &(name, fraction, ticks) in planted {
        let class = classes.iter().find(|class| class["name"] == name).unwrap_or_else(|| panic!("{name}: {classes:#?}"));
        let found = number(class, "intervals") / intervals;
        assert!((found - fraction).abs() < 0.02, "{name}: {found} of the intervals");
        let mean = number(class, "mean_ns") * super::expect::ticks_per_ns();
        assert!(mean > 0.95 * ticks, "{name}: {mean} ticks");
    }
}

#[test]
fn think_time_between_two_functions() {
    let planted = Planted { mean: 140e3, variance: 4e9 };
    let profile = measured("pair", "begin_transaction..commit_transaction|roll_back_transaction", 16_000);
    assert_complete(&profile, 16_000);
    let statements = named(&profile, "execute_statement");
    assert_eq!(statements.len(), 2, "two sites: {:#}", profile["tree"]);
    planted.assert_share(&profile, &statements, 0.1);
    // The client's time lies outside of every timed call.
    let root = profile["tree"]["name"].as_str().unwrap();
    planted.assert_share(&profile, &[the(&profile, &format!("body of {root}"))], 0.9);
    // One in sixteen is rolled back once in its interval; the second roll-back ends none.
    let (commits, roll_backs) = (site_calls(&profile, "commit_transaction"), site_calls(&profile, "roll_back_transaction"));
    assert!((commits - 15.0 / 16.0).abs() < 0.02 && (roll_backs - 1.0 / 16.0).abs() < 0.02, "{commits} {roll_backs}");
}

/// Calls of a function from `serve`.
fn site_calls(profile: &Value, name: &str) -> f64 {
    calls(&named(profile, name).into_iter().filter(|node| node["site"].as_str().unwrap().starts_with("serve")).collect::<Vec<_>>())
}

#[test]
fn recursion_deeper_than_any_shadow_stack() {
    let profile = measured("deep", "run_interval", 20_000);
    // Half are left by longjmp from the bottom; the last one of those has no successor to tell.
    assert_eq!(profile["intervals_seen"], 19_999);
    let left = discarded(&profile, LEFT_EARLY);
    assert!((9_900..=9_999).contains(&left), "{}", profile["discarded_by_reason"]);
    let descend = named(&profile, "descend");
    // 25,000 calls an interval, or fewer and a word about it: too deep to follow, or too often to be worth its cost.
    let told = profile["warnings"].to_string() + &profile["unpatched"].to_string();
    let followed = calls(&descend) >= 25_000.0 || told.contains("nested too deeply") || told.contains("too often");
    assert!(followed, "{} calls; {told}", calls(&descend));
}

#[test]
fn more_calls_than_rings_hold() {
    let profile = measured("tiny", "run_interval", 10_000);
    // What was dropped is counted: nothing is seen twice, nothing is forgotten.
    assert_eq!(profile["intervals_seen"], 10_000);
    let discarded = profile["discarded"].as_u64().unwrap();
    let kept: u64 = profile["rounds"].as_array().unwrap().iter().map(|round| round["intervals"].as_u64().unwrap()).sum();
    assert!(kept + discarded <= 10_000 && kept > 0, "{kept} kept, {discarded} discarded");
    for node in named(&profile, "tiny") {
        assert_eq!(number(node, "calls_mean"), 1000.0, "a complete interval has all its calls");
    }
}

#[test]
fn breakpoints_of_the_targets_own() {
    // Two threads, one of which blocks every signal.
    let profile = measured("sigtrap", "main>run_interval|serve_blocked>run_interval", 40_000);
    assert_eq!(profile["intervals_seen"], 80_000);
}

#[test]
fn arguments_of_every_kind() {
    let profile = measured("stackargs", "run_interval", 100_000);
    assert_eq!(profile["intervals_seen"], 100_000, "{:?}", profile["discarded_by_reason"]);
    assert_eq!(measured("alignment", "run_interval", 100_000)["intervals_seen"], 100_000);
}
