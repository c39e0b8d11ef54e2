//! `evenkeel compare` of recordings whose difference is planted.

mod support;

use serde_json::Value;
use support::planted::Planted;
use support::run::Place;

/// Writes recordings of these names, each by its seed, that stall for so long.
fn record(place: &Place, recordings: &[(&str, u64, u64)]) {
    for &(name, seed, stall_us) in recordings {
        let planted = Planted {
            seed,
            stall_us,
            ..Planted::default()
        };
        planted.write(&place.file(name));
    }
}

fn compared(place: &Place, words: &[&str]) -> Value {
    let run = place
        .run(["compare", "--json"].iter().chain(words))
        .ended(0);
    serde_json::from_str(&run.stdout).unwrap()
}

fn rows<'a>(comparison: &'a Value, kind: &str) -> Vec<&'a Value> {
    let rows = comparison["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["kind"] == kind).collect()
}

#[test]
fn equals_do_not_differ_and_a_fifth_does() {
    let place = Place::new();
    record(
        &place,
        &[("a.keel", 1, 100), ("b.keel", 2, 100), ("c.keel", 3, 120)],
    );
    let same = compared(&place, &["a.keel", "b.keel"]);
    for row in same["rows"].as_array().unwrap() {
        assert!(
            row["verdict"] != "worse" && row["verdict"] != "better",
            "{row}"
        );
    }
    assert_eq!(same["summary"], "No difference of the latency is told.");
    let changed = compared(&place, &["a.keel", "c.keel"]);
    let disk = rows(&changed, "finding");
    let disk: Vec<&&Value> = disk
        .iter()
        .filter(|row| row["function"] == "disk")
        .collect();
    assert_eq!(disk.len(), 2, "{changed:#}");
    let slow = disk.iter().find(|row| row["of"] == "slowest 1 %").unwrap();
    assert_eq!(slow["verdict"], "worse", "{slow}");
    // 10 µs and the stall: 110 before, 130 after.
    let after = slow["after"].as_f64().unwrap();
    assert!((after - 130_000.0).abs() < 1000.0, "{slow}");
    let summary = changed["summary"].as_str().unwrap();
    assert!(summary.contains("disk"), "{summary}");
    // Itself is itself, on both sides.
    let itself = compared(&place, &["a.keel", "a.keel"]);
    for row in rows(&itself, "latency") {
        assert_eq!(row["before"], row["after"], "{row}");
    }
}

#[test]
fn bounds_decide_the_exit_code() {
    let place = Place::new();
    record(
        &place,
        &[("a.keel", 1, 100), ("b.keel", 2, 100), ("c.keel", 3, 150)],
    );
    let compare = |files: [&str; 2], options: &[&str], code: i32| {
        let words = ["compare"].iter().chain(&files).chain(options);
        place.run(words).ended(code)
    };
    let p99 = ["--fail-if", "p99 > +10%"];
    let disk = ["--fail-if", "finding disk > +5%", "--strict"];
    compare(["a.keel", "b.keel"], &p99, 0);
    let beyond = compare(["a.keel", "c.keel"], &p99, 3);
    assert!(
        beyond.stdout.contains("beyond    p99 > +10%"),
        "{}",
        beyond.stdout
    );
    compare(["a.keel", "c.keel"], &disk, 3);
    // Three of 3,000 are above p99.9: that tells nothing.
    let p999 = ["--fail-if", "p99.9 > +1%"];
    compare(["a.keel", "c.keel"], &p999, 0);
    compare(["a.keel", "c.keel"], &[p999[0], p999[1], "--strict"], 4);
    compare(["a.keel", "b.keel"], &["--fail-if", "finding dsk > +5%"], 2)
        .said(&["neither side has a call of dsk", "disk"]);
    compare(["a.keel", "b.keel"], &["--fail-if", "p98 > +5%"], 2).said(&["p98", "write it as"]);
    // A function that is no finding has its time as well.
    compare(
        ["a.keel", "c.keel"],
        &["--fail-if", "finding parse > +5%"],
        0,
    );
}

