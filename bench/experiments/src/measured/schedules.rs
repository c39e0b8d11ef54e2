//! Lock schedules: figure 3.3 on the embedded store, table 3.4 in the engine that VATS was shipped in.

use std::time::Duration;

use super::{Factor, Said, compared, numbers, takes};
use crate::Error;
use crate::experiment::{Context, Effort, Experiment, Finding};

/// Two comparisons: each configuration's saturation is measured in turn, and that of RS is so low that the others
/// would have no queue.
const VATS: &str = "evenkeel bench compare --with '--schedule fifo' --with '--schedule vats' tpcc --load 95% --clients 64 --round-trip 500us";
const RS: &str = "evenkeel bench compare --with '--schedule fifo' --with '--schedule rs' tpcc --load 95% --clients 64 --round-trip 500us";

/// Figure 3.3.
pub const ALGORITHMS: Experiment = Experiment {
    id: "figure-3.3",
    item: "Figure 3.3 (figure 2 of SIGMOD 2017), scheduling algorithms in MySQL",
    says: "Under TPC-C, VATS has 6.3 times less mean, 5.6 times less variance and 2 times less p99 than FCFS. RS (sorted at random) is between them, and about 100 times worse for SEATS.",
    method: "FIFO against VATS, and against RS (the queue in a random order, to the first conflict), on the embedded store. TPC-C with one warehouse, in an open loop at 95 % of the saturation of the two in turn. 64 clients have a round trip of 500 us. SEATS is not run.",
    command: VATS,
    takes: |effort| takes(effort, &[VATS, RS]),
    run: on_the_store,
};

fn on_the_store(context: &Context) -> Result<Finding, Error> {
    let said = |what, factors| {
        [Said {
            configuration: 1,
            what,
            factors,
        }]
    };
    let vats = said("FIFO over VATS", numbers(6.3, 5.6, 2.0));
    let rs = said(
        "FIFO over RS",
        [Some(Factor::More), Some(Factor::More), None],
    );
    compared(context, &[(VATS, &vats), (RS, &rs)])
}

/// TPC-C as the paper's clients sent it, the first of table 3.4's comparisons.
const TPCC: &str = "evenkeel bench compare --with '--set innodb-lock-schedule-algorithm=fcfs' --with '--set innodb-lock-schedule-algorithm=vats' tpcc --scale 2 --target mariadb:10.2.11 --clients 64 --round-trip 1ms --load 95%";

/// Rounds and lengths of the eighteen comparisons with --full, which takes an hour.
const FULL: [&str; 2] = ["--rounds 8", "--for 6s"];

/// A workload, how it is named on the command line, and mean, variance and p99 of FCFS over those of VATS in the paper.
type Workload = (&'static str, &'static str, [Option<Factor>; 3]);

/// sysbench is not in the paper. With --quick only the first workload runs, under the first load.
const ALL: [Workload; 6] = [
    ("TPC-C", "tpcc --scale 2", numbers(6.3, 5.6, 2.0)),
    ("SEATS", "seats", numbers(1.1, 1.3, 1.1)),
    ("TATP", "tatp", numbers(1.2, 1.6, 1.3)),
    ("Epinions", "epinions", numbers(1.4, 2.6, 1.0)),
    ("YCSB", "ycsb-a", numbers(1.0, 1.1, 1.1)),
    ("sysbench", "sysbench", [Some(Factor::Unsaid); 3]),
];
const QUICK: [usize; 2] = [1, 1];

/// The kinds of load: a description, and the options that are removed from the command. The paper's clients sent at a
/// rate.
const LOADS: [(&str, &[&str]); 3] = [
    ("", &[]),
    (", closed loop", &[" --load 95%"]),
    (
        ", closed loop without round trips",
        &[" --load 95%", " --round-trip 1ms"],
    ),
];

/// Table 3.4.
pub const WORKLOADS: Experiment = Experiment {
    id: "table-3.4",
    item: "Table 3.4 (table 4 of SIGMOD 2017), VATS in MySQL on five workloads",
    says: "Mean, variance, p99 of FCFS over VATS: TPC-C 6.3, 5.6, 2.0; SEATS 1.1, 1.3, 1.1; TATP 1.2, 1.6, 1.3; Epinions 1.4, 2.6, 1.0; YCSB 1.0, 1.1, 1.1.",
    method: "VATS in the engine that shipped it: the official MariaDB 10.2.11 (`scripts/install.sh mariadb-10.2.11`), which has both schedules. 64 clients have a round trip of 1 ms; TPC-C has 2 warehouses. The paper has no sysbench. The paper's clients sent 500 transactions a second to 16 cores, in an open loop. Here the open loop is at 95 % of the saturation of FCFS and VATS in turn. Closed loops, with round trips and without, are measured as well. Their mean is the number of clients over the throughput (Little's law). So they show the gain in throughput, not the shorter queue at a given rate. With --quick TPC-C at a rate alone.",
    command: TPCC,
    takes: of_workloads,
    run: workloads,
};

/// The claim, the paper's factors, and the command, for each workload under each load.
fn chosen(effort: Effort) -> Vec<(String, [Option<Factor>; 3], String)> {
    let tpcc = effort.pick(TPCC.to_owned(), full());
    let [workloads, loads] = effort.pick(QUICK, [ALL.len(), LOADS.len()]);
    let all = ALL[..workloads].iter().flat_map(|&(name, words, factors)| {
        let command = tpcc.replace(ALL[0].1, words);
        LOADS[..loads].iter().map(move |(load, without)| {
            let without = without.iter();
            let command = without.fold(command.clone(), |command, part| command.replace(part, ""));
            (format!("{name}{load}, FCFS over VATS"), factors, command)
        })
    });
    all.collect()
}

/// The first command with [`FULL`]'s rounds.
fn full() -> String {
    let [rounds, length] = FULL;
    let command = TPCC.replace("compare ", &format!("compare {rounds} "));
    format!("{command} {length}")
}

fn of_workloads(effort: Effort) -> Duration {
    let chosen = chosen(effort);
    let commands = chosen.iter().map(|(_, _, command)| command.as_str());
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
    let comparisons = chosen.iter().zip(&said);
    let comparisons: Vec<(&str, &[Said])> = comparisons
        .map(|((_, _, command), said)| (command.as_str(), said.as_slice()))
        .collect();
    compared(context, &comparisons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_is_run_at_a_rate_and_in_closed_loops() {
        let commands = chosen(Effort::Full)
            .into_iter()
            .map(|(_, _, command)| command);
        let commands: Vec<String> = commands.collect();
        assert_eq!(commands.len(), 18);
        for [rate, closed, at_once] in commands.as_chunks().0 {
            assert_eq!(*closed, rate.replace(" --load 95%", ""));
            assert_eq!(*at_once, closed.replace(" --round-trip 1ms", ""));
            assert!(rate.contains(" --load 95%") && closed.contains(" --round-trip 1ms"));
            assert!(at_once.contains("compare --rounds 8 --with "), "{at_once}");
            assert!(at_once.ends_with(" --clients 64 --for 6s"), "{at_once}");
        }
        assert!(commands[17].contains(" sysbench --target mariadb:10.2.11 "));
        let quick = chosen(Effort::Quick);
        assert_eq!(quick.len(), 1);
        assert_eq!(quick[0].0, "TPC-C, FCFS over VATS");
        assert_eq!(quick[0].2, TPCC);
    }
}
