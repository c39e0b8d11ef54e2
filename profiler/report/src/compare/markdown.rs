//! A comparison as Markdown, for the summary of a build.

use super::{Comparison, Of, Row, RowKind, Told, Verdict, summary, terminal};
use crate::{fit, units};

/// Findings and calls listed, at most.
const ROWS_MAX: usize = 20;

impl Comparison {
    /// As Markdown, with tables as GitHub draws them.
    pub fn markdown(&self) -> String {
        let mut out = format!(
            "### Evenkeel: {}\n\n{}\n",
            text(&self.interval),
            text(&self.summary)
        );
        if !self.outside.is_empty() {
            out += &format!(
                "\nBefore the interval, so not in these numbers: {}.\n",
                text(&self.outside)
            );
        }
        if !self.bounds.is_empty() {
            out += "\n| bound | | change, 95 % interval |\n|---|---|---|\n";
            for bound in &self.bounds {
                let mark = match bound.told {
                    Told::Beyond => "❌",
                    Told::Within => "✅",
                    Told::NotTold => "❔",
                };
                let change = match &bound.why {
                    Some(why) => text(why),
                    None => change(bound.change, bound.low, bound.high),
                };
                let (name, told) = (text(&bound.bound), terminal::told(bound));
                out += &format!("| {name} | {mark} {told} | {change} |\n");
            }
        }
        if !self.options_differ.is_empty() {
            out += "\n| differs | before | after |\n|---|---|---|\n";
            for one in &self.options_differ {
                let (before, after) = (text(&one.before), text(&one.after));
                out += &format!("| {} | {before} | {after} |\n", one.what);
            }
        }
        let latency = |row: &&Row| matches!(row.kind, RowKind::Latency | RowKind::Machine);
        out += &table("latency", self.rows.iter().filter(latency));
        let is_told = |row: &&Row| row.kind == RowKind::Finding;
        out += &table("finding", self.rows.iter().filter(is_told).take(ROWS_MAX));
        let is_told =
            |row: &&Row| row.kind == RowKind::Call && row.verdict.is_told() && !row.passes_on;
        out += &table("call", self.rows.iter().filter(is_told).take(ROWS_MAX));
        for warning in &self.warnings {
            out += &format!("\n> {}\n", text(warning));
        }
        out
    }
}

fn table<'a>(title: &str, rows: impl Iterator<Item = &'a Row>) -> String {
    let mut out = String::new();
    for row in rows {
        if out.is_empty() {
            out = format!(
                "\n| {title} | before | after | change, 95 % interval | verdict |\n|---|--:|--:|--:|---|\n"
            );
        }
        let value = |ns: Option<f64>| ns.map_or(units::ABSENT.to_owned(), units::duration);
        let mut name = match row.kind {
            RowKind::Call => row.function.clone().unwrap_or_default(),
            _ => summary::name(row),
        };
        if matches!(row.kind, RowKind::Finding | RowKind::Call) {
            name += match row.of {
                Of::All => ", mean interval",
                Of::Slow => ", slowest 1 %",
            };
        }
        let verdict = match (&row.why, row.verdict) {
            (Some(why), verdict) => format!("{}: {}", verdict.name(), text(why)),
            (None, Verdict::Worse) => "🔴 worse".to_owned(),
            (None, Verdict::Better) => "🟢 better".to_owned(),
            (None, verdict) => verdict.name().to_owned(),
        };
        out += &format!(
            "| {} | {} | {} | {} | {verdict} |\n",
            text(&name),
            value(row.before),
            value(row.after),
            change(row.change, row.low, row.high)
        );
    }
    out
}

fn change(change: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    let change = change.map_or(String::new(), units::signed_percent);
    match (low, high) {
        (Some(low), Some(high)) => format!(
            "{change} ({} to {})",
            units::signed_percent(low),
            units::signed_percent(high)
        ),
        _ => change,
    }
}

/// Names of the target are no markup.
fn text(name: &str) -> String {
    let mut out = String::new();
    for letter in fit::plain(name).chars() {
        match letter {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', letter]),
            letter => out.push(letter),
        }
    }
    out
}
