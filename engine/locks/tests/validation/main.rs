//! Randomised validation of the lock manager, on real threads. It combines schedules, deadlock policies, starvation
//! policies, timeouts, upgrades, cancellations, early release, and rules changed at run time.
//!
//! After every grant no incompatible lock is held by anybody. Every error is one that the request could have, and is
//! true. At the end nothing is locked, nobody waits, and the lock manager's counters are those of the transactions.
//! `benches/workload.rs` measures the same runner.
//!
//! For long runs, or to run the plan that failed again:
//! ```text
//! EVENKEEL_VALIDATE_SECONDS=600 EVENKEEL_VALIDATE_SEED=1 cargo test --release -p evenkeel-locks --test validation drawn -- --nocapture
//! ```

mod drawn;
mod plan;
mod run;
mod shadow;
mod tally;
mod worker;

use std::time::{Duration, Instant};

use evenkeel_locks::{Mode, Rules, ScheduleKind, TxnId};

use drawn::{POLICIES, drawn};
use plan::Plan;
use run::{Finished, run};
use shadow::Shadow;
use tally::Tally;

/// Plans drawn if the environment does not say for how long.
const PLANS: u64 = 60;

/// Runs the plan; a violation fails the test with everything that is known of it.
fn validate(plan: Plan) -> Finished {
    match run(plan.clone()) {
        Ok(finished) => finished,
        Err(violation) => panic!("seed {}: {violation}\n{plan:#?}", plan.seed),
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

#[test]
fn every_schedule_under_every_deadlock_policy() {
    let mut tally = Tally::default();
    let mut seed = 0;
    for schedule in ScheduleKind::ALL {
        for deadlocks in POLICIES {
            seed += 1;
            let rules = Rules {
                deadlocks,
                ..Rules::new(schedule)
            };
            tally.add(validate(Plan::of(seed, rules)).tally);
        }
    }
    println!("{tally:?}");
    // Every way to end came up, so each was checked.
    let seen = [
        tally.commits,
        tally.grants,
        tally.deadlocks,
        tally.upgrade_conflicts,
        tally.timeouts,
        tally.would_block,
        tally.died,
        tally.wounded,
        tally.too_many,
        tally.dropped,
    ];
    assert!(seen.iter().all(|&count| count > 0), "{tally:?}");
}

#[test]
fn drawn_plans() {
    let seconds = variable("EVENKEEL_VALIDATE_SECONDS").map(Duration::from_secs);
    let first = variable("EVENKEEL_VALIDATE_SEED").unwrap_or(1);
    let started = Instant::now();
    let mut elapsed = Duration::ZERO;
    let mut tally = Tally::default();
    let goes_on = |seed| match seconds {
        Some(seconds) => started.elapsed() < seconds,
        None => seed < first + PLANS,
    };
    for seed in (first..).take_while(|&seed| goes_on(seed)) {
        println!("EVENKEEL_VALIDATE_SEED={seed}"); // Shown if the test fails: begin here again.
        let finished = validate(drawn(seed));
        tally.add(finished.tally);
        elapsed += finished.elapsed;
    }
    println!("from seed {first}, {elapsed:?}: {tally:?}");
}

#[test]
fn the_shadow_notices_conflicting_grants() {
    let shadow = Shadow::new(1);
    assert_eq!(shadow.enter(0, TxnId(1), Mode::S), Ok(()));
    assert_eq!(shadow.enter(0, TxnId(2), Mode::S), Ok(()));
    assert!(shadow.enter(0, TxnId(1), Mode::X).is_err());
    shadow.leave(0, TxnId(2));
    assert_eq!(shadow.enter(0, TxnId(1), Mode::X), Ok(()));
}
