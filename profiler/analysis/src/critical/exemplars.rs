//! Intervals whose critical path is kept piece by piece: the slowest, and some of every latency, so that one near any
//! percentile can be shown.

use super::path::{ClientWait, Path, Piece};
use crate::intervals::interval::AttributeValues;
use crate::intervals::trace_context::TraceContext;

/// Slowest intervals kept.
pub const SLOWEST: usize = 16;
/// Latencies are told apart by octave and this many bits below: an eighth.
const DETAIL_BITS: u32 = 3;

/// One interval's path.
#[derive(Clone, Debug, Default)]
pub struct Exemplar {
    /// Number of the interval in order of its end, whole run, those left out included.
    pub id: u64,
    /// Begin, ticks.
    pub begin: u64,
    /// Latency, ticks.
    pub latency: i64,
    /// Its class.
    pub class: u16,
    /// The thread on which it ended.
    pub thread: u64,
    /// Its attributes.
    pub attributes: AttributeValues,
    /// The span of its trace context.
    pub trace: Option<TraceContext>,
    /// From the end to the beginning.
    pub pieces: Vec<Piece>,
    /// Pieces near the beginning were left out.
    pub is_cut: bool,
    /// Of one of the slowest of the run: waits of other threads for their clients.
    pub client_waits: Vec<ClientWait>,
}

/// The kept intervals of one round.
#[derive(Debug, Default)]
pub struct Exemplars {
    /// Slowest first.
    slowest: Vec<Exemplar>,
    /// By latency: number of intervals offered, and one of them.
    examples: Vec<Option<(u64, Exemplar)>>,
    /// The interval that the user asked for.
    wanted: Option<Exemplar>,
}

impl Exemplars {
    /// Whether an interval of this latency would be kept.
    pub fn keeps(&self, latency: i64) -> bool {
        let slow = self.slowest.get(SLOWEST - 1);
        let example = self.examples.get(bucket_of(latency as u64));
        slow.is_none_or(|slow| slow.latency < latency)
            || example
                .and_then(Option::as_ref)
                .is_none_or(|(count, _)| (count + 1).is_power_of_two())
    }

    /// Offers an interval; `kept` comes without pieces, which are copied from `path` if it is kept. `wanted`: keep it
    /// in any case.
    pub fn offer(&mut self, kept: Exemplar, path: &Path, wanted: bool) {
        let with_pieces = || Exemplar {
            pieces: path.pieces.clone(),
            is_cut: path.is_cut,
            ..kept.clone()
        };
        if wanted {
            self.wanted = Some(with_pieces());
        }
        let at = self
            .slowest
            .partition_point(|slower| slower.latency >= kept.latency);
        if at < SLOWEST {
            self.slowest.truncate(SLOWEST - 1);
            self.slowest.insert(at, with_pieces());
        }
        let bucket = bucket_of(kept.latency as u64);
        if self.examples.len() <= bucket {
            self.examples.resize(bucket + 1, None);
        }
        match &mut self.examples[bucket] {
            // Keeps the 1st, 2nd, 4th, 8th, ..: few copies, and not only from the run's beginning.
            Some((count, example)) => {
                *count += 1;
                if count.is_power_of_two() {
                    *example = with_pieces();
                }
            }
            none => *none = Some((1, with_pieces())),
        }
    }

    /// Adds those of another round. `piece` converts each piece.
    pub fn merge(&mut self, other: &Exemplars, piece: impl Fn(Piece) -> Piece) {
        let taken = |kept: &Exemplar| Exemplar {
            pieces: kept.pieces.iter().copied().map(&piece).collect(),
            ..kept.clone()
        };
        self.slowest.extend(other.slowest.iter().map(taken));
        // The sort is stable: of two equal latencies the earlier one stays first.
        self.slowest.sort_by_key(|kept| -kept.latency);
        self.slowest.truncate(SLOWEST);
        if self.examples.len() < other.examples.len() {
            self.examples.resize(other.examples.len(), None);
        }
        for (mine, other) in self.examples.iter_mut().zip(&other.examples) {
            let Some((count, example)) = other else {
                continue;
            };
            match mine {
                Some((before, _)) if *before >= *count => *before += count,
                Some((before, mine)) => (*before, *mine) = (*before + count, taken(example)),
                None => *mine = Some((*count, taken(example))),
            }
        }
        if let Some(wanted) = &other.wanted {
            self.wanted = Some(taken(wanted));
        }
    }

    /// The slowest, slowest first.
    pub fn slowest(&self) -> &[Exemplar] {
        &self.slowest
    }

    /// The kept interval whose latency is nearest to this, ticks.
    pub fn nearest(&self, latency: f64) -> Option<&Exemplar> {
        let distance = |kept: &&Exemplar| (kept.latency as f64 - latency).abs();
        let examples = self.examples.iter().flatten().map(|(_, example)| example);
        self.slowest
            .iter()
            .chain(examples)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The interval with this number, if it was kept.
    pub fn find(&self, id: u64) -> Option<&Exemplar> {
        let examples = self.examples.iter().flatten().map(|(_, example)| example);
        let mut all = self.wanted.iter().chain(&self.slowest).chain(examples);
        all.find(|kept| kept.id == id)
    }

    /// The interval that the user asked for.
    pub fn wanted(&self) -> Option<&Exemplar> {
        self.wanted.as_ref()
    }
}

fn bucket_of(ticks: u64) -> usize {
    let octave = 1u64 << DETAIL_BITS;
    let shift = (ticks | octave).ilog2() - DETAIL_BITS;
    (u64::from(shift) * octave + (ticks >> shift)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_and_one_near_every_latency() {
        let mut keep = Exemplars::default();
        for id in 0..10_000u64 {
            let kept = Exemplar {
                id,
                latency: (id * 7919 % 10_000) as i64,
                ..Exemplar::default()
            };
            keep.offer(kept, &Path::default(), id == 77);
        }
        let slowest: Vec<i64> = keep.slowest().iter().map(|kept| kept.latency).collect();
        let expected: Vec<i64> = (0..SLOWEST as i64).map(|rank| 9999 - rank).collect();
        assert_eq!(slowest, expected);
        for latency in [30.0, 500.0, 5000.0, 9990.0] {
            let near = keep.nearest(latency).unwrap().latency as f64;
            assert!(
                (near - latency).abs() <= latency / 8.0 + 1.0,
                "{near} for {latency}"
            );
        }
        assert_eq!(keep.find(77).map(|kept| kept.id), Some(77));
        assert!(keep.examples.len() < 120);
    }
}
