//! `evenkeel bench`, end to end, on the embedded store.

#[path = "bench/compare.rs"]
mod compare;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time after which a command is taken for hung.
const PATIENCE: Duration = Duration::from_secs(300);
/// A workload that is small and quick to load.
const SMALL: [&str; 5] = ["tpcc", "-o", "customers=30", "-o", "items=200"];

fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .arg("bench")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn output(arguments: &[&str]) -> Output {
    bench(arguments).output().unwrap()
}

/// The objects that a successful run prints.
#[track_caller]
fn objects(output: &Output) -> Vec<Value> {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    assert_eq!(err, "", "nothing moves without a terminal");
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn small(rest: &[&'static str]) -> Vec<&'static str> {
    SMALL.into_iter().chain(rest.iter().copied()).collect()
}

#[test]
fn an_open_loop_reports_what_the_design_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, html) = (
        folder.path().join("raw.csv"),
        folder.path().join("page.html"),
    );
    let mut arguments = small(&[
        "--rate",
        "200",
        "--for",
        "2s",
        "--warmup",
        "500ms",
        "--clients",
        "4",
        "--json",
    ]);
    arguments.extend(["--schedule", "ldsf", "--set", "flush=lazy-flush"]);
    let (raw_name, html_name) = (
        raw.to_str().unwrap().to_owned(),
        html.to_str().unwrap().to_owned(),
    );
    let mut arguments: Vec<&str> = arguments;
    arguments.extend(["--raw", &raw_name, "--html", &html_name]);
    let report = objects(&output(&arguments)).remove(0);
    assert_eq!(
        (&report["workload"], &report["consistency"]),
        (&"tpcc".into(), &"ok".into())
    );
    assert_eq!(report["target"], "embedded store, ldsf");
    assert_eq!(
        (&report["config"]["loop"], &report["config"]["schedule"]),
        (&"open".into(), &"ldsf".into())
    );
    let all = &report["types"]["all"];
    for field in [
        "count",
        "mean_ns",
        "sd_ns",
        "cv",
        "p50_ns",
        "p90_ns",
        "p95_ns",
        "p99_ns",
        "p999_ns",
        "p9999_ns",
        "max_ns",
        "queue_mean_ns",
        "service_mean_ns",
    ] {
        assert!(all[field].as_f64().is_some(), "{field} in {all}");
    }
    for field in [
        "throughput_per_s",
        "offered_per_s",
        "retries",
        "rejected",
        "unfinished",
    ] {
        assert!(report[field].is_number(), "{field} in {report}");
    }
    let number = |value: &Value| value.as_f64().unwrap();
    let parts = number(&all["queue_mean_ns"]) + number(&all["service_mean_ns"]);
    assert!((parts - number(&all["mean_ns"])).abs() < 1.0, "{all}");
    let types = report["types"].as_object().unwrap();
    let counts = types
        .iter()
        .filter(|(name, _)| *name != "all")
        .map(|(_, of)| of["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), all["count"].as_u64().unwrap());
    every_arrival_is_in_the_raw_file(&raw, &report);
    the_page_is_whole(&html);
}

fn every_arrival_is_in_the_raw_file(path: &Path, report: &Value) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("type,scheduled_ns,started_ns,ended_ns,ending,retries")
    );
    let mut measured = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let times: Vec<i64> = fields[1..4]
            .iter()
            .map(|field| field.parse().unwrap())
            .collect();
        assert!(times.is_sorted(), "{line}");
        measured += u64::from((0..2_000_000_000).contains(&times[0]));
    }
    assert_eq!(report["types"]["all"]["count"].as_u64(), Some(measured));
}

fn the_page_is_whole(path: &Path) {
    let page = std::fs::read_to_string(path).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(page.contains("tpcc on embedded store, ldsf") && page.contains("consistency: ok"));
    assert!(
        !page.contains("http") && !page.contains("<script"),
        "it needs nothing beside itself"
    );
}

