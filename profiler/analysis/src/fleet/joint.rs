//! Several recordings taken together: the profile that one recording of all their intervals would give.
//!
//! A profile never mixes intervals with different probes. Each recording has its own rounds, which timed different
//! calls, so each is replayed twice. The first replay shows the intervals that its profile rests on, from one round
//! or several together (`crate::rounds::combine`), and their paths ([`Scouted`]). Calls that not all recordings timed
//! are left out of all. A probe that a whole recording lacks is removed everywhere, as if it had never existed
//! ([`crate::sums::paths::Paths::without`]). Its time becomes its callers' own, less the probe's cost, and its
//! callees become theirs. All rounds of all recordings share some of the remaining paths
//! (`crate::rounds::common_paths`). The second replay adds the intervals to sums over these: directly where all have
//! timed the same, else to the sums of their round, which are added when its recording ends. All sums are integers,
//! so the order does not matter: a recording joined with itself has its own shares.

use std::ops::Range;

use crate::critical::blocking::WaitSums;
use crate::critical::path::Piece;
use crate::fleet::observed::Observed;
use crate::intervals::classes::ClassSums;
use crate::intervals::counts::RunCounts;
use crate::rounds::combine::{self, LoadChange, Together};
use crate::rounds::common_paths::{Common, Shape};
use crate::sums::Sums;
use crate::sums::paths::Paths;
use crate::sums::projection::Projection;
use crate::sums::round_sums::RoundSums;

/// Index of the only round there is.
pub(crate) const JOINT_ROUND: usize = 0;

/// Knowledge about a recording after its first replay.
#[derive(Clone, Debug, Default)]
pub struct Scouted {
    /// The rounds that its profile rests on, the one that knows most first.
    pub rounds: Vec<ScoutedRound>,
    /// Probes that intervals of one of them called.
    pub called: Vec<u32>,
    /// Probes that were planted all the time, or called, in each of them; nothing where that is not known.
    pub timed: Option<Vec<u32>>,
    /// Number of probes planted in the first of them.
    pub probes: u32,
    /// Names of its classes, by id.
    pub classes: Vec<String>,
    /// Its load changed once, for good.
    pub change: Option<LoadChange>,
    /// Counts over the whole run.
    pub run: RunCounts,
}

/// A round of a recording that counts.
#[derive(Clone, Debug, Default)]
pub struct ScoutedRound {
    /// Its index in the recording.
    pub round: usize,
    /// Its intervals; of a recording of sums, its minutes.
    pub selection: Selection,
    /// Its call paths.
    pub shape: Shape,
}

/// Numbers of intervals, ascending.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    ranges: Vec<Range<u64>>,
}

/// By round, the intervals that were added to it.
#[derive(Debug, Default)]
pub(crate) struct RoundLog {
    rounds: Vec<Selection>,
}

impl RoundLog {
    /// An interval was added to a round. Numbers ascend.
    pub fn add(&mut self, id: u64, round: usize) {
        if self.rounds.len() <= round {
            self.rounds.resize_with(round + 1, Selection::default);
        }
        let ranges = &mut self.rounds[round].ranges;
        match ranges.last_mut() {
            Some(last) if last.end == id => last.end += 1,
            _ => ranges.push(id..id + 1),
        }
    }

    /// The intervals of a round.
    pub(crate) fn selection(&self, round: usize) -> Selection {
        self.rounds.get(round).cloned().unwrap_or_default()
    }
}

/// Recordings that are taken together, one of them at hand.
#[derive(Debug, Default)]
pub(crate) struct Joint {
    common: Common,
    /// By probe id: not timed by all of the recordings.
    untimed: Vec<bool>,
    /// Rounds of the current recording.
    rounds: Vec<JointRound>,
    /// Intervals of the recordings before.
    before: u64,
    /// Minutes of sums of the recording at hand so far.
    pub minutes: u64,
    /// Probes as [`Together::hidden`].
    hidden: Vec<u32>,
    /// [`Scouted::change`] of the first that has one.
    change: Option<LoadChange>,
    /// Counts over all recordings.
    pub run: RunCounts,
}

/// A round of the recording at hand that counts.
#[derive(Debug)]
struct JointRound {
    round: usize,
    selection: Selection,
    /// Ranges before this one have passed.
    at: usize,
    /// Its own call paths, where it has sums instead of intervals ([`crate::fleet::minutes`]).
    paths: Paths,
    /// Its sums, where not all rounds have timed the same.
    detail: Option<Box<RoundSums>>,
}

impl Joint {
    /// Recordings whose probes have these ids among those of all, and whose classes these.
    pub fn new(parts: &[(&Scouted, &[u32], Vec<usize>)], untimed: &[bool]) -> Joint {
        let shapes: Vec<Vec<Shape>> = parts
            .iter()
            .map(|(scouted, probes, classes)| {
                let rounds = scouted.rounds.iter();
                let shapes = rounds.map(|round| round.shape.renamed(probes, classes, untimed));
                shapes.collect()
            })
            .collect();
        let common = Common::of_recordings(&shapes);
        let first = shapes.iter().filter_map(|shapes| shapes.first());
        let mut hidden: Vec<u32> = match common.is_all() {
            true => Vec::new(),
            false => first
                .flat_map(|shape| combine::hidden(&common, shape))
                .collect(),
        };
        hidden.sort_unstable();
        hidden.dedup();
        Joint {
            common,
            untimed: untimed.to_vec(),
            hidden,
            change: parts.iter().find_map(|(scouted, ..)| scouted.change),
            ..Joint::default()
        }
    }

