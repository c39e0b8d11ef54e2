//! Results on one HTML page that needs nothing else.

use std::fmt::Write;

use evenkeel_charts::{escape, page};

use crate::chart;
use crate::document::{short, summary};
use crate::result::Outcome;
use crate::verdict::Verdict;

/// The page.
pub fn html(outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "<p>{}</p>\n<p>Each claim is a number of the paper's beside ours, with a 95 % interval. <em>Agrees</em>: the paper's effect \
         within a factor of two, or within the interval; <em>in direction</em>: a significant effect of another size. The \
         worst claim of an item decides.</p>\n<table class=\"numbers\"><tr><th>item<th>verdict</tr>",
        escape(&summary(outcomes))
    );
    for outcome in outcomes {
        let (id, item) = (&outcome.id, escape(&outcome.paper.item));
        put(
            &mut text,
            &format!(
                "<tr><td><a href=\"#{id}\">{item}</a><td>{}</tr>\n",
                badge(outcome.verdict)
            ),
        );
    }
    text.push_str("</table>\n");
    for outcome in outcomes {
        put(&mut text, &section(outcome));
    }
    page::document("The papers' results, regenerated", &text)
}

/// Each verdict has its colour.
fn badge(verdict: Verdict) -> String {
    let series = match verdict {
        Verdict::Agrees => 3,
        Verdict::Direction => 0,
        Verdict::Differs => 6,
        Verdict::CannotTell => 2,
        Verdict::CannotBeHad => 7,
    };
    page::badge(verdict.words(), series)
}

fn section(outcome: &Outcome) -> String {
    let [item, says, method, why, command] = [
        &outcome.paper.item,
        &outcome.paper.says,
        &outcome.method,
        &outcome.why,
        &outcome.command,
    ]
    .map(|words| escape(words));
    let mut text = format!(
        "<h2 id=\"{}\">{item} {}</h2><p><b>The paper:</b> {says}</p><p><b>Here:</b> {method}</p>",
        outcome.id,
        badge(outcome.verdict)
    );
    let mut charts = Vec::new();
    if !outcome.finding.claims.is_empty() {
        text.push_str("<table class=\"numbers\"><tr><th><th class=\"num\">paper<th class=\"num\">here<th class=\"num\">interval<th></tr>");
        for claim in &outcome.finding.claims {
            let [paper, found, low, high] =
                [claim.paper, claim.found, claim.low, claim.high].map(short);
            let row = format!(
                "<tr><td>{}<td class=\"num\">{paper}<td class=\"num\">{found}<td class=\"num\">{low} to {high}<td>{}</tr>",
                escape(&claim.what),
                badge(claim.verdict)
            );
            put(&mut text, &row);
        }
        text.push_str("</table>");
        // Equal numbers, as of proofs, need no drawing.
        if outcome
            .finding
            .claims
            .iter()
            .any(|claim| claim.paper != claim.found)
        {
            charts.push(chart::of_claims(&outcome.finding.claims));
        }
    }
    if let Some(figure) = &outcome.finding.figure {
        charts.push(format!("<div>{}</div>", chart::of_figure(figure)));
    }
    if charts.iter().any(|chart| !chart.is_empty()) {
        text.push_str(&page::columns(&charts));
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
