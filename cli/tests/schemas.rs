//! What commands write as JSON is what the schemas in the book say, by a validator that is not of this project (Python's jsonschema).

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::planted::Planted;
use support::run::Place;
use support::tuning::{BUDGET, State, quick};

/// Reads a schema and documents, one a line or the whole file, and names what is wrong.
const VALIDATE: &str = "
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
text = open(sys.argv[2]).read()
try:
    documents = [json.loads(text)]
except json.JSONDecodeError:
    documents = [json.loads(line) for line in text.splitlines() if line]
wrong = [error for one in documents for error in Draft202012Validator(schema).iter_errors(one)]
for error in wrong:
    print('/'.join(map(str, error.absolute_path)), error.message[:200])
sys.exit(bool(wrong) or not documents)
";

fn schema(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference/schemas");
    folder.join(format!("{name}.json"))
}

/// What the validator finds wrong; nothing where the document is as the schema says.
fn wrong(name: &str, document: &Path) -> Option<String> {
    let run = Command::new("python3")
        .args(["-c", VALIDATE])
        .args([&schema(name), document])
        .output()
        .expect("python3; scripts/install.sh test installs it");
    let said = [run.stdout, run.stderr].concat();
    (!run.status.success()).then(|| String::from_utf8_lossy(&said).into_owned())
}

#[track_caller]
fn assert_valid(name: &str, document: &Path) {
    if let Some(wrong) = wrong(name, document) {
        panic!("{name}: {wrong}");
    }
}

fn recording(name: &str) -> PathBuf {
    let folder = "../profiler/recording/tests/recordings";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    path.join(format!("{name}.keel"))
}

#[test]
fn reports() {
    let place = Place::new();
    for name in ["postgres-rows", "redis-command", "nginx-request"] {
        let words = ["report", "--json=report.json"].map(str::to_owned);
        let file = recording(name).display().to_string();
        // The text is printed as well.
        let run = place.run(words.iter().chain([&file])).ended(0);
        assert!(run.stdout.contains("closure"), "{}", run.stdout);
        assert_valid("profile", &place.file("report.json"));
    }
    // The validator works: it refuses a profile without latencies.
    let text = std::fs::read_to_string(place.file("report.json")).unwrap();
    std::fs::write(
        place.file("odd.json"),
        text.replace("\"mean_ns\"", "\"mean\""),
    )
    .unwrap();
    let wrong = wrong("profile", &place.file("odd.json")).expect("a profile that is none");
    assert!(
        wrong.contains("'mean_ns' is a required property"),
        "{wrong}"
    );
}

#[test]
fn comparisons() {
    let place = Place::new();
    for (name, seed, stall_us) in [("a.keel", 1, 100), ("b.keel", 2, 150)] {
        let planted = Planted {
            seed,
            stall_us,
            has_classes: true,
            build: name,
            ..Planted::default()
        };
        planted.write(&place.file(name));
    }
    let bound = ["--fail-if", "p99 > +500%"];
    let words = ["compare", "a.keel", "b.keel", "--json=compared.json"];
    place.run(words.iter().chain(&bound)).ended(0);
    assert_valid("comparison", &place.file("compared.json"));
    let other = [recording("postgres-rows"), recording("redis-keys")];
    let other = other.map(|path| path.display().to_string());
    let words = ["compare", &other[0], &other[1], "--json=other.json"];
    place.run(words).ended(0);
    assert_valid("comparison", &place.file("other.json"));
}

#[test]
fn groups() {
    let place = Place::new();
    for (number, host) in [(1, "db1"), (2, "db2"), (3, "db3")] {
        Planted::of_fleet(number, host).write(&place.file(host));
    }
    let words = [
        "compare",
        "--by",
        "host",
        "--json=groups.json",
        "db1",
        "db2",
        "db3",
    ];
    place.run(words).ended(0);
    assert_valid("compare-by", &place.file("groups.json"));
    let written = std::fs::read_to_string(place.file("groups.json")).unwrap();
    assert!(written.contains("\"what\": \"finding\""), "{written}");
}

#[test]
fn settings_that_were_tried() {
    let state = State::new();
    let options = [&BUDGET[..], &["--knobs", "schedule", "--json"]].concat();
    let run = state.run(&quick("embedded", &options)).ended(0);
    let place = Place::new();
    std::fs::write(place.file("tuned.json"), run.stdout).unwrap();
    assert_valid("tune", &place.file("tuned.json"));
}

#[test]
fn experiments() {
    let place = Place::new();
    let words =
        "experiments theorem-4.2 figure-2.1 --document e.md --results e.jsonl --json=e.json";
    place.run(words.split(' ')).ended(0);
    assert_valid("experiments", &place.file("e.json"));
}

#[test]
fn load() {
    let place = Place::new();
    let short = [
        "micro",
        "--for",
        "200ms",
        "--warmup",
        "0s",
        "--clients",
        "2",
    ];
    let words = ["bench", "--json=bench.json"];
    place.run(words.iter().chain(&short)).ended(0);
    assert_valid("bench", &place.file("bench.json"));
    // Options of the configuration, after the workload.
    let with = [
        "bench",
        "compare",
        "--with",
        "--schedule fifo",
        "--with",
        "--schedule ldsf",
    ];
    let own = ["--rounds", "1", "--json=compared.json"];
    place.run(with.iter().chain(&short).chain(&own)).ended(0);
    assert_valid("bench-compare", &place.file("compared.json"));
    let words =
        "simulate --sweep clients=10,20 --schedule fifo,vats --seeds 1 --json=simulated.json";
    place.run(words.split(' ')).ended(0);
    assert_valid("simulate", &place.file("simulated.json"));
}
