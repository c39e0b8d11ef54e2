//! Numbers that a target reports of its intervals, end to end.

mod support;

#[path = "programs/expect.rs"]
#[allow(dead_code)] // only what is asked of a tree
mod expect;
#[path = "waits/planted.rs"]
#[allow(dead_code)] // not every check of the planted waits
mod planted;

use expect::{number, quiet, ticks_per_ns};
use serde_json::{Map, Value};
use support::build::program;
use support::run::Place;

fn attribute<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let all = profile["attributes"]
        .as_array()
        .expect("some were reported");
    let found = all.iter().find(|attribute| attribute["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {all:#?}"))
}

/// A quarter of the intervals each has 1, 2, 4 or 8 rows, 100,000 ticks a row: rows explain the latency. The
/// interval's number has too many values to explain anything.
#[test]
fn rows_explain_the_latency() {
    let (profile, _) = planted::Planted::new("attributes", "annotated,within=run").measured();
    let rows = attribute(&profile, "rows");
    assert_eq!(
        (&rows["intervals"], &rows["fit"]),
        (&profile["intervals"], &"by_value".into())
    );
    let values = rows["values"].as_array().unwrap();
    let reported: Vec<i64> = values
        .iter()
        .map(|one| one["value"].as_i64().unwrap())
        .collect();
    assert_eq!(reported, [1, 2, 4, 8]);
    for one in values {
        let least_ticks = 100_000.0 * number(one, "value");
        assert!(
            number(one, "mean_ns") * ticks_per_ns() >= 0.99 * least_ticks,
            "{one}"
        );
    }
    assert!(
        number(rows, "explained") <= 1.0 && number(rows, "se") > 0.0,
        "{rows:#}"
    );
    let run_number = attribute(&profile, "number in the run");
    assert_eq!(
        (&run_number["fit"], &run_number["values"]),
        (&"linear".into(), &Value::Array(vec![]))
    );
}

/// A recording has them, and shows them with the interval they were reported of.
#[test]
fn a_recording_tells_them_of_single_intervals() {
    let place = Place::new();
    let _quiet = quiet();
    let options = [
        "--interval",
        "annotated,within=run",
        "--waits",
        "--plant",
        "every",
    ];
    place
        .profile(&options, &program("attributes"), &["160"])
        .ended(0);
    let profile = place.json("run.json");
    let report = |form: &[&str]| {
        let arguments = ["report", "run.keel", "--timeline", "max"];
        place.run(arguments.iter().chain(form)).ended(0).stdout
    };
    let again: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    assert_eq!(again["attributes"], profile["attributes"]);
    let numbers: &Map<String, Value> = again["timelines"][0]["attributes"].as_object().unwrap();
    let rows = numbers["rows"].as_i64().unwrap();
    assert!([1, 2, 4, 8].contains(&rows), "{numbers:?}");
    let text = report(&[]);
    assert!(text.contains("ATTRIBUTES"), "{text}");
    assert!(text.contains(&format!(", rows {rows}")), "{text}");
}
