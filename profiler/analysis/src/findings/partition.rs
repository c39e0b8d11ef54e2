//! Divides the variance among contexts: large ones become findings, and the others are added to the context above.
//!
//! The findings are hierarchical heavy hitters (Cormode, Korn, Muthukrishnan and Srivastava, VLDB 2003) of the own
//! times' shares, deepest first. Contexts of the same function and caller are one. The rest that reaches the top is
//! uncovered. Every node's own time has exactly one place, so that shares add up to 1.

use std::collections::BTreeMap;

use super::causes::{Causes, TOP};
use crate::rounds::policy::ERRORS_MIN;
use crate::sums::jackknife::Replicates;

/// A share, and its values when one block is left out.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The share.
    pub share: f64,
    /// By block: the share without this block.
    without: Vec<f64>,
}

impl Measured {
    /// One statistic of `replicates`.
    pub fn of(replicates: &Replicates, at: usize) -> Measured {
        Measured {
            share: replicates.whole[at],
            without: replicates.without.iter().map(|values| values[at]).collect(),
        }
    }

    /// Adds another share.
    pub fn add(&mut self, other: &Measured) {
        self.share += other.share;
        self.without
            .resize(other.without.len().max(self.without.len()), 0.0);
        for (mine, other) in self.without.iter_mut().zip(&other.without) {
            *mine += other;
        }
    }

    /// Its standard error for blocks of these sizes.
    pub fn se(&self, sizes: &[u64]) -> f64 {
        let one = Replicates {
            sizes: sizes.to_vec(),
            whole: vec![self.share],
            without: self.without.iter().map(|&value| vec![value]).collect(),
        };
        if one.without.is_empty() {
            0.0
        } else {
            one.standard_error(0)
        }
    }
}

/// Assigns contexts to findings.
#[derive(Debug, Default)]
pub struct Partition {
    /// Function and caller of each finding, with its share and error.
    pub findings: Vec<([u32; 2], f64, f64)>,
    /// By context: index of its finding; `None` if it is uncovered.
    pub of_context: Vec<Option<usize>>,
    /// By finding: its function's own part, without the contexts that were added to it.
    pub own: Vec<f64>,
    /// The uncovered rest: share and error.
    pub uncovered: (f64, f64),
}

/// Divides `shares`, one for each context, into findings of at least `least`.
pub fn partition(causes: &Causes, shares: &[Measured], sizes: &[u64], least: f64) -> Partition {
    let mut amounts = shares.to_vec();
    let mut by_key: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
    let mut by_depth: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, context) in causes.contexts.iter().enumerate().skip(1) {
        by_key.entry(causes.key(at as u32)).or_default().push(at);
        by_depth.entry(context.depth).or_default().push(at);
    }
    let mut is_finding = vec![false; amounts.len()];
    for contexts in by_depth.values().rev() {
        for &at in contexts {
            let same = &by_key[&causes.key(at as u32)];
            if !is_finding[at] && is_enough(&sum(&amounts, same), sizes, least) {
                same.iter().for_each(|&at| is_finding[at] = true);
            }
        }
        for &at in contexts.iter().filter(|&&at| !is_finding[at]) {
            let amount = std::mem::take(&mut amounts[at]);
            amounts[causes.contexts[at].above as usize].add(&amount);
        }
    }
    let mut out = Partition::default();
    let mut numbers: BTreeMap<[u32; 2], usize> = BTreeMap::new();
    for (key, contexts) in &by_key {
        if is_finding[contexts[0]] {
            numbers.insert(*key, out.findings.len());
            let whole = sum(&amounts, contexts);
            out.findings.push((*key, whole.share, whole.se(sizes)));
            out.own.push(sum(shares, contexts).share);
        }
    }
    out.of_context = vec![None; amounts.len()];
    for (at, context) in causes.contexts.iter().enumerate().skip(1) {
        out.of_context[at] = match is_finding[at] {
            true => numbers.get(&causes.key(at as u32)).copied(),
            false => out.of_context[context.above as usize],
        };
    }
    let rest = &amounts[TOP as usize];
    out.uncovered = (rest.share, rest.se(sizes));
    out
}

fn sum(amounts: &[Measured], contexts: &[usize]) -> Measured {
    let mut sum = Measured::default();
    contexts.iter().for_each(|&at| sum.add(&amounts[at]));
    sum
}

fn is_enough(amount: &Measured, sizes: &[u64], least: f64) -> bool {
    let share = amount.share.abs();
    share >= least && share >= ERRORS_MIN * amount.se(sizes)
}
