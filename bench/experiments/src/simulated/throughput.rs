//! Throughput by the number of clients: figures 4.8 and 4.11.

use evenkeel_locks::ScheduleKind::{Bldsf, Ddf, Fifo, Ldsf, Mblf, Mlf, Vats};
use evenkeel_locks::{DelayFactor, ScheduleKind};
use evenkeel_simulate::workload::LockOrder;

use super::{Simulated, micro, throughput};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

pub(crate) const BLDSF: ScheduleKind = Bldsf(DelayFactor::Log);

/// Figure 4.8.
pub const OF_BLDSF: Experiment = Experiment {
    id: "figure-4.8",
    item: "Figure 4.8, throughput improvement with bLDSF (TPC-C)",
    says: "Throughput falls with clients, faster under FIFO and VATS than under bLDSF. At 100 clients bLDSF has 1.4 times FIFO's and 1.1 times VATS' throughput, at 900 clients 6.5 and 2 times.",
    method: "The simulator's microbenchmark (section 4.6.1), five records in random order, closed loop. The paper's is TPC-C in MySQL on 16 cores.",
    command: "evenkeel simulate --sweep clients=100,900 --schedule fifo,vats,bldsf --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run: of_bldsf,
};

fn of_bldsf(context: &Context) -> Result<Finding, Error> {
    let simulated = Simulated::each(
        context,
        &micro(LockOrder::Random),
        &[Fifo, Vats, BLDSF],
        "clients=100,300,900",
    )?;
    let over = |what, paper, under, clients| {
        simulated.factor((what, paper), [BLDSF, under], clients, throughput)
    };
    Ok(Finding {
        claims: vec![
            over("bLDSF over FIFO, 100 clients", 1.4, Fifo, 100.0)?,
            over("bLDSF over FIFO, 900 clients", 6.5, Fifo, 900.0)?,
            over("bLDSF over VATS, 100 clients", 1.1, Vats, 100.0)?,
            over("bLDSF over VATS, 900 clients", 2.0, Vats, 900.0)?,
        ],
        why: "Records in random order deadlock. VATS has the fewest victims, since all queues agree on the oldest transaction. The paper saw negligible deadlocks."
            .to_owned(),
        figure: Some(simulated.figure("clients", "commits per second", throughput)),
        ..Finding::default()
    })
}

/// Figure 4.11.
pub const OF_HEURISTICS: Experiment = Experiment {
    id: "figure-4.11",
    item: "Figure 4.11, maximum throughput under various algorithms (TPC-C)",
    says: "LDSF and bLDSF have up to 2 and 2.5 times the throughput of the other heuristics (MLF, MBLF, DDF).",
    method: "The simulator's microbenchmark, random order, closed loop with 100 to 900 clients; the factor over the best of the three at 900.",
    command: "evenkeel simulate --sweep clients=100,900 --schedule mlf,mblf,ddf,ldsf,bldsf --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run: of_heuristics,
};

fn of_heuristics(context: &Context) -> Result<Finding, Error> {
    let schedules = [Fifo, Mlf, Mblf, Ddf, Ldsf, BLDSF];
    let simulated = Simulated::each(
        context,
        &micro(LockOrder::Random),
        &schedules,
        "clients=100,300,900",
    )?;
    let over =
        |what, paper, schedules| simulated.factor((what, paper), schedules, 900.0, throughput);
    Ok(Finding {
        claims: vec![
            over("LDSF over MLF, 900 clients", 2.0, [Ldsf, Mlf])?,
            over("LDSF over MBLF, 900 clients", 2.0, [Ldsf, Mblf])?,
            over("LDSF over DDF, 900 clients", 2.0, [Ldsf, Ddf])?,
            over("bLDSF over MLF, 900 clients", 2.5, [BLDSF, Mlf])?,
            over("bLDSF over DDF, 900 clients", 2.5, [BLDSF, Ddf])?,
        ],
        why:
            "The paper's factors are the greatest it saw, and it does not say over which heuristic."
                .to_owned(),
        figure: Some(simulated.figure("clients", "commits per second", throughput)),
        ..Finding::default()
    })
}
