//! The holders that a finding waits for, and their activity during the wait.

use std::collections::BTreeMap;

use super::causes::Causes;
use super::model::{Holder, Meanwhile};
use super::plumbing::{is_plumbing, is_unnamed};
use crate::critical::states::State;
use crate::sites::Function;
use crate::sums::parts::{Part, VarianceTree};

/// Smallest part of the holders' time for which a function is reported as their activity.
const MOST: f64 = 0.5;
/// Holders listed, at most.
const HOLDERS_MAX: usize = 8;

/// The activity of a thread: a call, or a state in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Doing {
    function: Function,
    is_state: bool,
}

/// Time by activity: ticks, and its deepest level in the tree.
type Times = BTreeMap<Doing, (i128, u32)>;

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
    waiter: &Function,
    whole: i128,
) -> (Vec<Holder>, Option<Meanwhile>) {
    let mut groups: BTreeMap<(String, Option<String>), Group> = BTreeMap::new();
    let (mut all, mut waited) = (Done::default(), 0);
    for node in crossings {
        let name = tree.name(Part::Call(node));
        let named = |id: u16| tree.names().class(id.into()).to_owned();
        let class = match tree.state(node) {
            Some(State::Other(class)) => (named(class), None),
            Some(State::Thread(thread)) => (name, Some(named(thread))),
            _ => (name, None),
        };
        let ticks = tree.total.node(node).inclusive;
        waited += ticks;
        let group = groups.entry(class).or_default();
        group.ticks += ticks;
        collect(tree, node, waiter, &mut group.own, false);
        collect(tree, node, waiter, &mut all, true);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.ticks));
    groups.retain(|(_, group)| group.ticks > 0);
    let holder = |((class, thread), group): ((String, Option<String>), Group)| {
        let most = most(&group.own.functions, group.ticks).map(|(doing, _)| doing);
        Holder {
            class,
            thread,
            of_time: part(group.ticks, whole),
            is_state: most.is_some_and(|doing| doing.is_state),
            function: most.map(|doing| doing.function.to_string()),
        }
    };
    let meanwhile = most(&all.functions, waited).map(|(doing, ticks)| Meanwhile {
        function: doing.function.to_string(),
        is_state: doing.is_state,
        of_time: part(ticks, waited),
        wait: most(&all.plumbing, ticks).map(|(doing, _)| doing.function.to_string()),
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
fn collect(tree: &VarianceTree<'_>, from: u32, waiter: &Function, done: &mut Done, further: bool) {
    let mut open: Vec<(u32, u32, Vec<Doing>)> = vec![(from, 0, Vec::new())];
    while let Some((node, depth, mut above)) = open.pop() {
        let state = tree.state(node);
        let leaves = state.is_some_and(State::is_crossing);
        if leaves && node != from && !further {
            continue;
        }
        let is_known = matches!(state, None | Some(State::Idle { .. } | State::Remote));
        let doing = is_known.then(|| Doing {
            function: tree.function(Part::Call(node)),
            is_state: state.is_some(),
        });
        let told = |doing: &Doing| {
            let function = &doing.function;
            function != waiter && !is_unnamed(&function.name) && !above.contains(doing)
        };
        if let Some(doing) = doing.filter(told) {
            let times = match is_plumbing(&doing.function.name) {
                true => &mut done.plumbing,
                false => &mut done.functions,
            };
            let (ticks, deepest) = times.entry(doing.clone()).or_default();
            *ticks += tree.total.node(node).inclusive;
            *deepest = depth.max(*deepest);
            above.push(doing);
        }
        for &child in tree.children(node) {
            open.push((child, depth + 1, above.clone()));
        }
    }
}

/// The deepest activity with most of the time.
fn most(times: &Times, whole: i128) -> Option<(&Doing, i128)> {
    let enough = times
        .iter()
        .filter(|&(_, &(ticks, _))| whole > 0 && ticks as f64 >= MOST * whole as f64);
    enough
        .max_by_key(|&(_, &(ticks, depth))| (depth, std::cmp::Reverse(ticks)))
        .map(|(doing, &(ticks, _))| (doing, ticks))
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
