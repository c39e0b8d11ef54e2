//! All experiments, in the order of the dissertation.

use crate::absent::PROFILES;
use crate::decisions::{batches, overhead};
use crate::experiment::Experiment;
use crate::measured::{
    self, engines, logging, memory, modifications, remaining, schedules, workers,
};
use crate::profiled::{self, apache, servers, trees, voltdb};
use crate::simulated::{
    delay_factor, exclusive, hybrid, latency, size_error, skew, throughput, waiters,
};
use crate::theorems::{delay, ldsf, vats};

/// Measured experiments, by chapter, and items that are not measured.
const PARTS: [&[Experiment]; 8] = [
    &[
        engines::EXPERIMENT,
        servers::MYSQL,
        servers::OF_POSTGRES,
        apache::EXPERIMENT,
        trees::EXPERIMENT,
        profiled::overhead::EXPERIMENT,
    ],
    PROFILES,
    &[vats::EXPERIMENT],
    &[
        workers::EXPERIMENT,
        voltdb::EXPERIMENT,
        remaining::EXPERIMENT,
        schedules::ALGORITHMS,
        memory::EXPERIMENT,
        logging::EXPERIMENT,
        modifications::EXPERIMENT,
        schedules::WORKLOADS,
    ],
    &[
        ldsf::OPTIMAL,
        ldsf::APPROXIMATE,
        delay::LEMMA,
        delay::UNKNOWN,
        ldsf::BATCHED,
    ],
    &[
        throughput::OF_BLDSF,
        latency::MEAN,
        latency::TAIL,
        throughput::OF_HEURISTICS,
        latency::HEURISTICS,
        waiters::EXPERIMENT,
        skew::EXPERIMENT,
        exclusive::EXPERIMENT,
        delay_factor::EXPERIMENT,
        size_error::EXPERIMENT,
        hybrid::SIMULATOR,
    ],
    &[measured::hybrid::IN_AN_ENGINE],
    &[overhead::EXPERIMENT, batches::EXPERIMENT],
];

/// All experiments, by chapter.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    let mut all: Vec<&Experiment> = PARTS.iter().flat_map(|part| part.iter()).collect();
    all.sort_by_key(|experiment| chapter(experiment.id));
    all.into_iter()
}

/// The 4 of `figure-4.8`.
fn chapter(id: &str) -> Option<u32> {
    let (_, number) = id.split_once('-')?;
    number.split_once('.')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::experiment::Effort;

    #[test]
    fn names_are_unique_and_every_item_says_what_it_is() {
        let mut seen = BTreeSet::new();
        for one in all() {
            assert!(seen.insert(one.id), "{} twice", one.id);
            let texts = [one.item, one.says, one.method, one.command];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}", one.id);
        }
    }

    /// With room for a slower machine.
    #[test]
    fn quick_is_under_half_an_hour() {
        let all: Duration = all().map(|one| (one.takes)(Effort::Quick)).sum();
        assert!(all < Duration::from_secs(25 * 60), "{all:?}");
    }

    #[test]
    fn the_papers_items_are_covered() {
        let named = |id: &str| all().any(|one| one.id == id);
        for figure in [
            "1.1", "2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "3.4", "3.5", "4.8", "4.9", "4.10",
            "4.11", "4.12",
        ]
        .iter()
        .chain(&[
            "4.13", "4.14", "4.15", "4.16", "4.17", "4.18", "4.19", "4.21", "4.23",
        ]) {
            assert!(named(&format!("figure-{figure}")), "figure {figure}");
        }
        for table in ["2.1", "2.2", "2.3", "2.4", "2.5", "3.3", "3.4"] {
            assert!(named(&format!("table-{table}")), "table {table}");
        }
        for theorem in [
            "theorem-3.1",
            "theorem-4.2",
            "theorem-4.3",
            "lemma-4.4",
            "theorem-4.5",
            "theorem-4.6",
        ] {
            assert!(named(theorem), "{theorem}");
        }
    }
}
