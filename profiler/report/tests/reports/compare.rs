//! Before and after.

use evenkeel_report::compare::{Difference, Of, RowKind, Told, Verdict};
use evenkeel_report::fit::columns;
use evenkeel_report::json;
use evenkeel_report::terminal::Style;

use super::fixture::sides::Sides;

#[test]
fn a_change_is_told_where_it_is() {
    let comparison = Sides::new([100_000.0, 300_000.0], "flush").compared(&[]);
    let row = |kind: RowKind, of: Of| {
        let mut rows = comparison.rows.iter();
        let found = rows.find(|row| row.kind == kind && row.of == of && row.what.contains("flush"));
        found.unwrap().clone()
    };
    for kind in [RowKind::Finding, RowKind::Call] {
        for of in [Of::All, Of::Slow] {
            let row = row(kind, of);
            assert_eq!(row.verdict, Verdict::Worse, "{row:?}");
            assert!((row.change.unwrap() - 2.0).abs() < 1e-9);
            assert!(row.low.unwrap() > 1.5 && row.high.unwrap() < 2.5);
        }
    }
    let p99 = comparison
        .rows
        .iter()
        .find(|row| row.what == "p99")
        .unwrap();
    assert_eq!(p99.verdict, Verdict::Worse);
    let start = "p99 rose from ";
    assert!(
        comparison.summary.starts_with(start),
        "{}",
        comparison.summary
    );
    assert!(
        comparison
            .summary
            .contains("flush called by request has 300 µs of the slowest 1 %, 100 µs before")
    );
    let max = comparison
        .rows
        .iter()
        .find(|row| row.what == "max")
        .unwrap();
    assert_eq!(max.verdict, Verdict::NotComparable);
    assert_eq!(max.why.as_deref(), Some("a maximum is a single interval"));
    let gone = comparison
        .rows
        .iter()
        .find(|row| row.what.starts_with("gone"))
        .unwrap();
    assert_eq!(gone.why.as_deref(), Some("timed before only"));
}

#[test]
fn equals_do_not_differ() {
    let comparison = Sides::new([100_000.0, 100_000.0], "flush").compared(&[]);
    assert!(comparison.rows.iter().all(|row| !row.verdict.is_told()));
    assert_eq!(comparison.summary, "No difference of the latency is told.");
    let coloured = comparison.terminal(&Style {
        colour: true,
        ..Style::default()
    });
    assert!(!coloured.contains("\u{1b}[31m") && !coloured.contains("\u{1b}[32m"));
    let one_a_side = "One recording a side cannot tell more";
    assert!(comparison.warnings.iter().any(|it| it.contains(one_a_side)));
}

#[test]
fn bounds_are_judged() {
    let sides = Sides::new([100_000.0, 300_000.0], "flush");
    let comparison = sides.compared(&[
        "mean > +10%",
        "finding flush > +250%",
        "finding flush > +200%",
        "p999 > +1%",
        "rate < -50%",
    ]);
    let told: Vec<Told> = comparison.bounds.iter().map(|bound| bound.told).collect();
    // Of 15,000 intervals 15 are above p99.9.
    let expected = [
        Told::Beyond,
        Told::Within,
        Told::NotTold,
        Told::NotTold,
        Told::Within,
    ];
    assert_eq!(told, expected, "{:#?}", comparison.bounds);
    assert_eq!(
        comparison.bounds[3].why.as_deref(),
        Some("too few intervals")
    );
}

#[test]
fn differences_are_listed_first() {
    let mut sides = Sides::new([100_000.0, 100_000.0], "flush");
    sides.differing = vec![Difference {
        what: "waits",
        before: "with".to_owned(),
        after: "without".to_owned(),
    }];
    let text = sides.compared(&[]).terminal(&Style::default());
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} in {text}"))
    };
    assert!(place("Before the interval") < place("WHAT DIFFERS"));
    assert!(place("WHAT DIFFERS") < place("LOAD") && place("LOAD") < place("LATENCY"));
}

#[test]
fn every_line_fits() {
    let long = "std::vector<int, std::allocator<int> >::flush\u{1b}[2J".repeat(3);
    let sides = Sides::new([100_000.0, 300_000.0], &long);
    for width in [0, 80, 89, 90, 100, 150] {
        let text = sides.compared(&["p99 > +10%"]).terminal(&Style {
            width,
            ..Style::default()
        });
        for line in text.lines() {
            assert!(columns(line) <= width.max(80), "{width}: {line}");
        }
        assert!(!text.contains('\u{1b}'));
    }
}

#[test]
fn as_json() {
    let comparison = Sides::new([100_000.0, 300_000.0], "flush").compared(&[]);
    let value: serde_json::Value = serde_json::from_str(&json::render(&comparison)).unwrap();
    assert_eq!(value["rows"][0]["what"], "mean");
    assert_eq!(value["rows"][0]["verdict"], "worse");
    let rate = value["load"]["rate_per_s"]["before"].as_f64().unwrap();
    assert!((rate - 1000.0).abs() < 1e-6, "{rate}");
    assert!(value.get("tree").is_none(), "the tree is for the page");
}

#[test]
fn names_are_no_markup() {
    let hostile = "a|b`<script>alert(1)</script>[x](y)";
    let comparison = Sides::new([100_000.0, 300_000.0], hostile).compared(&["p99 > +10%"]);
    let markdown = comparison.markdown();
    assert!(
        markdown.contains("| p99 &gt; +10% | ❌ beyond |"),
        "{markdown}"
    );
    assert!(markdown.contains("🔴 worse") && !markdown.contains("<script"));
    assert!(markdown.contains(r"a\|b\`&lt;script&gt;"));
    let page = comparison.html();
    assert!(!page.contains("<script>alert"), "names are data");
}

/// The page has the comparison's JSON, and the calls of both sides.
#[test]
fn the_page_has_the_calls() {
    let comparison = Sides::new([100_000.0, 300_000.0], "flush").compared(&[]);
    let page = comparison.html();
    let data = |id: &str| -> serde_json::Value {
        let open = format!("<script type=\"application/json\" id=\"{id}\">");
        let start = page.find(&open).expect("the element") + open.len();
        let end = page[start..].find("</script").expect("its end");
        serde_json::from_str(&page[start..start + end]).unwrap()
    };
    assert_eq!(data("changes"), serde_json::to_value(&comparison).unwrap());
    let tree = data("tree");
    assert_eq!(tree["name"], "request");
    let flush = &tree["children"][0];
    assert_eq!(
        (&flush["name"], &flush["mean_told"]),
        (&"flush".into(), &1.into())
    );
    let mean = flush["mean_ns"][1].as_f64().unwrap();
    assert!((mean - 300_000.0).abs() < 1.0, "{mean}");
    for reference in ["http://", "https://", "src=", "url("] {
        assert!(!page.contains(reference), "the page has {reference}");
    }
}
