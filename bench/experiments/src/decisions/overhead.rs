//! Cost of schedules, each with the queues that it makes: figure 4.13.

use std::time::Duration;

use evenkeel_locks::ScheduleKind::{self, Fifo, Ldsf, Vats};
use evenkeel_locks::contention::Rules;
use evenkeel_simulate::workload::LockOrder;

use super::{ROUNDS, decision_ns, spread, waiters};
use crate::Error;
use crate::experiment::{Context, Effort, Experiment, Finding};
use crate::simulated::throughput::BLDSF;
use crate::simulated::{Simulated, micro};
use crate::verdict::Claim;

/// Clients of FIFO.
const CLIENTS: f64 = 100.0;
const SCHEDULES: [ScheduleKind; 4] = [Fifo, Vats, Ldsf, BLDSF];

/// Figure 4.13.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.13",
    item: "Figure 4.13, scheduling overhead of various algorithms",
    says: "With 100 clients LDSF's and bLDSF's overhead is much less than FIFO's, whose queues are longer at equal throughput, and more than VATS', which computes no sizes.",
    method: "First the simulator measures the queue's length at a decision of each schedule, at FIFO's throughput with 100 clients (figure 4.14). Then the lock manager's code decides on a queue of that length, half of it readers, and its time is measured. FIFO here grants from the queue's head and stops at the first conflict; the paper's is MySQL's, which looks at the whole queue for each waiter. The interval spans 15 rounds.",
    command: "cargo bench -p evenkeel-locks --bench decisions",
    takes,
    run,
};

fn takes(effort: Effort) -> Duration {
    effort.seconds(8, 60)
}

fn run(context: &Context) -> Result<Finding, Error> {
    let simulated = Simulated::at_fifos_throughput(
        context,
        &micro(LockOrder::Random),
        &SCHEDULES,
        &format!("clients={CLIENTS}"),
    )?;
    let mut lengths = [1; SCHEDULES.len()];
    for (schedule, length) in SCHEDULES.into_iter().zip(&mut lengths) {
        let row = simulated.row(schedule, CLIENTS)?;
        let mean = row.estimate(|outcome| outcome.window.queue_mean).mean;
        *length = (mean.round() as usize).max(1);
    }
    let mut rounds = vec![[0.0; SCHEDULES.len()]; ROUNDS];
    for round in &mut rounds {
        for (at, time_ns) in round.iter_mut().enumerate() {
            *time_ns = decision_ns(&Rules::new(SCHEDULES[at]), &waiters(lengths[at], false))?;
        }
    }
    let more = |what: &str, [over, under]: [usize; 2]| {
        let mut ratios: Vec<f64> = rounds
            .iter()
            .map(|round| round[over] / round[under])
            .collect();
        let (middle, ends) = spread(&mut ratios).unwrap_or_default();
        Claim::more(what, middle, ends)
    };
    let typical = |at: usize| {
        let mut times: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
        let (middle_ns, _) = spread(&mut times).unwrap_or_default();
        format!(
            "{} {middle_ns:.0} ns ({} waiters)",
            SCHEDULES[at].name(),
            lengths[at]
        )
    };
    let times: Vec<String> = (0..SCHEDULES.len()).map(typical).collect();
    Ok(Finding {
        claims: vec![
            more("FIFO over LDSF", [0, 2]),
            more("FIFO over bLDSF", [0, 3]),
            more("LDSF over VATS", [2, 1]),
            more("bLDSF over VATS", [3, 1]),
        ],
        why: format!("A decision takes: {}.", times.join(", ")),
        ..Finding::default()
    })
}
