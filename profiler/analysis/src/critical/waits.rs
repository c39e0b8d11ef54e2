//! Waiters and holders of the whole run.

use crate::critical::blocking::{Row, RowKey, WaitSums};
use crate::critical::states::{State, object_kind, object_name};
use crate::profile::WaitedFor;
use crate::sums::moments::fraction;
use crate::sums::parts::VarianceTree;

/// Lines reported, at most.
pub const LINES_MAX: usize = 64;

/// All combinations of waiter and holder, most time first.
pub fn waits(tree: &VarianceTree<'_>, sums: &WaitSums, ticks_per_ns: f64) -> Vec<WaitedFor> {
    let mut rows: Vec<_> = sums.rows().collect();
    let order = |key: Option<&RowKey>| {
        let holder = key.and_then(|key| key.holder);
        (
            key.is_none(),
            key.map(|key| key.waiter),
            key.map(|key| key.kind),
            holder.map(|(stack, state)| (stack, state.step())),
        )
    };
    rows.sort_by(|(a, x), (b, y)| y.ticks.cmp(&x.ticks).then(order(*a).cmp(&order(*b))));
    let lines = rows.into_iter().take(LINES_MAX);
    lines
        .map(|(key, row)| line(tree, sums, key, row, ticks_per_ns))
        .collect()
}

fn line(
    tree: &VarianceTree<'_>,
    sums: &WaitSums,
    key: Option<&RowKey>,
    row: &Row,
    ticks_per_ns: f64,
) -> WaitedFor {
    let (intervals, latency) = (tree.total.intervals, tree.total.latency);
    let whole = tree.total.latency_moment();
    let total_ns = row.ticks as f64 / ticks_per_ns;
    let longest = row.objects.iter().max_by_key(|(key, ticks)| (*ticks, *key));
    let mut line = WaitedFor {
        waiter: "(others)".into(),
        object: "different objects".into(),
        objects: row.objects.len(),
        more_objects: row.more_objects,
        longest_object: longest.map_or_else(String::new, |(key, _)| format!("{key:#x}")),
        count: row.count,
        total_ns,
        mean_ns: total_ns / row.count.max(1) as f64,
        share: fraction(row.latency_moment(intervals, latency), whole),
        variance_fraction: fraction(row.moment(intervals), whole),
        ..WaitedFor::default()
    };
    if let Some(key) = key {
        let calls = sums.stack(key.waiter).into_iter();
        line.waiter_calls = calls
            .map(|probe| tree.names().call_with_site(probe))
            .collect();
        let innermost = line.waiter_calls.last().cloned();
        line.waiter = innermost.unwrap_or_else(|| "(not timed)".into());
        line.object = object_name(key.kind).into();
        line.kind = object_kind(key.kind);
        if let Some((stack, state)) = key.holder {
            line.holder = Some(serving(tree, state));
            if let State::Thread(thread) = state {
                line.holder_thread = Some(tree.names().class(thread.into()).to_owned());
            }
            let calls = sums.stack(stack).into_iter();
            line.holder_calls = calls
                .map(|probe| tree.names().call_with_site(probe))
                .collect();
        }
    }
    line
}

fn serving(tree: &VarianceTree<'_>, state: State) -> String {
    match state {
        State::Other(class) => tree.names().class(class.into()).to_owned(),
        state => state.name(|class| tree.names().class(class)),
    }
}