#[test]
fn a_load_is_a_part_of_the_measured_saturation() {
    let report = objects(&output(&small(&[
        "--load",
        "50%",
        "--for",
        "1s",
        "--warmup",
        "0s",
        "--clients",
        "2",
        "--json",
    ])))
    .remove(0);
    let config = &report["config"];
    let (rate, saturation) = (
        config["rate_per_s"].as_f64().unwrap(),
        config["saturation_per_s"].as_f64().unwrap(),
    );
    assert!(
        saturation > 0.0 && (rate / saturation - 0.5).abs() < 1e-9,
        "{config}"
    );
}

#[test]
fn round_trips_are_reported_with_what_the_timer_made_of_them() {
    let far = [
        "--round-trip",
        "exponential:200us",
        "--for",
        "1s",
        "--warmup",
        "0s",
        "--json",
    ];
    let report = objects(&output(&small(&far))).remove(0);
    let trips = &report["round_trips"];
    let number = |name: &str| trips[name].as_f64().unwrap();
    assert_eq!(report["config"]["round_trip"], "exponential:200us");
    assert!(number("count") > 0.0 && number("slept_mean_ns") >= number("asked_mean_ns"));
    refused(&["micro", "--round-trip", "200"], "its unit");
}

/// Waits until the run has written raw latencies, so that it is certainly under way.
fn under_way(child: &mut Child, raw: &Path) {
    let begin = Instant::now();
    while std::fs::metadata(raw).map_or(0, |metadata| metadata.len()) < 1000 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it was stopped"
        );
        assert!(begin.elapsed() < PATIENCE, "it never began");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupted_run_reports_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("raw.csv");
    let name = raw.to_str().unwrap().to_owned();
    let mut arguments: Vec<&str> = small(&[
        "--for",
        "600s",
        "--warmup",
        "0s",
        "--clients",
        "2",
        "--json",
    ]);
    arguments.extend(["--raw", &name]);
    let mut child = bench(&arguments).spawn().unwrap();
    under_way(&mut child, &raw);
    // SAFETY: the process is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let report = objects(&child.wait_with_output().unwrap()).remove(0);
    assert_eq!(
        (&report["interrupted"], &report["consistency"]),
        (&true.into(), &"ok".into())
    );
    assert!(report["measured_s"].as_f64().unwrap() < 600.0);
}

#[track_caller]
fn refused(arguments: &[&str], words: &str) {
    let output = output(arguments);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains(words), "{err}");
}

#[test]
fn nonsense_is_refused_with_what_would_be_right() {
    refused(&[], "name a workload");
    refused(&["tpch"], "there is no workload tpch");
    refused(&["tpcc", "-o", "colour=red"], "it has customers, items");
    refused(
        &["tpcc", "--target", "oracle"],
        "no target oracle; there are embedded, postgres, mariadb, mariadb:10.2.11",
    );
    refused(
        &["tpcc", "--schedule", "lifo"],
        "schedule=lifo is not possible",
    );
    refused(
        &["tpcc", "--set", "colour=red"],
        "the store has no setting colour",
    );
    refused(
        &["tpcc", "--target", "postgres", "--schedule", "fifo"],
        "--schedule and --data are for --target embedded",
    );
    refused(
        &["tpcc", "--html", "/no/such/place.html"],
        "cannot write /no/such/place.html",
    );
    refused(
        &["tpcc", "--rate", "100", "--load", "1"],
        "cannot be used with",
    );
    refused(
        &["compare", "--with", "--schedule fifo", "tpcc"],
        "needs two configurations",
    );
    let together = ["compare", "--together", "--with", "", "--with", ""];
    refused(
        &[&together[..], &["tpcc", "--load", "80%"]].concat(),
        "with --together, give a --rate",
    );
    refused(
        &["compare", "--with", "", "--with", "--colour red", "tpcc"],
        "--colour",
    );
}

