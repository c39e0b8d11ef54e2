//! The greatest load a schedule carries: what `--load` is relative to.
//!
//! The throughput of a closed loop falls again when clients are many, so its peak is only the start of the search. A
//! Poisson (or bursty) rate is *carried* under two conditions. Nobody is rejected, and in the measured window at
//! least 98 % as many transactions commit as arrive. The largest carried rate is found by bisection, with the
//! configuration's random numbers.

use evenkeel_locks::ScheduleKind;

use crate::workload::Workload;
use crate::{Arrivals, Config, Error, Simulation, run};

/// Commits in the window per arrival, at least. A queue that is just critical grows like the square root of the number
/// of arrivals: about 1 % for 20 000.
const CARRIED_MIN: f64 = 0.98;
/// Bisections: the result is exact to a thousandth of the first bracket.
const BISECTIONS: u32 = 10;
/// Transactions a step of the search simulates, at most.
const TRANSACTIONS_MAX: u64 = 50_000;
/// Transactions to see the throughput of a closed loop.
const PEAK_TRANSACTIONS: u64 = 5_000;

/// The greatest rate (per second, or per epoch) at which `schedule` keeps up. `step` is called after each simulation.
///
/// # Errors
/// A setting makes no sense, or transactions are listed and have no rate.
pub fn saturation(config: &Config, schedule: ScheduleKind, step: &dyn Fn()) -> Result<f64, Error> {
    if matches!(config.workload, Workload::Listed(_)) {
        return Err(Error::setting(
            "listed transactions have their own times: there is no rate to look for",
        ));
    }
    let mut probe = config.clone();
    probe.transactions = config.transactions.min(TRANSACTIONS_MAX);
    probe.warmup = config.warmup.min(probe.transactions / 5);
    let (mut low, mut high) = (0.0, closed_peak(&probe, schedule, step)? * 1.25);
    while carries(&probe, schedule, high, step)? {
        (low, high) = (high, high * 1.5);
    }
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if carries(&probe, schedule, middle, step)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    if low == 0.0 {
        return Err(Error::setting(
            "no rate is carried: simulate more transactions",
        ));
    }
    Ok(low)
}

/// The greatest throughput of a closed loop over 1, 2, 4, 8 ... clients.
fn closed_peak(config: &Config, schedule: ScheduleKind, step: &dyn Fn()) -> Result<f64, Error> {
    let mut peak = 0.0f64;
    let mut clients = 1;
    while clients <= config.in_flight_limit {
        let closed = Config {
            arrivals: Arrivals::Closed { clients },
            transactions: PEAK_TRANSACTIONS
                .min(config.transactions)
                .max(2 * u64::from(clients)),
            warmup: u64::from(clients),
            ..config.clone()
        };
        let throughput = run(&closed, schedule)?.window.throughput;
        step();
        // Two doublings past the peak at most.
        if throughput < 0.7 * peak {
            break;
        }
        peak = peak.max(throughput);
        clients *= 2;
    }
    if peak == 0.0 {
        return Err(Error::setting(
            "transactions take no time: there is no saturation",
        ));
    }
    Ok(peak)
}

fn carries(
    config: &Config,
    schedule: ScheduleKind,
    rate: f64,
    step: &dyn Fn(),
) -> Result<bool, Error> {
    let open = Config {
        arrivals: config.arrivals.at_rate(rate),
        ..config.clone()
    };
    let mut simulation = Simulation::new(&open, schedule)?;
    while simulation.rejected() == 0 && simulation.step() {}
    step();
    if simulation.rejected() > 0 {
        return Ok(false);
    }
    let window = simulation.finish().window;
    Ok(window.commits as f64 >= CARRIED_MIN * config.transactions as f64)
}
