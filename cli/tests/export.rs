//! `evenkeel export` as a user meets it: what it writes where, and what it says of what cannot be exported. What is in the files is
//! tested in `profiler/export/tests/formats.rs`.

mod support;

use std::path::Path;

use support::run::Place;

/// A place with a recording without waits, `plain.keel`, and one with them, `waits.keel`.
fn place() -> Place {
    let recordings =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiler/recording/tests/recordings");
    let place = Place::new();
    for (name, recording) in [
        ("plain.keel", "postgres-transaction.keel"),
        ("waits.keel", "postgres-rows.keel"),
    ] {
        std::fs::copy(recordings.join(recording), place.file(name)).unwrap();
    }
    place
}

#[test]
fn to_a_file_and_to_standard_output() {
    let place = place();
    let printed = place.run(["export", "waits.keel", "--format", "folded"]);
    let printed = printed.ended(0).stdout;
    assert!(printed.lines().count() > 10, "{printed}");
    let words = ["export", "waits.keel", "--format", "folded", "-o", "x"];
    place.run(words).ended(0);
    let written = std::fs::read_to_string(place.file("x")).unwrap();
    assert_eq!(written, printed);
    let words = [
        "export",
        "waits.keel",
        "--format",
        "folded",
        "--weight",
        "mean",
    ];
    assert_ne!(place.run(words).ended(0).stdout, printed);
}

/// Only picked intervals are written; a pick that matches nothing is reported.
#[test]
fn critical_paths_are_picked() {
    let place = place();
    let export = |picks: &[&str]| {
        let words = ["export", "waits.keel", "--format", "otlp"];
        place.run(words.iter().chain(picks))
    };
    let traces = |out: &str| out.matches("evenkeel.pick").count();
    assert_eq!(traces(&export(&["--timeline", "max"]).ended(0).stdout), 1);
    assert!(traces(&export(&[]).ended(0).stdout) > 3);
    export(&["--timeline", "id:999999999"])
        .ended(2)
        .said(&["no interval for --timeline id:999999999"]);
}

#[test]
fn the_slowest_are_kept_whole_without_waits() {
    let place = place();
    let words = [
        "export",
        "plain.keel",
        "--format",
        "otlp",
        "--timeline",
        "slowest:2",
    ];
    let out = place.run(words).ended(0);
    assert_eq!(out.stdout.matches("evenkeel.pick").count(), 1);
    let report = place.run(["report", "plain.keel", "--slowest=3", "--timeline", "max"]);
    let out = report.ended(0).stdout;
    assert!(
        out.contains("SLOWEST INTERVALS") && out.contains("CRITICAL PATH"),
        "{out}"
    );
}

#[test]
fn what_cannot_be_exported() {
    let place = place();
    let cases: [(&[&str], &[&str]); 6] = [
        (
            &["plain.keel", "--format", "firefox", "--timeline", "p99"],
            &[
                "none at p99",
                "--timeline slowest:1",
                "evenkeel profile --waits -o",
            ],
        ),
        (
            &["plain.keel", "--format", "svg"],
            &[
                "folded",
                "speedscope",
                "firefox",
                "perfetto",
                "pprof",
                "csv",
                "otlp",
            ],
        ),
        (
            &["plain.keel", "--format", "pprof", "--weight", "mean"],
            &["pprof holds all weights: leave --weight out"],
        ),
        (
            &["waits.keel", "--format", "otlp", "--weight", "mean"],
            &["otlp holds times, not weights"],
        ),
        (
            &["waits.keel", "--format", "csv", "--timeline", "max"],
            &["csv holds no critical paths", "perfetto"],
        ),
        (
            &["waits.keel", "--format", "csv", "-o", "/no/such/folder/x"],
            &["cannot write /no/such/folder/x"],
        ),
    ];
    for (words, said) in cases {
        let run = place.run(["export"].iter().chain(words));
        run.ended(2).said(said);
    }
    place
        .run(["export", "waits.keel", "--format", "csv", "-o", "/dev/full"])
        .ended(2)
        .said(&["/dev/full"]);
}

/// Refuses a file that is no recording, one of a later version, and an empty one. A recording that ends early is
/// exported as far as it goes, with a warning.
#[test]
fn damaged_recordings() {
    let place = place();
    let whole = std::fs::read(place.file("waits.keel")).unwrap();
    let mut newer = whole.clone();
    newer[8] = 99;
    let files = [
        (
            "foreign",
            &b"PGDMP and so on, for long enough"[..],
            "not a recording",
        ),
        ("newer", &newer, "99"),
        ("empty", &whole[..16], "holds no complete interval"),
    ];
    for (name, bytes, said) in files {
        std::fs::write(place.file(name), bytes).unwrap();
        let words = ["export", name, "--format", "csv", "-o", "out"];
        place.run(words).ended(2).said(&[said]);
        assert!(!place.file("out").exists(), "{name}");
    }
    std::fs::write(place.file("cut"), &whole[..whole.len() * 3 / 4]).unwrap();
    let run = place.run(["export", "cut", "--format", "csv"]).ended(0);
    assert!(run.stdout.lines().count() > 10);
    run.said(&["the recording ends early"]);
}

/// Several recordings are one, in a file of their own or not; strangers are not.
#[test]
fn merged_recordings() {
    let place = place();
    std::fs::copy(place.file("waits.keel"), place.file("more.keel")).unwrap();
    let merge = |words: &[&str]| place.run(["merge"].iter().chain(words));
    let merged = merge(&["waits.keel", "more.keel", "-o", "all.keel"]);
    merged.ended(0).said(&["2 recordings", "all.keel"]);
    let report = |words: &[&str]| place.run(["report", "--json"].iter().chain(words));
    let together = report(&["waits.keel", "more.keel"]).ended(0).stdout;
    assert_eq!(report(&["all.keel"]).ended(0).stdout, together);

    let refused: [(&[&str], &str); 5] = [
        (&["waits.keel", "-o", "x"], "at least two"),
        (&["waits.keel", "waits.keel", "-o", "x"], "named twice"),
        (
            &["waits.keel", "plain.keel", "-o", "x"],
            "cannot be taken together",
        ),
        (
            &["waits.keel", "more.keel", "-o", "more.keel"],
            "give -o another name",
        ),
        (
            &["waits.keel", "more.keel", "-o", "/no/such/x"],
            "/no/such/x",
        ),
    ];
    for (words, said) in refused {
        merge(words).ended(2).said(&[said]);
        assert!(!place.file("x").exists() && !place.file("x.partial").exists());
    }
}
