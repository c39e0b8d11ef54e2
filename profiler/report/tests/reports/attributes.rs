//! Attributes that the target set, in a report.

use evenkeel_analysis::profile::{Attribute, AttributeFit, AttributeValue, Profile, Timeline};
use evenkeel_report::fit::columns;
use evenkeel_report::terminal::{self, Style, timeline};
use evenkeel_report::{html, json};

/// Rows explain 64.3 % by their two values, bytes 4 % by a line; invented.
fn profile() -> Profile {
    let value = |value, intervals, mean_ns| AttributeValue {
        value,
        intervals,
        mean_ns,
    };
    let rows = Attribute {
        name: "rows".into(),
        intervals: 1400,
        mean: 2.0,
        sd: 1.15,
        fit: AttributeFit::ByValue,
        explained: 0.643,
        se: 0.021,
        correlation: Some(0.80),
        correlation_se: 0.03,
        slope_ns: Some(15_000.0),
        values: vec![value(1, 700, 15_000.0), value(3, 700, 45_000.0)],
    };
    let bytes = Attribute {
        name: "bytes".into(),
        intervals: 900,
        mean: 65_536.0,
        sd: 100.0,
        fit: AttributeFit::Linear,
        explained: 0.04,
        correlation: Some(-0.2),
        slope_ns: Some(-2.0),
        ..Attribute::default()
    };
    let slowest = Timeline {
        pick: "max".into(),
        id: 7,
        latency_ns: 60_000.0,
        attributes: [("bytes".to_owned(), -4), ("rows".to_owned(), 3)].into(),
        ..Timeline::default()
    };
    Profile {
        attributes: vec![rows, bytes],
        timelines: vec![slowest],
        ..Profile::default()
    }
}

#[test]
fn a_section_of_the_terminal() {
    let text = terminal::render(&profile(), &Style::default());
    let (_, section) = text.split_once("ATTRIBUTES").expect("a section");
    let words: Vec<&str> = section.split_whitespace().collect();
    let words = words.join(" ");
    for line in [
        "64.3 % ±2.1 +0.80 ±0.03 15.0 µs 2.00 1,400 rows",
        "1 takes 15.0 µs (700 intervals), 3 takes 45.0 µs (700 intervals)",
        "4.0 % -0.20 ±0.00 -2 ns 65536 900 bytes by a line",
    ] {
        assert!(words.contains(line), "{line:?} is missing in {text}");
    }
    assert!(!terminal::render(&Profile::default(), &Style::default()).contains("ATTRIBUTES"));
}

#[test]
fn beside_the_intervals_they_were_reported_of() {
    let text = timeline::render(&profile(), &Style::default());
    assert!(text.contains("60.0 µs, bytes -4, rows 3, on"), "{text}");
}

#[test]
fn in_json_and_on_the_page() {
    let json = json::profile(&profile());
    assert!(
        json.contains("\"fit\": \"linear\"") && json.contains("\"rows\": 3"),
        "{json}"
    );
    let page = html::render(&profile());
    assert!(page.contains("attributeTable(profile.attributes)"));
}

#[test]
fn names_neither_break_lines_nor_command_the_terminal() {
    let mut profile = profile();
    let long = "a\u{1b}[2J\n".repeat(40);
    profile.attributes[0].name.clone_from(&long);
    profile.timelines[0].attributes = [(long, 1)].into();
    for width in [80, 100, 163] {
        let style = Style {
            width,
            ..Style::default()
        };
        let text = terminal::render(&profile, &style) + &timeline::render(&profile, &style);
        for line in text.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    }
}