/// With a workload that does not exist they come as far as asking for it, so all of their options are understood.
#[test]
fn the_commands_of_the_documents_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documents = ["README.md", "docs/src/how-to/generate-load.md"].map(|name| root.join(name));
    let text: String = documents
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("$ evenkeel bench "))
        .collect();
    assert!(lines.len() >= 2, "{lines:?}");
    for line in lines {
        assert!(line.contains("tpcc"), "{line}");
        let script = format!(
            "exec {} bench {}",
            env!("CARGO_BIN_EXE_evenkeel"),
            line.replace("tpcc", "tpch")
        );
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&folder);
        let output = command.output().unwrap();
        let left = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 0, "{line} leaves a file though it fails");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains("there is no workload tpch"), "{line}\n{err}");
    }
}

#[test]
fn lock_grants_are_reported_of_the_store_and_of_nothing_else() {
    // Ten records that every statement updates: transactions wait for each other.
    let contended = ["micro", "-o", "records=10", "-o", "exclusive=1"];
    let arguments = [&contended[..], &["--grants", "--for", "2s", "--json"]].concat();
    let report = objects(&output(&arguments)).remove(0);
    let grants = report["grants"].as_object().unwrap();
    let count = |of: &Value| of["count"].as_u64().unwrap();
    let types = grants.iter().filter(|(name, _)| *name != "all");
    let of_types: u64 = types.map(|(_, of)| count(of)).sum();
    assert!(of_types > 0, "{report}");
    let all = &grants["all"];
    assert_eq!(of_types, count(all));
    // Who waited has an age, and five statements leave most of them something to do.
    let mean = |name: &str| all[name].as_f64().unwrap();
    assert!(
        mean("age_mean_ns") > 0.0
            && mean("remaining_mean_ns") > 0.0
            && all["correlation"].is_number()
    );
    refused(
        &["micro", "--target", "postgres", "--grants"],
        "--target embedded",
    );
}

/// The profile of a load that only reads does not contain the statements that loaded the data.
#[test]
fn a_server_is_profiled_while_its_load_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let profile = ["--profile", file.to_str().unwrap(), "--json"];
    let load = ["ycsb-c", "-o", "records=1000", "--target", "postgres"];
    let short = ["--clients", "2", "--for", "3s", "--warmup", "200ms"];
    let output = output(&[&load[..], &short, &profile].concat());
    let err = String::from_utf8_lossy(&output.stderr);
    if err.contains("not installed") {
        assert!(std::env::var_os("CI").is_none(), "{err}");
        eprintln!("skipped: {err}");
        return;
    }
    assert!(output.status.success(), "{err}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let done = report["types"]["all"]["count"].as_u64().unwrap();
    let profile: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let seen = profile["intervals_seen"].as_u64().unwrap();
    assert!(seen > 0 && done > 0, "{report} {profile}");
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let names: Vec<&str> = classes
        .iter()
        .map(|class| class["name"].as_str().unwrap())
        .collect();
    for loading in ["INSERT", "COPY", "CREATE"] {
        assert!(
            !names
                .iter()
                .any(|name| name.to_uppercase().contains(loading)),
            "{names:?}"
        );
    }
}

#[test]
fn only_servers_can_be_profiled_or_hooked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let arguments = small(&["--for", "1s"]);
    let profiled = [&arguments[..], &["--profile", file.to_str().unwrap()]].concat();
    let compared = ["compare", "--with", "", "--with", "--plant 10"];
    let planted = [&compared[..], &arguments].concat();
    let baseline = ["compare", "--with", "--plant 10", "--with", ""];
    let of_server = [&baseline[..], &arguments, &["--target", "postgres"]].concat();
    for (arguments, expected) in [
        (profiled, "--profile attaches to a server"),
        (planted, "--plant attaches to a server"),
        (of_server, "nothing goes on beside the baseline"),
    ] {
        let output = output(&arguments);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(expected), "{err}");
    }
}
