//! Every format, for a recording of a real server with waits (`recording/tests/recordings/postgres-rows.keel`). Its
//! real reader opens it where this machine has one; otherwise its definition's rules are checked.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_export::weights::leaves;
use evenkeel_export::{Error, Export, FORMATS, Started, Weight, named};
use evenkeel_recording::Replay;
use serde_json::Value;

const STARTED: Started = Started {
    clock_ns: 0.0,
    unix_ns: 1_700_000_000_000_000_000,
};

fn profile(recording: &str) -> Profile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/recordings");
    let replayed = Replay::open(&folder.join(format!("{recording}.keel")))
        .unwrap()
        .run()
        .unwrap();
    let options = Options {
        ticks_per_ns: replayed.meta.ticks_per_ns,
        target: "/usr/lib/postgresql/15/bin/postgres -D data".into(),
        interval: replayed.meta.interval.clone(),
        ..Options::default()
    };
    replayed.analysis.profile(&replayed.sites, &options)
}

fn written(format: &str, profile: &Profile, weight: Weight) -> Result<Vec<u8>, Error> {
    let export = Export {
        profile,
        weight,
        started: STARTED,
        host: "db1",
    };
    let mut bytes = Vec::new();
    named(format).unwrap().write(&export, &mut bytes)?;
    Ok(bytes)
}

fn rows(format: &str) -> (Profile, Vec<u8>) {
    let profile = profile("postgres-rows");
    let bytes = written(format, &profile, Weight::Variance).unwrap();
    (profile, bytes)
}

