//! Deadlocks: exact detection when a transaction begins to wait, and the policies that prevent them instead.
//!
//! A grant never closes a cycle, because the granted transaction runs. So it is enough to look when a wait begins, and
//! the search follows every holder the waiter depends on, not one of several. Prevention follows Rosenkrantz, Stearns
//! and Lewis, "System Level Concurrency Control for Distributed Database Systems" (TODS 1978).

use crate::graph::{Graph, TxnIndex};

/// Action where a wait might deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeadlockPolicy {
    /// Wait, and abort a transaction of every cycle the moment it closes.
    Detect(Victim),
    /// A transaction waits only for younger ones; otherwise it is refused ("dies").
    WaitDie,
    /// A transaction waits only for older ones; younger ones it waits for must abort ("wounded"). Grants then go
    /// to the oldest first whatever the schedule: passing an older waiter over would only wound the one granted.
    WoundWait,
    /// Nobody waits: a request that cannot be granted at once is refused.
    NoWait,
}

/// Which transaction of a cycle is aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    /// The youngest: little work is lost, and the oldest always gets through.
    Youngest,
    /// The one that holds the fewest locks, of equals the youngest.
    FewestLocks,
    /// The one the fewest transactions outside the cycle wait for, of equals the youngest.
    SmallestDependencySet,
}

impl DeadlockPolicy {
    /// All of them by their names on the command line and in results.
    pub const NAMED: [(&str, DeadlockPolicy); 6] = [
        ("youngest", DeadlockPolicy::Detect(Victim::Youngest)),
        ("fewest-locks", DeadlockPolicy::Detect(Victim::FewestLocks)),
        (
            "smallest-set",
            DeadlockPolicy::Detect(Victim::SmallestDependencySet),
        ),
        ("wait-die", DeadlockPolicy::WaitDie),
        ("wound-wait", DeadlockPolicy::WoundWait),
        ("no-wait", DeadlockPolicy::NoWait),
    ];
}

/// A cycle of the wait-for graph through `start`: each transaction waits for the next, the last for the first.
pub fn find_cycle(graph: &Graph, start: TxnIndex) -> Option<Vec<TxnIndex>> {
    let mut seen = hashbrown::HashSet::new();
    let mut path = vec![(start, graph.blockers(start))];
    while let Some((_, rest)) = path.last_mut() {
        match rest.pop() {
            Some(next) if next == start => return Some(path.iter().map(|&(txn, _)| txn).collect()),
            // Whoever does not wait ends its path.
            Some(next) if graph.txn(next).waiting.is_some() && seen.insert(next) => {
                path.push((next, graph.blockers(next)));
            }
            Some(_) => {}
            None => {
                path.pop();
            }
        }
    }
    None
}

/// The transaction of `cycle` to abort.
pub fn choose_victim(graph: &Graph, cycle: &[TxnIndex], victim: Victim) -> TxnIndex {
    let cost = |txn: TxnIndex| match victim {
        Victim::Youngest => 0,
        Victim::FewestLocks => u64::from(graph.txn(txn).locks_held),
        Victim::SmallestDependencySet => dependents_outside(graph, cycle, txn),
    };
    let youth = |txn: TxnIndex| {
        let meta = graph.txn(txn).meta;
        std::cmp::Reverse((meta.birth_ns, meta.id))
    };
    cycle
        .iter()
        .copied()
        .min_by_key(|&txn| (cost(txn), youth(txn)))
        .expect("a cycle has members")
}

/// Transactions that wait for `txn` other than through the cycle, in which everybody waits for everybody.
fn dependents_outside(graph: &Graph, cycle: &[TxnIndex], txn: TxnIndex) -> u64 {
    let mut set = graph.dependency_union();
    for &member in cycle.iter().filter(|&&member| member != txn) {
        set.exclude(member);
    }
    set.add(txn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::TxnMeta;
    use crate::modes::Mode::X;

    fn born(graph: &mut Graph, birth_ns: u64) -> TxnIndex {
        graph.add_txn(TxnMeta {
            id: birth_ns,
            birth_ns,
            class: 0,
            expected_remaining_ns: None,
        })
    }

    /// Makes `waiter` wait for a separate object that `holder` holds.
    fn wait_for(graph: &mut Graph, waiter: TxnIndex, holder: TxnIndex) {
        let object = graph.add_queue();
        graph.hold(holder, object, X);
        graph.begin_wait(waiter, object, X, false, 0);
    }

    #[test]
    fn each_kind_of_victim_is_chosen_by_what_it_is_called_after() {
        // a waits for b, b for c, c for a. Outside of the cycle e waits for a, f for e, and d for c.
        let mut graph = Graph::new(false);
        let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(|birth_ns| born(&mut graph, birth_ns));
        for (waiter, holder) in [(f, e), (e, a), (d, c), (a, b), (b, c)] {
            wait_for(&mut graph, waiter, holder);
        }
        assert_eq!(find_cycle(&graph, a), None);
        wait_for(&mut graph, c, a);
        assert_eq!(find_cycle(&graph, a), Some(vec![a, b, c]));
        assert_eq!(find_cycle(&graph, c), Some(vec![c, a, b]));
        // A transaction that waits for a member is on no cycle itself.
        assert_eq!(find_cycle(&graph, d), None);

        for (txn, locks_held) in [(a, 1), (b, 4), (c, 5)] {
            graph.set_locks_held(txn, locks_held);
        }
        let victim = |kind| choose_victim(&graph, &[a, b, c], kind);
        assert_eq!(victim(Victim::Youngest), c);
        assert_eq!(victim(Victim::FewestLocks), a);
        // Two depend on a from outside, one on c, nobody on b.
        assert_eq!(victim(Victim::SmallestDependencySet), b);
    }

    #[test]
    fn of_equal_costs_the_youngest_goes() {
        let mut graph = Graph::new(false);
        let [a, b] = [1, 2].map(|birth_ns| born(&mut graph, birth_ns));
        wait_for(&mut graph, a, b);
        wait_for(&mut graph, b, a);
        for kind in [
            Victim::Youngest,
            Victim::FewestLocks,
            Victim::SmallestDependencySet,
        ] {
            assert_eq!(choose_victim(&graph, &[a, b], kind), b);
        }
    }
}
