//! Methods of Java, on every JDK of this machine: the report agrees with the program's own measurement, and the JVM
//! continues unharmed.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::java::jdks;
use support::planted_java::{INTERVAL, Running, child, compiled, java, measured};
use support::run::{Place, Run, eventually, finish, finish_hearing, has_opened_all, signal};

/// The stages of an interval of the program.
const STAGES: [&str; 5] = [
    "throughLambdas",
    "throughExceptions",
    "recursive",
    "shared",
    "locked",
];

/// The program's own measurement of the time in which a profile's rounds were recorded. Rounds follow each other, and the last one ends with
/// the program. In between are intervals that were recorded without their calls, to measure what probes cost: a part of every
/// round, which is not in the profile.
fn profiled<'a>(all: &'a [[i64; 5]], profile: &Value) -> &'a [[i64; 5]] {
    let number = |value: &Value| value.as_u64().expect("a number") as usize;
    let rounds = profile["rounds"].as_array().expect("a list").iter();
    let rounds: Vec<usize> = rounds.map(|round| number(&round["intervals"])).collect();
    let together = profile["rounds_together"].as_array();
    let [first, last] = match together.map(Vec::as_slice) {
        Some([first, .., last]) => [first, last].map(number),
        _ => [number(&profile["round"]); 2],
    };
    let seen = number(&profile["intervals_seen"]) - number(&profile["discarded"]);
    let took = |some: &[usize]| seen * some.iter().sum::<usize>() / rounds.iter().sum::<usize>();
    let end = all.len() - took(&rounds[last..]);
    let begin = end.saturating_sub(took(&rounds[first - 1..last]));
    assert!(begin < end, "{rounds:?} of {}", all.len());
    &all[begin..end]
}

/// Cov(stage, latency) / Var(latency).
fn share(intervals: &[[i64; 5]], stage: usize) -> f64 {
    let n = intervals.len() as f64;
    let latency = |stages: &[i64; 5]| stages.iter().sum::<i64>() as f64;
    let mean = intervals.iter().map(latency).sum::<f64>() / n;
    let moment = |of: &dyn Fn(&[i64; 5]) -> f64| {
        let products = intervals.iter().map(|one| of(one) * (latency(one) - mean));
        products.sum::<f64>()
    };
    moment(&|one| one[stage] as f64) / moment(&latency)
}

/// The share of a node and its standard error.
fn share_and_error(node: &Value) -> (f64, f64) {
    let number = |name: &str| node[name].as_f64();
    (
        number("share").expect("a number"),
        number("se").unwrap_or(0.0),
    )
}

#[track_caller]
fn assert_shares(place: &Place, profile: &Value, said: &str) {
    let all = measured(place);
    let intervals = profiled(&all, profile);
    for (number, stage) in STAGES.into_iter().enumerate() {
        let expected = share(intervals, number);
        let node = child(&profile["tree"], stage);
        let node = node.unwrap_or_else(|| panic!("{stage} is not in {}", profile["tree"]));
        let (share, se) = share_and_error(node);
        // Those in between that were recorded without their calls, to measure what probes cost, are not in the profile.
        assert!(
            (share - expected).abs() <= f64::max(0.03, 4.0 * se),
            "{stage}: {share} +- {se}, and the program measured {expected} of {} intervals in {}: {said}",
            intervals.len(),
            all.len(),
        );
    }
}

/// The profile of the program from its start until this many seconds after all is opened: the round that was opened last
/// needs its intervals. All intervals are recorded, so that those of a round are in a row. A replay of the recording
/// says the same.
#[track_caller]
fn profiled_until_opened(
    place: &Place,
    jdk: &Path,
    options: &[&str],
    arguments: &[&str],
    seconds: u64,
) -> (Value, Run) {
    let program = java(place, jdk, arguments);
    let mut command = place.evenkeel(["profile", "--sampling", "all"]);
    command
        .args(options)
        .args(["--json", "run.json", "-o", "run.keel", "--"])
        .arg(program.get_program())
        .args(program.get_args());
    let variables = program.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let enough = place.file("enough");
    let run = finish_hearing(command.spawn().unwrap(), move |line| {
        if has_opened_all(line) {
            std::thread::sleep(Duration::from_secs(seconds));
            std::fs::write(&enough, "").unwrap();
        }
    });
    let run = run.ended(0);
    let profile = place.json("run.json");
    let again = place.run(["report", "--json", "run.keel"]).ended(0);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["tree"], profile["tree"]);
    (profile, run)
}