/// Writes a file, for a program that reads one.
fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exported");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// The output of a reader. Empty where the reader is missing (it cannot be started, or ends with 77), with a message
/// on standard error.
#[track_caller]
fn reader(program: &str, words: &[&str]) -> Option<String> {
    let run = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output();
    let run = match run {
        Ok(run) if run.status.code() != Some(77) => run,
        _ => {
            eprintln!("skipped: {program} is not here to read it; run scripts/install.sh test");
            return None;
        }
    };
    let (out, err) = (
        String::from_utf8_lossy(&run.stdout).into_owned(),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{program} {words:?}\n{out}\n{err}");
    Some(out)
}

/// Each has its test below: whoever adds a format adds one.
#[test]
fn every_format_has_a_test() {
    let tests = include_str!("formats.rs");
    for format in FORMATS {
        let name = format.name();
        assert!(
            tests.contains(&format!("#[test]\nfn {}_", name.replace('-', "_"))),
            "no test of this file begins with {name}_"
        );
        assert!(
            !written(name, &profile("postgres-rows"), Weight::Mean)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn recordings_without_waits() {
    let profile = profile("postgres-transaction");
    let picked: Vec<&str> = profile.timelines.iter().map(|it| &*it.pick).collect();
    assert_eq!(picked, ["max"], "its slowest interval is kept whole");
    for format in FORMATS {
        let written = written(format.name(), &profile, Weight::Variance);
        assert!(!written.unwrap().is_empty(), "{}", format.name());
    }
}

/// What holds nothing but critical paths says how to get them; all else does without.
#[test]
fn profiles_without_whole_intervals() {
    let mut profile = profile("postgres-transaction");
    profile.timelines.clear();
    for format in FORMATS {
        let only_paths = ["perfetto", "otlp"].contains(&format.name());
        match written(format.name(), &profile, Weight::Variance) {
            Ok(bytes) => assert!(!only_paths && !bytes.is_empty(), "{}", format.name()),
            Err(error) => {
                assert!(only_paths, "{}: {error}", format.name());
                assert!(error.to_string().contains("evenkeel profile -o"), "{error}");
            }
        }
    }
}

#[test]
fn folded_adds_up() {
    let profile = profile("postgres-rows");
    for weight in Weight::ALL {
        let text = String::from_utf8(written("folded", &profile, weight).unwrap()).unwrap();
        let value = |line: &str| -> i64 {
            let (stack, value) = line.rsplit_once(' ').unwrap();
            let value: i64 = value.parse().unwrap();
            assert!(value > 0, "{line}");
            if stack.starts_with("(negative);") {
                -value
            } else {
                value
            }
        };
        let sum: i64 = text.lines().map(value).sum();
        let whole = weight.of(&profile.tree);
        let leaves = leaves(&profile.tree).len() as i64;
        // Each leaf is rounded.
        assert!(
            (sum - whole).abs() <= leaves / 2 + 1,
            "{weight}: {sum} of {whole}"
        );
    }
}

#[test]
fn folded_is_drawn() {
    let (profile, bytes) = rows("folded");
    let (_folder, path) = file(&bytes);
    let drawn = reader("inferno-flamegraph", &[path.to_str().unwrap()])
        .or_else(|| reader("flamegraph.pl", &[path.to_str().unwrap()]));
    if let Some(drawn) = drawn {
        assert!(
            drawn.contains("<svg") && drawn.contains(&widest(&profile).name),
            "{drawn}"
        );
    }
}

/// The child of the root with the largest share.
fn widest(profile: &Profile) -> &Node {
    &profile.tree.children[0]
}

#[test]
fn pprof_is_read_by_go() {
    let (profile, bytes) = rows("pprof");
    let (_folder, path) = file(&bytes);
    let path = path.to_str().unwrap();
    let widest = widest(&profile);
    for index in ["variance", "p99"] {
        let option = format!("-sample_index={index}");
        let words = [
            "tool",
            "pprof",
            "-top",
            "-cum",
            "-nodecount=1000",
            &option,
            path,
        ];
        let Some(top) = reader("go", &words) else {
            return;
        };
        assert!(top.contains(&format!("Type: {index}")), "{top}");
        assert!(top.contains("ppm total"), "{top}");
        assert!(top.contains(&widest.name), "{} in {top}", widest.name);
    }
}

/// By OpenTelemetry's definitions of the version that the format names. Fields that they do not have are numbers in the text.
#[test]
fn otlp_profiles_are_read_by_their_definitions() {
    let (profile, bytes) = rows("otlp-profiles");
    let definitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opentelemetry-proto");
    let version = std::fs::read_to_string(definitions.join("README.md")).unwrap();
    let named = format!("v{}", evenkeel_export::PROTO_VERSION);
    assert!(version.contains(&named), "{version}");
    let about = evenkeel_export::named("otlp-profiles").unwrap().about();
    assert!(about.contains(evenkeel_export::PROTO_VERSION), "{about}");
    let service = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto";
    let kind = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest";
    let (_folder, path) = file(&bytes);
    let run = Command::new("protoc")
        .arg(format!("--decode={kind}"))
        .arg(format!("-I{}", definitions.display()))
        .arg(definitions.join(service))
        .stdin(std::fs::File::open(path).unwrap())
        .output()
        .expect("protoc; scripts/install.sh test installs it");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    let unknown = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    assert_eq!(text.lines().find(unknown), None);
    for part in [
        "key: \"service.name\"",
        "string_value: \"postgres\"",
        "string_table: \"variance\"",
        "string_table: \"ppm\"",
        "time_unix_nano: 1700000000000000000",
        &format!("string_table: \"{}\"", widest(&profile).name),
    ] {
        assert!(text.contains(part), "{part}");
    }
    // All shares, of the leaves, are the whole.
    let first = text.split("sample_type").nth(1).unwrap();
    let values = first
        .lines()
        .filter_map(|line| line.trim().strip_prefix("values: "));
    let sum: i64 = values.map(|value| value.parse::<i64>().unwrap()).sum();
    assert!((sum - 1_000_000).abs() < 1_000, "{sum}");
}

#[test]
fn perfetto_is_read_by_its_definitions() {
    let (profile, bytes) = rows("perfetto");
    let (_folder, path) = file(&bytes);
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/readers/read_perfetto.py"
    );
    let python = std::env::var("EVENKEEL_TEST_PYTHON").unwrap_or("python3".to_owned());
    let Some(tracks) = reader(&python, &[script, path.to_str().unwrap()]) else {
        return;
    };
    for timeline in &profile.timelines {
        for lane in &timeline.lanes {
            assert!(
                tracks.contains(&format!("\t{lane}\n")),
                "{lane} in {tracks}"
            );
        }
    }
    // The trace processor's package prints additional lines.
    let tracks = tracks
        .lines()
        .filter_map(|line| line.strip_prefix("track\t"));
    let on_threads = |line: &&str| !line.ends_with("critical path");
    let count = |line: &str| -> usize { line.split('\t').next().unwrap().parse().unwrap() };
    let spans: usize = profile.timelines.iter().map(|path| path.spans.len()).sum();
    assert_eq!(tracks.filter(on_threads).map(count).sum::<usize>(), spans);
}

/// Tables refer to each other by index, and a thread's weights are those of the leaves.
#[test]
fn firefox_refers_to_what_it_has() {
    let (profile, bytes) = rows("firefox");
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    let threads = file["threads"].as_array().unwrap();
    assert_eq!(threads.len(), Weight::ALL.len() + profile.timelines.len());
    let numbers = |value: &Value| -> Vec<Option<usize>> {
        let list = value.as_array().unwrap_or_else(|| panic!("{value}"));
        list.iter()
            .map(|it| it.as_u64().map(|it| it as usize))
            .collect()
    };
    for thread in threads {
        let stacks = thread["stackTable"]["length"].as_u64().unwrap() as usize;
        let frames = thread["frameTable"]["length"].as_u64().unwrap() as usize;
        let within = |bound: usize, list: Vec<Option<usize>>| {
            assert!(list.iter().flatten().all(|&at| at < bound));
            list.len()
        };
        within(stacks, numbers(&thread["samples"]["stack"]));
        assert_eq!(
            within(frames, numbers(&thread["stackTable"]["frame"])),
            stacks
        );
        assert_eq!(
            within(stacks, numbers(&thread["stackTable"]["prefix"])),
            stacks
        );
    }
    let whole: i64 = leaves(&profile.tree)
        .iter()
        .map(|leaf| Weight::Variance.of(leaf.node()).abs())
        .sum();
    // Threads are sorted in the file.
    let named = |begin: &str| {
        let begins = |thread: &&Value| thread["name"].as_str().unwrap().starts_with(begin);
        threads.iter().find(begins).expect(begin)
    };
    let weights = &named("variance: ")["samples"]["weight"];
    let weights = weights.as_array().unwrap().iter();
    let sum: i64 = weights.map(|weight| weight.as_i64().unwrap()).sum();
    assert_eq!(sum, whole);
    let waits = &named("critical path of max")["markers"]["length"];
    assert!(waits.as_u64().unwrap() > 0, "the slowest interval waits");
    let names = file["shared"]["stringArray"].as_array();
    let text = names.map_or_else(
        || String::from_utf8_lossy(&bytes).into_owned(),
        |names| format!("{names:?}"),
    );
    assert!(text.contains(&widest(&profile).name));
}

/// The rules of <https://www.speedscope.app/file-format-schema.json>, and the program's own checks. There are as many
/// weights as samples, frames exist, and events are in order of time and close what is open.
#[test]
fn speedscope_follows_its_schema() {
    let (profile, bytes) = rows("speedscope");
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        file["$schema"],
        "https://www.speedscope.app/file-format-schema.json"
    );
    let frames = file["shared"]["frames"].as_array().unwrap();
    let names: HashSet<&str> = frames
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), frames.len(), "a function has one frame");
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), Weight::ALL.len() + profile.timelines.len());
    for profile in profiles {
        assert!(["none", "nanoseconds"].contains(&profile["unit"].as_str().unwrap()));
        let end = profile["endValue"].as_u64().unwrap();
        if profile["type"] == "sampled" {
            let samples = profile["samples"].as_array().unwrap();
            let weights = profile["weights"].as_array().unwrap();
            assert_eq!(samples.len(), weights.len());
            assert_eq!(
                end,
                weights.iter().map(|it| it.as_u64().unwrap()).sum::<u64>()
            );
            let all = samples.iter().flat_map(|sample| sample.as_array().unwrap());
            all.for_each(|it| assert!((it.as_u64().unwrap() as usize) < frames.len()));
            continue;
        }
        assert_eq!(profile["type"], "evented");
        let (mut open, mut now) = (Vec::new(), 0);
        for event in profile["events"].as_array().unwrap() {
            let (frame, at) = (
                event["frame"].as_u64().unwrap(),
                event["at"].as_u64().unwrap(),
            );
            assert!(at >= now && at <= end && (frame as usize) < frames.len());
            now = at;
            match event["type"].as_str().unwrap() {
                "O" => open.push(frame),
                "C" => assert_eq!(open.pop(), Some(frame)),
                other => panic!("{other}"),
            }
        }
        assert!(open.is_empty());
    }
}

