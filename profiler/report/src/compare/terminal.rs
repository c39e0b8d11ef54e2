//! A comparison on a terminal.

use super::{BoundResult, Comparison, Figure, Of, Row, RowKind, Told, Verdict, summary};
use crate::terminal::{Style, list, title};
use crate::{fit, names, units};

/// Columns of a row's name, at least and at most.
const NAME: (usize, usize) = (14, 24);
/// Columns of the others together.
const FIGURES: usize = 66;

impl Comparison {
    /// For a terminal; of the style, width, colour and rows matter.
    pub fn terminal(&self, style: &Style) -> String {
        let mut sections = vec![header(self, style)];
        sections.extend(different(self, style));
        sections.extend(load(self, style));
        sections.push(latency(self, style));
        sections.extend(findings(self, style));
        sections.extend(calls(self, style));
        sections.extend(bounds(self, style));
        if !self.warnings.is_empty() {
            let plain: Vec<_> = self.warnings.iter().map(|w| fit::plain(w)).collect();
            sections.push(list(&plain, style));
        }
        sections.join("\n")
    }
}

fn header(comparison: &Comparison, style: &Style) -> String {
    let paint = style.paint();
    let interval = fit::middle(&fit::plain(&comparison.interval), 40);
    let mut out = format!(
        "{}  {}\n",
        paint.bold("evenkeel compare"),
        paint.bold(&interval)
    );
    for line in fit::wrap(&fit::plain(&comparison.summary), style.columns() - 2) {
        out += &format!("  {line}\n");
    }
    if !comparison.outside.is_empty() {
        let text = format!(
            "Before the interval, so not in these numbers: {}.",
            fit::plain(&comparison.outside)
        );
        for line in fit::wrap(&text, style.columns() - 2) {
            out += &format!("  {line}\n");
        }
    }
    out
}

fn different(comparison: &Comparison, style: &Style) -> Option<String> {
    if comparison.options_differ.is_empty() {
        return None;
    }
    let mut out = title(
        "WHAT DIFFERS",
        "between the recordings; compared is what both timed",
        style,
    );
    for difference in &comparison.options_differ {
        let label = fit::left(difference.what, 12);
        for (side, value) in [("before", &difference.before), ("after", &difference.after)] {
            let label = if side == "before" {
                &label
            } else {
                &" ".repeat(12)
            };
            let value = fit::plain(value);
            let value = if value.is_empty() {
                "not known".to_owned()
            } else {
                value
            };
            out += &format!(
                "  {label}{}{}\n",
                style.paint().dim(&fit::left(side, 8)),
                fit::middle(&value, style.columns() - 22)
            );
        }
    }
    Some(out)
}

fn load(comparison: &Comparison, style: &Style) -> Option<String> {
    let load = comparison.load.as_ref()?;
    let mut out = title("LOAD", "", style);
    let number = |value: f64| match value {
        v if v >= 100.0 => units::count(v.round() as u64),
        v => format!("{v:.2}"),
    };
    for (name, figure) in [
        ("intervals/s", &load.rate_per_s),
        ("at once", &load.concurrency),
    ] {
        out += &line(
            name,
            [number(figure.before), number(figure.after)],
            figure,
            style,
        );
        out.push('\n');
    }
    if let Some(mix) = &load.mean_change_ns {
        let text = format!(
            "Of the mean's change, {} are the mix of classes, {} the classes themselves, {} both.",
            units::duration(mix.mix),
            units::duration(mix.within),
            units::duration(mix.both)
        );
        for line in fit::wrap(&text, style.columns() - 2) {
            out += &format!("  {line}\n");
        }
    }
    let moved = load
        .classes
        .iter()
        .filter(|class| (class.after - class.before).abs() >= 0.005);
    for class in moved.take(style.rows) {
        out += &format!(
            "  {} > {} {}\n",
            fit::right(&units::percent(class.before), 9),
            fit::left(&units::percent(class.after), 9),
            fit::middle(&fit::plain(&class.name), style.columns() - 24)
        );
    }
    Some(out)
}

/// Name, values, change and its interval, without the end of the line.
fn line(name: &str, [before, after]: [String; 2], figure: &Figure, style: &Style) -> String {
    let change = figure.change.map_or(String::new(), units::signed_percent);
    let interval = match (figure.low, figure.high) {
        (Some(low), Some(high)) => range(low, high),
        _ => String::new(),
    };
    format!(
        "  {}{}{}{} {}",
        fit::left(name, name_width(style)),
        fit::right(&before, 8),
        fit::right(&after, 8),
        fit::right(&change, 10),
        fit::left(&interval, 19),
    )
}

fn name_width(style: &Style) -> usize {
    (style.columns() - FIGURES).clamp(NAME.0, NAME.1)
}

/// `-3.1 .. +12.0 %`.
fn range(low: f64, high: f64) -> String {
    let number = |fraction: f64| {
        let percent = fraction * 100.0;
        match percent.abs() {
            p if p >= 9999.5 => format!("{percent:+.0e}"),
            p if p >= 999.5 => format!("{percent:+.0}"),
            _ => format!("{:+.1}", (percent * 10.0).round() / 10.0 + 0.0),
        }
    };
    format!("{} .. {} %", number(low), number(high))
}

fn columns(style: &Style) -> String {
    let text = format!(
        "  {}{:>8}{:>8}{:>10} {:19}verdict",
        fit::left("", name_width(style)),
        "before",
        "after",
        "change",
        "95 % interval"
    );
    format!("{}\n", style.paint().dim(text.trim_end()))
}