#[test]
fn shares_are_those_that_the_program_measured() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let options = ["--interval", INTERVAL];
        let (profile, run) = profiled_until_opened(&place, &jdk, &options, &[], 2);
        assert_shares(&place, &profile, &run.stderr);
        // What is behind interfaces, lambdas and exceptions has its place, by the samples of stacks.
        let recursive = child(&profile["tree"], "recursive").expect("it is there");
        assert!(child(recursive, "work").is_some(), "{recursive}");
        assert!(child(recursive, "recursive").is_some(), "{recursive}");
        let exceptions = child(&profile["tree"], "throughExceptions").expect("it is there");
        let above = child(exceptions, "above").expect("it is opened");
        assert!(child(above, "below").is_some(), "{above}");
        let line = recursive["line"].as_u64().expect("its line");
        assert_eq!(recursive["file"], "Planted.java");
        let source = include_str!("java/Planted.java");
        let text = source.lines().nth(line as usize - 1).expect("a line of it");
        assert!(text.contains("recursive(random"), "{text}");
        run.said(&[
            "the Java virtual machine stood still",
            "native functions below",
        ]);
    }
}

#[test]
fn a_running_jvm_is_attached_to_again_and_again() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &[]));
        let pid = running.pid();
        let attach = ["attach", &pid, "--interval", INTERVAL];
        let session = |more: &[&str]| place.evenkeel(attach.iter().chain(more)).spawn().unwrap();
        let profiled = |name: &str| {
            let run = finish(session(&["--for", "3s", "--json", name])).ended(0);
            let profile = place.json(name);
            assert!(profile["intervals"].as_u64() > Some(0), "{run:?}");
            assert!(child(&profile["tree"], "locked").is_some(), "{run:?}");
        };
        profiled("first.json");
        profiled("second.json");
        // A killed session leaves probes in the code. They are off once its lease has run out, and the next session
        // reuses them.
        let mut killed = session(&["--json", "killed.json"]);
        let stderr = killed.stderr.take().expect("piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("profiling")));
        let busy = finish(session(&["--for", "1s"])).ended(2);
        busy.said(&["another session is at work"]);
        killed.kill().expect("it runs");
        killed.wait().expect("it was killed");
        let after = eventually(|| {
            let run = finish(session(&["--for", "3s", "--json", "third.json"]));
            run.code == Some(0)
        });
        assert!(after, "the JVM can be attached to once the lease is out");
        running.end(&place);
    }
}

/// A further step is not made, since the first stop was longer than a microsecond. Calls two levels below the interval
/// are timed nevertheless: stacks were looked at before.
#[test]
fn methods_of_a_running_jvm_are_chosen_before_the_first_step() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &[]));
        let pid = running.pid();
        // So that threads are in intervals.
        std::thread::sleep(Duration::from_secs(1));
        let words = ["attach", &pid, "--interval", INTERVAL, "--for", "3s"];
        let words = words.into_iter().chain(["--max-pause", "1us"]);
        let words = words.chain(["--json", "run.json"]);
        let run = finish(place.evenkeel(words).spawn().unwrap()).ended(0);
        let tree = &place.json("run.json")["tree"];
        let recursive = child(tree, "recursive").unwrap_or_else(|| panic!("{run:?}"));
        assert!(child(recursive, "work").is_some(), "{recursive}");
        assert!(!run.stderr.contains("(step 2)"), "{run:?}");
        running.end(&place);
    }
}

