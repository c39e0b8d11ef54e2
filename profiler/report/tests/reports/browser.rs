//! The pages in a browser: nothing fails, nothing scrolls sideways on a telephone, and everybody can use them (axe-core's rules).
//! `scripts/install.sh browser` installs Chromium and the rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_analysis::findings::Finding;
use evenkeel_analysis::profile::{Node, OverTime, Profile, TimeColumn};
use evenkeel_report::html;
use serde_json::Value;

use super::fixture::{self, sides};

/// Collects what fails, from before the page's own script.
const LISTENS: &str = r"<script>window.problems = [];
addEventListener('error', (event) => problems.push(event.message));
addEventListener('securitypolicyviolation', (event) => problems.push(event.violatedDirective));
console.error = (...words) => problems.push(words.join(' '));</script>";

/// Opens everything that can be opened, and writes down what was found.
const LOOKS: &str = r"<script>(async () => {
const pause = () => new Promise((go) => setTimeout(go, 300));
const closed = document.documentElement.scrollHeight;
if (ASIS) await pause();
else for (let i = 0; i < 3; i += 1) { for (const one of document.querySelectorAll('details')) one.open = true; await pause(); }
const sliders = document.querySelectorAll('#over-time input[type=range]');
if (!ASIS && sliders.length > 0) { sliders[1].value = 2; sliders[1].dispatchEvent(new Event('input')); await pause(); }
const rules = !RULES ? { violations: [] } : await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa'], resultTypes: ['violations'] });
const violations = rules.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
const answer = document.createElement('pre');
answer.id = 'seen';
answer.textContent = JSON.stringify({ problems, violations, closed, shown: document.querySelectorAll('h2').length,
  stretch: [...document.querySelectorAll('#over-time p, #over-time td')].map((one) => one.textContent.replace(/\u00a0/g, ' ')), search: location.hash,
  sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth });
document.body.append(answer);
})();</script>";

fn browser() -> Option<&'static str> {
    ["chromium", "google-chrome"].into_iter().find(|name| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|answer| answer.status.success())
    })
}

/// axe-core, in the package of PyPI that `scripts/install.sh` unpacks.
fn rules() -> Option<String> {
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/axe/lib");
    let versions = fs::read_dir(libraries).ok()?.flatten();
    let file = |version: PathBuf| version.join("site-packages/axe_playwright_python/axe.min.js");
    versions
        .filter_map(|version| fs::read_to_string(file(version.path())).ok())
        .next()
}

/// What the browser saw on a page, in a window of this many pixels; `after` is what follows its address. On a page of thousands of nodes the
/// rules take minutes. `None` without a browser.
fn seen(page: &str, width: u32, after: &str, has_rules: bool) -> Option<Value> {
    let (Some(browser), Some(rules)) = (browser(), rules()) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "scripts/install.sh browser"
        );
        eprintln!(
            "no browser, or no rules for it: nothing was tested (scripts/install.sh browser)"
        );
        return None;
    };
    let looks = LOOKS
        .replace("ASIS", &(!after.is_empty()).to_string())
        .replace("RULES", &has_rules.to_string());
    let page = page.replacen("<head>", &format!("<head>{LISTENS}"), 1);
    let page = page.replacen(
        "</body>",
        &format!("<script>{rules}</script>{looks}</body>"),
        1,
    );
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("page.html");
    fs::write(&file, page).unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.arg("--virtual-time-budget=60000");
    command.arg(format!("--user-data-dir={}", place.path().display()));
    command.arg(format!("--window-size={width},900"));
    command.arg(format!("file://{}{after}", file.display()));
    let answer = command.output().unwrap();
    let dom = String::from_utf8_lossy(&answer.stdout);
    let written = dom
        .split_once("<pre id=\"seen\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let (written, _) = written.unwrap_or_else(|| {
        panic!(
            "the page was not looked at: {}",
            String::from_utf8_lossy(&answer.stderr)
        )
    });
    let written = written
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    Some(serde_json::from_str(&written).unwrap())
}

/// Nodes of a tree that is as wide as deep.
fn large(nodes: usize) -> Profile {
    let mut profile = fixture::before();
    let template = Node {
        children: Vec::new(),
        ..profile.tree.children[0].clone()
    };
    let named = |at: usize, children| Node {
        name: format!("function_{at}"),
        children,
        ..template.clone()
    };
    let mut level: Vec<Node> = (0..nodes / 2).map(|at| named(at, Vec::new())).collect();
    let mut made = level.len();
    while level.len() > 1 {
        let pairs: Vec<Vec<Node>> = level.chunks(2).map(<[Node]>::to_vec).collect();
        level = pairs
            .into_iter()
            .enumerate()
            .map(|(at, children)| named(made + at, children))
            .collect();
        made += level.len();
    }
    profile.tree.children = level;
    profile
}

