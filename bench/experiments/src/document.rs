//! Results as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::experiment::Effort;
use crate::result::Outcome;
use crate::verdict::{Claim, Verdict};

/// The document.
pub fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "# The papers' results, regenerated\n\n\
         `evenkeel experiments` writes this file, and the next run overwrites it. Intervals are of 95 %.\n\n\
         | verdict | meaning |\n|---|---|\n\
         | agrees | the paper's effect, within a factor of two or within the interval, and the interval could have disagreed |\n\
         | agrees in direction | a significant effect of another size |\n\
         | differs | no such effect, or the opposite one |\n\
         | cannot be told | not measured, or the interval is too wide to disagree |\n\
         | cannot be had | not measurable here |\n\n",
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
    put(&mut text, &claims(outcomes));
    for outcome in outcomes {
        put(&mut text, &section(outcome));
    }
    text
}

/// Whether a document has a section for everything that an earlier one has one for.
pub fn has_all(text: &str, earlier: &str) -> bool {
    let sections = |text| str::lines(text).filter(|line| line.starts_with("## "));
    sections(earlier).all(|section| sections(text).any(|own| own == section))
}

/// A line for each claim, or for an item without any.
fn claims(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "## Claims\n\n| claim | paper | here | interval | verdict | section |\n|---|---:|---:|---:|---|---|\n",
    );
    for outcome in outcomes {
        let item = &outcome.paper.item;
        let (name, _) = item.split_once([',', '(']).unwrap_or((item, ""));
        let section = format!("[{}](#{})", name.trim(), anchor(item));
        if outcome.finding.claims.is_empty() {
            let words = outcome.verdict.words();
            let (_, what) = item.split_once(", ").unwrap_or(("", item));
            put(
                &mut text,
                &format!("| {what} | | | | {words} | {section} |\n"),
            );
        }
        for claim in &outcome.finding.claims {
            put(&mut text, &row(claim, &format!(" {section} |")));
        }
    }
    text
}

/// The count of each verdict, and the effort.
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
        "Verdicts on {} items{effort}: {}. An item with several claims has the worst of their verdicts.",
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
            "\n| claim | paper | here | interval | verdict |\n|---|---:|---:|---:|---|\n",
        );
        for claim in &outcome.finding.claims {
            put(&mut text, &row(claim, ""));
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

/// A claim's cells, and `more` of them.
fn row(claim: &Claim, more: &str) -> String {
    let Claim { what, verdict, .. } = claim;
    let [paper, found, low, high] = [claim.paper, claim.found, claim.low, claim.high].map(short);
    let interval = if claim.low == claim.high {
        "exact".to_owned()
    } else {
        format!("{low} to {high}")
    };
    format!(
        "| {what} | {paper} | {found} | {interval} | {} |{more}\n",
        verdict.words()
    )
}

/// About three digits.
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
