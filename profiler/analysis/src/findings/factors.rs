//! Factors: the functions, and pairs of functions, that cause the variance (dissertation 2.3.2.2, algorithm 1).
//!
//! A function's factor sums Var(X) over its nodes, as a fraction of Var(L). A pair's factor sums 2 Cov(X, Y) over the
//! nodes that have both as parts. Functions without timed calls are leaves. The own time of all other functions is the
//! factor `body of f`. The waits of a leaf, and its other time, are parts of the leaf. So its name and its sum are the
//! same whether waits are followed or not.
//!
//! **Several sites of one caller**: a function that another one calls from several sites is one function there. Its
//! contribution is the variance of the sum over the sites (`variance.md` section 3). The covariances among the sites
//! are part of this variance, and never belong to a pair.
//!
//! **Recursion**: a call of f below another call of f is part of the outer call's time. Its variance is therefore
//! counted at the outermost call only. Covariances and bodies do not contain one another, so all of them count. (The
//! covariances below a node are part of its variance, not of its covariances.)
//!
//! **Specificity** is (height(root) - height(f))^e, e = 2 in the paper (equation 2.3), not below zero, and score =
//! specificity x contribution (equation 2.4). A body has height 0: nothing is below it. Static heights miss functions
//! that are reached by indirect calls only. Each height is therefore raised above the functions seen below it
//! (recursion collapsed), and the root's above all functions seen. Factors of specificity 0, above all the root itself,
//! are not ranked. The cost of probes and changes of thread are not ranked either: no function causes them. Waits and
//! other states are ranked as functions of height 0.
//!
//! **Callers**: a leaf that several functions share is a factor for each function that consists of it (`shared`). Each
//! factor also lists the callers whose calls it sums (`callers`).

mod callers;
pub mod described;
mod functions;
mod shared;
mod terms;

use self::callers::callers;
use self::functions::Functions;
use self::terms::{Key, Term, Terms, moment_of};
use crate::critical::states::State;
use crate::findings::model::Trade;
use crate::profile::{Factor, FactorKind};
use crate::sites::Kind;
use crate::sums::Sums;
use crate::sums::blocks::Blocks;
use crate::sums::moments::fraction;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{PROBES, ROOT};

/// Paths listed of one factor, finding or class, at most.
pub const PATHS_MAX: usize = 8;

/// Selects the factors to report.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// How many, at most.
    pub k: usize,
    /// Contribution of each, at least, as a fraction of Var(L).
    pub threshold: f64,
    /// Exponent of the specificity: 1, 2 or 3.
    pub exponent: u32,
}

/// A factor before it is described.
#[derive(Debug)]
struct Candidate {
    key: Key,
    terms: Vec<Term>,
    contribution: f64,
    specificity: f64,
    height: u32,
}

/// A factor with the parts of the tree that it sums.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// The factor.
    pub factor: Factor,
    /// Its parts, both of each pair.
    pub parts: Vec<Part>,
}

/// The factors of one round, best score first.
pub fn factors(tree: &VarianceTree<'_>, blocks: &Blocks, selection: Selection) -> Vec<Ranked> {
    let functions = Functions::of(tree);
    let mut ranked = candidates(tree, &functions, selection);
    // One more than reported: it decides whether the last one is tied.
    ranked.truncate(selection.k.saturating_add(1));
    let statistics = |sums: &Sums| {
        let whole = sums.latency_moment();
        let moment = |candidate: &Candidate| {
            candidate
                .terms
                .iter()
                .map(|term| term.moment(sums, tree))
                .sum()
        };
        ranked
            .iter()
            .map(|candidate| fraction(moment(candidate), whole))
            .collect()
    };
    let replicates = blocks.jackknife(tree.total, statistics);
    let tied = |at: usize| {
        let (this, next) = (&ranked[at], ranked.get(at + 1)?);
        let error =
            replicates.combined_error(&[(at, this.specificity), (at + 1, -next.specificity)]);
        Some(this.score() - next.score() <= error)
    };
    let reported = ranked.iter().enumerate().take(selection.k);
    reported
        .map(|(at, candidate)| Ranked {
            factor: Factor {
                se: replicates.standard_error(at),
                tied_with_next: tied(at).unwrap_or(false),
                ..candidate.describe(tree, &functions)
            },
            parts: candidate.parts(),
        })
        .collect()
}