/// Six seconds of 100 intervals, half of 1 ms and half of 3 ms: the 2 ms more are in the second finding for three seconds, then in the first.
fn over_time() -> Profile {
    let mut profile = fixture::before();
    profile.findings = ["send", "disk"]
        .map(|name| Finding {
            headline: name.to_owned(),
            function: name.to_owned(),
            ..Finding::default()
        })
        .to_vec();
    let column = |second: usize| {
        let mut findings = vec![(0.0, 0.0); profile.findings.len()];
        findings[usize::from(second < 3)] = (1e8, 3e14);
        TimeColumn {
            from_ns: 1e9 * second as f64,
            to_ns: 1e9 * (second + 1) as f64,
            intervals: 100,
            latency_ns: 2e8,
            squares_ns2: 5e14,
            cells: vec![(0, 50), (2, 50)],
            findings,
        }
    };
    profile.over_time = Some(OverTime {
        began_unix_ns: None,
        bounds_ns: vec![0.9e6, 1.1e6, 2.9e6, 3.1e6],
        columns: (0..6).map(column).collect(),
    });
    profile
}

/// A stretch that is chosen has the shares of its intervals: by the sliders, which the keyboard moves, and by an address.
#[test]
fn a_stretch_of_time_has_its_own_shares() {
    let profile = over_time();
    let page = html::render(&profile);
    let Some(moved) = seen(&page, 1280, "", false) else {
        return;
    };
    let linked = seen(&page, 1280, "#open=over-time&time=0-2", false).expect("there is a browser");
    let [first, second] = [0, 1].map(|at| profile.findings[at].headline.clone());
    for seen in [moved, linked] {
        assert_eq!(seen["problems"], serde_json::json!([]));
        let stretch: Vec<&str> = seen["stretch"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let summary = stretch.iter().find(|one| one.contains("300 intervals"));
        assert!(
            summary.is_some_and(|one| one.contains("mean 2.00 ms")),
            "{stretch:?}"
        );
        let rows: Vec<&[&str]> = stretch.windows(4).collect();
        for (here, name) in [("0.0 %", &first), ("100.0 %", &second)] {
            let row = rows.iter().find(|row| row[3] == name).expect("a row");
            assert_eq!(row[..2], [here, "50.0 %"], "{stretch:?}");
        }
        assert!(
            seen["search"].as_str().unwrap().contains("time=0-2"),
            "{seen}"
        );
    }
}

#[test]
fn everybody_can_use_the_pages() {
    let comparison = sides::Sides::new([100_000.0, 300_000.0], "flush").compared(&[]);
    let pages = [
        ("report", html::render(&over_time()), true),
        ("large", html::render(&large(5000)), false),
        ("comparison", comparison.html(), true),
    ];
    for (name, page, has_rules) in pages {
        for width in [390, 1280] {
            let Some(seen) = seen(&page, width, "", has_rules) else {
                return;
            };
            assert_eq!(seen["problems"], serde_json::json!([]), "{name} {width}");
            assert_eq!(seen["violations"], serde_json::json!([]), "{name} {width}");
            assert_eq!(seen["sideways"], 0, "{name} {width}: {seen}");
        }
    }
}

/// What a reader had chosen is in the address, and is there again: another width, a search, an open section.
#[test]
fn an_address_shows_what_was_chosen() {
    let page = html::render(&fixture::before());
    let chosen = "#weight=mean&search=commit&open=variance-tree";
    let Some(seen) = seen(&page, 1280, chosen, false) else {
        return;
    };
    assert_eq!(seen["problems"], serde_json::json!([]));
    for part in ["weight=mean", "search=commit", "open=variance-tree"] {
        let address = seen["search"].as_str().unwrap();
        assert!(address.contains(part), "{part}: {address}");
    }
    let closed = html::render(&fixture::before());
    let closed = self::seen(&closed, 1280, "#none=", false).expect("there is a browser");
    assert!(
        seen["closed"].as_u64() > closed["closed"].as_u64(),
        "the tree is open: {seen} {closed}"
    );
}
