//! Lock schedules: which of the eligible waiters of one object are granted next.
//!
//! A schedule is a pure decision over a queue and the wait-for graph. It reads no clock (times are numbers in the
//! [`Decision`]), takes no lock, does no I/O, and draws random numbers only from the generator it is given, so the lock
//! manager and the deterministic simulator run the same code. It sees only waiters that could each be granted now
//! ([`crate::queue`] says when); its choice is checked against the granted set again before anything is granted.

mod bldsf;
mod ddf;
mod delay;
mod fifo;
mod group;
mod hldsf;
mod ldsf;
mod mblf;
mod mlf;
mod random;
mod vats;

#[cfg(test)]
mod figures;

pub use bldsf::Bldsf;
pub use ddf::Ddf;
pub use delay::DelayFactor;
pub use fifo::Fifo;
pub use hldsf::Hldsf;
pub use ldsf::Ldsf;
pub use mblf::Mblf;
pub use mlf::Mlf;
pub use random::Random;
pub use vats::Vats;

use crate::draws::Draws;
use crate::graph::{Graph, QueueIndex, TxnIndex};
use crate::modes::ModeSet;
use crate::queue::{Queue, Waiter};
use crate::remaining::RemainingTimes;

/// A rule that decides which waiters are granted.
pub trait Schedule: Send {
    /// Appends to `picked` the places in [`Queue::waiting`] of the waiters to grant, in the order of granting. At least
    /// one, all [`Decision::candidates`], all compatible with each other.
    fn pick(&mut self, decision: &Decision<'_>, draws: &mut Draws, picked: &mut Vec<usize>);
}

/// How the size of a dependency set is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetSizes {
    /// By searching the graph: exact, shared holders included; the union of sets is exact too.
    Exact,
    /// One plus the sum over the waiters, kept up to date at every change; the union is the sum of the sizes
    /// (section 4.5). Constant time a candidate.
    Approximate,
}

/// Everything a schedule may look at.
pub struct Decision<'a> {
    /// Who waits for whom.
    pub graph: &'a Graph,
    /// The object that became available.
    pub queue: QueueIndex,
    /// Modes whose waiters are eligible.
    pub eligible: ModeSet,
    /// Only arrivals before this one are considered (see [`crate::starvation`]).
    pub arrival_limit: u64,
    /// The time, in nanoseconds since any fixed moment.
    pub now_ns: u64,
    /// How dependency sets are measured.
    pub sizes: SetSizes,
    /// Added to a dependency-set size for each nanosecond of the transaction's age.
    pub size_per_ns: f64,
    /// Expected remaining times.
    pub remaining: &'a RemainingTimes,
}

impl<'a> Decision<'a> {
    /// The object.
    pub fn object(&self) -> &'a Queue {
        self.graph.queue(self.queue)
    }

    /// The waiters to choose from with their places in the queue, in order of arrival. There is at least one.
    pub fn candidates(&self) -> impl Iterator<Item = (usize, &'a Waiter)> + use<'a> {
        let (eligible, limit) = (self.eligible, self.arrival_limit);
        let ahead = self
            .object()
            .waiting()
            .iter()
            .enumerate()
            .take_while(move |(_, w)| w.arrival < limit);
        ahead.filter(move |(_, waiter)| eligible.contains(waiter.mode))
    }

    /// The waiter at this place of the queue.
    pub fn waiter(&self, place: usize) -> &'a Waiter {
        &self.object().waiting()[place]
    }

    /// `|g(t)|` of the waiter, with what its age adds.
    pub fn size(&self, waiter: &Waiter) -> f64 {
        let size = match self.sizes {
            SetSizes::Exact => self.graph.dependency_set_size(waiter.txn),
            SetSizes::Approximate => self.graph.effective_size(waiter.txn),
        };
        size as f64 + self.age_bonus(waiter)
    }

    /// Sizes of the union of the dependency sets of the first, the first two, the first three ... of `places`, each
    /// with what the ages add.
    pub fn union_sizes(&self, places: &[usize]) -> Vec<f64> {
        let mut bonus = 0.0;
        let mut sum = 0u64;
        let mut union = self.graph.dependency_union();
        let mut size = |place: usize| {
            let waiter = self.waiter(place);
            bonus += self.age_bonus(waiter);
            let size = match self.sizes {
                SetSizes::Exact => union.add(waiter.txn),
                SetSizes::Approximate => {
                    sum = sum.wrapping_add(self.graph.effective_size(waiter.txn));
                    sum
                }
            };
            size as f64 + bonus
        };
        places.iter().map(|&place| size(place)).collect()
    }

    /// The expected remaining time of a transaction once granted, in nanoseconds.
    pub fn expected_remaining_ns(&self, txn: TxnIndex) -> f64 {
        self.remaining.expected_ns(&self.graph.txn(txn).meta)
    }

    fn age_bonus(&self, waiter: &Waiter) -> f64 {
        if self.size_per_ns == 0.0 {
            return 0.0;
        }
        self.now_ns.saturating_sub(waiter.birth_ns) as f64 * self.size_per_ns
    }
}