/// Pairs of functions with a negative covariance: one takes longer when the other takes less. A pair is listed if it
/// lowers the variance by at least `least`; the largest first.
pub fn trades(tree: &VarianceTree<'_>, blocks: &Blocks, least: f64) -> Vec<Trade> {
    let functions = Functions::of(tree);
    let whole = tree.total.latency_moment();
    let mut pairs: Vec<(Key, Vec<Term>)> = terms(tree, &functions).into_iter().collect();
    pairs.retain(|(key, terms)| {
        let contribution = fraction(moment_of(terms, tree), whole);
        key.kind == FactorKind::Covariance && contribution <= -least
    });
    let replicates = blocks.jackknife(tree.total, |sums| {
        let whole = sums.latency_moment();
        let moment = |terms: &[Term]| terms.iter().map(|term| term.moment(sums, tree)).sum();
        let all = pairs
            .iter()
            .map(|(_, terms)| fraction(moment(terms), whole));
        all.collect()
    });
    let trade = |(at, (key, _)): (usize, &(Key, Vec<Term>))| Trade {
        functions: key.functions.map(|id| functions.name(id)),
        contribution: replicates.whole[at],
        se: replicates.standard_error(at),
    };
    let mut trades: Vec<Trade> = pairs.iter().enumerate().map(trade).collect();
    trades.retain(|trade| trade.contribution + 2.0 * trade.se < 0.0);
    trades.sort_by(|a, b| {
        let by_name = || a.functions.cmp(&b.functions);
        a.contribution.total_cmp(&b.contribution).then_with(by_name)
    });
    trades
}

/// Algorithm 1, lines 1 to 13. The threshold applies before the choice of k, as in the paper's text ("the top k whose
/// total variance is greater than a threshold"). Its pseudocode would return fewer than k if a candidate of high score
/// is below the threshold.
fn candidates(
    tree: &VarianceTree<'_>,
    functions: &Functions,
    selection: Selection,
) -> Vec<Candidate> {
    let whole = tree.total.latency_moment();
    let root_height = functions.root_height(tree);
    let candidate = |(key, terms): (Key, Vec<Term>)| {
        let [a, b] = key.functions.map(|id| functions.height(id));
        let height = a.max(b);
        let levels = f64::from(root_height.saturating_sub(height));
        Candidate {
            key,
            contribution: fraction(moment_of(&terms, tree), whole),
            specificity: levels.powi(selection.exponent as i32),
            height,
            terms,
        }
    };
    let chosen = |candidate: &Candidate| {
        candidate.contribution >= selection.threshold && candidate.score() > 0.0
    };
    let mut terms = terms(tree, functions);
    shared::divide(&mut terms, tree, functions, selection.threshold * whole);
    let all = terms.into_iter().map(candidate);
    let mut candidates: Vec<Candidate> = all.filter(chosen).collect();
    candidates.sort_by(|a, b| {
        let by_name = || a.key.cmp(&b.key);
        b.score().total_cmp(&a.score()).then_with(by_name)
    });
    candidates
}

/// The nodes of every factor (algorithm 1, lines 2 to 9).
fn terms(tree: &VarianceTree<'_>, functions: &Functions) -> Terms {
    let mut terms = Terms::default();
    let mut add = |key, term| terms.entry(key).or_default().push(term);
    for node in tree.nodes() {
        let mut parts = tree.parts(node);
        parts.retain(|&part| is_ranked(tree, part));
        for (at, &a) in parts.iter().enumerate() {
            let id = functions.id(a);
            let is_nested = functions.is_nested(tree, a);
            if !is_nested {
                add(Key::variance(id), Term::Variance(a));
            }
            for &b in &parts[at + 1..] {
                let other = functions.id(b);
                let key = match other == id {
                    true if is_nested => continue,
                    // Two sites of one caller: part of the variance of their sum.
                    true => Key::variance(id),
                    false => Key {
                        functions: [id.min(other), id.max(other)],
                        kind: FactorKind::Covariance,
                        caller: None,
                    },
                };
                add(key, Term::Covariance(a, b));
            }
        }
    }
    terms
}

