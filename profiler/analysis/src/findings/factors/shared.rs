//! Leaves that several functions share, such as a condition variable on which some threads wait for a lock, others for
//! the log.
//!
//! The paper sums a function over all its call sites, and then separates the sites by hand, because such a function
//! "yields little insight into why the transaction has to wait" (dissertation 3.2.1, `os_event_wait` \[A\] and \[B\] of
//! table 3.1). Here a function that varies in calls of several callers is divided if it is a leaf. A leaf has most of
//! its contribution outside of the calls below it, so no other factor is more specific. It becomes a factor for each
//! caller that *consists of it*, and the rest of its calls are one factor.
//! A caller consists of it if it makes up most of the caller's contribution, and by itself enough to be reported.
//!
//! Other callers vary for other reasons. The function's contribution to all of them together is one factor.

use rustc_hash::FxHashMap;

use super::callers;
use super::functions::Functions;
use super::terms::{Key, Term, Terms, moment_of};
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{PROBES, ROOT};

/// The smallest part of a contribution that is most of it.
const MOST: f64 = 0.5;

/// Divides the shared leaves among `terms`. `least`: smallest contribution that is reported, as part of (n - 1) Var(L),
/// ticks^2.
pub(super) fn divide(
    terms: &mut Terms,
    tree: &VarianceTree<'_>,
    functions: &Functions,
    least: f64,
) {
    let moment = |(&key, terms): (&Key, &Vec<Term>)| (key, moment_of(terms, tree));
    let moments: FxHashMap<Key, f64> = terms.iter().map(moment).collect();
    let root = functions.id(Part::Call(ROOT));
    let consists_of = |caller: u32, calls: &[Term]| {
        let part = moment_of(calls, tree);
        let all = moments.get(&Key::variance(caller));
        let is_most = all.is_some_and(|&all| part >= MOST * all);
        caller != root && part > 0.0 && part >= least && is_most
    };
    for (key, moment) in &moments {
        let mut apart = by_caller(&terms[key], tree, functions);
        let varying = apart.values().filter(|calls| moment_of(calls, tree) > 0.0);
        if varying.count() < 2 || !is_leaf(&terms[key], *moment, tree, functions) {
            continue;
        }
        apart.retain(|&caller, calls| consists_of(caller, calls));
        let mut rest = terms.remove(key).unwrap_or_default();
        rest.retain(|&term| {
            let caller = caller_of(term, tree, functions);
            !caller.is_some_and(|caller| apart.contains_key(&caller))
        });
        if !rest.is_empty() {
            terms.insert(*key, rest);
        }
        terms.extend(apart.into_iter().map(|(caller, calls)| {
            let caller = Some(caller);
            (Key { caller, ..*key }, calls)
        }));
    }
}

fn caller_of(term: Term, tree: &VarianceTree<'_>, functions: &Functions) -> Option<u32> {
    match term {
        Term::Variance(part @ Part::Call(_)) => callers::nearest(part, tree, functions),
        Term::Covariance(a @ Part::Call(_), b) if functions.id(a) == functions.id(b) => {
            callers::nearest(a, tree, functions)
        }
        _ => None,
    }
}

/// A function's calls by their caller; bodies and pairs have no callers here.
fn by_caller(
    terms: &[Term],
    tree: &VarianceTree<'_>,
    functions: &Functions,
) -> FxHashMap<u32, Vec<Term>> {
    let mut groups: FxHashMap<u32, Vec<Term>> = FxHashMap::default();
    for &term in terms {
        if let Some(caller) = caller_of(term, tree, functions) {
            groups.entry(caller).or_default().push(term);
        }
    }
    groups
}

/// Whether less than most of a function's `moment` is in calls of other functions below it. Its waits are part of it.
fn is_leaf(terms: &[Term], moment: f64, tree: &VarianceTree<'_>, functions: &Functions) -> bool {
    let is_function = |node: u32| node != PROBES && tree.state(node).is_none();
    let call = |term: &Term| match term {
        Term::Variance(Part::Call(node)) => Some(*node),
        _ => None,
    };
    let mut open: Vec<u32> = terms.iter().filter_map(call).collect();
    let mut of_others = 0.0;
    while let Some(node) = open.pop() {
        if !is_function(node) {
            return false;
        }
        let own = functions.id(Part::Call(node));
        for &below in tree.children(node) {
            if functions.id(Part::Call(below)) == own {
                open.push(below);
            } else if is_function(below) {
                of_others += Part::Call(below).moment(tree.total);
            }
        }
    }
    of_others < MOST * moment
}
