//! Results on one HTML page that needs nothing else.

use std::fmt::Write;

use crate::chart::{escaped, svg};
use crate::claims_chart;
use crate::document::{short, summary};
use crate::result::Outcome;
use crate::verdict::Verdict;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.15rem .7rem;text-align:left;border-bottom:1px solid #ddd}\
td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:42rem;font:12px system-ui}.grid{stroke:#e4e4e4}\
.v{padding:.1rem .5rem;border-radius:.3rem;color:#fff;white-space:nowrap}.agrees{background:#00724c}.direction{background:#2b6cb0}\
.differs{background:#b4441a}.tell{background:#6b6b6b}.had{background:#8a8a8a}code{background:#f3f3f3;padding:.1rem .3rem}";

/// The page.
#[must_use]
pub fn html(outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>The papers' results, regenerated</title>\
         <style>{STYLE}</style><h1>The papers' results, regenerated</h1><p>{}</p>\
         <p>Each claim is a number of the paper's beside ours, with a 95 % interval. <em>Agrees</em>: the paper's effect within a \
         factor of two, or within the interval; <em>in direction</em>: told apart from no effect, of another size. The worst claim of \
         an item decides.</p><table><tr><th>item<th>verdict</tr>",
        escaped(&summary(outcomes))
    );
    for outcome in outcomes {
        let (id, item) = (&outcome.id, escaped(&outcome.paper.item));
        put(
            &mut text,
            &format!(
                "<tr><td><a href=\"#{id}\">{item}</a><td>{}</tr>",
                badge(outcome.verdict)
            ),
        );
    }
    text.push_str("</table>");
    for outcome in outcomes {
        put(&mut text, &section(outcome));
    }
    text.push_str("</html>\n");
    text
}

fn badge(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Agrees => "agrees",
        Verdict::Direction => "direction",
        Verdict::Differs => "differs",
        Verdict::CannotTell => "tell",
        Verdict::CannotBeHad => "had",
    };
    format!("<span class=\"v {class}\">{}</span>", verdict.words())
}

fn section(outcome: &Outcome) -> String {
    let [item, says, method, why, command] = [
        &outcome.paper.item,
        &outcome.paper.says,
        &outcome.method,
        &outcome.why,
        &outcome.command,
    ]
    .map(|words| escaped(words));
    let mut text = format!(
        "<h2 id=\"{}\">{item} {}</h2><p><b>The paper:</b> {says}</p><p><b>Here:</b> {method}</p>",
        outcome.id,
        badge(outcome.verdict)
    );
    if !outcome.finding.claims.is_empty() {
        text.push_str("<table><tr><th><th>paper<th>here<th>interval<th></tr>");
        for claim in &outcome.finding.claims {
            let [paper, found, low, high] =
                [claim.paper, claim.found, claim.low, claim.high].map(short);
            let row = format!(
                "<tr><td>{}<td class=\"n\">{paper}<td class=\"n\">{found}<td class=\"n\">{low} to {high}<td>{}</tr>",
                escaped(&claim.what),
                badge(claim.verdict)
            );
            put(&mut text, &row);
        }
        text.push_str("</table>");
        // Numbers that are all the same, as of things proved, need no drawing.
        if outcome
            .finding
            .claims
            .iter()
            .any(|claim| claim.paper != claim.found)
        {
            text.push_str(&claims_chart::svg(&outcome.finding.claims));
        }
    }
    if let Some(figure) = &outcome.finding.figure {
        text.push_str(&svg(figure));
    }
    put(
        &mut text,
        &format!(
            "<p>{why}</p><p><code>{}</code></p>",
            command.replace('\n', "<br>")
        ),
    );
    text
}

fn put(text: &mut String, more: &str) {
    text.write_str(more).expect("a string takes all");
}
