//! A comparison for a person: medians, ratios, what they say and what must be known of them.

use evenkeel_charts::grid::grid;
use evenkeel_report::units;
use serde_json::Value;

use super::{Compared, Comparisons, METRICS, Ratio, saturations};
use crate::paired;
use crate::report::Report;
use crate::table::GROWS;

/// The comparison for a person.
pub fn table(comparisons: &Comparisons) -> String {
    let all = comparisons.all();
    let first = &all[0].rounds[0];
    let medians = rows(all, |at, metric| {
        let shown = all[at].median(&METRICS[metric]).map(METRICS[metric].show);
        shown.unwrap_or_else(|| GROWS.to_owned())
    });
    let ratios: Vec<_> = (0..all.len()).map(|at| comparisons.ratios(at)).collect();
    let ratio_rows = rows(&all[1..], |at, metric| match ratios[at + 1][metric] {
        Some(ratio) => {
            let mark = if ratio.told_apart { "*" } else { " " };
            format!(
                "{:.2} ({:.2}–{:.2}){mark}",
                ratio.median, ratio.low, ratio.high
            )
        }
        None => units::ABSENT.to_owned(),
    });
    let counts =
        |count: fn(&Report) -> u64| units::count(all.iter().map(|one| one.sum(count)).sum());
    let notes: Vec<String> = all.iter().flat_map(notes).collect();
    format!(
        "{}, {} rounds of {:.1} s\n\n{}\n{}\n\
         Ratios are to `{}` in the same round: median (95 % interval over rounds). Below 1 is better for latencies.\n\
         {}\n\
         {}In all rounds: {} arrivals unfinished, {} rejected, {} transactions given up{}.\n{}\n",
        first.workload,
        comparisons.rounds(),
        first.measured_s,
        under_headings("median", medians),
        under_headings("ratio", ratio_rows),
        all[0].name,
        told_apart(comparisons, &ratios),
        saturations::apart(comparisons).unwrap_or_default(),
        counts(|round| round.unfinished),
        counts(|round| round.rejected),
        counts(|round| round.given_up),
        by_configuration(all),
        notes.join("\n")
    )
}

/// The meaning of the star, or why no star appears.
fn told_apart(comparisons: &Comparisons, ratios: &[[Option<Ratio>; METRICS.len()]]) -> String {
    let others = comparisons.all().len() - 2;
    let needed = paired::rounds_needed(others);
    let any_told_apart = ratios
        .iter()
        .flatten()
        .flatten()
        .any(|ratio| ratio.told_apart);
    if (comparisons.rounds() as u32) < needed {
        return format!(
            "Too few rounds to distinguish anything from the baseline's second run: give --rounds {needed} or more."
        );
    }
    let level = 100.0 * paired::LEVEL;
    if any_told_apart {
        format!(
            "* differs from the baseline, which is measured twice (at {level:.0} % for the whole table); no other difference is proven."
        )
    } else {
        format!(
            "Nothing is proven to differ from the baseline, which is measured twice (at {level:.0} % for the whole table)."
        )
    }
}

/// The configurations that rejected arrivals, if any.
fn by_configuration(all: &[Compared]) -> String {
    let lacking = all.iter().filter_map(|one| {
        let counts = [
            one.sum(|round| round.unfinished),
            one.sum(|round| round.rejected),
            one.sum(|round| round.given_up),
        ];
        let [unfinished, rejected, given_up] = counts;
        (counts != [0; 3]).then(|| format!("{} {unfinished}, {rejected}, {given_up}", one.name))
    });
    let lacking: Vec<String> = lacking.collect();
    if lacking.is_empty() {
        String::new()
    } else {
        format!(" ({})", lacking.join("; "))
    }
}

/// A row a configuration, of its name and a cell a metric.
fn rows(all: &[Compared], cell: impl Fn(usize, usize) -> String) -> Vec<Vec<String>> {
    let row = |(at, compared): (usize, &Compared)| {
        let cells = (0..METRICS.len()).map(|metric| cell(at, metric));
        [compared.name.clone()].into_iter().chain(cells).collect()
    };
    all.iter().enumerate().map(row).collect()
}

/// Rows under the metrics' headings.
fn under_headings(title: &str, rows: Vec<Vec<String>>) -> String {
    let headings = METRICS.iter().map(|metric| metric.heading.to_owned());
    let first = [title.to_owned()].into_iter().chain(headings).collect();
    let lines: Vec<_> = [first].into_iter().chain(rows).collect();
    grid(&lines, false)
}

/// Whether the data were right in the end, and what a reader of the numbers must know, once for all rounds.
fn notes(compared: &Compared) -> Vec<String> {
    let name = &compared.name;
    let consistency = match compared.consistency() {
        Value::Null => format!("{name}: consistency not checked"),
        Value::String(ok) => format!("{name}: on {}, consistency {ok}", compared.rounds[0].target),
        wrong => format!("{name}: consistency VIOLATED: {wrong}"),
    };
    let all: Vec<String> = compared.rounds.iter().flat_map(Report::warnings).collect();
    let notes = merged(&all, compared.rounds.len());
    [consistency]
        .into_iter()
        .chain(notes.iter().map(|note| format!("note: {name}: {note}")))
        .collect()
}

/// Each note once, with the number of rounds it was made in: the same with other numbers in it is the same.
fn merged(all: &[String], rounds: usize) -> Vec<String> {
    let wording = |note: &str| note.replace(|c: char| c.is_ascii_digit(), "");
    let mut merged: Vec<(&String, usize)> = Vec::new();
    for note in all {
        match merged
            .iter_mut()
            .find(|(one, _)| wording(one) == wording(note))
        {
            Some((_, times)) => *times += 1,
            None => merged.push((note, 1)),
        }
    }
    merged
        .into_iter()
        .map(|(note, times)| match times {
            1 => format!("{note} (in 1 round of {rounds})"),
            _ => format!("{note} (in {times} rounds of {rounds}, with other numbers)"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_printed_once_whatever_its_numbers() {
        let all = ["12 were late", "7 were late", "stopped"].map(str::to_owned);
        assert_eq!(
            merged(&all, 3),
            [
                "12 were late (in 2 rounds of 3, with other numbers)",
                "stopped (in 1 round of 3)"
            ]
        );
    }
}
