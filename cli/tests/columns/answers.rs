//! Answers of the questions of `sql/`, beside what the report says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Rows that answer a question of this name.
pub type Answers<'a> = dyn Fn(&str) -> Vec<Value> + 'a;

fn number(row: &Value, name: &str) -> f64 {
    row[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name} in {row:#}"))
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {row:#}"))
}

/// Tolerance of doubles: sums are exact, and results are rounded a few times.
#[track_caller]
fn near(found: f64, expected: f64, of: &str) {
    let close = (found - expected).abs() <= 1e-8 * expected.abs() + 1e-9;
    assert!(close, "{found} instead of {expected}: {of}");
}

/// Nodes of the tree by path and part.
fn parts<'a>(
    node: &'a Value,
    path: String,
    found: &mut BTreeMap<(String, &'static str), &'a Value>,
) {
    for child in node["children"].as_array().unwrap() {
        let (name, site) = (text(child, "name"), text(child, "site"));
        if ["body", "not_opened"].contains(&text(child, "kind")) {
            found.insert((path.clone(), "own"), child);
            continue;
        }
        let step = match site {
            "" => name.to_owned(),
            site => format!("{name} [{site}]"),
        };
        parts(child, format!("{path} > {step}"), found);
    }
    assert!(found.insert((path, "all"), node).is_none(), "a path twice");
}

fn tree(report: &Value) -> BTreeMap<(String, &'static str), &Value> {
    let mut found = BTreeMap::new();
    parts(
        &report["tree"],
        text(&report["tree"], "name").to_owned(),
        &mut found,
    );
    found
}

fn part(row: &Value) -> (String, &'static str) {
    let part = if text(row, "part") == "all" {
        "all"
    } else {
        "own"
    };
    (text(row, "path").to_owned(), part)
}

pub fn shares_agree(report: &Value, answers: &Answers<'_>) {
    let tree = tree(report);
    let rows = answers("shares");
    assert_eq!(rows.len(), tree.len());
    for row in rows {
        let node = tree[&part(&row)];
        let of = format!("{row:#} {}", node["name"]);
        for name in ["mean_ns", "sd_ns", "variance_fraction", "share"] {
            near(
                number(&row, name),
                number(node, name),
                &format!("{name} of {of}"),
            );
        }
        if text(&row, "part") == "all" {
            near(number(&row, "calls_mean"), number(node, "calls_mean"), &of);
        }
    }
}

pub fn tails_agree(report: &Value, answers: &Answers<'_>) {
    let tree = tree(report);
    let rows = answers("tails");
    let tails = report["tree"]["tail_share"].as_object().unwrap().len();
    assert!(tails > 0);
    assert_eq!(rows.len(), tails * tree.len());
    for row in rows {
        let node = tree[&part(&row)];
        let share = &node["tail_share"][text(&row, "tail")];
        near(
            number(&row, "tail_share"),
            share.as_f64().unwrap(),
            &format!("{row:#}"),
        );
    }
}

/// Where a leaf is divided among its callers, the report has a factor a caller, and the query one of all; those are left out here.
pub fn factors_agree(report: &Value, answers: &Answers<'_>) {
    let reported = report["factors"].as_array().unwrap();
    let functions = |factor: &Value| -> Vec<String> {
        let names = factor["functions"].as_array().unwrap().iter();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let divided = reported.iter().filter(|factor| !factor["caller"].is_null());
    let divided: BTreeSet<Vec<String>> = divided.map(functions).collect();
    let mut expected: BTreeMap<Vec<String>, &Value> = BTreeMap::new();
    for factor in reported
        .iter()
        .filter(|it| !divided.contains(&functions(it)))
    {
        let mut names = functions(factor);
        names.sort();
        expected.insert(names, factor);
    }
    assert!(!expected.is_empty());
    for row in answers("factors") {
        let mut names = vec![text(&row, "function").to_owned()];
        names.extend(row["other_function"].as_str().map(str::to_owned));
        let is_reported = number(&row, "contribution") >= 0.01 && number(&row, "score") > 0.0;
        match expected.remove(&names) {
            Some(factor) => {
                assert_eq!(row["kind"], factor["kind"]);
                for name in ["contribution", "score", "height"] {
                    let of = format!("{name} of {names:?}");
                    near(number(&row, name), number(factor, name), &of);
                }
            }
            None => assert!(!is_reported || divided.contains(&names), "{row:#}"),
        }
    }
    assert!(expected.is_empty(), "{expected:#?}");
}

pub fn classes_agree(report: &Value, answers: &Answers<'_>) {
    let rows = answers("classes");
    let classes = &report["classes"];
    near(
        number(&rows[0], "between_all"),
        number(classes, "between_fraction"),
        "between",
    );
    near(
        number(&rows[0], "within_all"),
        number(classes, "within_fraction"),
        "within",
    );
    let classes = classes["classes"].as_array().unwrap();
    if classes.is_empty() {
        // Nothing has a label.
        assert_eq!((rows.len(), text(&rows[0], "class")), (1, "(no label)"));
        return;
    }
    assert_eq!(rows.len(), classes.len());
    for (row, class) in rows.iter().zip(classes) {
        assert_eq!(
            (&row["class"], &row["intervals"]),
            (&class["name"], &class["intervals"])
        );
        for name in ["mean_ns", "sd_ns", "within_fraction", "between_fraction"] {
            near(
                number(row, name),
                number(class, name),
                &format!("{name} of {row:#}"),
            );
        }
    }
}

/// Each member of the dimension has the intervals, mean and deviation of its own report, and is compared with the
/// others.
pub fn groups_agree(dimension: &str, groups: &[(&str, Value)], answers: &Answers<'_>) {
    let mut rows = answers("groups");
    rows.retain(|row| text(row, "dimension") == dimension);
    let mut found = 0;
    for (name, report) in groups {
        let mut of_group = rows.iter().filter(|row| text(row, "member") == *name);
        if groups.len() == 1 || report["intervals"] == 1 {
            // It has no other group to compare with, or no deviation.
            assert!(of_group.next().is_none(), "{name} in {rows:#?}");
            continue;
        }
        found += of_group.clone().count();
        let row = of_group.find(|row| number(row, "place") == 1.0);
        let row = row.unwrap_or_else(|| panic!("no {name} in {rows:#?}"));
        assert_eq!(row["intervals"], report["intervals"], "{name}");
        near(number(row, "mean_ns"), number(report, "mean_ns"), name);
        near(number(row, "sd_ns"), number(report, "sd_ns"), name);
        let others = groups.iter().filter(|(other, _)| other != name);
        let sums = others.map(|(_, report)| {
            let intervals = number(report, "intervals");
            (intervals, intervals * number(report, "mean_ns"))
        });
        let (n, total) = sums.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        near(number(row, "others_mean_ns"), total / n, name);
    }
    assert_eq!(found, rows.len(), "{rows:#?}");
}

/// Each class compared with the others.
pub fn grouped_classes_agree(report: &Value, answers: &Answers<'_>) {
    let classes = report["classes"]["classes"].as_array().unwrap().iter();
    let classes: Vec<(&str, Value)> = classes.map(|it| (text(it, "name"), it.clone())).collect();
    groups_agree("class", &classes, answers);
}