fn row(name: &str, row: &Row, style: &Style) -> String {
    let paint = style.paint();
    let value = |ns: Option<f64>| ns.map_or(units::ABSENT.to_owned(), units::duration);
    let figure = Figure {
        before: 0.0,
        after: 0.0,
        change: row.change,
        low: row.low,
        high: row.high,
    };
    let text = line(name, [value(row.before), value(row.after)], &figure, style);
    let verdict = row.verdict.name();
    let verdict = match row.verdict {
        Verdict::Better => paint.better(verdict),
        Verdict::Worse => paint.worse(verdict),
        Verdict::NotTold | Verdict::NotComparable => paint.dim(verdict),
    };
    format!("{text}{verdict}\n")
}

fn latency(comparison: &Comparison, style: &Style) -> String {
    let [before, after] = comparison.intervals.map(units::count);
    let [runs_before, runs_after] = comparison.recordings;
    let remark = format!(
        "{before} intervals before in {}, {after} after in {}; mean and deviation count the very slowest as the cap",
        recordings(runs_before),
        recordings(runs_after)
    );
    let mut out = title("LATENCY", &remark, style) + &columns(style);
    let own = |row: &&Row| matches!(row.kind, RowKind::Latency | RowKind::Machine);
    for one in comparison.rows.iter().filter(own) {
        out += &row(&summary::name(one), one, style);
    }
    out + &reasons(comparison.rows.iter().filter(own), style)
}

fn recordings(number: usize) -> String {
    match number {
        1 => "1 recording".to_owned(),
        number => format!("{number} recordings"),
    }
}

/// Why rows cannot be compared, each reason once.
fn reasons<'a>(rows: impl Iterator<Item = &'a Row>, style: &Style) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Some(why) = row.why.as_deref() else {
            continue;
        };
        let name = fit::plain(&summary::name(row));
        match reasons.iter_mut().find(|(of, _)| *of == why) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let mut out = String::new();
    for (why, names) in reasons {
        for line in fit::wrap(&format!("{}: {why}", names.join(", ")), style.columns() - 2) {
            out += &format!("  {}\n", style.paint().dim(&line));
        }
    }
    out
}

fn of(row: &Row) -> &'static str {
    match row.of {
        Of::All => "mean interval",
        Of::Slow => "slowest 1 %",
    }
}

fn findings(comparison: &Comparison, style: &Style) -> Option<String> {
    let own = |row: &&Row| row.kind == RowKind::Finding;
    let rows: Vec<&Row> = comparison.rows.iter().filter(own).collect();
    rows.first()?;
    let remark = "time of each, what changes the slowest 1 % most first; times do not overlap";
    let mut out = title("FINDINGS", remark, style) + &columns(style);
    for both in rows.chunk_by(|a, b| a.at == b.at) {
        let name = names::shortened(&fit::plain(&both[0].what), style.columns() - 2);
        out += &format!("  {}\n", style.paint().bold(&name));
        for one in both {
            out += &row(of(one), one, style);
        }
    }
    Some(out + &reasons(rows.into_iter(), style))
}

fn calls(comparison: &Comparison, style: &Style) -> Option<String> {
    let own = |row: &&Row| row.kind == RowKind::Call;
    let mut all = comparison.rows.iter().filter(own).peekable();
    all.peek()?;
    let told = all.filter(|row| row.verdict.is_told() && !row.passes_on);
    let told: Vec<&Row> = told.collect();
    let remark = "time with what they call; callers that only pass a change on are left out";
    let mut out = title("CALLS", remark, style);
    if told.is_empty() {
        out += "  no difference told\n";
        return Some(out);
    }
    out += &columns(style);
    for both in told.chunk_by(|a, b| a.at == b.at).take(style.rows) {
        let function = fit::plain(both[0].function.as_deref().unwrap_or_default());
        let name = names::shortened(&function, style.columns() / 2);
        let callers: Vec<String> = both[0]
            .callers
            .iter()
            .map(|name| fit::plain(name))
            .collect();
        let room = style.columns() - fit::columns(&name) - 7;
        let from = names::path(&callers, room);
        let paint = style.paint();
        out += &format!(
            "  {} {}\n",
            paint.bold(&name),
            paint.dim(&format!("in {from}"))
        );
        for one in both {
            out += &row(of(one), one, style);
        }
    }
    Some(out)
}

fn bounds(comparison: &Comparison, style: &Style) -> Option<String> {
    if comparison.bounds.is_empty() {
        return None;
    }
    let paint = style.paint();
    let mut out = title("BOUNDS", "", style);
    for bound in &comparison.bounds {
        let word = told(bound);
        let word = match bound.told {
            Told::Beyond => paint.worse(&fit::left(word, 10)),
            Told::Within => paint.better(&fit::left(word, 10)),
            Told::NotTold => paint.dim(&fit::left(word, 10)),
        };
        let name = fit::plain(&bound.bound);
        let room = style.columns() - 42;
        let interval = match (&bound.why, bound.low, bound.high) {
            (Some(why), ..) => fit::middle(why, 28),
            (None, Some(low), Some(high)) => range(low, high),
            _ => String::new(),
        };
        out += &format!("  {word}{} {interval}\n", fit::left(&name, room));
    }
    Some(out)
}

/// In words.
pub(super) fn told(bound: &BoundResult) -> &'static str {
    match bound.told {
        Told::Beyond => "beyond",
        Told::Within => "within",
        Told::NotTold => "not told",
    }
}
