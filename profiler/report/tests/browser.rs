//! The pages in a browser: nothing fails, nothing scrolls sideways on a telephone, and everybody can use them (axe-core's rules).
//! `scripts/install.sh browser` installs Chromium and the rules.

mod fixture;
#[path = "fixture/sides.rs"]
mod sides;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_report::html;
use serde_json::Value;

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
const rules = !RULES ? { violations: [] } : await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa'], resultTypes: ['violations'] });
const violations = rules.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
const answer = document.createElement('pre');
answer.id = 'seen';
answer.textContent = JSON.stringify({ problems, violations, closed, shown: document.querySelectorAll('h2').length, search: location.hash,
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

#[test]
fn everybody_can_use_the_pages() {
    let comparison = sides::Sides::new([100_000.0, 300_000.0], "flush").compared(&[]);
    let pages = [
        ("report", html::render(&fixture::before()), true),
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
