//! The queue of a site of VoltDB: figure 3.1 on the system itself.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::Error;
use crate::command::{line, printed, words};
use crate::experiment::{Context, Effort, Experiment, Figure, Finding, Series};
use crate::verdict::{Claim, Verdict};

/// In the sources, since VoltDB is a test subject that they install.
const SCRIPT: &str = "scripts/jvm/voltdb.sh";
const COMMAND: &str = "scripts/jvm/voltdb.sh --json --with evenkeel";
/// VoltDB's default, which just carries the load, and the number that the paper's best is compared with.
const DEFAULT_SITES: u32 = 2;
const MANY_SITES: u32 = 8;
/// Smallest share to divide by.
const LEAST: f64 = 0.001;

/// Figure 3.1, in VoltDB.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-3.1-voltdb",
    item: "Figure 3.1 (figure 7 of SIGMOD 2017), worker threads of VoltDB, in VoltDB",
    says: "99.9 % of the variance is waiting in queues. The right number of workers has 2.6 times less variance, 1.4 times less p99 and 5.7 times less mean than VoltDB's two.",
    method: "VoltDB 10.1.1, its procedures profiled by the preset voltdb. A procedure keeps its site for 10 ms on average, exponentially distributed, instead of TPC-C's work, and 120 arrive a second at random times. Two sites, its default, just carry them, and are compared with eight.",
    command: COMMAND,
    takes: taken,
    run,
};

const SITES: [u32; 4] = [1, DEFAULT_SITES, 4, MANY_SITES];

fn taken(effort: Effort) -> Duration {
    effort.seconds(0, 45 * SITES.len() as u64)
}

/// A run with some number of sites.
#[derive(Clone, Debug, Deserialize)]
struct Run {
    sites: u32,
    /// The part of the variance that is time in the site's queue.
    queue_share: f64,
    queue_share_se: f64,
    mean_ms: f64,
    variance_ms2: f64,
    p99_ms: f64,
}

impl Run {
    /// The 95 % interval of the queue's share.
    fn ends(&self) -> [f64; 2] {
        let within = 2.0 * self.queue_share_se;
        [self.queue_share - within, self.queue_share + within]
    }
}

fn run(context: &Context) -> Result<Finding, Error> {
    if context.effort == Effort::Quick {
        let why = "Measured with `--full` alone: VoltDB takes longer to start than a quick run has room for.";
        return Ok(Finding::without(Verdict::CannotTell, why));
    }
    if !Path::new(SCRIPT).exists() {
        let why = format!("{SCRIPT} is not here: run it in a copy of Evenkeel's sources.");
        return Ok(Finding::failed(&why));
    }
    let mut words = words(COMMAND);
    words.extend(SITES.iter().map(u32::to_string));
    let answer = printed(context, &words, taken(context.effort))?;
    let runs = answer.and_then(|json| serde_json::from_value(json).map_err(|it| it.to_string()));
    let command = line(&words);
    Ok(match runs.map(|runs: Vec<Run>| found(&runs)) {
        Ok(Some(finding)) => Finding {
            commands: vec![command],
            ..finding
        },
        Ok(None) => Finding::failed(&format!("`{command}` lacks a number of sites.")),
        Err(why) => Finding::failed(&format!("`{command}` gave no result: {why}.")),
    })
}

/// The queue's share with two sites, and how it falls with eight. A single run has no interval for the rest.
fn found(runs: &[Run]) -> Option<Finding> {
    let of = |sites| runs.iter().find(|run| run.sites == sites);
    let (two, eight) = (of(DEFAULT_SITES)?, of(MANY_SITES)?);
    let ([two_low, two_high], [eight_low, eight_high]) = (two.ends(), eight.ends());
    let claims = vec![
        Claim::share(
            "share of the queue, 2 sites",
            0.999,
            two.queue_share,
            [two_low, two_high],
        ),
        Claim::more(
            "share of the queue, 2 sites over 8",
            two.queue_share / eight.queue_share,
            [two_low / eight_high, two_high / eight_low.max(LEAST)],
        ),
    ];
    let why = format!(
        "With two sites the variance is {:.1} times, the p99 {:.1} times and the mean {:.1} times that of eight, in one run each. These factors belong to the load: with one that two sites carry more easily, they are smaller.",
        two.variance_ms2 / eight.variance_ms2,
        two.p99_ms / eight.p99_ms,
        two.mean_ms / eight.mean_ms,
    );
    let points = runs.iter().map(|run| {
        let (sites, share) = (f64::from(run.sites), 100.0 * run.queue_share);
        (sites, share, 200.0 * run.queue_share_se)
    });
    Some(Finding {
        claims,
        why,
        figure: Some(Figure {
            x: "sites".to_owned(),
            y: "queue, % of the variance".to_owned(),
            logarithmic: false,
            lines: vec![Series {
                name: "VoltDB".to_owned(),
                papers: false,
                points: points.collect(),
            }],
        }),
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sites: u32, queue_share: f64, mean_ms: f64) -> Run {
        Run {
            sites,
            queue_share,
            queue_share_se: 0.01,
            mean_ms,
            variance_ms2: mean_ms * mean_ms,
            p99_ms: 4.0 * mean_ms,
        }
    }

    #[test]
    fn two_sites_are_compared_with_eight() {
        let runs = [run(1, 1.0, 2000.0), run(2, 0.81, 24.0), run(8, 0.1, 12.0)];
        let finding = found(&runs).unwrap();
        let verdicts: Vec<_> = finding.claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!(verdicts, [Verdict::Agrees; 2], "{:?}", finding.claims);
        let factors = "variance is 4.0 times, the p99 2.0 times and the mean 2.0 times";
        assert!(finding.why.contains(factors), "{}", finding.why);
        assert_eq!(finding.figure.unwrap().lines[0].points.len(), 3);
        assert!(found(&runs[..2]).is_none());
    }
}