    /// Facts about rounds that were taken together.
    pub fn together(&self) -> Together {
        Together {
            rounds: vec![JOINT_ROUND],
            change: self.change,
            hidden: self.hidden.clone(),
        }
    }

    /// No sums yet of all recordings.
    pub fn detail(&self) -> RoundSums {
        match self.common.is_all() {
            true => self.of_intervals(),
            false => self.common.detail(),
        }
    }

    /// No sums yet, of intervals from which some probes are left out.
    fn of_intervals(&self) -> RoundSums {
        RoundSums {
            paths: Paths::without(self.untimed.clone()),
            waits: WaitSums::without(self.untimed.clone()),
            ..RoundSums::default()
        }
    }

    /// The next recording begins, `before` intervals were of others.
    pub fn begin(&mut self, before: u64, scouted: &Scouted) {
        let own = || (!self.common.is_all()).then(|| Box::new(self.of_intervals()));
        let rounds = scouted.rounds.iter().map(|scouted| JointRound {
            round: scouted.round,
            selection: scouted.selection.clone(),
            at: 0,
            paths: Paths::default(),
            detail: own(),
        });
        self.rounds = rounds.collect();
        self.before = before;
        self.minutes = 0;
        self.run.add(&scouted.run);
    }

    /// The current recording has ended: adds its sums to those of all.
    pub fn end(&mut self, onto: &mut RoundSums) {
        let rounds = std::mem::take(&mut self.rounds);
        let own: Vec<_> = rounds
            .into_iter()
            .filter_map(|round| round.detail)
            .collect();
        if !own.is_empty() {
            self.common.add(own.iter().map(|detail| &**detail), onto);
        }
    }

    /// Pieces of an interval of the selected round `at`, on the paths of all recordings.
    pub(crate) fn place_pieces(&self, at: usize, pieces: &mut [Piece], onto: &mut Paths) {
        if let Some(own) = &self.rounds[at].detail {
            let projection = self.common.projection(&own.paths, onto);
            for piece in pieces {
                piece.node = projection.own(piece.node);
            }
        }
    }

    /// Intervals of the recording at hand, whose rounds are those of [`Joint::selects`], on the paths of all
    /// recordings, `onto`.
    pub fn place(&self, intervals: Vec<Observed>, onto: &mut Paths) -> Vec<Observed> {
        if intervals.is_empty() || self.common.is_all() {
            return intervals;
        }
        let own = self.rounds.iter().map(|round| round.detail.as_deref());
        let projections: Vec<Option<Projection<'_>>> = own
            .map(|own| Some(self.common.projection(&own?.paths, onto)))
            .collect();
        let place = |interval: Observed| {
            let projection = projections.get(interval.round)?.as_ref()?;
            Some(interval.onto(|node| (projection.own(node), projection.node(node).is_some())))
        };
        intervals.into_iter().filter_map(place).collect()
    }

    /// Places sums of the selected round `at`.
    pub(crate) fn place_sums(
        &self,
        at: usize,
        sums: Sums,
        classes: Vec<ClassSums>,
        onto: &mut Paths,
    ) -> (Sums, Vec<ClassSums>) {
        let Some(own) = &self.rounds[at].detail else {
            return (sums, classes);
        };
        let projection = self.common.projection(&own.paths, onto);
        let class = |class: &ClassSums| {
            let mut placed = ClassSums::default();
            projection.add_class(class, &mut placed);
            placed
        };
        let classes = classes.iter().map(class).collect();
        (projection.sums(&sums, onto), classes)
    }

    /// Which of the rounds the interval with this number counts in, if in any. Numbers ascend.
    pub fn selects(&mut self, id: u64) -> Option<usize> {
        let id = id - self.before;
        self.rounds.iter_mut().position(|round| round.selects(id))
    }

    /// Whether a minute of sums of one of the recording's rounds is selected.
    pub(crate) fn selects_minute(&mut self, minute: u64, of: usize) -> Option<usize> {
        let mut rounds = self.rounds.iter_mut();
        rounds.position(|round| round.round == of && round.selects(minute))
    }

    /// The own sums of a round that was selected, if it has such.
    pub fn own(&mut self, at: usize) -> Option<&mut RoundSums> {
        self.rounds[at].detail.as_deref_mut()
    }

    /// Call paths of a round that was selected, which has sums instead of intervals; and its own sums, as
    /// [`Joint::own`].
    pub(crate) fn of_minutes(&mut self, at: usize) -> (&mut Paths, Option<&mut RoundSums>) {
        let round = &mut self.rounds[at];
        (&mut round.paths, round.detail.as_deref_mut())
    }
}

