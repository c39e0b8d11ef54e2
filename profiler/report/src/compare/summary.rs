//! The outcome of a comparison in a few sentences: what users see first, then where it comes from.

use super::{Comparison, Of, Row, RowKind, Verdict};
use crate::{fit, units};

/// Figures of the latency that are told of, the first that differs first.
const FIGURES: [&str; 5] = ["p99", "p95", "p90", "p50", "mean"];

/// The sentences.
pub(super) fn of(comparison: &Comparison) -> String {
    let latency: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| row.kind == RowKind::Latency)
        .collect();
    let named = |name: &&str| latency.iter().find(|row| row.what == *name).copied();
    let figures: Vec<&Row> = FIGURES.iter().filter_map(named).collect();
    let told = figures.iter().find(|row| row.verdict.is_told());
    let mut sentences = match (told, figures.first()) {
        (Some(row), _) => vec![changed(row)],
        (None, Some(p99)) if p99.verdict == Verdict::NotComparable => {
            // The mean has fewer reasons against it than a percentile.
            let why = figures.last().and_then(|row| row.why.as_deref());
            let comparable = figures.iter().any(|row| row.verdict == Verdict::NotTold);
            match comparable {
                true => vec!["No difference of the latency is told.".to_owned()],
                false => vec![format!(
                    "The latencies cannot be compared: {}.",
                    why.unwrap_or("too few intervals")
                )],
            }
        }
        _ => vec!["No difference of the latency is told.".to_owned()],
    };
    sentences.extend(where_it_is(comparison));
    sentences.join(" ")
}

fn changed(row: &Row) -> String {
    let verb = if row.difference() > 0.0 {
        "rose"
    } else {
        "fell"
    };
    let [before, after] = [row.before, row.after].map(Option::unwrap_or_default);
    format!(
        "{} {verb} from {} to {}{}.",
        name(row),
        units::duration(before),
        units::duration(after),
        bracketed(row)
    )
}

/// ` (+31 %, between +12 % and +50 %)`.
fn bracketed(row: &Row) -> String {
    match (row.change, row.low, row.high) {
        (Some(change), Some(low), Some(high)) => format!(
            " ({}, between {} and {})",
            units::signed_percent(change),
            units::signed_percent(low),
            units::signed_percent(high)
        ),
        _ => String::new(),
    }
}

/// The finding that changed most, if any is told; else the call.
fn where_it_is(comparison: &Comparison) -> Option<String> {
    let told = |kind: RowKind| {
        let is_told = move |row: &&Row| row.kind == kind && row.verdict.is_told() && !row.passes_on;
        let first = comparison.rows.iter().find(is_told)?;
        // Of two rows of one finding or call, the one of the slowest 1 % says more.
        let mut own = comparison.rows.iter().filter(is_told);
        own.find(|row| row.at == first.at && row.of == Of::Slow)
            .or(Some(first))
    };
    let row = told(RowKind::Finding).or_else(|| told(RowKind::Call))?;
    let intervals = match row.of {
        Of::All => "of the mean interval",
        Of::Slow => "of the slowest 1 %",
    };
    let [before, after] = [row.before, row.after].map(Option::unwrap_or_default);
    let subject = match row.kind {
        RowKind::Call => row.function.as_deref().unwrap_or(&row.what),
        _ => &row.what,
    };
    Some(format!(
        "{} has {} {intervals}, {} before.",
        fit::plain(subject),
        units::duration(after),
        units::duration(before)
    ))
}

/// The name of a row of the latency.
pub(super) fn name(row: &Row) -> String {
    match row.what.as_str() {
        "sd" => "std deviation".to_owned(),
        name => units::percentile(name),
    }
}
