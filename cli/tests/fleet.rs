//! Recordings of several hosts: which differs from the rest, and in what.

mod support;

use serde_json::Value;
use support::build::program;
use support::planted::{Planted, STARTED_NS};
use support::run::Place;

/// Three hosts stall for 20 µs, the fourth for 60 µs: only the fourth is named, with the call. The tables are
/// separate or merged.
#[test]
fn the_host_that_differs_is_named() {
    let place = Place::new();
    let hosts = [("db1", 20), ("db2", 20), ("db3", 60), ("db4", 20)];
    for (seed, (host, stall_us)) in (1..).zip(hosts) {
        let build = if host == "db3" { "bb22" } else { "aa11" };
        let planted = Planted {
            host,
            build,
            stall_us,
            seed,
            unix_ns: STARTED_NS + seed,
            ..Planted::default()
        };
        planted.write(&place.file(&format!("{host}.keel")));
    }
    let files = ["db1.keel", "db2.keel", "db3.keel", "db4.keel"];
    let compare = |options: &[&str], files: &[&str]| {
        let words = ["compare"].iter().chain(options).chain(files);
        place.run(words)
    };
    let run = compare(&["--by", "host", "--json"], &files).ended(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let differing = found["groups"].as_array().unwrap().iter();
    let differing: Vec<&Value> = differing.filter(|group| group["differs"] == true).collect();
    assert_eq!(differing.len(), 1, "{found:#}");
    assert_eq!(
        (&differing[0]["name"], &differing[0]["intervals"]),
        (&"db3".into(), &3000.into())
    );
    let finding = &found["differences"].as_array().unwrap()[0];
    assert_eq!(
        (&finding["group"], &finding["differs"]),
        (&"db3".into(), &true.into())
    );
    let in_disk = |one: &Value| one["function"] == "disk" && one["differs"] == true;
    assert!(
        found["differences"].as_array().unwrap().iter().any(in_disk),
        "{found:#}"
    );
    place
        .run([
            "merge", "db1.keel", "db2.keel", "db3.keel", "db4.keel", "-o", "all.keel",
        ])
        .ended(0);
    assert_eq!(
        compare(&["--by", "host", "--json"], &["all.keel"])
            .ended(0)
            .stdout,
        run.stdout
    );

    let text = compare(&["--by", "build", "--canary", "bb"], &["all.keel"])
        .ended(0)
        .stdout;
    for said in ["bb22 is worse than the others", "disk", "differs"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let healthy = compare(&["--by", "host"], &["db1.keel", "db2.keel", "db4.keel"]).ended(0);
    assert!(
        healthy.stdout.contains("No host can be told from the rest"),
        "{}",
        healthy.stdout
    );

    let refused: [(&[&str], &[&str], &str); 5] = [
        (&[], &files[..3], "--by host"),
        (&["--by", "host"], &files[..1], "nothing to compare"),
        (&["--by", "options"], &files, "nothing to compare"),
        (&["--by", "host", "--canary", "db"], &files, "db1, db2"),
        (&["--by", "host", "--canary", "web"], &files, "0 groups"),
    ];
    for (options, files, said) in refused {
        compare(options, files).ended(2).said(&[said]);
    }
}

/// The report of a recording of sums equals the session's own: every interval is in it, and the same function is
/// found.
#[test]
fn a_recording_of_sums_reports_what_the_session_did() {
    let place = Place::new();
    let options = ["--interval", "run_interval", "--summary=300ms"];
    place.profile_until_opened(&options, &program("stages"), &["1000"]);
    let session = place.json("run.json");
    let run = place.run(["report", "--json", "run.keel"]).ended(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    for count in ["intervals_seen", "discarded"] {
        assert_eq!(report[count], session[count], "{count}");
    }
    assert_eq!(report["closure"], session["closure"]);
    assert!(report["overhead"]["probe_ns"].as_f64() > Some(0.0));
    let first = |profile: &Value| profile["findings"][0]["function"].clone();
    assert_eq!(first(&report), first(&session));
    assert!(
        report["tree"]["children"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );

    std::fs::copy(place.file("run.keel"), place.file("more.keel")).unwrap();
    place
        .run(["merge", "run.keel", "more.keel", "-o", "both.keel"])
        .ended(0);
    let both = place.run(["report", "--json", "both.keel"]).ended(0);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(
        both["intervals"].as_u64(),
        report["intervals"].as_u64().map(|n| 2 * n)
    );
    assert_eq!(both["mean_ns"], report["mean_ns"]);
    // Its minutes say when they began.
    let exported = place.run(["export", "--format", "parquet", "-o", "tables", "run.keel"]);
    let exported = exported.ended(0);
    assert!(
        !exported.stderr.contains("do not say when"),
        "{}",
        exported.stderr
    );
    assert!(place.file("tables/moments").exists());
    // `--summary` needs a file, and timelines need single intervals, which sums do not have.
    let command = ["profile", "--summary", "--interval", "f", "--", "true"];
    place.run(command).ended(2).said(&["--output"]);
}