/// HotSpot does not verify the JDK's classes, and drops their stack map frames unless they come from its archive. This
/// method has handlers.
#[test]
fn a_class_that_the_jvm_does_not_verify_has_intervals() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let mut server = java(&place, &jdk, &["tasks"]);
        server.env("JAVA_TOOL_OPTIONS", "-Xshare:off");
        let running = Running::start(server);
        let waits = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await";
        let words = ["attach", &running.pid(), "--interval", waits, "--for", "3s"];
        let words = words.into_iter().chain(["--json", "run.json"]);
        let run = finish(place.evenkeel(words).spawn().unwrap()).ended(0);
        let intervals = &place.json("run.json")["intervals"];
        assert!(intervals.as_u64() > Some(0), "{run:?}");
        running.end(&place);
    }
}

/// The share of all nodes of this name in a tree, and the sum of their standard errors.
fn share_of(node: &Value, name: &str) -> (f64, f64) {
    if node["name"] == *name {
        return share_and_error(node);
    }
    let children = node["children"].as_array().into_iter().flatten();
    let all = children.map(|child| share_of(child, name));
    all.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// The waits that the program makes, by the number of the stage.
const WAITS: [&str; 4] = [
    "waiting for the monitor of Planted$Waits$Account",
    "parked for java.util.concurrent.locks.ReentrantLock$NonfairSync",
    "waiting in Object.wait of Planted$Waits$Mailbox",
    "stopped for garbage collection",
];

#[test]
fn waits_are_findings_with_the_shares_that_the_program_measured() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let options = ["--interval", "Planted$Waits.handle", "--waits"];
        let (profile, run) = profiled_until_opened(&place, &jdk, &options, &["waits"], 4);
        let all = measured(&place);
        let intervals = profiled(&all, &profile);
        let findings = profile["findings"].as_array().expect("a list");
        for (number, wait) in WAITS.into_iter().enumerate() {
            let expected = share(intervals, number);
            let (found, se) = share_of(&profile["tree"], wait);
            assert!(
                (found - expected).abs() <= f64::max(0.06, 4.0 * se),
                "{wait}: {found} +- {se}, and its stage had {expected}: {}",
                run.stderr
            );
            let is_finding = findings.iter().any(|finding| finding["function"] == wait);
            assert!(is_finding || expected < 0.06, "{wait}: {findings:?}");
        }
        // Who unparked is known by the JVM's own call.
        let waits = profile["waits"].as_array().expect("a list");
        let parked = waits.iter().find(|wait| {
            let waiter = wait["waiter"].as_str().unwrap_or_default();
            waiter.contains("parked for") && wait["holder"].is_string()
        });
        assert!(parked.is_some(), "{waits:?}");
    }
}

/// The node of a method that ends like this, wherever it is.
fn find<'a>(node: &'a Value, ending: &str) -> Option<&'a Value> {
    let name = node["name"].as_str().unwrap_or_default();
    if name.ends_with(ending) {
        return Some(node);
    }
    let mut children = node["children"].as_array().into_iter().flatten();
    children.find_map(|child| find(child, ending))
}

#[test]
fn what_a_native_method_waits_for_is_below_it() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &["files"]));
        let pid = running.pid();
        let words = ["attach", &pid, "--waits", "--sampling", "all"];
        let words = words
            .into_iter()
            .chain(["--interval", "Planted$Files.write"]);
        let words = words.chain(["--json", "run.json"]);
        let session = place.evenkeel(words).spawn().unwrap();
        let (pid, begun) = (session.id() as i32, Instant::now());
        // The disk may have been slow before all was open. The last round sees as much of it as all others.
        let run = finish_hearing(session, move |line| {
            if has_opened_all(line) {
                std::thread::sleep(begun.elapsed());
                signal(pid, libc::SIGINT);
            }
        });
        let run = run.ended(0);
        let tree = &place.json("run.json")["tree"];
        let force = find(tree, "DispatcherImpl.force0");
        let force = force.unwrap_or_else(|| panic!("{run:?}"));
        // A call of the C library, which the JVM's own libraries make.
        assert!(find(force, "waits: file").is_some(), "{force}");
        running.end(&place);
    }
}