/// Whether a part can be a factor, or half of one.
fn is_ranked(tree: &VarianceTree<'_>, part: Part) -> bool {
    match part {
        Part::Call(PROBES) => false,
        // The own time of a leaf, outside of its waits.
        Part::Body(node) => node == ROOT || tree.state(node).is_some() || tree.is_opened(node),
        Part::Call(_) => !is_crossing(tree, part),
    }
}

/// Whether a part only names the thread that the calls below it are on. No function causes it.
fn is_crossing(tree: &VarianceTree<'_>, part: Part) -> bool {
    let state = tree.state(part.node());
    state.is_some_and(|state| state.is_crossing() || state == State::Helper)
}

impl Candidate {
    fn score(&self) -> f64 {
        self.specificity * self.contribution
    }

    fn parts(&self) -> Vec<Part> {
        let parts = self.terms.iter().flat_map(|term| match *term {
            Term::Variance(part) => [Some(part), None],
            // The covariances among a function's own sites are between parts that are counted already.
            Term::Covariance(..) if self.key.kind == FactorKind::Variance => [None, None],
            Term::Covariance(a, b) => [Some(a), Some(b)],
        });
        parts.flatten().collect()
    }

    fn describe(&self, tree: &VarianceTree<'_>, functions: &Functions) -> Factor {
        let mut terms = self.terms.clone();
        terms.sort_by(|a, b| {
            b.moment(tree.total, tree)
                .total_cmp(&a.moment(tree.total, tree))
        });
        if self.key.kind == FactorKind::Variance {
            // The covariances among a function's own sites add no paths.
            terms.retain(|term| matches!(term, Term::Variance(_)));
        }
        let own_time_of = match terms.first() {
            Some(&Term::Variance(Part::Body(node))) if tree.has_body(node) => {
                Some(functions.name(functions.id(Part::Call(node))))
            }
            _ => None,
        };
        terms.truncate(PATHS_MAX);
        let [a, b] = self.key.functions.map(|id| functions.name(id));
        Factor {
            kind: self.key.kind,
            functions: if self.key.kind == FactorKind::Variance {
                vec![a]
            } else {
                vec![a, b]
            },
            caller: self.key.caller.map(|id| functions.name(id)),
            callers: callers(&self.terms, tree, functions),
            contribution: self.contribution,
            score: self.score(),
            height: self.height,
            paths: terms.iter().map(|&term| term_path(tree, term)).collect(),
            nodes: terms.iter().map(|term| term.nodes()).collect(),
            own_time_of,
            what: terms
                .first()
                .map_or(Kind::Call, |&term| term_kind(tree, term)),
            ..Factor::default()
        }
    }
}

fn term_path(tree: &VarianceTree<'_>, term: Term) -> String {
    match term {
        Term::Variance(part) => tree.path(part),
        Term::Covariance(a, b) => tree.pair_path(a, b),
    }
}

/// The kind of a pair: that of the part that is more specific than a call or a body.
fn term_kind(tree: &VarianceTree<'_>, term: Term) -> Kind {
    match term {
        Term::Variance(part) => tree.kind(part),
        Term::Covariance(a, b) => match (tree.kind(a), tree.kind(b)) {
            (Kind::Call | Kind::Body | Kind::NotOpened, Kind::Body | Kind::NotOpened) => Kind::Call,
            (Kind::Call | Kind::Body | Kind::NotOpened, other) => other,
            (known, _) => known,
        },
    }
}
