//! Classes of intervals by their labels: numbers, SQL, and texts inside of the interval or in a variable.

use serde_json::Value;

use super::expect::{Planted, number, ticks_per_ns};
use super::measure::{assert_complete, measured, measured_all};

/// Statements of `args`: class, part of the intervals, ticks.
const STATEMENTS: [(&str, f64, f64); 3] = [
    ("insert into history values (?, ?, ?)", 0.5, 10e3),
    (
        "select balance from accounts where id = ? and name = ?",
        0.25,
        20e3,
    ),
    (
        "update accounts set balance = balance + ? where id = ?",
        0.25,
        60e3,
    ),
];

/// The packet of a prepared statement is no text: the function has it that looks the statement up, and a variable.
#[test]
fn classes_from_inside_of_the_interval_and_from_a_variable() {
    for label in ["text:look_up:1", "text:current_sql"] {
        let interval = format!("execute_packet,label={label}");
        let (profile, intervals) = measured_all("args", &interval, 800);
        assert_complete(&profile, intervals);
        assert_classes(&profile, &STATEMENTS);
    }
}

#[test]
fn classes_from_sql_text() {
    // Ticks by class: select 20,000, update 60,000 (a quarter each), insert 10,000 (half).
    let (profile, intervals) = measured_all("args", "execute_sql,label=text:0", 800);
    assert_complete(&profile, intervals);
    assert_classes(&profile, &STATEMENTS);
    // Between the classes 4.25e8 ticks^2, and no more than noise within them.
    let planted = Planted {
        mean: 25e3,
        variance: 4.25e8,
    };
    let between = number(&profile["classes"], "between_fraction");
    assert!(
        between >= 1.0 - planted.noise(&profile) - 0.1,
        "{between}: {:#}",
        profile["classes"]
    );
}

#[test]
fn classes_from_an_integer() {
    let (profile, intervals) = measured("args", "execute_command,label=integer:0", 800);
    assert_complete(&profile, intervals);
    assert_classes(
        &profile,
        &[
            ("1", 0.25, 10e3),
            ("2", 0.25, 20e3),
            ("3", 0.25, 30e3),
            ("4", 0.25, 40e3),
        ],
    );
}

#[test]
fn labels_that_cannot_be_read() {
    let (profile, intervals) = measured("args", "look_at,label=text:0", 650);
    assert_complete(&profile, intervals);
    let warnings = profile["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning
            .as_str()
            .unwrap()
            .contains("labels could not be read")),
        "{warnings:?}"
    );
    // Thirteen pointers in turns; the text of 1 MiB is cut, the one that is not UTF-8 is shown with a mark.
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let has = |part: &str| {
        classes
            .iter()
            .any(|class| class["name"].as_str().unwrap().contains(part))
    };
    assert!(has("yyyyyyyy") && has("select ? from"), "{classes:#?}");
}

#[track_caller]
fn assert_classes(profile: &Value, planted: &[(&str, f64, f64)]) {
    let classes = profile["classes"]["classes"].as_array().unwrap();
    assert_eq!(classes.len(), planted.len(), "{classes:#?}");
    // Where not all were kept, a class counts those for which its intervals stand.
    let counts = classes.iter().map(|class| number(class, "intervals"));
    let intervals: f64 = counts.sum();
    for &(name, fraction, ticks) in planted {
        let class = classes
            .iter()
            .find(|class| class["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {classes:#?}"));
        let found = number(class, "intervals") / intervals;
        assert!(
            (found - fraction).abs() < 0.02,
            "{name}: {found} of the intervals"
        );
        let mean = number(class, "mean_ns") * ticks_per_ns();
        assert!(mean > 0.95 * ticks, "{name}: {mean} ticks");
    }
}
