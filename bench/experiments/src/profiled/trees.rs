//! How large the search and its trees are: table 2.5.

use evenkeel_analysis::profile::{Node, Profile};

use super::servers::{MARIADB, POSTGRES};
use super::{findings, profiled};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::{Claim, Verdict};

/// Table 2.5.
pub const EXPERIMENT: Experiment = Experiment {
    id: "table-2.5",
    item: "Table 2.5, statistics of the final variance trees",
    says: "MySQL 37 runs, height 19, breadth 245025; Postgres 16, 8, 16900; Apache 17, 15, 36.",
    method: "Rounds of refinement, all within one run, in place of runs; height of the tree; the square of the most children of a node for its breadth (variances and covariances; the paper's numbers are squares). MariaDB and PostgreSQL as in tables 2.1 and 2.2.",
    command: POSTGRES,
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let (mut claims, mut remarks) = (Vec::new(), Vec::new());
    for (name, command, [runs, height, breadth]) in [
        ("MariaDB", MARIADB, [37.0, 19.0, 245_025.0]),
        ("PostgreSQL", POSTGRES, [16.0, 8.0, 16_900.0]),
    ] {
        match profiled(context, command)? {
            Ok(profile) => {
                let number = |what: &str, paper, found| {
                    Claim::number(format!("{name}, {what}"), paper, found)
                };
                claims.push(number("rounds", runs, profile.rounds.len() as f64));
                claims.push(number("height", height, depth(&profile.tree) as f64));
                claims.push(number("breadth", breadth, square_of_widest(&profile)));
                remarks.push(format!("{name}: {}", findings(&profile)));
            }
            Err(why) => remarks.push(format!("{name}: `{command}` did not succeed: {why}.")),
        }
    }
    Ok(Finding {
        verdict_without: claims.is_empty().then_some(Verdict::CannotTell),
        claims,
        why: remarks.join(" "),
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
    }
}