impl JointRound {
    fn selects(&mut self, id: u64) -> bool {
        let ranges = &self.selection.ranges;
        while ranges.get(self.at).is_some_and(|range| range.end <= id) {
            self.at += 1;
        }
        ranges.get(self.at).is_some_and(|range| range.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::NodeSums;
    use crate::sums::accumulate::Accumulator;
    use crate::sums::blocks::Blocks;
    use crate::sums::paths::ROOT;

    /// Two intervals, of 100 and 200 ticks, by path: inclusive and exclusive ticks in each.
    fn sums_of(paths: &Paths, nodes: &[(u32, [i128; 2], [i128; 2])]) -> Sums {
        let latency = [100, 200];
        let dot = |a: [i128; 2], b: [i128; 2]| a[0] * b[0] + a[1] * b[1];
        let mut sums = Sums {
            intervals: 2,
            kept: 2,
            latency: 300,
            latency_squared: dot(latency, latency),
            nodes: vec![NodeSums::default(); paths.all().len()],
            pairs: vec![0; paths.pairs()],
            ..Sums::default()
        };
        for &(node, inclusive, exclusive) in nodes {
            let at = &mut sums.nodes[node as usize];
            (at.inclusive, at.exclusive) = (inclusive.iter().sum(), exclusive.iter().sum());
            (at.inclusive_squared, at.exclusive_squared) =
                (dot(inclusive, inclusive), dot(exclusive, exclusive));
            (at.inclusive_latency, at.exclusive_latency) =
                (dot(inclusive, latency), dot(exclusive, latency));
            at.calls = 2;
            if node != ROOT {
                let above = paths.get(node).parent;
                let (_, _, of_above) = nodes.iter().find(|(at, ..)| *at == above).unwrap();
                sums.pairs[paths.pair_with_body(node)] = dot(inclusive, *of_above);
            }
        }
        sums
    }

    /// A minute of a round that timed `g` in `f`, which another round did not: what `f` spent in `g` is its own.
    #[test]
    fn sums_come_to_the_paths_of_all() {
        let (mut deep, mut shallow) = (Paths::default(), Paths::default());
        let f = deep.child(ROOT, 0).unwrap();
        let g = deep.child(f, 1).unwrap();
        assert_eq!(shallow.child(ROOT, 0), Some(f));
        let root = (ROOT, [100, 200], [40, 50]);
        let of_deep = sums_of(
            &deep,
            &[root, (f, [60, 150], [20, 100]), (g, [40, 50], [40, 50])],
        );
        let of_shallow = sums_of(&shallow, &[root, (f, [60, 150], [60, 150])]);
        let detail = |paths: &Paths, sums: &Sums| RoundSums {
            paths: paths.clone(),
            sums: Accumulator {
                blocks: Blocks::of(sums.clone()),
                ..Accumulator::default()
            },
            ..RoundSums::default()
        };
        let details = [detail(&deep, &of_deep), detail(&shallow, &of_shallow)];
        let shapes = details.iter().map(Shape::of).collect();
        let round = |own: Option<RoundSums>| JointRound {
            round: 0,
            selection: Selection::default(),
            at: 0,
            paths: deep.clone(),
            detail: own.map(Box::new),
        };
        let joint = Joint {
            common: Common::of_recordings(&[shapes]),
            rounds: vec![round(Some(detail(&deep, &of_deep))), round(None)],
            ..Joint::default()
        };
        let class = ClassSums {
            intervals: 2,
            latency: 300,
            latency_squared: 50_000,
            nodes: vec![(90, 14_000), (0, 0), (120, 22_000), (90, 14_000)],
        };
        let mut onto = joint.detail().paths;
        let (sums, classes) = joint.place_sums(0, of_deep.clone(), vec![class.clone()], &mut onto);
        assert_eq!(sums, of_shallow, "as if nobody had timed g");
        assert_eq!(classes[0].nodes, [(90, 14_000), (0, 0), (210, 36_000)]);
        assert_eq!((classes[0].intervals, classes[0].latency), (2, 300));
        // A round whose sums are on those paths already.
        let (sums, classes) = joint.place_sums(1, of_deep.clone(), vec![class.clone()], &mut onto);
        assert_eq!((sums, &classes[0].nodes), (of_deep, &class.nodes));
    }

    #[test]
    fn a_selection_is_what_was_logged() {
        let mut log = RoundLog::default();
        let rounds = [0, 0, 1, 1, 0, 1, 1, 1, 2];
        (0..).zip(rounds).for_each(|(id, round)| log.add(id, round));
        let mut joint = Joint::default();
        let round = |round| ScoutedRound {
            round,
            selection: log.selection(round),
            ..ScoutedRound::default()
        };
        let scouted = Scouted {
            rounds: vec![round(1), round(2)],
            ..Scouted::default()
        };
        joint.begin(100, &scouted);
        let selected: Vec<_> = (0..20)
            .filter_map(|id| Some((id, joint.selects(100 + id)?)))
            .collect();
        assert_eq!(selected, [(2, 0), (3, 0), (5, 0), (6, 0), (7, 0), (8, 1)]);
    }
}
