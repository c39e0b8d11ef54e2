//! The slowest intervals of a run, kept whole from all rounds, so that a single slow request can be explained
//! afterwards.

use super::exemplars::Exemplar;
use super::path::{Path, Piece};
use crate::sums::paths::{Paths, ROOT};
use crate::sums::vectors::Segment;

/// Intervals kept unless another number is asked for.
pub const SLOWEST: usize = 100;

/// A slow interval, with the call paths that its pieces name.
#[derive(Clone, Debug)]
pub(crate) struct SlowOne {
    pub(crate) paths_of: PathsOf,
    pub(crate) whole: Exemplar,
}

/// The owner of the call paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathsOf {
    /// A round's.
    Round(usize),
    /// The current recording's selected round with this index, when several recordings are analysed.
    Own(usize),
}

/// The slowest so far, slowest first.
#[derive(Debug)]
pub(crate) struct Slowest {
    most: usize,
    intervals: Vec<SlowOne>,
    /// The interval that the user asked for.
    wanted: Option<SlowOne>,
    /// Begin of the first interval of all, ticks.
    first: Option<u64>,
}

impl Default for Slowest {
    fn default() -> Slowest {
        Slowest::of(SLOWEST)
    }
}

impl Slowest {
    /// Keeps `most` intervals.
    pub(crate) fn of(most: usize) -> Slowest {
        Slowest {
            most,
            intervals: Vec::new(),
            wanted: None,
            first: None,
        }
    }

    /// Notes that an interval began at this time.
    pub(crate) fn note(&mut self, begin: u64) {
        let first = self.first.get_or_insert(begin);
        *first = begin.min(*first);
    }

    /// When the first interval began, ticks.
    pub(crate) fn first(&self) -> Option<u64> {
        self.first
    }

    /// Whether an interval of this latency would be kept.
    pub(crate) fn keeps(&self, latency: i64) -> bool {
        let least = self.intervals.get(self.most.wrapping_sub(1));
        self.most > 0 && least.is_none_or(|least| least.whole.latency < latency)
    }

    /// Offers an interval with the pieces of `path`. `wanted`: the user asked for it.
    pub(crate) fn offer(&mut self, paths_of: PathsOf, kept: Exemplar, path: &Path, wanted: bool) {
        let is_slow = self.keeps(kept.latency);
        let slower = |other: &SlowOne| other.whole.latency >= kept.latency;
        let at = self.intervals.partition_point(slower);
        let whole = Exemplar {
            pieces: path.pieces.clone(),
            is_cut: path.is_cut,
            client_waits: path.client_waits.clone(),
            ..kept
        };
        let one = SlowOne { paths_of, whole };
        if wanted {
            self.wanted = Some(one.clone());
        }
        if is_slow {
            self.intervals.truncate(self.most - 1);
            self.intervals.insert(at, one);
        }
    }

    /// The interval with this number, if it was kept.
    pub(crate) fn find(&self, id: u64) -> Option<&SlowOne> {
        let mut all = self.intervals.iter().chain(&self.wanted);
        all.find(|one| one.whole.id == id)
    }

    /// Moves the current recording's intervals to the call paths of `round` at the end of the recording. `pieces` gets
    /// the index of the selected round.
    pub(crate) fn place(&mut self, round: usize, mut pieces: impl FnMut(usize, &mut [Piece])) {
        for one in self.intervals.iter_mut().chain(&mut self.wanted) {
            if let PathsOf::Own(at) = one.paths_of {
                pieces(at, &mut one.whole.pieces);
                one.paths_of = PathsOf::Round(round);
            }
        }
    }

    /// Slowest first.
    pub(crate) fn all(&self) -> &[SlowOne] {
        &self.intervals
    }
}

