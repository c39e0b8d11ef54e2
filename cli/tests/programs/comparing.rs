//! Two recordings side by side: what was changed on purpose is found as the change.

use serde_json::Value;

use super::expect::{number, quiet};
use crate::support::build::program;
use crate::support::run::Place;

#[test]
fn the_changed_stage_shows_as_the_change() {
    let place = Place::new();
    {
        let _quiet = quiet();
        for (times, recording) in [("1", "before.keel"), ("9", "after.keel")] {
            let options = ["--interval", "run_interval"];
            let (run, _) =
                place.profile_until_opened(&options, &program("changes"), &["1000", times]);
            run.ended(0);
            std::fs::rename(place.file("run.keel"), place.file(recording)).unwrap();
            std::fs::remove_file(place.file("enough")).unwrap();
        }
    }
    let compared = place
        .run(["compare", "before.keel", "after.keel", "--json"])
        .ended(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    // One of four intervals takes 160,000 ticks before and 960,000 after, another 120,000 and 920,000. Other work on
    // the machine only shows in the mean, because it adds milliseconds to a few intervals.
    let p90 = compared["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["what"] == "p90")
        .unwrap();
    assert!(number(p90, "after") > 2.0 * number(p90, "before"), "{p90}");

    let same = place
        .run(["compare", "before.keel", "before.keel", "--json"])
        .ended(0);
    let same: Value = serde_json::from_str(&same.stdout).unwrap();
    for row in same["rows"].as_array().unwrap() {
        assert_eq!(row["before"], row["after"], "{row}");
    }
    let text = place
        .run(["compare", "before.keel", "after.keel"])
        .ended(0)
        .stdout;
    assert!(text.contains("changed"), "{text}");
    place
        .run([
            "compare",
            "before.keel",
            "after.keel",
            "--html",
            "change.html",
        ])
        .ended(0);
    let page = std::fs::read_to_string(place.file("change.html")).unwrap();
    assert!(
        page.contains("<html") && !page.contains("src=\"http"),
        "one page, nothing from elsewhere"
    );
}
