//! The holders that a finding waits for, and their activity during the wait.

use std::collections::BTreeMap;

use super::causes::Causes;
use super::model::{Holder, Meanwhile};
use super::plumbing::{is_plumbing, is_unnamed};
use crate::critical::states::State;
use crate::sums::parts::{Part, VarianceTree};

/// Smallest part of the holders' time for which a function is reported as their activity.
const MOST: f64 = 0.5;
/// Holders listed, at most.
const HOLDERS_MAX: usize = 8;

/// Time by function: ticks, and its deepest level in the tree.
type Times = BTreeMap<String, (i128, u32)>;

/// The activity of threads: functions that explain something, and the system's functions below them.
#[derive(Default)]
struct Done {
    functions: Times,
    plumbing: Times,
}

#[derive(Default)]
struct Group {
    ticks: i128,
    own: Done,
}

/// Holders below `crossings`, most time first, and the common activity of all of them. `whole` is the finding's time,
/// ticks. `waiter` is its function: if holders wait in it for others, too, those others' activity is reported.
pub fn holders(
    tree: &VarianceTree<'_>,
    crossings: impl Iterator<Item = u32>,
    waiter: &str,
    whole: i128,
) -> (Vec<Holder>, Option<Meanwhile>) {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let (mut all, mut waited) = (Done::default(), 0);
    for node in crossings {
        let class = match tree.state(node) {
            Some(State::Other(class)) => tree.class(class.into()).to_owned(),
            _ => tree.name(Part::Call(node)),
        };
        let ticks = tree.total.node(node).inclusive;
        waited += ticks;
        let group = groups.entry(class).or_default();
        group.ticks += ticks;
        collect(tree, node, waiter, &mut group.own, false);
        collect(tree, node, waiter, &mut all, true);
    }
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.ticks));
    groups.retain(|(_, group)| group.ticks > 0);
    let holder = |(class, group): (String, Group)| Holder {
        class,
        of_time: part(group.ticks, whole),
        function: most(&group.own.functions, group.ticks).map(|(function, _)| function),
    };
    let meanwhile = most(&all.functions, waited).map(|(function, ticks)| Meanwhile {
        function,
        of_time: part(ticks, waited),
        wait: most(&all.plumbing, ticks).map(|(function, _)| function),
    });
    let listed = groups.into_iter().take(HOLDERS_MAX);
    (listed.map(holder).collect(), meanwhile)
}

fn part(ticks: i128, whole: i128) -> f64 {
    if whole > 0 {
        ticks as f64 / whole as f64
    } else {
        0.0
    }
}

/// Inclusive times of the functions that explain something below a node, except `waiter`. Each function is counted at
/// its outermost call. With `further`, the threads that this thread waits for are included.
fn collect(tree: &VarianceTree<'_>, from: u32, waiter: &str, done: &mut Done, further: bool) {
    let mut open: Vec<(u32, u32, Vec<String>)> = vec![(from, 0, Vec::new())];
    while let Some((node, depth, mut above)) = open.pop() {
        let state = tree.state(node);
        let leaves = state.is_some_and(State::is_crossing);
        if leaves && node != from && !further {
            continue;
        }
        let name = match state {
            None => Some(tree.function(Part::Call(node))),
            Some(State::Idle | State::Remote) => Some(tree.name(Part::Call(node))),
            Some(_) => None,
        };
        let told = |name: &String| name != waiter && !is_unnamed(name) && !above.contains(name);
        if let Some(name) = name.filter(told) {
            let times = match is_plumbing(&name) {
                true => &mut done.plumbing,
                false => &mut done.functions,
            };
            let (ticks, deepest) = times.entry(name.clone()).or_default();
            *ticks += tree.total.node(node).inclusive;
            *deepest = depth.max(*deepest);
            above.push(name);
        }
        for &child in tree.children(node) {
            open.push((child, depth + 1, above.clone()));
        }
    }
}

/// The deepest function with most of the time.
fn most(times: &Times, whole: i128) -> Option<(String, i128)> {
    let enough = times
        .iter()
        .filter(|&(_, &(ticks, _))| whole > 0 && ticks as f64 >= MOST * whole as f64);
    enough
        .max_by_key(|&(_, &(ticks, depth))| (depth, std::cmp::Reverse(ticks)))
        .map(|(name, &(ticks, _))| (name.clone(), ticks))
}

/// Nodes at which paths of one finding leave the interval.
pub fn crossings<'a>(
    causes: &'a Causes,
    is_own: impl Fn(u32) -> bool + 'a,
) -> impl Iterator<Item = u32> + 'a {
    causes
        .crossings
        .iter()
        .copied()
        .filter(move |&node| is_own(causes.of_node[node as usize]))
}
