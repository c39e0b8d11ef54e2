//! Single intervals as the sums count them, for export formats that sum them again.
//!
//! A profile rests on the intervals of one round, or of several on the call paths that all of them timed
//! (`crate::rounds::combine`). [`Basis`] names these rounds and paths after a replay of the recording. In a second
//! replay it maps each interval to the paths of the profile. So sums over the exported columns equal the profile's.

pub use crate::critical::path::Piece;
use crate::intervals::classes::ClassSums;
use crate::intervals::interval::Finished;
use crate::intervals::trace_context::TraceContext;
use crate::sums::Sums;
use crate::sums::paths::Paths;
use crate::sums::projection::Projection;
use crate::sums::vectors::Vector;

/// An interval that was added to the sums of its round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Index of the round.
    pub round: usize,
    /// Number of the interval in order of the ends, those left out included: the same in every replay.
    pub id: u64,
    /// Its class.
    pub class: usize,
    /// When it began, ticks.
    pub begin: u64,
    /// Its latency, ticks.
    pub latency: i64,
    /// For how many intervals it stands.
    pub weight: u64,
    /// The span that it belongs to.
    pub trace: Option<TraceContext>,
    /// Its critical path, from its end to its beginning without gaps. Empty unless waits were followed, it belongs to
    /// a span, and paths are wanted ([`crate::Analysis::observe_pieces`]).
    pub pieces: Vec<Piece>,
    /// Time by node, the root first, parents before children. Exclusive ticks add up to the latency.
    pub spent: Vec<Spent>,
}

/// Time of an interval at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The node.
    pub node: u32,
    /// Calls.
    pub calls: u32,
    /// Ticks at the node itself; may be slightly below zero, where a probe cost less than it does on average.
    pub exclusive: i64,
    /// Ticks at the node and below it.
    pub inclusive: i64,
}

impl Observed {
    /// Maps it to fewer paths. `place` gives for a node the one that has its own time, and whether that is itself;
    /// otherwise the node is left out below it.
    pub(crate) fn onto(mut self, place: impl Fn(u32) -> (u32, bool)) -> Observed {
        let mut spent: Vec<Spent> = Vec::with_capacity(self.spent.len());
        for at in &self.spent {
            let (own, is_kept) = place(at.node);
            if is_kept {
                // The inclusive time of a path does not depend on what is timed below it.
                spent.push(Spent { node: own, ..*at });
            } else if let Some(above) = spent.iter_mut().find(|above| above.node == own) {
                above.exclusive += at.exclusive;
            }
        }
        for piece in &mut self.pieces {
            (piece.node, _) = place(piece.node);
        }
        Observed { spent, ..self }
    }
}

/// Sums of the intervals of a minute, from a recording that keeps nothing else ([`crate::fleet::minutes`]).
#[derive(Clone, Debug, Default)]
pub struct ObservedMinute {
    /// When it began, in nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Its sums, on the paths of the profile.
    pub sums: Sums,
    /// By class id.
    pub classes: Vec<ClassSums>,
}

/// Intervals that are handed on.
#[derive(Debug, Default)]
pub(crate) struct Observing {
    /// With the paths of intervals that belong to a span.
    pub pieces: bool,
    /// Added intervals, on the paths of their round.
    pub pending: Vec<Observed>,
    /// Earlier intervals, on the paths of the round that they count in.
    pub placed: Vec<Observed>,
    /// Minutes of sums, on the same paths.
    pub minutes: Vec<ObservedMinute>,
}

impl Observing {
    /// Hands on an interval that was added to a round.
    pub(crate) fn add(
        &mut self,
        round: usize,
        id: u64,
        finished: &Finished,
        vector: &Vector<'_>,
        pieces: &[Piece],
    ) {
        let wants_pieces = self.pieces && finished.trace.is_some();
        let spent = vector.entries.iter().map(|entry| Spent {
            node: entry.node,
            calls: entry.calls,
            exclusive: entry.exclusive,
            inclusive: entry.inclusive,
        });
        self.pending.push(Observed {
            round,
            id,
            class: finished.class.into(),
            begin: finished.subject.begin,
            latency: vector.latency,
            weight: vector.weight,
            trace: finished.trace,
            pieces: if wants_pieces {
                pieces.to_vec()
            } else {
                Vec::new()
            },
            spent: spent.collect(),
        });
    }
}

/// Which intervals a profile rests on, and on which call paths.
#[derive(Clone, Debug)]
pub struct Basis {
    rounds: Vec<Placed>,
    /// Paths of the profile; nothing where they are those of the only round.
    paths: Option<Paths>,
}

/// A round whose intervals count.
#[derive(Clone, Debug)]
struct Placed {
    round: usize,
    /// By node: which it is in the profile, and whether that is itself or only has its time. Empty where nothing
    /// changes.
    nodes: Vec<Place>,
}

/// Where the time of a node goes.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The node that has its own time.
    own: u32,
    /// It is that node; else it is left out below it.
    is_kept: bool,
}

impl Basis {
    /// The intervals of one round, unchanged.
    pub(crate) fn of_round(round: usize) -> Basis {
        Basis {
            rounds: vec![Placed {
                round,
                nodes: Vec::new(),
            }],
            paths: None,
        }
    }

    /// The intervals of several rounds on the paths that they share.
    pub(crate) fn of_rounds(paths: Paths, rounds: &[(usize, Projection<'_>)]) -> Basis {
        let placed = rounds.iter().map(|(round, projection)| Placed {
            round: *round,
            nodes: (0..projection.nodes() as u32)
                .map(|node| Place {
                    own: projection.own(node),
                    is_kept: projection.node(node).is_some(),
                })
                .collect(),
        });
        Basis {
            rounds: placed.collect(),
            paths: Some(paths),
        }
    }

    /// Paths that placed intervals are over, where they are not those of their round.
    pub fn paths(&self) -> Option<&Paths> {
        self.paths.as_ref()
    }

    /// The interval on the profile's paths; nothing where it does not count.
    pub fn place(&self, interval: Observed) -> Option<Observed> {
        let placed = self.rounds.iter().find(|it| it.round == interval.round)?;
        if placed.nodes.is_empty() {
            return Some(interval);
        }
        Some(interval.onto(|node| {
            let Place { own, is_kept } = placed.nodes[node as usize];
            (own, is_kept)
        }))
    }
}
