//! How many runs the stages of a race take.

/// Runs of a round that are the server as it is.
pub const BASELINES: usize = 2;
/// So many or fewer race in the last stage, whose unions the stage behind it races.
pub(super) const FINALISTS: usize = 3;

/// How often a field is halved until it is one of finalists.
pub(super) fn halvings(mut field: usize) -> usize {
    let mut halvings = 0;
    while field > FINALISTS {
        field = field.div_ceil(2);
        halvings += 1;
    }
    halvings
}

/// Runs of a field of which each stage has one round.
pub(super) fn cost(field: usize) -> usize {
    let stages = std::iter::successors(Some(field), |&field| {
        (field > FINALISTS).then(|| field.div_ceil(2))
    });
    // Behind them the stage of the unions, with the best and at most two.
    let unions = if field > 1 { FINALISTS + BASELINES } else { 0 };
    stages.map(|field| field + BASELINES).sum::<usize>() + unions
}

/// The largest field, of at most `wanted`, of which each stage can have one round in so many runs; one where that is too few, too.
pub(super) fn affordable(wanted: usize, runs: usize) -> usize {
    let fits = |&field: &usize| cost(field) <= runs;
    (1..=wanted).rev().find(fits).unwrap_or(wanted.min(1))
}
