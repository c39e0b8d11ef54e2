//! Properties of random nested traces.

use evenkeel_wire::record::{MARKER_FIRST, Record};
use proptest::prelude::*;

use super::trace::*;
use crate::intervals::assembler::Assembler;
use crate::profile::Node;
use crate::sums::Sums;
use crate::sums::blocks::Blocks;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::{Part, VarianceTree, pair_moment};
use crate::sums::paths::{Paths, ROOT};
use crate::sums::vectors::{ProbeCost, Segment, Vector, Vectoriser};

/// Steps of a few levels: own time, and calls of six probes.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let work = || (1u64..1000).prop_map(Step::Work);
    let body = prop::collection::vec(work(), 1..3);
    body.prop_recursive(4, 40, 5, move |inner| {
        prop::collection::vec(
            prop_oneof![
                work(),
                (0u32..6, inner).prop_map(|(probe, steps)| call(probe, steps))
            ],
            1..5,
        )
    })
}

pub fn traces() -> impl Strategy<Value = Vec<Vec<Step>>> {
    prop::collection::vec(steps(), 1..40)
}

pub fn costs() -> impl Strategy<Value = ProbeCost> {
    (0u32..20_000, 0u32..20_000).prop_map(|(outer_256, inner_256)| ProbeCost {
        outer_256,
        inner_256,
    })
}

/// Mostly short calls and markers of one plan, at times anything.
fn any_record() -> impl Strategy<Value = Record> {
    let id =
        prop_oneof![4 => 0u32..4, 3 => MARKER_FIRST + 16..MARKER_FIRST + 23, 1 => 0u32..1 << 20];
    let time = prop_oneof![9 => 0u64..40, 1 => any::<u64>()];
    let payload = prop_oneof![6 => 0u64..8, 1 => 0u64..1 << 43];
    (time, payload, id).prop_map(|(start, payload, id)| Record::new(start, payload, id))
}

/// `Sums` of each interval, over common paths. Asserts closure on the way. Vectors of these intervals, one by one,
/// each with the paths known by then; returns the paths.
fn vectors(
    intervals: &[Vec<Step>],
    cost: ProbeCost,
    mut take: impl FnMut(&Vector<'_>, &Paths),
) -> Paths {
    let (mut paths, mut vectoriser) = (Paths::default(), Vectoriser::default());
    let mut assembler = Assembler::default();
    for steps in intervals {
        assembler.push(1, &interval(77, steps), &mut |timeline, finished| {
            let (calls, open) = timeline.all();
            let segment = Segment {
                start: finished.subject.begin,
                end: finished.subject.end,
                calls,
                open,
            };
            let latency = finished.subject.latency().expect("in order");
            vectoriser
                .segment(&segment, latency, &mut paths)
                .expect("nests");
            let vector = vectoriser.complete(latency, cost, &mut paths);
            take(&vector, &paths);
        });
        assert_eq!(assembler.discarded().count(), 0);
    }
    paths
}

fn sums_of(intervals: &[Vec<Step>], cost: ProbeCost) -> (Paths, Vec<Sums>) {
    let mut all = Vec::new();
    let paths = vectors(intervals, cost, |vector, paths| {
        assert_eq!(vector.closure_error, 0);
        let total: i64 = vector.entries.iter().map(|entry| entry.exclusive).sum();
        assert_eq!(
            (total, vector.entries[0].inclusive),
            (vector.latency, vector.latency)
        );
        let mut sums = Sums::default();
        sums.add(vector, paths);
        all.push(sums);
    });
    (paths, all)
}

fn merged<'a>(sums: impl IntoIterator<Item = &'a Sums>) -> Sums {
    let mut total = Sums::default();
    sums.into_iter().for_each(|sums| total.merge(sums));
    total
}

