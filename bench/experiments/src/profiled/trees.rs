//! Size of the search and of its trees: table 2.5.

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_analysis::profile::{Node, Profile};

use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::{Claim, Verdict};

/// Rounds, height and breadth of each, as the paper has them, by the experiment whose profile they are here.
const ROWS: [(&str, &str, [f64; 3]); 3] = [
    ("table-2.1", "MariaDB", [37.0, 19.0, 245_025.0]),
    ("table-2.2", "PostgreSQL", [16.0, 8.0, 16_900.0]),
    ("table-2.3", "Apache", [17.0, 15.0, 36.0]),
];
/// Names of what a profile gives.
const QUANTITIES: [&str; 3] = ["rounds", "height", "breadth"];

/// Table 2.5.
pub const EXPERIMENT: Experiment = Experiment {
    id: "table-2.5",
    item: "Table 2.5, statistics of the final variance trees",
    says: "MySQL 37 runs, height 19, breadth 245025; Postgres 16, 8, 16900; Apache 17, 15, 36.",
    method: "From the profiles of tables 2.1 to 2.3. Rounds of refinement within one run replace the paper's runs. Breadth is the square of the largest number of children, since the paper's numbers are squares (variances and covariances).",
    command: "evenkeel experiments table-2.1 table-2.2 table-2.3 table-2.5",
    takes: |_| Duration::ZERO,
    run,
};

/// The table's numbers of a profile.
pub(crate) fn numbers(profile: &Profile) -> BTreeMap<String, f64> {
    let numbers = [
        profile.rounds.len() as f64,
        depth(&profile.tree) as f64,
        square_of_widest(profile),
    ];
    let names = QUANTITIES.map(str::to_owned);
    names.into_iter().zip(numbers).collect()
}

fn run(context: &Context) -> Result<Finding, Error> {
    let (mut claims, mut lacking) = (Vec::new(), Vec::new());
    for (id, name, papers) in ROWS {
        let earlier = context.earlier.iter().find(|outcome| outcome.id == id);
        let numbers = earlier.map(|outcome| &outcome.finding.numbers);
        for (quantity, paper) in QUANTITIES.into_iter().zip(papers) {
            match numbers.and_then(|numbers| numbers.get(quantity)) {
                Some(&found) => {
                    claims.push(Claim::number(format!("{name}, {quantity}"), paper, found));
                }
                None => lacking.push(format!("No {quantity} of {name}: {id} has no profile.")),
            }
        }
    }
    Ok(Finding {
        verdict_without: claims.is_empty().then_some(Verdict::CannotTell),
        failed: claims.is_empty(),
        claims,
        why: lacking.join(" "),
        ..Finding::default()
    })
}

/// Edges from the root to the deepest node.
fn depth(node: &Node) -> usize {
    let below = node.children.iter().map(|child| 1 + depth(child));
    below.max().unwrap_or(0)
}

fn square_of_widest(profile: &Profile) -> f64 {
    fn widest(node: &Node) -> usize {
        let below = node.children.iter().map(widest).max().unwrap_or(0);
        below.max(node.children.len())
    }
    (widest(&profile.tree) as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn height_and_breadth() {
        let leaf = Node::default;
        let children = vec![leaf(), leaf(), leaf()];
        let middle = Node {
            children,
            ..Node::default()
        };
        let tree = Node {
            children: vec![middle],
            ..Node::default()
        };
        let profile = Profile {
            tree,
            ..Profile::default()
        };
        assert_eq!((depth(&profile.tree), square_of_widest(&profile)), (2, 9.0));
        let numbers = numbers(&profile);
        assert_eq!(numbers["height"], 2.0);
        assert_eq!(numbers.len(), QUANTITIES.len());
    }
}
