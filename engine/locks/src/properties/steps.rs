//! Random histories and random rules.

use proptest::prelude::*;

use crate::contention::Rules;
use crate::deadlock::{DeadlockPolicy, Victim};
use crate::modes::Mode;
use crate::schedule::{DelayFactor, ScheduleKind, SetSizes};
use crate::starvation::Starvation;

/// Transactions alive at once.
pub(super) const TXNS: usize = 8;
/// Objects they ask for.
pub(super) const OBJECTS: usize = 4;

/// One step of a history.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Request {
        txn: usize,
        object: usize,
        mode: Mode,
    },
    Release {
        txn: usize,
        which: usize,
    },
    End {
        txn: usize,
    },
    Cancel {
        txn: usize,
    },
    SetRules(Rules),
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let mode = prop_oneof![1 => Just(Mode::IS), 1 => Just(Mode::IX), 4 => Just(Mode::S), 1 => Just(Mode::SIX), 4 => Just(Mode::X)];
    let request = (0..TXNS, 0..OBJECTS, mode).prop_map(|(txn, object, mode)| Step::Request {
        txn,
        object,
        mode,
    });
    let step = prop_oneof![
        8 => request,
        1 => (0..TXNS, 0..OBJECTS).prop_map(|(txn, which)| Step::Release { txn, which }),
        2 => (0..TXNS).prop_map(|txn| Step::End { txn }),
        1 => (0..TXNS).prop_map(|txn| Step::Cancel { txn }),
        1 => rules().prop_map(Step::SetRules),
    ];
    prop::collection::vec(step, 1..120)
}

pub(super) fn rules() -> impl Strategy<Value = Rules> {
    let schedule = prop_oneof![
        4 => prop::sample::select(ScheduleKind::ALL.to_vec()),
        1 => prop::sample::select(DelayFactor::ALL.to_vec()).prop_map(ScheduleKind::Bldsf),
    ];
    let starvation = prop_oneof![
        Just(Starvation::None),
        Just(Starvation::Barrier),
        Just(Starvation::Ageing { size_per_ns: 0.5 }),
        (0u32..4).prop_map(|overtakes_max| Starvation::BoundedBypass { overtakes_max }),
    ];
    let deadlocks = prop::sample::select(vec![
        DeadlockPolicy::Detect(Victim::Youngest),
        DeadlockPolicy::Detect(Victim::FewestLocks),
        DeadlockPolicy::Detect(Victim::SmallestDependencySet),
        DeadlockPolicy::WaitDie,
        DeadlockPolicy::WoundWait,
        DeadlockPolicy::NoWait,
    ]);
    let sizes = prop_oneof![Just(SetSizes::Exact), Just(SetSizes::Approximate)];
    let tracks = prop::bool::weighted(0.8);
    (schedule, starvation, deadlocks, sizes, any::<u64>(), tracks).prop_map(
        |(schedule, starvation, deadlocks, sizes, seed, track_effective_sizes)| Rules {
            schedule,
            sizes,
            starvation,
            deadlocks,
            seed,
            track_effective_sizes,
        },
    )
}
