//! Latency at equal throughput: figures 4.9, 4.10 and 4.12, by the papers' own method (sections 4.6.3 and 4.6.4).

use evenkeel_locks::ScheduleKind;
use evenkeel_locks::ScheduleKind::{Ddf, Fifo, Ldsf, Mblf, Mlf, Vats};
use evenkeel_simulate::workload::LockOrder;

use super::throughput::BLDSF;
use super::{Simulated, mean_ms, micro, p99_ms};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const CLIENTS: &str = "clients=100,300,900";
const LITTLE: &str = "A closed loop collapses under its clients, which all wait: by Little's law its latency is clients / throughput. \
                      A schedule that carries the same throughput without a queue has the latency of an idle system. So these factors \
                      show how many clients a schedule can serve, more than how it orders a queue.";

/// Figure 4.9.
pub const MEAN: Experiment = Experiment {
    id: "figure-4.9",
    item: "Figure 4.9, average latency improvement with bLDSF (TPC-C)",
    says: "At equal throughput, 100 to 900 clients, bLDSF has up to 300 times less mean latency than FIFO and up to 80 times less than VATS.",
    method: "The paper's own (section 4.6.3), in the simulator with its microbenchmark in random order: FIFO and VATS in a closed loop with N clients, bLDSF in an open loop at VATS' throughput, which is higher than FIFO's.",
    command: "evenkeel simulate --sweep clients=100,300,900 --schedule vats,bldsf --at-throughput-of vats --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run: mean,
};

/// Figure 4.10.
pub const TAIL: Experiment = Experiment {
    id: "figure-4.10",
    item: "Figure 4.10, tail latency improvement with bLDSF (TPC-C)",
    says: "At equal throughput bLDSF has up to 190 times less 99th percentile than FIFO and up to 16 times less than VATS.",
    method: MEAN.method,
    command: MEAN.command,
    takes: |effort| effort.seconds(10, 300),
    run: tail,
};

fn microbenchmark(context: &Context) -> Result<Simulated, Error> {
    let config = micro(LockOrder::Random);
    let sets: [&[ScheduleKind]; 3] = [&[Fifo, Vats], &[Vats], &[BLDSF]];
    Simulated::at_greatest_throughput(context, &config, sets, CLIENTS)
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
        why: LITTLE.to_owned(),
        figure: Some(simulated.figure("clients", "mean latency in ms", mean_ms)),
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
        figure: Some(simulated.figure("clients", "99th percentile in ms", p99_ms)),
        ..Finding::default()
    })
}

/// Figure 4.12.
pub const HEURISTICS: Experiment = Experiment {
    id: "figure-4.12",
    item: "Figure 4.12, transaction latency under various algorithms (TPC-C)",
    says: "At equal throughput MLF, MBLF and DDF have almost 2.5 times less mean latency than FIFO. LDSF and bLDSF have up to 100 times less than the best of them.",
    method: "The paper's own (section 4.6.4), in the simulator with its microbenchmark in random order: FIFO, MLF, MBLF and DDF in a closed loop with N clients, LDSF and bLDSF in an open loop at the greatest throughput of the three heuristics.",
    command: "evenkeel simulate --sweep clients=100,300,900 --schedule ddf,ldsf,bldsf --at-throughput-of ddf --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run: heuristics,
};

fn heuristics(context: &Context) -> Result<Finding, Error> {
    let sets: [&[ScheduleKind]; 3] = [&[Fifo, Mlf, Mblf, Ddf], &[Mlf, Mblf, Ddf], &[Ldsf, BLDSF]];
    let config = micro(LockOrder::Random);
    let simulated = Simulated::at_greatest_throughput(context, &config, sets, CLIENTS)?;
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
        why: LITTLE.to_owned(),
        figure: Some(simulated.figure("clients", "mean latency in ms", mean_ms)),
        ..Finding::default()
    })
}