/// The path of an interval that is one thread's segment: its pieces from the end to the beginning.
pub(crate) fn pieces_of(segment: &Segment<'_>, thread: u64, paths: &mut Paths, path: &mut Path) {
    let mut walk = Pieces {
        thread,
        begin: segment.start,
        at: segment.end,
        open: vec![(segment.start, ROOT)],
        path,
    };
    for open in segment.open.iter().filter(|open| open.start != 0) {
        walk.enter(open.start, open.probe, paths);
    }
    for call in segment.calls.iter().rev().filter(|call| call.start != 0) {
        walk.back_to(call.end());
        walk.enter(call.start, call.id(), paths);
    }
    walk.back_to(segment.start);
}

struct Pieces<'a> {
    thread: u64,
    begin: u64,
    /// The time after this is accounted for.
    at: u64,
    /// Start and node of the calls around it, outermost first.
    open: Vec<(u64, u32)>,
    path: &'a mut Path,
}

impl Pieces<'_> {
    /// Goes back to this moment: calls that began at or after it are left.
    fn back_to(&mut self, moment: u64) {
        while let Some(&(start, node)) = self.open.last() {
            let from = start.max(moment).max(self.begin);
            self.piece(node, from);
            if self.open.len() == 1 || start < moment {
                return;
            }
            self.open.pop();
        }
    }

    fn piece(&mut self, node: u32, from: u64) {
        if from < self.at {
            self.path.piece(Piece {
                thread: self.thread,
                from,
                to: self.at,
                node,
            });
            self.at = from;
        }
    }

    fn enter(&mut self, start: u64, probe: u32, paths: &mut Paths) {
        let (_, above) = self.open[self.open.len() - 1];
        if paths.is_untimed(probe) {
            return;
        }
        // What is folded is its caller's.
        let node = paths.child(above, probe).unwrap_or(above);
        self.open.push((start, node));
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::{Open, Record};

    use super::*;

    fn exemplar(id: u64, latency: i64) -> Exemplar {
        Exemplar {
            id,
            latency,
            ..Exemplar::default()
        }
    }

    #[test]
    fn the_slowest_of_all_rounds_are_kept() {
        let mut slowest = Slowest::of(3);
        for id in 0..1000u64 {
            let latency = (id * 7919 % 1000) as i64;
            assert_eq!(slowest.keeps(latency), {
                let least = slowest.all().get(2).map(|least| least.whole.latency);
                least.is_none_or(|least| least < latency)
            });
            slowest.offer(
                PathsOf::Round((id % 5) as usize),
                exemplar(id, latency),
                &Path::default(),
                id == 5,
            );
            slowest.note(1000 - id);
        }
        let latencies: Vec<i64> = slowest.all().iter().map(|one| one.whole.latency).collect();
        assert_eq!(latencies, [999, 998, 997]);
        assert_eq!(slowest.first(), Some(1));
        assert!(slowest.find(5).is_some() && slowest.find(6).is_none());
        let mut none = Slowest::of(0);
        none.offer(PathsOf::Round(0), exemplar(1, 5), &Path::default(), false);
        assert!(none.all().is_empty());
    }

    /// 100 to 200: a from 110 to 150, in it b from 120 to 130 and again 130 to 140; then c, open since 180.
    #[test]
    fn a_segment_is_cut_where_calls_begin_and_end() {
        let calls = [
            Record::new(120, 10, 1),
            Record::new(130, 10, 1),
            Record::new(110, 40, 0),
        ];
        let open = [Open {
            start: 180,
            probe: 2,
        }];
        let segment = Segment {
            start: 100,
            end: 200,
            calls: &calls,
            open: &open,
        };
        let (mut paths, mut path) = (Paths::default(), Path::default());
        path.begin(true);
        pieces_of(&segment, 7, &mut paths, &mut path);
        let a = paths.child(ROOT, 0).unwrap();
        let (b, c) = (paths.child(a, 1).unwrap(), paths.child(ROOT, 2).unwrap());
        let pieces: Vec<_> = path.pieces.iter().map(|p| (p.from, p.to, p.node)).collect();
        let expected = [
            (180, 200, c),
            (150, 180, ROOT),
            (140, 150, a),
            (120, 140, b),
            (110, 120, a),
            (100, 110, ROOT),
        ];
        assert_eq!(pieces, expected);
        assert!(path.pieces.iter().all(|piece| piece.thread == 7));
    }
}
