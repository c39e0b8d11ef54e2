//! The HTML pages: self-contained, and inert whatever the target's names and statements are.

use evenkeel_analysis::findings::reasons::{NotSplit, NotTimed};
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::findings::{Advice, Finding};
use evenkeel_analysis::profile::{Profile, Unseen};
use evenkeel_report::html;
use proptest::prelude::*;

use super::fixture;

/// Texts that would do harm if they became markup or script.
const HOSTILE: [&str; 7] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"; alert(1); //",
    "\u{2028}\u{2029}]]>&lt;",
    "https://example.org/?q=<b>&x",
    "/*STYLE*/<!--DATA-->/*SCRIPT*/${alert(1)}`",
];

/// The text of the data element `id`, as a browser finds it: up to the next `</script`.
fn data<'a>(page: &'a str, id: &str) -> &'a str {
    let open = format!("<script type=\"application/json\" id=\"{id}\">");
    let start = page.find(&open).expect("the page has the element") + open.len();
    &page[start..start + page[start..].find("</script").expect("the element ends")]
}

fn hostile() -> Profile {
    let mut profile = fixture::before();
    fixture::rename(&mut profile, &|name| format!("{name}{}", HOSTILE.concat()));
    profile.target = HOSTILE.concat();
    profile.interval = HOSTILE.concat();
    profile.warnings = HOSTILE.map(|it| Warning::Said(it.into())).to_vec();
    profile.classes.classes[0].name = format!("SELECT '{}'", HOSTILE.concat());
    profile.unpatched[0].reason = NotTimed::Said(HOSTILE.concat());
    profile.details.names = vec![HOSTILE.concat()];
    profile.unseen = Some(vec![Unseen {
        name: HOSTILE.concat(),
        why: NotSplit::Said(HOSTILE.concat()),
        share: 0.25,
        se: 0.01,
    }]);
    profile
}

fn assert_self_contained(page: &str) {
    for reference in [
        "http://",
        "https://",
        "src=",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        assert!(!page.contains(reference), "the page has {reference}");
    }
}

fn tags(page: &str) -> [usize; 4] {
    ["<script", "</script", "<!--", "<img"].map(|tag| page.matches(tag).count())
}

#[test]
fn the_profile_inside_is_the_profile() {
    for profile in [fixture::before(), hostile()] {
        let inside: Profile =
            serde_json::from_str(data(&html::render(&profile), "profile")).unwrap();
        assert_eq!(inside, profile);
    }
}

/// The page draws what was not seen, and where missing names are, from the profile.
#[test]
fn unknown_values_are_on_the_page() {
    let page = html::render(&hostile());
    for drawn in [
        "closedSection(\"Not seen\"",
        "profile.unseen,",
        "closedSection(\"Names\"",
        "profile.names.map",
    ] {
        assert!(page.contains(drawn), "{drawn}");
    }
}

/// Function names of the target are no markup in a finding either, and sources of advice are text, not references.
#[test]
fn findings_are_on_the_page() {
    let mut profile = fixture::before();
    profile.findings = vec![Finding {
        headline: HOSTILE.concat(),
        means: Some("Commits wait".into()),
        advice: vec![Advice {
            what: "Wait less.".into(),
            source: "https://example.org/".into(),
            ..Advice::default()
        }],
        ..Finding::default()
    }];
    let page = html::render(&profile);
    assert!(!page.contains("https://"));
    assert_eq!(tags(&page), tags(&html::render(&fixture::before())));
    let sentences: Vec<Vec<String>> = serde_json::from_str(data(&page, "findings")).unwrap();
    assert_eq!(sentences[0][0], "Commits wait.");
}

#[test]
fn every_factor_is_put_in_words() {
    let profile = fixture::before();
    let words: Vec<String> = serde_json::from_str(data(&html::render(&profile), "words")).unwrap();
    assert_eq!(words.len(), profile.factors.len());
    assert!(words[0].starts_with("Lock wait"));
}

#[test]
fn pages_refer_to_nothing_outside() {
    assert_self_contained(&html::render(&fixture::before()));
    // A URL in a statement is text, yet it does not even look like a reference.
    assert!(!html::render(&hostile()).contains("https://"));
}

#[test]
fn hostile_names_add_no_markup() {
    let benign = fixture::before();
    let hostile = hostile();
    assert_eq!(tags(&html::render(&hostile)), tags(&html::render(&benign)));
}

fn answer(text: &str) -> serde_json::Value {
    serde_json::json!({
        "about": text, "command": text, "sql": text, "nothing": text, "warnings": [text], "figures": [["3", text]],
        "columns": [{ "title": text, "how": "text" }, { "title": "mean", "how": "duration" }],
        "rows": [[text, 1500.0], [text, null]], "repeated": 1, "left_out": 0,
    })
}

/// Names of hosts, paths and a query of the user's are text on the page of an answer, too.
#[test]
fn an_answer_is_on_its_page_and_adds_no_markup() {
    let [benign, hostile] = [answer("db1"), answer(&HOSTILE.concat())];
    let page = html::answer(&hostile);
    let inside: serde_json::Value = serde_json::from_str(data(&page, "answer")).unwrap();
    assert_eq!(inside, hostile);
    assert_eq!(tags(&page), tags(&html::answer(&benign)));
    assert_self_contained(&html::answer(&benign));
    assert!(!page.contains("https://"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_survives_and_adds_no_markup(text in any::<String>()) {
        let profile = Profile { target: text, ..Profile::default() };
        let page = html::render(&profile);
        prop_assert_eq!(serde_json::from_str::<Profile>(data(&page, "profile")).unwrap(), profile);
        prop_assert_eq!(tags(&page), tags(&html::render(&Profile::default())));
    }
}
