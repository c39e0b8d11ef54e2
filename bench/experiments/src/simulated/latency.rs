//! Latency at FIFO's throughput: figures 4.9, 4.10 and 4.12, by the papers' own method (section 4.6.3).

use evenkeel_locks::ScheduleKind::{Ddf, Fifo, Ldsf, Mblf, Mlf, Vats};
use evenkeel_simulate::workload::LockOrder;

use super::throughput::BLDSF;
use super::{Simulated, mean_ms, micro, p99_ms};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const CLIENTS: &str = "clients=100,300,900";
const METHOD: &str = "The simulator's microbenchmark, random order: FIFO with N clients in a closed loop, the others in an open loop at FIFO's throughput \
                      (the paper's bLDSF runs at VATS', which is higher).";
const LITTLE: &str = "FIFO collapses under its clients, all of whom wait: by Little's law its latency is clients / throughput, and whoever carries that \
                      throughput without a queue has an idle system's. So these factors say how many clients a schedule stands, more than how it orders a queue.";

/// Figure 4.9.
pub const MEAN: Experiment = Experiment {
    id: "figure-4.9",
    item: "Figure 4.9, average latency improvement with bLDSF (TPC-C)",
    says: "At equal throughput, 100 to 900 clients, bLDSF has up to 300 times less mean latency than FIFO and up to 80 times less than VATS.",
    method: METHOD,
    command: "evenkeel simulate --sweep clients=100,300,900 --schedule fifo,vats,bldsf --at-throughput-of fifo --seeds 5",
    run: mean,
};

/// Figure 4.10.
pub const TAIL: Experiment = Experiment {
    id: "figure-4.10",
    item: "Figure 4.10, tail latency improvement with bLDSF (TPC-C)",
    says: "At equal throughput bLDSF has up to 190 times less 99th percentile than FIFO and up to 16 times less than VATS.",
    method: METHOD,
    command: MEAN.command,
    run: tail,
};

/// The microbenchmark in random order, all at FIFO's throughput.
fn microbenchmark(context: &Context) -> Result<Simulated, Error> {
    let config = micro(LockOrder::Random);
    Simulated::at_fifos_throughput(context, &config, &[Fifo, Vats, BLDSF], CLIENTS)
}

fn mean(context: &Context) -> Result<Finding, Error> {
    let simulated = microbenchmark(context)?;
    Ok(Finding {
        claims: vec![
            simulated.factor(
                ("FIFO over bLDSF, 900 clients", 300.0),
                [Fifo, BLDSF],
                900.0,
                mean_ms,
            )?,
            simulated.factor(
                ("VATS over bLDSF, 900 clients", 80.0),
                [Vats, BLDSF],
                900.0,
                mean_ms,
            )?,
        ],
        why: format!(
            "{LITTLE} VATS is an idle system at FIFO's throughput, too; the paper compares at VATS'."
        ),
        figure: Some(simulated.figure("clients of FIFO", "mean latency in ms", mean_ms)),
        ..Finding::default()
    })
}

fn tail(context: &Context) -> Result<Finding, Error> {
    let simulated = microbenchmark(context)?;
    Ok(Finding {
        claims: vec![
            simulated.factor(
                ("FIFO over bLDSF, p99, 900 clients", 190.0),
                [Fifo, BLDSF],
                900.0,
                p99_ms,
            )?,
            simulated.factor(
                ("VATS over bLDSF, p99, 900 clients", 16.0),
                [Vats, BLDSF],
                900.0,
                p99_ms,
            )?,
        ],
        why: LITTLE.to_owned(),
        figure: Some(simulated.figure("clients of FIFO", "99th percentile in ms", p99_ms)),
        ..Finding::default()
    })
}

/// Figure 4.12.
pub const HEURISTICS: Experiment = Experiment {
    id: "figure-4.12",
    item: "Figure 4.12, transaction latency under various algorithms (TPC-C)",
    says: "At equal throughput MLF, MBLF and DDF have almost 2.5 times less mean latency than FIFO; LDSF and bLDSF up to 100 times less than the best of them.",
    method: METHOD,
    command: "evenkeel simulate --sweep clients=100,300,900 --schedule fifo,mlf,mblf,ddf,ldsf,bldsf --at-throughput-of fifo --seeds 5",
    run: heuristics,
};

fn heuristics(context: &Context) -> Result<Finding, Error> {
    let schedules = [Fifo, Mlf, Mblf, Ddf, Ldsf, BLDSF];
    let simulated =
        Simulated::at_fifos_throughput(context, &micro(LockOrder::Random), &schedules, CLIENTS)?;
    Ok(Finding {
        claims: vec![
            simulated.factor(
                ("FIFO over MLF, 900 clients", 2.5),
                [Fifo, Mlf],
                900.0,
                mean_ms,
            )?,
            simulated.factor(
                ("FIFO over MBLF, 900 clients", 2.5),
                [Fifo, Mblf],
                900.0,
                mean_ms,
            )?,
            simulated.factor(
                ("MBLF over LDSF, 900 clients", 100.0),
                [Mblf, Ldsf],
                900.0,
                mean_ms,
            )?,
            simulated.factor(
                ("MBLF over bLDSF, 900 clients", 100.0),
                [Mblf, BLDSF],
                900.0,
                mean_ms,
            )?,
        ],
        why: format!(
            "{LITTLE} At FIFO's throughput every heuristic is an idle system, so nothing is left between them; the paper compares at the heuristics' own greatest throughput."
        ),
        figure: Some(simulated.figure("clients of FIFO", "mean latency in ms", mean_ms)),
        ..Finding::default()
    })
}
