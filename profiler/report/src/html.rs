//! The report as one HTML file that needs nothing else: no server, no network, no framework.
//!
//! Style and script are separate files under `assets/`, joined here. The data travels as JSON in a `<script
//! type="application/json">`. The page builds its elements from it with `textContent` only, so that a function's name
//! or a statement's text is never markup.

use evenkeel_analysis::profile::Profile;
use serde::Serialize;

use crate::findings;
use crate::messages::in_words;
use crate::paths::Paths;
use crate::words;

const PAGE: &str = include_str!("../assets/page.html");
/// The style of every page, light and dark.
pub const STYLE: &str = include_str!("../assets/style.css");

/// Shared by the pages, in order of dependence.
const PARTS: [&str; 12] = [
    include_str!("../assets/units.js"),
    include_str!("../assets/elements.js"),
    include_str!("../assets/state.js"),
    include_str!("../assets/sections.js"),
    include_str!("../assets/layout.js"),
    include_str!("../assets/flame.js"),
    include_str!("../assets/histogram.js"),
    include_str!("../assets/table.js"),
    include_str!("../assets/tree.js"),
    include_str!("../assets/waits.js"),
    include_str!("../assets/findings.js"),
    include_str!("../assets/over_time.js"),
];
const REPORT: &str = include_str!("../assets/report.js");
const COMPARE: &str = include_str!("../assets/compare.js");
const ANSWER: &str = include_str!("../assets/answer.js");

/// The tail the sentences of the factor table speak of.
const TAIL: &str = "p99";

/// The report page. The profile inside is the element `#profile`, its factors in plain words `#words`, its findings `#findings`,
/// and what must be known before them `#first`.
pub fn render(profile: &Profile) -> String {
    let paths = Paths::of(&profile.tree);
    let sentences: Vec<_> = profile
        .factors
        .iter()
        .map(|f| words::explain(profile, &paths, f, TAIL))
        .collect();
    page(
        &(data("profile", &in_words(profile))
            + &data("words", &sentences)
            + &data("findings", &in_sentences(profile))
            + &data("first", &said_first(profile))),
        REPORT,
    )
}

/// What a reader must know before the numbers.
fn said_first(profile: &Profile) -> Vec<String> {
    let texts = [
        profile.details.failed.clone(),
        words::explains_a_part(profile),
        words::waiting_connections(profile),
    ];
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

/// Each finding in plain words.
fn in_sentences(profile: &Profile) -> Vec<Vec<String>> {
    let findings = profile.findings.iter();
    findings
        .map(|finding| findings::sentences(profile, finding, TAIL))
        .collect()
}

/// The page of a comparison: `#changes` is what its JSON is, `#tree` the calls with their times on both sides.
pub(crate) fn comparison(changes: &impl Serialize, tree: &impl Serialize) -> String {
    page(&(data("changes", changes) + &data("tree", tree)), COMPARE)
}

/// The page of rows that answer a question. `answer` becomes the element `#answer`, an object with:
/// - `about`, `command`, `sql` and `nothing` (texts), and `warnings` (a list of texts);
/// - `figures` (pairs of texts);
/// - `columns`, each with `title` and `how`: `text`, `count`, `duration`, `percent`, `calls` or `number`;
/// - `rows` (a value a column), `repeated` (columns, from the left, that repeat the row above) and `left_out` (the number
///   of rows that are not on the page).
pub fn answer(answer: &impl Serialize) -> String {
    page(&data("answer", answer), ANSWER)
}

/// Fills the template from its end, so that no value is searched for the placeholder of another.
fn page(data: &str, main: &str) -> String {
    let script = PARTS.join("\n") + main;
    let (head, rest) = PAGE
        .split_once("/*STYLE*/")
        .expect("the template has a place for the style");
    let (body, rest) = rest
        .split_once("<!--DATA-->")
        .expect("the template has a place for the data");
    let (mid, end) = rest
        .split_once("/*SCRIPT*/")
        .expect("the template has a place for the script");
    [head, STYLE, body, data, mid, &script, end].concat()
}

fn data(id: &str, value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("plain structures with text keys serialise");
    format!(
        "<script type=\"application/json\" id=\"{id}\">{}</script>\n",
        inert(&json)
    )
}

/// JSON that is safe inside a `<script>`: the characters that could end it or open a comment are written as escapes, which
/// only strings contain. `/` is escaped as well, so that a URL in a statement is no reference either.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '/' => out.push_str("\\/"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}
