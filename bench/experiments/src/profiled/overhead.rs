//! Cost of profiling by the number of call sites: figure 2.3.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::naive;
use crate::Error;
use crate::experiment::{Context, Effort, Experiment, Finding};
use crate::measured::{self, Of, comparison, unsuccessful};
use crate::verdict::{Claim, Verdict};

/// Everything is timed, whatever it costs: `evenkeel profile` itself stays within a budget.
const COMMAND: &str = "evenkeel bench compare --with '' --with '--plant 100' --with '--plant 500' tpcc --target mariadb --clients 8 --no-check";
/// Call sites of each configuration after the baseline, with the greatest overhead in the paper for this number of
/// children.
const SITES: [(u32, f64); 2] = [(100, 1.06), (500, 1.14)];
/// Where the kernel's uprobes are set, and a tool that does so.
const UPROBES: &str = "/sys/kernel/tracing/uprobe_events";

/// Figure 2.3.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-2.3",
    item: "Figure 2.3, profiling overhead, and number of runs",
    says: "Overhead below 6 % with up to 100 instrumented children and below 14 % with 500, in latency and throughput; DTrace's is 10 to 20 times as much. Tens of runs where a naive search needs more than 10^15 (2e15 nodes in MySQL's static call graph, 4.5e14 of them leaves).",
    method: "Mean latency of a private MariaDB under TPC-C, with 8 clients in a closed loop. It is compared with and without hooks on 100 and 500 call sites below the statement. All of them are timed, without the budget of `evenkeel profile`. The profiler's own process shares the two processors with server and load. A naive search needs a run for each function with callees in the tree of direct calls below the statement. Calls through pointers are not known in a binary, so this tree is smaller than the source's. The search's own runs are the rounds of tables 2.1 and 2.2.",
    command: COMMAND,
    takes,
    run,
};

/// The comparison, and reading two servers' programs.
fn takes(effort: Effort) -> Duration {
    measured::takes(effort, &[COMMAND]) + Duration::from_secs(15)
}

fn run(context: &Context) -> Result<Finding, Error> {
    let (mut claims, mut remarks) = (Vec::new(), Vec::new());
    let mut commands = Vec::new();
    match comparison(context, COMMAND)? {
        Ok((command, json)) => {
            commands.push(command);
            for (at, (sites, paper)) in SITES.into_iter().enumerate() {
                // After the baseline comes its repetition.
                let ratio = measured::ratio(&json["configurations"][at + 2], Of::Mean);
                match ratio {
                    Some((over, [low, high])) => {
                        claims.push(cost(sites, paper, 1.0 / over, [1.0 / high, 1.0 / low]))
                    }
                    None => remarks.push(format!("No latency with {sites} call sites.")),
                }
            }
            remarks.push(measured::itself(&json));
        }
        Err(why) => remarks.push(unsuccessful(COMMAND, &why)),
    }
    remarks.push(beside_uprobes());
    let (of_search, of_graphs) = naive::claims(context);
    claims.extend(of_search);
    remarks.extend(of_graphs);
    Ok(Finding {
        verdict_without: claims.is_empty().then_some(Verdict::CannotTell),
        failed: claims.is_empty(),
        claims,
        commands,
        why: remarks.join(" "),
        ..Finding::default()
    })
}

/// The latency with this many call sites over that without, and the paper's greatest.
fn cost(sites: u32, paper: f64, found: f64, [low, high]: [f64; 2]) -> Claim {
    Claim {
        what: format!("latency with {sites} call sites over without (at most)"),
        paper,
        found,
        low,
        high,
        verdict: match (high <= paper, low > paper) {
            (true, _) => Verdict::Agrees,
            (_, true) => Verdict::Differs,
            _ => Verdict::CannotTell,
        },
    }
}

/// Why there is no comparison with DTrace's like, or which tool measures it.
fn beside_uprobes() -> String {
    let bpftrace = Command::new("bpftrace").arg("--version").output();
    let reason = match bpftrace {
        Err(error) => format!("bpftrace cannot be run ({error})"),
        Ok(_) => match std::fs::OpenOptions::new()
            .append(true)
            .open(Path::new(UPROBES))
        {
            Err(error) => format!("{UPROBES} cannot be written ({error})"),
            Ok(_) => {
                return "bpftrace works here: `cargo bench -p evenkeel --bench overhead -- bpftrace` measures it beside.".to_owned();
            }
        },
    };
    format!("Not compared with uprobes, which replace DTrace here: {reason}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_below_the_papers_or_above_or_it_cannot_be_told() {
        let verdict = |interval| cost(100, 1.06, 1.05, interval).verdict;
        assert_eq!(verdict([1.0, 1.05]), Verdict::Agrees);
        assert_eq!(verdict([1.0, 1.2]), Verdict::CannotTell);
        assert_eq!(verdict([1.07, 1.2]), Verdict::Differs);
    }
}
