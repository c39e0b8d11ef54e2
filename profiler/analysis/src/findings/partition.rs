//! Divides the variance among contexts: large ones become findings, and the others are added to the context above.
//!
//! The findings are hierarchical heavy hitters (Cormode, Korn, Muthukrishnan and Srivastava, VLDB 2003) of the own
//! times' shares, callees first. Contexts of the same function and caller are one, and are decided together once all
//! below them are. The rest that reaches the top is uncovered. Every node's own time has exactly one place, so that
//! shares add up to 1.

use std::collections::{BTreeMap, BTreeSet};

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
    for at in 1..causes.contexts.len() {
        by_key.entry(causes.key(at as u32)).or_default().push(at);
    }
    let above = |at: usize| causes.contexts[at].above as usize;
    let mut is_finding = vec![false; amounts.len()];
    let mut is_decided = vec![false; amounts.len()];
    for key in callees_first(causes, &by_key) {
        let same = &by_key[&key];
        let is_enough = is_enough(&sum(&amounts, same), sizes, least);
        for &at in same {
            (is_decided[at], is_finding[at]) = (true, is_enough);
        }
        for &at in same.iter().filter(|_| !is_enough) {
            let amount = std::mem::take(&mut amounts[at]);
            let mut to = above(at);
            // In a recursion a caller may have been decided before.
            while is_decided[to] && !is_finding[to] {
                to = above(to);
            }
            amounts[to].add(&amount);
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

/// The keys, so that those of the contexts below any context of a key precede it, but for recursions.
fn callees_first(causes: &Causes, by_key: &BTreeMap<[u32; 2], Vec<usize>>) -> Vec<[u32; 2]> {
    let mut below: BTreeMap<[u32; 2], BTreeSet<[u32; 2]>> = BTreeMap::new();
    for (&key, contexts) in by_key {
        for &at in contexts {
            let above = causes.key(causes.contexts[at].above);
            below.entry(above).or_default().insert(key);
        }
    }
    let none = BTreeSet::new();
    let below = |key: [u32; 2]| below.get(&key).unwrap_or(&none);
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for &first in by_key.keys() {
        if !seen.insert(first) {
            continue;
        }
        let mut open = vec![(first, below(first).iter())];
        while let Some((key, rest)) = open.last_mut() {
            match rest.next() {
                Some(&next) if seen.insert(next) => open.push((next, below(next).iter())),
                Some(_) => {}
                None => {
                    order.push(*key);
                    open.pop();
                }
            }
        }
    }
    order
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

#[cfg(test)]
mod tests {
    use super::super::causes::Context;
    use super::*;

    /// Contexts by function and context above; [`TOP`] is function 0.
    fn causes(below_top: &[(u32, u32)]) -> Causes {
        let mut causes = Causes::default();
        let top = Context {
            function: 0,
            above: TOP,
        };
        let contexts = below_top.iter();
        let contexts = contexts.map(|&(function, above)| Context { function, above });
        causes.contexts = std::iter::once(top).chain(contexts).collect();
        causes
    }

    /// One half of the variance is in one of two blocks, the other half in the other: each is uncertain, and both
    /// together are certain.
    fn half(of: usize) -> Measured {
        Measured {
            share: 0.5,
            without: (0..2)
                .map(|block| f64::from(u8::from(block != of)))
                .collect(),
        }
    }

    fn functions(causes: &Causes, shares: &[(usize, Measured)]) -> Vec<u32> {
        let mut all = vec![Measured::default(); causes.contexts.len()];
        for (at, share) in shares {
            all[*at] = share.clone();
        }
        let partition = partition(causes, &all, &[100, 100], 0.05);
        let findings = partition.findings.iter();
        findings.map(|([function, _], ..)| *function).collect()
    }

    /// Statements of two kinds wait (3) in the same function (2). One of them has called it through another (1). Each waits
    /// for a reason (4, 5) that nobody else has.
    #[test]
    fn what_paths_of_different_lengths_have_in_common_is_found() {
        let causes = causes(&[(1, 0), (2, 1), (3, 2), (4, 3), (2, 0), (3, 5), (5, 6)]);
        assert_eq!(functions(&causes, &[(4, half(0)), (7, half(1))]), [3]);
    }

    /// A function calls another, which calls it back: neither is certain, and both together are.
    #[test]
    fn nothing_is_lost_in_a_recursion() {
        let causes = causes(&[(1, 0), (2, 1), (1, 2), (2, 3)]);
        assert_eq!(functions(&causes, &[(4, half(0)), (1, half(1))]), [1]);
    }
}