fn assert_adds_up(node: &Node) {
    if node.children.is_empty() {
        return;
    }
    let sum = |of: &dyn Fn(&Node) -> f64| node.children.iter().map(of).sum::<f64>();
    let scale = 1.0
        + node
            .children
            .iter()
            .map(|child| child.share.abs())
            .sum::<f64>();
    assert!((sum(&|child| child.share) - node.share).abs() < 1e-9 * scale);
    assert!((sum(&|child| child.mean_ns) - node.mean_ns).abs() < 1e-9 * (1.0 + node.mean_ns.abs()));
    for (name, &share) in &node.tail_share {
        let scale = 1.0
            + node
                .children
                .iter()
                .map(|child| child.tail_share[name].abs())
                .sum::<f64>();
        assert!((sum(&|child| child.tail_share[name]) - share).abs() < 1e-9 * scale);
    }
    node.children.iter().for_each(assert_adds_up);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In integers, n times each sum of squares or products about the means: a parent's equals the sum of its parts'
    /// plus twice that of their pairs (equation 2.2).
    #[test]
    fn variances_add_up_exactly(intervals in traces(), cost in costs()) {
        let (paths, all) = sums_of(&intervals, cost);
        let total = merged(&all);
        let n = i128::from(total.intervals);
        let moment = |products: i128, a: i128, b: i128| n * products - a * b;
        for node in 0..paths.all().len() as u32 {
            let own = total.node(node);
            let children: Vec<u32> = (1..paths.all().len() as u32).filter(|&at| paths.get(at).parent == node).collect();
            let mut parts = moment(own.exclusive_squared, own.exclusive, own.exclusive);
            for (at, &a) in children.iter().enumerate() {
                let child = total.node(a);
                parts += moment(child.inclusive_squared, child.inclusive, child.inclusive);
                parts += 2 * moment(total.pairs[paths.pair_with_body(a)], child.inclusive, own.exclusive);
                for &b in &children[at + 1..] {
                    parts += 2 * moment(total.pairs[paths.pair(a, b)], child.inclusive, total.node(b).inclusive);
                }
            }
            prop_assert_eq!(moment(own.inclusive_squared, own.inclusive, own.inclusive), parts);
        }
        let root = total.node(ROOT);
        prop_assert_eq!((root.inclusive, root.inclusive_squared), (total.latency, total.latency_squared));
    }

    #[test]
    fn merge_order_is_irrelevant(intervals in traces(), cost in costs(), pivot in 0usize..40) {
        let (_, all) = sums_of(&intervals, cost);
        let pivot = pivot % all.len();
        let mut nested = merged(&all[pivot..]);
        nested.merge(&merged(&all[..pivot]));
        prop_assert_eq!(merged(&all), nested);
        let mut taken_out = merged(&all);
        taken_out.subtract(&all[pivot]);
        let rest = merged(all.iter().enumerate().filter(|&(at, _)| at != pivot).map(|(_, sums)| sums));
        prop_assert_eq!(taken_out.intervals, rest.intervals);
        for node in 0..taken_out.nodes.len() as u32 {
            prop_assert_eq!(taken_out.node(node), rest.node(node));
        }
    }

    #[test]
    fn shares_and_tail_shares_add_up(intervals in traces()) {
        let profile = analysed(&intervals).profile(&sites(&[]), &options());
        prop_assert_eq!(profile.discarded, 0);
        if profile.variance_ns2 > 0.0 {
            prop_assert_eq!(profile.tree.share, 1.0);
            profile.tree.tail_share.values().for_each(|&share| assert_eq!(share, 1.0));
        }
        assert_adds_up(&profile.tree);
    }

    /// A ring or a recording can hold anything. What is kept closes, and everything is accounted for.
    #[test]
    fn any_records_are_survived(records in prop::collection::vec(any_record(), 0..300)) {
        let mut analysis = started(ProbeCost { outer_256: 300, inner_256: 200 });
        analysis.push(1, &records);
        let profile = analysis.profile(&sites(&[("f", "r+1", 1)]), &options());
        prop_assert_eq!(profile.closure.max_abs_error_ticks, 0);
        prop_assert!(profile.intervals + profile.discarded <= profile.intervals_seen);
        assert_adds_up(&profile.tree);
    }

    /// Against recomputing each statistic from the intervals outside each block.
    #[test]
    fn jackknife_leaves_out_blocks(intervals in prop::collection::vec(steps(), 3..150)) {
        let mut blocks = Blocks::default();
        vectors(&intervals, ProbeCost::default(), |vector, paths| blocks.add(vector, paths));
        let total = blocks.total();
        prop_assert_eq!(total.intervals, intervals.len() as u64);
        let statistics = |sums: &Sums| vec![sums.latency_moment(), sums.exclusive_latency_moment(ROOT)];
        let replicates = blocks.jackknife(&total, statistics);
        let (_, all) = sums_of(&intervals, ProbeCost::default());
        prop_assert_eq!(&replicates.whole, &statistics(&merged(&all)));
        let mut from = 0;
        for (block, &size) in replicates.sizes.iter().enumerate() {
            let to = from + size as usize;
            let direct = statistics(&merged(all[..from].iter().chain(&all[to..])));
            prop_assert_eq!(&replicates.without[block], &direct);
            from = to;
        }
        prop_assert_eq!(from, intervals.len());
    }

    /// Co-moments against the definition in floating point.
    #[test]
    fn co_moments_match_their_definition(values in prop::collection::vec((-1000i64..1000, 0i64..1 << 30), 1..50)) {
        let n = values.len() as f64;
        let sum = |of: &dyn Fn(i64, i64) -> i128| values.iter().map(|&(a, b)| of(a, b)).sum::<i128>();
        let (a, b) = (sum(&|a, _| a.into()), sum(&|_, b| b.into()));
        let products = sum(&|a, b| i128::from(a) * i128::from(b));
        let (mean_a, mean_b) = (a as f64 / n, b as f64 / n);
        let direct: f64 = values.iter().map(|&(a, b)| (a as f64 - mean_a) * (b as f64 - mean_b)).sum();
        let scale: f64 = values.iter().map(|&(a, b)| ((a as f64 - mean_a) * (b as f64 - mean_b)).abs()).sum();
        let computed = crate::sums::moments::co_moment(values.len() as u64, products, a, b);
        prop_assert!((computed - direct).abs() <= 1e-9 * (1.0 + scale), "{} {}", computed, direct);
    }
}

/// The parts of the tree carry the same numbers as the sums they come from.
#[test]
fn parts_of_a_node() {
    let intervals: Vec<_> = (1..9)
        .map(|n| vec![work(n), leaf(0, n * n), leaf(1, 9 - n)])
        .collect();
    let (paths, all) = sums_of(&intervals, ProbeCost::default());
    let total = merged(&all);
    let table = sites(&[]);
    let tree = VarianceTree::new(NodeNames::new(&paths, &table), &total);
    let parts = tree.parts(ROOT);
    assert_eq!(parts.len(), 3);
    let mut variance: f64 = parts.iter().map(|part| part.moment(&total)).sum();
    for (at, &a) in parts.iter().enumerate() {
        variance += parts[at + 1..]
            .iter()
            .map(|&b| 2.0 * pair_moment(&total, &paths, a, b))
            .sum::<f64>();
    }
    near(variance, Part::Call(ROOT).moment(&total));
}