#[test]
fn several_recordings_a_side() {
    let place = Place::new();
    let names = [
        "a1.keel", "a2.keel", "a3.keel", "b1.keel", "b2.keel", "b3.keel",
    ];
    let all: Vec<(&str, u64, u64)> = names
        .iter()
        .zip(1..)
        .map(|(name, seed)| (*name, seed, if seed > 3 { 150 } else { 100 }))
        .collect();
    record(&place, &all);
    let words = [&names[..3], &["--"], &names[3..]].concat();
    let found = compared(&place, &words);
    assert_eq!(found["recordings"], serde_json::json!([3, 3]));
    let p99 = rows(&found, "latency");
    let p99 = p99.iter().find(|row| row["what"] == "p99").unwrap();
    assert_eq!(p99["verdict"], "worse", "{p99}");
    let warnings = found["warnings"].to_string();
    assert!(!warnings.contains("One recording a side"), "{warnings}");
    place
        .run(["compare", "a1.keel", "a2.keel", "a3.keel"])
        .ended(2)
        .said(&["put -- between", "--by host"]);
    place
        .run(["compare", "a1.keel", "a1.keel", "--", "a2.keel"])
        .ended(2)
        .said(&["named twice"]);
}

#[test]
fn another_build_and_another_mix_are_told_of() {
    let place = Place::new();
    let planted = Planted {
        has_classes: true,
        stall_us: 100,
        ..Planted::default()
    };
    planted.write(&place.file("a.keel"));
    let other = Planted {
        build: "bb22",
        host: "db2",
        seed: 2,
        ..planted
    };
    other.write(&place.file("b.keel"));
    let found = compared(&place, &["a.keel", "b.keel"]);
    let differ = found["options_differ"].as_array().unwrap().iter();
    let differ: Vec<&Value> = differ.map(|one| &one["what"]).collect();
    assert_eq!(differ, ["build", "host"]);
    let mix = &found["load"]["mean_change_ns"];
    let sum: f64 = ["mix", "within", "both"]
        .iter()
        .map(|part| mix[part].as_f64().unwrap())
        .sum();
    let mean = rows(&found, "latency")[0];
    let change = mean["after"].as_f64().unwrap() - mean["before"].as_f64().unwrap();
    assert!((sum - change).abs() < 1e-6, "{mix} {mean}");
    let markdown = place
        .run(["compare", "a.keel", "b.keel", "--format", "markdown"])
        .ended(0)
        .stdout;
    assert!(markdown.contains("| build | aa11 | bb22 |"), "{markdown}");
    assert!(markdown.contains("| p99 |"), "{markdown}");
}

/// Sums of minutes have no single latencies: means and parts are compared, percentiles are not.
#[test]
fn recordings_of_sums() {
    let place = Place::new();
    for (name, seed) in [("a.keel", 1), ("b.keel", 2)] {
        let planted = Planted {
            seed,
            ..Planted::default()
        };
        planted.write_sums(&place.file(name), 20, 60_000_000_000);
    }
    record(&place, &[("c.keel", 3, 100)]);
    let found = compared(&place, &["a.keel", "b.keel"]);
    let latency = rows(&found, "latency");
    assert_eq!(
        latency[0]["verdict"], "no difference told",
        "{}",
        latency[0]
    );
    let p99 = latency.iter().find(|row| row["what"] == "p99").unwrap();
    assert_eq!(p99["verdict"], "cannot be compared");
    assert!(p99["why"].as_str().unwrap().contains("--summary"), "{p99}");
    place
        .run(["compare", "a.keel", "c.keel"])
        .ended(2)
        .said(&["--summary"]);
}

/// The recordings of `scripts/compare-aa.py` are of the format that is read: a changed server is told from itself.
#[test]
fn the_script_that_counts_false_verdicts_writes_recordings() {
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/compare-aa.py");
    let ran = std::process::Command::new("python3")
        .args([script, "--simulate"])
        .arg(place.file(""))
        .arg("12000")
        .output()
        .expect("python3");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let words = ["steady.keel", "steady-changed.keel"];
    let comparison = compared(&place, &words);
    let findings = rows(&comparison, "finding");
    let mut flush = findings.iter().filter(|row| row["function"] == "flush");
    assert!(flush.any(|row| row["verdict"] == "worse"), "{findings:#?}");
}
