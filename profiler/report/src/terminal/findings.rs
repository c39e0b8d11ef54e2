//! Causes of the latency's variance: the answer.

use evenkeel_analysis::findings::Advice;
use evenkeel_analysis::profile::{Finding, Profile};
use evenkeel_analysis::sites::Kind;

use super::style::{Style, title};
use crate::chains;
use crate::findings;
use crate::{fit, names, units, words};

/// Where the lines below a headline begin.
const INDENT: usize = 6;
const COLUMNS_BEFORE_HEADLINE: usize = 22;
/// Advice shown of one finding; JSON and HTML have all.
const ADVICE_MAX: usize = 3;

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    // Nothing varied.
    if profile.findings.is_empty() && profile.uncovered == Default::default() {
        return None;
    }
    let remark = "causes of the variance, largest first; their shares do not overlap";
    let mut out = title("FINDINGS", remark, style);
    for (at, finding) in profile.findings.iter().enumerate() {
        out.push_str(&headline(profile, at + 1, finding, style));
        out.push_str(&chain(finding, style));
        for sentence in findings::sentences(profile, finding, style.tail) {
            out.push_str(&paragraph(&sentence, "", style));
        }
        if let Some(check) = &finding.check {
            out.push_str(&paragraph(&format!("Check: {check}"), "? ", style));
        }
        out.push_str(&advice(&profile.findings, at, style));
    }
    if let Some(rest) = findings::uncovered(profile) {
        let uncovered = &profile.uncovered;
        let share = fit::right(&units::percent(uncovered.share), 9);
        let error = fit::left(&error_of(profile, uncovered.se), 6);
        let mut lines = fit::wrap(&rest, style.columns() - COLUMNS_BEFORE_HEADLINE).into_iter();
        let first = lines.next().unwrap_or_default();
        out.push_str(&format!(
            "     {share} {}{first}\n",
            style.paint().dim(&error)
        ));
        lines.for_each(|line| out.push_str(&format!("{:COLUMNS_BEFORE_HEADLINE$}{line}\n", "")));
    }
    for trade in &profile.trades {
        out.push_str(&paragraph(&findings::trade(trade), "", style));
    }
    Some(out)
}

/// A share for display; an untimed finding has none.
fn share_of(finding: &Finding) -> String {
    match finding.seen_only {
        true => "seen".to_owned(),
        false => units::percent(finding.share),
    }
}

/// A standard error for display. It is empty where the profile explains a part of the variance only, since the error
/// is of that part.
fn error_of(profile: &Profile, se: f64) -> String {
    match profile.explains_a_part() {
        None => units::error(se),
        Some(_) => String::new(),
    }
}

fn headline(profile: &Profile, rank: usize, finding: &Finding, style: &Style) -> String {
    let paint = style.paint();
    let room = style.columns() - COLUMNS_BEFORE_HEADLINE;
    let text = names::written(&finding.headline, room.saturating_sub(10));
    let kind = match finding.kind {
        Kind::Call | Kind::Body | Kind::NotOpened => String::new(),
        kind => format!("({})", words::kind(kind)),
    };
    let error = match finding.seen_only {
        true => fit::left("", 6),
        false => fit::left(&error_of(profile, finding.se), 6),
    };
    let line = format!(
        "{} {} {} {} {}",
        fit::right(&rank.to_string(), 4),
        paint.bold(&fit::right(&share_of(finding), 9)),
        paint.dim(&error),
        paint.bold(&text),
        paint.kind(finding.kind, &kind),
    );
    line.trim_end().to_owned() + "\n"
}

/// Below the headline: the chain of waits to its head.
fn chain(finding: &Finding, style: &Style) -> String {
    let text = finding.chain.as_ref().map_or(String::new(), chains::says);
    let lines = fit::wrap(&text, style.columns() - COLUMNS_BEFORE_HEADLINE).into_iter();
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| {
            format!(
                "{:COLUMNS_BEFORE_HEADLINE$}{}\n",
                "",
                style.paint().bold(&line)
            )
        })
        .collect()
}

/// Advice, without the parts that an earlier finding shows.
fn advice(findings: &[Finding], at: usize, style: &Style) -> String {
    let paint = style.paint();
    let said = |advice: &Advice| {
        let before = findings[..at].iter().position(|finding| {
            finding
                .advice
                .iter()
                .take(ADVICE_MAX)
                .any(|other| other.what == advice.what)
        });
        before.map(|before| before + 1)
    };
    let mut out = String::new();
    let mut as_for: Vec<usize> = Vec::new();
    for advice in findings[at].advice.iter().take(ADVICE_MAX) {
        if let Some(before) = said(advice) {
            as_for.push(before);
            continue;
        }
        let marked = advice.gives_up.map_or(String::new(), |what| {
            format!("{}. ", paint.worse(findings::gives_up(what)))
        });
        let text = format!("{marked}{}", advice.what);
        out.push_str(&paragraph(&text, "> ", style));
        let costs = format!("Costs: {} ({})", advice.costs, advice.source);
        out.push_str(&paint_lines(&paragraph(&costs, "  ", style), style));
    }
    as_for.dedup();
    if !as_for.is_empty() {
        let numbers: Vec<String> = as_for.iter().map(usize::to_string).collect();
        out.push_str(&paragraph(
            &format!("What helps {} helps here, too.", numbers.join(", ")),
            "> ",
            style,
        ));
    }
    let more = findings[at].advice.len().saturating_sub(ADVICE_MAX);
    if more > 0 {
        out.push_str(&paragraph(
            &format!("{more} more in --json and --html"),
            "  ",
            style,
        ));
    }
    out
}

fn paint_lines(text: &str, style: &Style) -> String {
    let dim = |line: &str| format!("{:INDENT$}{}\n", "", style.paint().dim(line.trim_start()));
    text.lines()
        .map(|line| dim(line).replacen(&" ".repeat(INDENT), &" ".repeat(INDENT + 2), 1))
        .collect()
}

fn paragraph(text: &str, mark: &str, style: &Style) -> String {
    let indent = INDENT + mark.len();
    let lines = fit::wrap(text, style.columns() - indent);
    let line = |(at, line): (usize, &String)| {
        let mark = if at == 0 { mark } else { "" };
        format!(
            "{:INDENT$}{mark:width$}{line}\n",
            "",
            width = indent - INDENT
        )
    };
    lines.iter().enumerate().map(line).collect()
}