/// The schedules, by name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ScheduleKind {
    /// First in, first out.
    Fifo,
    /// A random waiter.
    Random,
    /// Eldest transaction first.
    Vats,
    /// Most locks first.
    Mlf,
    /// Most blocking locks first.
    Mblf,
    /// Deepest dependency first.
    Ddf,
    /// Largest dependency set first.
    Ldsf,
    /// LDSF that splits shared locks into batches.
    Bldsf(DelayFactor),
    /// LDSF that divides by the expected remaining time.
    Hldsf,
}

impl ScheduleKind {
    /// Every schedule; bLDSF with the papers' default delay factor.
    pub const ALL: [ScheduleKind; 9] = [
        ScheduleKind::Fifo,
        ScheduleKind::Random,
        ScheduleKind::Vats,
        ScheduleKind::Mlf,
        ScheduleKind::Mblf,
        ScheduleKind::Ddf,
        ScheduleKind::Ldsf,
        ScheduleKind::Bldsf(DelayFactor::Log),
        ScheduleKind::Hldsf,
    ];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            ScheduleKind::Fifo => "fifo",
            ScheduleKind::Random => "random",
            ScheduleKind::Vats => "vats",
            ScheduleKind::Mlf => "mlf",
            ScheduleKind::Mblf => "mblf",
            ScheduleKind::Ddf => "ddf",
            ScheduleKind::Ldsf => "ldsf",
            ScheduleKind::Bldsf(_) => "bldsf",
            ScheduleKind::Hldsf => "hldsf",
        }
    }

    /// The schedule of this name; `bldsf` has the default delay factor, `bldsf:f4` that of section 4.6.7.
    pub fn from_name(name: &str) -> Option<ScheduleKind> {
        if let Some(factor) = name.strip_prefix("bldsf:") {
            return DelayFactor::from_name(factor).map(ScheduleKind::Bldsf);
        }
        ScheduleKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Whether it compares dependency-set sizes.
    pub fn needs_sizes(self) -> bool {
        matches!(
            self,
            ScheduleKind::Ldsf | ScheduleKind::Bldsf(_) | ScheduleKind::Hldsf
        )
    }

    /// Whether it compares expected remaining times.
    pub fn needs_remaining_times(self) -> bool {
        self == ScheduleKind::Hldsf
    }

    /// The schedule itself.
    pub fn build(self) -> Box<dyn Schedule> {
        match self {
            ScheduleKind::Fifo => Box::new(Fifo),
            ScheduleKind::Random => Box::new(Random),
            ScheduleKind::Vats => Box::new(Vats::default()),
            ScheduleKind::Mlf => Box::new(Mlf),
            ScheduleKind::Mblf => Box::new(Mblf),
            ScheduleKind::Ddf => Box::new(Ddf),
            ScheduleKind::Ldsf => Box::new(Ldsf),
            ScheduleKind::Bldsf(factor) => Box::new(Bldsf::new(factor)),
            ScheduleKind::Hldsf => Box::new(Hldsf),
        }
    }
}
