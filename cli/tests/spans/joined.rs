//! Profiled processes, joined to their spans.

use super::*;

/// A program sets its requests' trace, or has it in an argument of its function. Then their spans lead into its
/// functions: the planted function explains the variance, and the report names what is not joined.
#[test]
fn a_finding_goes_from_the_service_into_the_function() {
    let cases = [
        ("annotated", program("traced"), "annotated,within=handle"),
        (
            "silent",
            program_with("traced", "silent", &["-DSILENT"]),
            "handle,label=text:0",
        ),
    ];
    for (name, program, interval) in cases {
        let place = Place::new();
        let options = [
            "--interval",
            interval,
            "--waits",
            "--plant",
            "every",
            "--max-overhead",
            "100%",
        ];
        let _quiet = quiet();
        place
            .profile(&options, &program, &["160", "spans.json"])
            .ended(0);
        let joined = place
            .run([
                "spans",
                "spans.json",
                "--trace-id",
                "run.keel",
                "--json",
                "-o",
                "joined.keel",
            ])
            .ended(0);
        let found: Value = serde_json::from_str(&joined.stdout).unwrap();
        assert_eq!(found["closure"]["max_abs_error_ticks"], 0, "{name}");
        // A busy machine's intervals are a sample; each is accounted for.
        let run = place.json("run.json");
        let recorded = run["intervals"].as_u64().unwrap();
        let (named, here) = said_of(&joined.stderr, "intervals; ", " name a trace, ");
        assert_eq!(named, recorded, "{name}: {}", joined.stderr);
        let (are_joined, _) = said_of(
            &joined.stderr,
            "evenkeel: ",
            " of the intervals of run.keel are joined",
        );
        // All requests go through the service: those that are not joined are left out.
        assert_eq!(found["intervals"], are_joined, "{name}");
        let missing = here - are_joined;
        assert!(
            here <= 150 && are_joined <= 140 && missing <= 10,
            "{name}: {}",
            joined.stderr
        );
        let warnings = found["warnings"].to_string();
        let says = format!("{missing} intervals of run.keel name spans that are missing");
        assert_eq!(warnings.contains(&says), missing > 0, "{name}: {warnings}");
        let left_out = format!("{} requests were left out", 150 - are_joined);
        assert!(warnings.contains(&left_out), "{name}: {warnings}");

        let first = &found["findings"][0];
        assert!(
            first.to_string().contains("shop: look_up()"),
            "{name}: {first:#}"
        );
        let span = ["gate: GET /buy", "gate: call shop", "shop: GET /price"];
        let service = path(&found["tree"], &span);
        // A call that was running when its thread was first seen is missing.
        let handle = child(service, "shop: handle()").unwrap_or(service);
        let look_up = path(handle, &["shop: look_up()"]);
        assert!(number(look_up, "share") > 0.5, "{name}: {look_up:#}");
        // Every recorded slow interval is joined: its time equals that of the recording, except for the probes' cost.
        let here_ns = mean_ns(&found["tree"], "shop: look_up()") * are_joined as f64;
        let there_ns = mean_ns(&run["tree"], "look_up") * recorded as f64;
        let is_same = here_ns <= 1.01 * there_ns && here_ns >= 0.8 * there_ns;
        assert!(is_same, "{name}: {here_ns} of {there_ns}");
        assert!(mean_ticks(path(service, &["shop: call stock"])) >= 0.99 * 400_000.0);
        // The recording of both is one like any other.
        let again = place.run(["report", "joined.keel", "--json"]).ended(0);
        let again: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!(again["tree"], found["tree"], "{name}");
        single_intervals_name_their_spans(&place, name);
    }
}

/// Single intervals name their spans, and are exported below them. `case`: which program ran.
fn single_intervals_name_their_spans(place: &Place, case: &str) {
    let run = place
        .run(["report", "run.keel", "--json", "--timeline", "max"])
        .ended(0);
    let run: Value = serde_json::from_str(&run.stdout).unwrap();
    let slowest = &run["timelines"][0];
    let number = u64::from_str_radix(slowest["trace_id"].as_str().unwrap(), 16).unwrap();
    let span_id = format!("{:016x}", number << 8 | 3);
    assert_eq!(slowest["span_id"], span_id.as_str(), "{case}");
    let class = if case == "annotated" {
        "price"
    } else {
        "(no label)"
    };
    assert_eq!(slowest["class"], class);
    let shown = place
        .run(["report", "run.keel", "--timeline", "max"])
        .ended(0);
    assert!(shown.stdout.contains(&span_id), "{}", shown.stdout);
    let exported = place
        .run(["export", "run.keel", "--format", "otlp"])
        .ended(0);
    assert!(
        exported
            .stdout
            .contains(&format!(r#""parentSpanId":"{span_id}""#))
    );
}

/// The numbers before and after some words.
fn said_of(said: &str, before: &str, after: &str) -> (u64, u64) {
    let number = |text: &str| -> Option<u64> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let (head, rest) = said
        .split_once(after)
        .unwrap_or_else(|| panic!("no {after} in {said}"));
    let (_, first) = head
        .rsplit_once(before)
        .unwrap_or_else(|| panic!("no {before} in {head}"));
    (number(first).unwrap(), number(rest).unwrap_or_default())
}

/// The joint time of all nodes of a name.
fn mean_ns(node: &Value, name: &str) -> f64 {
    if node["name"] == name {
        return number(node, "mean_ns");
    }
    let children = node["children"].as_array().into_iter().flatten();
    children.map(|child| mean_ns(child, name)).sum()
}

/// Recordings without a joinable interval are refused, with what to do.
#[test]
fn recordings_that_name_no_span() {
    let place = Place::new();
    let (spans, _) = shop::shop(5, 1, |_| 0);
    std::fs::write(place.file("spans.json"), shop::json(&spans)).unwrap();
    place
        .run(["spans", "spans.json", "-o", "spans.keel"])
        .ended(0);
    let recordings =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiler/recording/tests/recordings");
    let cases = [
        ("postgres-rows.keel", "evenkeel_trace"),
        ("postgres-transaction.keel", "--waits"),
    ];
    for (name, said) in cases {
        let path = recordings.join(name);
        let words = ["spans", "spans.json", "--trace-id", path.to_str().unwrap()];
        place.run(words).ended(2).said(&[name, said]);
    }
    for (name, said) in [
        ("spans.keel", "is one of spans"),
        ("missing.keel", "missing.keel"),
    ] {
        let words = ["spans", "spans.json", "--trace-id", name];
        place.run(words).ended(2).said(&[said]);
    }
}
