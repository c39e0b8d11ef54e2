//! Lock schedules: figure 3.3 on the embedded store, table 3.4 in the engine that VATS was shipped in.

use std::time::Duration;

use super::{Factor, Said, compared, numbers, takes};
use crate::Error;
use crate::experiment::{Context, Effort, Experiment, Finding};

const ON_THE_STORE: &str = "evenkeel bench compare --with '--schedule fifo' --with '--schedule rs' --with '--schedule vats' tpcc --load 95% --clients 64 --round-trip 500us";

/// Figure 3.3.
pub const ALGORITHMS: Experiment = Experiment {
    id: "figure-3.3",
    item: "Figure 3.3 (figure 2 of SIGMOD 2017), scheduling algorithms in MySQL",
    says: "VATS has 6.3 times less mean, 5.6 times less variance and 2 times less p99 than FCFS under TPC-C; RS (sorted at random) is between them, and about 100 times worse for SEATS.",
    method: "FIFO, RS (the queue in a random order, to the first conflict) and VATS on the embedded store, TPC-C, one warehouse, open loop at 95 % of saturation, 64 clients whose round trip is 500 us. SEATS is not run.",
    command: ON_THE_STORE,
    takes: |effort| takes(effort, &[ON_THE_STORE]),
    run: on_the_store,
};

fn on_the_store(context: &Context) -> Result<Finding, Error> {
    let said = [
        Said {
            configuration: 2,
            what: "FIFO over VATS",
            factors: numbers(6.3, 5.6, 2.0),
        },
        Said {
            configuration: 1,
            what: "FIFO over RS",
            factors: [Some(Factor::More), Some(Factor::More), None],
        },
    ];
    compared(context, &[(ON_THE_STORE, &said)])
}

/// A comparison of MariaDB's two schedules.
macro_rules! in_mariadb {
    ($workload:literal $(, $more:literal)?) => {
        concat!(
            "evenkeel bench compare --with '--set innodb-lock-schedule-algorithm=fcfs' --with '--set innodb-lock-schedule-algorithm=vats' ",
            $workload,
            " --target mariadb:10.2.11 --clients 64",
            $($more)?
        )
    };
}

/// What one client's statements wait for between each other.
macro_rules! over_a_network {
    ($workload:literal) => {
        in_mariadb!($workload, " --round-trip 1ms")
    };
}

/// What is claimed of a workload, its mean, variance and p99 of FCFS over those of VATS in the paper, and the comparison.
type Workload = (&'static str, [Option<Factor>; 3], &'static str);

/// sysbench is none of the paper's.
const NOT_THERE: [Option<Factor>; 3] = [Some(Factor::Unsaid); 3];
const TPCC: &str = over_a_network!("tpcc --scale 2");
/// With --quick the first of them.
const ALL: [Workload; 12] = [
    ("TPC-C, FCFS over VATS", numbers(6.3, 5.6, 2.0), TPCC),
    (
        "TPC-C without round trips, FCFS over VATS",
        numbers(6.3, 5.6, 2.0),
        in_mariadb!("tpcc --scale 2"),
    ),
    (
        "SEATS, FCFS over VATS",
        numbers(1.1, 1.3, 1.1),
        over_a_network!("seats"),
    ),
    (
        "SEATS without round trips, FCFS over VATS",
        numbers(1.1, 1.3, 1.1),
        in_mariadb!("seats"),
    ),
    (
        "TATP, FCFS over VATS",
        numbers(1.2, 1.6, 1.3),
        over_a_network!("tatp"),
    ),
    (
        "TATP without round trips, FCFS over VATS",
        numbers(1.2, 1.6, 1.3),
        in_mariadb!("tatp"),
    ),
    (
        "Epinions, FCFS over VATS",
        numbers(1.4, 2.6, 1.0),
        over_a_network!("epinions"),
    ),
    (
        "Epinions without round trips, FCFS over VATS",
        numbers(1.4, 2.6, 1.0),
        in_mariadb!("epinions"),
    ),
    (
        "YCSB, FCFS over VATS",
        numbers(1.0, 1.1, 1.1),
        over_a_network!("ycsb-a"),
    ),
    (
        "YCSB without round trips, FCFS over VATS",
        numbers(1.0, 1.1, 1.1),
        in_mariadb!("ycsb-a"),
    ),
    (
        "sysbench, FCFS over VATS",
        NOT_THERE,
        over_a_network!("sysbench"),
    ),
    (
        "sysbench without round trips, FCFS over VATS",
        NOT_THERE,
        in_mariadb!("sysbench"),
    ),
];
const QUICK: usize = 2;

/// Table 3.4.
pub const WORKLOADS: Experiment = Experiment {
    id: "table-3.4",
    item: "Table 3.4 (table 4 of SIGMOD 2017), VATS in MySQL on five workloads",
    says: "Mean, variance, p99 of FCFS over VATS: TPC-C 6.3, 5.6, 2.0; SEATS 1.1, 1.3, 1.1; TATP 1.2, 1.6, 1.3; Epinions 1.4, 2.6, 1.0; YCSB 1.0, 1.1, 1.1.",
    method: "VATS in the engine it was shipped in: the official MariaDB 10.2.11 (`scripts/install.sh mariadb-10.2.11`), which has both schedules, 64 clients in a closed loop with a round trip of 1 ms and without one, TPC-C with 2 warehouses; sysbench is none of the paper's. The paper's clients sent 500 transactions a second to 16 cores. With --quick TPC-C alone.",
    command: TPCC,
    takes: of_workloads,
    run: workloads,
};

fn chosen(effort: Effort) -> &'static [Workload] {
    &ALL[..effort.pick(QUICK, ALL.len())]
}

fn of_workloads(effort: Effort) -> Duration {
    let commands = chosen(effort).iter().map(|(_, _, command)| *command);
    takes(effort, &commands.collect::<Vec<_>>())
}

fn workloads(context: &Context) -> Result<Finding, Error> {
    let chosen = chosen(context.effort);
    let said = chosen.iter().map(|(what, factors, _)| {
        [Said {
            configuration: 1,
            what,
            factors: *factors,
        }]
    });
    let said: Vec<[Said; 1]> = said.collect();
    let commands = chosen.iter().map(|(_, _, command)| *command);
    let comparisons: Vec<(&str, &[Said])> = commands
        .zip(said.iter().map(|said| said.as_slice()))
        .collect();
    compared(context, &comparisons)
}
