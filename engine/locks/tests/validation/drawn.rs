//! Plans under drawn rules.

use evenkeel_locks::rng::Rng;
use evenkeel_locks::{
    DeadlockPolicy, DelayFactor, Rules, ScheduleKind, SetSizes, Starvation, Victim,
};

use crate::plan::Plan;

/// Every deadlock policy, detection with each way to choose the victim.
pub const POLICIES: [DeadlockPolicy; 6] = [
    DeadlockPolicy::Detect(Victim::Youngest),
    DeadlockPolicy::Detect(Victim::FewestLocks),
    DeadlockPolicy::Detect(Victim::SmallestDependencySet),
    DeadlockPolicy::WaitDie,
    DeadlockPolicy::WoundWait,
    DeadlockPolicy::NoWait,
];

/// A run of drawn rules, switched to others half of the time.
pub fn drawn(seed: u64) -> Plan {
    let mut rng = Rng::new(!seed);
    let rules = drawn_rules(&mut rng);
    let switches = rng.below(2) * (1 + rng.below(6));
    Plan {
        later_rules: (0..switches).map(|_| drawn_rules(&mut rng)).collect(),
        ..Plan::of(seed, rules)
    }
}

fn drawn_rules(rng: &mut Rng) -> Rules {
    let mut one_of = |count: usize| rng.below(count as u64) as usize;
    let schedule = match ScheduleKind::ALL[one_of(ScheduleKind::ALL.len())] {
        ScheduleKind::Bldsf(_) => {
            ScheduleKind::Bldsf(DelayFactor::ALL[one_of(DelayFactor::ALL.len())])
        }
        schedule => schedule,
    };
    let starvations = [
        Starvation::None,
        Starvation::Barrier,
        Starvation::Ageing { size_per_ns: 1e-4 },
        Starvation::BoundedBypass { overtakes_max: 2 },
    ];
    Rules {
        schedule,
        sizes: [SetSizes::Exact, SetSizes::Approximate][one_of(2)],
        starvation: starvations[one_of(starvations.len())],
        deadlocks: POLICIES[one_of(POLICIES.len())],
        ..Rules::new(schedule)
    }
}
