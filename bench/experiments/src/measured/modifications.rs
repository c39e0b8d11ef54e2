//! All modifications side by side: table 3.3, out of the figures of its rows.

use std::time::Duration;

use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::{Claim, Verdict};

/// Figures with the beginning of their claims' names, in the order of the table's rows.
const ROWS: [(&str, &str); 5] = [
    ("figure-3.3", "FIFO over VATS"),
    ("figure-3.4", "LRU over LLU"),
    ("figure-3.4", "eager flush over lazy write"),
    ("figure-3.5", "one log over two"),
    ("figure-3.1", "2 workers over 8"),
];

/// Table 3.3.
pub const EXPERIMENT: Experiment = Experiment {
    id: "table-3.3",
    item: "Table 3.3 (table 3 of SIGMOD 2017), impact of each modification",
    says: "Less variance, p99, mean by a factor of: VATS 5.6, 2.0, 6.3. Spin lock for the LRU list 1.6, 1.4, 1.1. Flush parameters 1.4, 1.2, 1.2. Parallel logging 1.8, 1.3, 2.4. Worker threads 2.6, 1.4, 5.7.",
    method: "Results of figures 3.1 and 3.3 to 3.5, from the same run or from a resumed one.",
    command: "evenkeel experiments figure-3.1 figure-3.3 figure-3.4 figure-3.5 table-3.3",
    takes: |_| Duration::ZERO,
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let (mut claims, mut lacking) = (Vec::new(), Vec::new());
    for (figure, name) in ROWS {
        let of_figure = context
            .earlier
            .iter()
            .filter(|outcome| outcome.id == figure);
        let row: Vec<Claim> = of_figure
            .flat_map(|outcome| &outcome.finding.claims)
            .filter(|claim| claim.what.starts_with(name))
            .cloned()
            .collect();
        if row.is_empty() {
            lacking.push(format!(
                "No result for {name}: {figure} has none in this run."
            ));
        }
        claims.extend(row);
    }
    Ok(Finding {
        verdict_without: (!lacking.is_empty()).then_some(Verdict::CannotTell),
        claims,
        why: lacking.join(" "),
        ..Finding::default()
    })
}
