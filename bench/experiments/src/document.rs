//! Results as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::experiment::Effort;
use crate::result::Outcome;
use crate::verdict::{Claim, Verdict};

/// The document.
#[must_use]
pub fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "# The papers' results, regenerated\n\n\
         Written by `evenkeel experiments`; the next run overwrites it. Each item of the papers has what the paper says, how it is\n\
         measured here, and a verdict: *agrees* (the paper's effect within a factor of two, or within the interval), *agrees in\n\
         direction* (told apart from no effect, of another size), *differs*, *cannot be told* (too imprecise, or not measured), *cannot\n\
         be had*. Of several claims the worst decides. Intervals are of 95 %.\n\n",
    );
    put(&mut text, &format!("{}\n\n", summary(outcomes)));
    let machines: BTreeSet<&str> = outcomes.iter().map(|one| one.machine.as_str()).collect();
    let machines: Vec<&str> = machines.into_iter().filter(|one| !one.is_empty()).collect();
    if !machines.is_empty() {
        put(
            &mut text,
            &format!("Measured on {}.\n\n", machines.join("; and on ")),
        );
    }
    put(&mut text, "| item | verdict |\n|---|---|\n");
    for outcome in outcomes {
        let (item, words) = (&outcome.paper.item, outcome.verdict.words());
        put(
            &mut text,
            &format!("| [{item}](#{}) | {words} |\n", anchor(item)),
        );
    }
    for outcome in outcomes {
        put(&mut text, &section(outcome));
    }
    text
}

/// The count of each verdict, and the effort.
#[must_use]
pub fn summary(outcomes: &[Outcome]) -> String {
    let count = |verdict: Verdict| {
        let of = outcomes.iter().filter(|outcome| outcome.verdict == verdict);
        format!("{} {}", of.count(), verdict.words())
    };
    let all = [
        Verdict::Agrees,
        Verdict::Direction,
        Verdict::Differs,
        Verdict::CannotTell,
        Verdict::CannotBeHad,
    ];
    let quick = outcomes
        .iter()
        .any(|outcome| outcome.effort == Effort::Quick);
    let effort = if quick {
        " (`--quick`: few seeds and short runs)"
    } else {
        ""
    };
    format!(
        "Of {} items{effort}: {}.",
        outcomes.len(),
        all.map(count).join(", ")
    )
}

/// As GitHub makes one of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| {
        if c == ' ' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    })
    .collect()
}

fn section(outcome: &Outcome) -> String {
    let mut text = format!(
        "\n## {}\n\n**{}.** The paper: {}\n\nHere: {}\n",
        outcome.paper.item,
        capital(outcome.verdict.words()),
        outcome.paper.says,
        outcome.method
    );
    if !outcome.finding.claims.is_empty() {
        put(
            &mut text,
            "\n| | paper | here | interval | |\n|---|---:|---:|---:|---|\n",
        );
        for claim in &outcome.finding.claims {
            put(&mut text, &row(claim));
        }
    }
    if !outcome.why.is_empty() {
        put(&mut text, &format!("\n{}\n", outcome.why));
    }
    for command in outcome.command.lines() {
        put(&mut text, &format!("\n`{command}`\n"));
    }
    text
}

fn row(claim: &Claim) -> String {
    let Claim { what, verdict, .. } = claim;
    let [paper, found, low, high] = [claim.paper, claim.found, claim.low, claim.high].map(short);
    let interval = if claim.low == claim.high {
        "exact".to_owned()
    } else {
        format!("{low} to {high}")
    };
    format!(
        "| {what} | {paper} | {found} | {interval} | {} |\n",
        verdict.words()
    )
}

/// About three digits.
#[must_use]
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e7 => format!("{value:.1e}"),
        v if v >= 100.0 || v.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}

fn put(text: &mut String, more: &str) {
    text.write_str(more).expect("a string takes all");
}