#[test]
fn the_queue_of_an_executor_has_its_share() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let options = ["--preset", "executor"];
        let (profile, run) = profiled_until_opened(&place, &jdk, &options, &["tasks"], 8);
        let all = measured(&place);
        let intervals = profiled(&all, &profile);
        // The profile may rest on the first round, in which tasks have no probes yet; the queue is in all.
        let run_of_tasks = "Planted$Tasks$Task.run";
        assert!(find(&profile["tree"], "queued").is_some(), "{run:?}");
        let stages = ["queued", run_of_tasks].into_iter().enumerate();
        for (stage, name) in stages.filter(|(_, name)| find(&profile["tree"], name).is_some()) {
            let expected = share(intervals, stage);
            let (found, se) = share_of(&profile["tree"], name);
            assert!(
                (found - expected).abs() <= f64::max(0.03, 4.0 * se),
                "{name}: {found} +- {se}, and the program measured {expected} of {} intervals: {}",
                intervals.len(),
                run.stderr
            );
        }
    }
}

#[test]
fn intervals_have_classes_by_an_argument() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &["labelled"]));
        let pid = running.pid();
        for (label, slow, quick) in [
            ("text:1", "für später", "at once"),
            ("text:2", "SLOW", "QUICK"),
            ("integer:0", "900", "90"),
        ] {
            let interval = format!("Planted$Labelled.order,label={label}");
            let words = ["attach", &pid, "--for", "2s", "--interval", &interval];
            let words = words.into_iter().chain(["--json", "run.json"]);
            finish(place.evenkeel(words).spawn().unwrap()).ended(0);
            let profile = place.json("run.json");
            let classes = profile["classes"]["classes"].as_array().expect("a list");
            let of = |name: &str| {
                let class = classes.iter().find(|class| class["name"] == name);
                class.unwrap_or_else(|| panic!("{label}: {name} is not in {classes:?}"))
            };
            assert_eq!(classes.len(), 3, "{label}: {classes:?}");
            let mean = |name: &str| of(name)["mean_ns"].as_f64().expect("a number");
            // One takes 900 microseconds at least, and the other 90.
            assert!(mean(slow) >= 9e5, "{label}: {classes:?}");
            assert!(mean(quick) >= 9e4, "{label}: {classes:?}");
            assert!(mean(quick) < mean(slow), "{label}: {classes:?}");
            // Every second one of the slow throws.
            let intervals = |name: &str| of(name)["intervals"].as_f64().expect("a number");
            let failed = intervals(&format!("{slow} (error)"));
            let part = failed / (failed + intervals(slow));
            assert!((part - 0.5).abs() < 0.02, "{label}: {classes:?}");
        }
        // What is no text is no class, and the user is told.
        let interval = "Planted$Labelled.order,label=text:3";
        let words = ["attach", &pid, "--for", "1s", "--interval", interval];
        let run = finish(place.evenkeel(words).spawn().unwrap()).ended(0);
        run.said(&["labels could not be read"]);
        running.end(&place);
    }
}

#[test]
fn an_interval_is_a_call_of_any_of_several_methods() {
    for jdk in jdks() {
        let place = compiled(&jdk);
        let running = Running::start(java(&place, &jdk, &[]));
        let pid = running.pid();
        let interval = "Planted.throughLambdas|Planted.shared|Nowhere.run";
        let words = ["attach", &pid, "--for", "3s", "--interval", interval];
        let words = words.into_iter().chain(["--json", "run.json"]);
        let run = finish(place.evenkeel(words).spawn().unwrap()).ended(0);
        let run = run.said(&["has not loaded Nowhere: this profile has nothing of it"]);
        let tree = &place.json("run.json")["tree"];
        // Only one of them calls each of these itself.
        let calls = tree["children"].as_array().expect("a list");
        let is_called = |name: &str| {
            let mut names = calls.iter().filter_map(|call| call["name"].as_str());
            names.any(|called| called.ends_with(name))
        };
        assert!(is_called(".forEach"), "{run:?}");
        assert!(is_called("Planted.work"), "{run:?}");
        running.end(&place);
    }
}
