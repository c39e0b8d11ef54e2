//! Configurations that carry so different loads that no part of one's saturation suits the others.

use serde_json::Value;

use super::Comparisons;
use crate::paired;

/// Difference of two saturations that is reported: more than one configuration's varies on a busy machine.
const APART: f64 = 1.5;

/// The saturation of each round, where the load is a part of it; each round has it from another configuration.
pub(super) fn by_round(comparisons: &Comparisons) -> Vec<f64> {
    let rounds = comparisons.all()[0].rounds.iter();
    rounds
        .filter_map(|round| round.config.get("saturation_per_s").and_then(Value::as_f64))
        .collect()
}

/// A remark on the saturations, if they differ.
pub(super) fn apart(comparisons: &Comparisons) -> Option<String> {
    let names = comparisons.all().iter().filter(|one| !one.aa);
    let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
    said(&names, &by_round(comparisons))
}

fn said(names: &[&str], by_round: &[f64]) -> Option<String> {
    let of = |at: usize| -> Option<f64> {
        let mut own: Vec<f64> = by_round
            .iter()
            .skip(at)
            .step_by(names.len())
            .copied()
            .collect();
        (!own.is_empty()).then(|| paired::median(&mut own))
    };
    let all = names.iter().enumerate();
    let mut all: Vec<(f64, &str)> = all
        .filter_map(|(at, name)| Some((of(at)?, *name)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [(least, lower), .., (most, higher)] = all[..] else {
        return None;
    };
    (most > APART * least).then(|| {
        format!(
            "The saturation is {least:.0} per s under `{lower}` and {most:.0} under `{higher}`: at a part of the one the other's queue grows, \
             or there is none. Compare them at a --rate.\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturations_that_differ_by_more_than_a_half() {
        let text = said(&["fifo", "hldaf"], &[150.0, 290.0, 140.0, 310.0]).expect("is said");
        assert!(
            text.starts_with("The saturation is 145 per s under `fifo` and 300 under `hldaf`:"),
            "{text}"
        );
        assert_eq!(said(&["fifo", "vats"], &[150.0, 210.0]), None);
    }

    #[test]
    fn one_round_or_none_tells_nothing() {
        assert_eq!(said(&["fifo", "hldaf"], &[150.0]), None);
        assert_eq!(said(&["fifo", "hldaf"], &[]), None);
    }
}
