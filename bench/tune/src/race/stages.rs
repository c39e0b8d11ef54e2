//! Numbers of runs in the stages of a race.

/// Runs of the unchanged server in a round.
pub const BASELINES: usize = 2;
/// Entries in the last stage, at most; the next stage races their unions.
pub(super) const FINALISTS: usize = 3;

/// Number of halvings until only finalists are left.
pub(super) fn halvings(mut field: usize) -> usize {
    let mut halvings = 0;
    while field > FINALISTS {
        field = field.div_ceil(2);
        halvings += 1;
    }
    halvings
}

/// Runs of a field with one round in each stage.
pub(super) fn cost(field: usize) -> usize {
    let stages = std::iter::successors(Some(field), |&field| {
        (field > FINALISTS).then(|| field.div_ceil(2))
    });
    // Then the stage of the unions, with the best and at most two.
    let unions = if field > 1 { FINALISTS + BASELINES } else { 0 };
    stages.map(|field| field + BASELINES).sum::<usize>() + unions
}

/// The largest field of at most `wanted` entries for which `runs` allow one round in each stage; at least one entry.
pub(super) fn affordable(wanted: usize, runs: usize) -> usize {
    let fits = |&field: &usize| cost(field) <= runs;
    (1..=wanted).rev().find(fits).unwrap_or(wanted.min(1))
}