/// Read back, the table has every node of the tree, and every number as it was.
#[test]
fn csv_comes_back() {
    let (profile, bytes) = rows("csv");
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let columns: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let column = |name: &str| columns.iter().position(|it| it == name).unwrap();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let mut open = vec![(&profile.tree, None)];
    let mut at = 0;
    while let Some((node, parent)) = open.pop() {
        let line = &lines[at];
        let number = |name: &str| -> f64 { line[column(name)].parse().unwrap() };
        assert_eq!(line[column("node")], at.to_string());
        assert_eq!(
            line[column("parent")],
            parent.map_or(String::new(), |it: usize| it.to_string())
        );
        assert_eq!(line[column("name")], node.name);
        assert_eq!(
            (number("share"), number("mean_ns")),
            (node.share, node.mean_ns)
        );
        assert_eq!(number("tail_share_p99"), node.tail_share["p99"]);
        open.extend(node.children.iter().rev().map(|child| (child, Some(at))));
        at += 1;
    }
    assert_eq!(at, lines.len());
}

/// An interval that belongs to a span is below it, in its trace.
#[test]
fn otlp_goes_on_below_the_span() {
    let mut profile = profile("postgres-rows");
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    profile.timelines.truncate(1);
    profile.timelines[0].trace_id = trace.to_owned();
    profile.timelines[0].span_id = span.to_owned();
    let file: Value =
        serde_json::from_slice(&written("otlp", &profile, Weight::Variance).unwrap()).unwrap();
    let spans = file["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    assert!(spans.len() > 1 && spans.iter().all(|it| it["traceId"] == trace));
    let below = |it: &&Value| it["parentSpanId"] == span;
    assert_eq!(spans.iter().filter(below).count(), 1);
}

/// Identifiers are what the definition asks for; each span lies within its parent; the interval is its trace's only root.
#[test]
fn otlp_is_traces() {
    let (profile, bytes) = rows("otlp");
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    let resource = file["resourceSpans"][0]["resource"]["attributes"].to_string();
    assert!(
        resource.contains(r#"{"key":"service.name","value":{"stringValue":"postgres"}}"#),
        "{resource}"
    );
    let spans = file["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let text = |span: &Value, key: &str| span[key].as_str().unwrap_or_default().to_owned();
    let time = |span: &Value, key: &str| -> u64 { span[key].as_str().unwrap().parse().unwrap() };
    let mut ids = HashSet::new();
    for span in spans {
        assert_eq!(
            (text(span, "traceId").len(), text(span, "spanId").len()),
            (32, 16)
        );
        assert!(ids.insert(text(span, "spanId")), "twice");
        let parent = text(span, "parentSpanId");
        if parent.is_empty() {
            continue;
        }
        // A parent comes before its children.
        let same = |other: &&Value| text(other, "spanId") == parent;
        let above = spans.iter().find(same).expect("a parent");
        assert_eq!(text(above, "traceId"), text(span, "traceId"));
        assert!(time(above, "startTimeUnixNano") <= time(span, "startTimeUnixNano"));
        assert!(time(above, "endTimeUnixNano") >= time(span, "endTimeUnixNano"));
    }
    let roots: Vec<&Value> = spans
        .iter()
        .filter(|span| span["parentSpanId"].is_null())
        .collect();
    assert_eq!(roots.len(), profile.timelines.len());
    for (root, path) in roots.iter().zip(&profile.timelines) {
        let begin = time(root, "startTimeUnixNano");
        assert_eq!(begin, STARTED.unix_ns + path.begin_ns.round() as u64);
        let length = time(root, "endTimeUnixNano") - begin;
        assert!((length as f64 - path.latency_ns).abs() <= 1.0);
    }
    assert!(
        String::from_utf8_lossy(&bytes)
            .contains(r#"{"key":"evenkeel.waits","value":{"boolValue":true}}"#)
    );
}
