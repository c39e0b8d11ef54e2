//! Checks histories of list appends for anomalies, after Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
//! Experimental Observations" (VLDB 2020).
//!
//! Each value is appended once, so a list read tells in which order its values were written and who wrote the one read. From that
//! follow the dependencies of Adya's thesis: ww (wrote the next version), wr (read the version), rw (read the version before the
//! one written). A cycle of ww and wr edges is G1c, forbidden from read committed on; any cycle is G2, forbidden from
//! repeatable read (of single items) on.
//!
//! A history may end with a power failure, which takes transactions that were not acknowledged. They ran under locks,
//! so their reads still count for the time before the failure. Afterwards whole transactions must remain, among them
//! all acknowledged ones, with everything that the remaining ones read. What others may have read depends on when
//! locks are released.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_store::Release;

/// An operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    Append { key: i64, value: i64 },
    Read { key: i64, list: Vec<i64> },
}

/// The end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Committed,
    Aborted,
    /// The commit failed in a way that leaves open what happened.
    Unknown,
}

/// A transaction of a history.
#[derive(Clone, Debug)]
pub struct Observed {
    pub operations: Vec<Operation>,
    pub end: End,
}

impl Observed {
    fn appends(&self) -> impl Iterator<Item = (i64, i64)> {
        self.operations
            .iter()
            .filter_map(|operation| match operation {
                Operation::Append { key, value } => Some((*key, *value)),
                Operation::Read { .. } => None,
            })
    }

    fn reads(&self) -> impl Iterator<Item = Seen<'_>> {
        let mut own: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        self.operations
            .iter()
            .filter_map(move |operation| match operation {
                Operation::Append { key, value } => {
                    own.entry(*key).or_default().push(*value);
                    None
                }
                Operation::Read { key, list } => {
                    let appended = own.get(key).cloned().unwrap_or_default();
                    let (others, own) = list.split_at(list.len().saturating_sub(appended.len()));
                    Some(Seen {
                        key: *key,
                        others,
                        own,
                        appended,
                    })
                }
            })
    }
}

/// A transaction's read of a list.
struct Seen<'h> {
    key: i64,
    /// Values that others appended.
    others: &'h [i64],
    /// Values that should be its own.
    own: &'h [i64],
    /// which is this.
    appended: Vec<i64>,
}

/// Anomalies that a history must be free of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    ReadCommitted,
    /// Repeatable reads of items, which for this history is the same as serializable.
    Serializable,
}

/// The anomalies of a history of a store that releases locks so, which ends, maybe after a power failure, with the lists `last`.
pub fn anomalies(
    history: &[Observed],
    last: &BTreeMap<i64, Vec<i64>>,
    level: Level,
    release: Release,
) -> Vec<String> {
    let history = History::new(history, last);
    let mut found = history.wrongly_left();
    found.extend(history.wrong_reads());
    found.extend(history.reads_of_lost(release));
    found.extend(history.cycle(level));
    found
}

struct History<'h> {
    transactions: &'h [Observed],
    last: &'h BTreeMap<i64, Vec<i64>>,
    /// The transaction that appended each value.
    writers: BTreeMap<i64, usize>,
    /// The last value each transaction appended to each key.
    finals: BTreeMap<(usize, i64), i64>,
    /// Each list as it became before a power failure, as far as anybody saw it.
    orders: BTreeMap<i64, &'h [i64]>,
}

impl<'h> History<'h> {
    fn new(transactions: &'h [Observed], last: &'h BTreeMap<i64, Vec<i64>>) -> History<'h> {
        let mut history = History {
            transactions,
            last,
            writers: BTreeMap::new(),
            finals: BTreeMap::new(),
            orders: last
                .iter()
                .map(|(key, list)| (*key, list.as_slice()))
                .collect(),
        };
        for (txn, observed) in transactions.iter().enumerate() {
            for (key, value) in observed.appends() {
                history.writers.insert(value, txn);
                history.finals.insert((txn, key), value);
            }
        }
        for (_, observed) in history.not_aborted() {
            for Seen { key, others, .. } in observed.reads() {
                let order = history.orders.entry(key).or_default();
                if others.len() > order.len() {
                    *order = others;
                }
            }
        }
        history
    }

    /// Transactions that held their locks up to the commit.
    fn not_aborted(&self) -> impl Iterator<Item = (usize, &'h Observed)> + use<'h> {
        let transactions = self.transactions.iter().enumerate();
        transactions.filter(|(_, observed)| observed.end != End::Aborted)
    }

    fn last(&self, key: i64) -> &'h [i64] {
        self.last.get(&key).map_or(&[], Vec::as_slice)
    }

    fn kept(&self, observed: &Observed) -> usize {
        let kept = |(key, value): &(i64, i64)| self.last(*key).contains(value);
        observed.appends().filter(kept).count()
    }

    /// Whether nobody, or only who was rolled back, has appended the value.
    fn is_aborted(&self, value: i64) -> bool {
        let writer = self.writers.get(&value);
        writer.is_none_or(|&txn| self.transactions[txn].end == End::Aborted)
    }

    /// Values in the last lists that should not be there, and missing ones.
    fn wrongly_left(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (key, list) in self.last {
            for value in list.iter().filter(|&&value| self.is_aborted(value)) {
                found.push(format!(
                    "G1a: {value} of an aborted transaction is in list {key}"
                ));
            }
        }
        for (txn, observed) in self.not_aborted() {
            let (kept, all) = (self.kept(observed), observed.appends().count());
            if observed.end == End::Committed && kept < all {
                found.push(format!(
                    "lost: of T{txn}, which is committed, {kept} of {all} appends are left"
                ));
            } else if kept > 0 && kept < all {
                found.push(format!("torn: of T{txn} {kept} of {all} appends are left"));
            }
        }
        found
    }

    /// Reads of what never was, whether or not a power failure took it afterwards.
    fn wrong_reads(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (txn, observed) in self.not_aborted() {
            for seen in observed.reads() {
                self.check_read(txn, &seen, &mut found);
            }
        }
        found
    }

    fn check_read(&self, txn: usize, seen: &Seen<'_>, found: &mut Vec<String>) {
        let (key, others, order) = (seen.key, seen.others, self.orders[&seen.key]);
        if seen.own != seen.appended {
            found.push(format!(
                "internal: T{txn} read {:?} of list {key} where its own {:?} should be",
                seen.own, seen.appended
            ));
        }
        for value in others.iter().filter(|&&value| self.is_aborted(value)) {
            found.push(format!(
                "G1a: T{txn} read {value} of an aborted transaction"
            ));
        }
        if !order.starts_with(others) {
            found.push(format!(
                "T{txn} read {others:?} of list {key}, which became {order:?}"
            ));
        }
        if let Some(value) = others.last()
            && let Some(&writer) = self.writers.get(value)
            && self.finals.get(&(writer, key)) != Some(value)
        {
            found.push(format!(
                "G1b: T{txn} read {value}, which T{writer} had not finished"
            ));
        }
    }

    /// Reads of lost values by transactions that must not have read them.
    ///
    /// Locks held until the commit is durable hide lost values from everybody, also from a transaction that never
    /// commits. Locks released earlier hide them from nobody. But an acknowledged or remaining transaction has only
    /// seen remaining values. This also holds for the writers of these values, and so for all dependencies.
    fn reads_of_lost(&self, release: Release) -> Vec<String> {
        let mut found = Vec::new();
        for (txn, observed) in self.transactions.iter().enumerate() {
            let binding = release == Release::WhenDurable
                || observed.end == End::Committed
                || self.kept(observed) > 0;
            for Seen { key, others, .. } in observed.reads().filter(|_| binding) {
                let left = self.last(key);
                if !left.starts_with(others) {
                    found.push(format!(
                        "read what is lost: T{txn} ({:?}) read {others:?} of list {key}, of which {left:?} is left",
                        observed.end
                    ));
                }
            }
        }
        found
    }

    fn cycle(&self, level: Level) -> Option<String> {
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        for order in self.orders.values() {
            let writers = order.iter().filter_map(|value| self.writers.get(value));
            edges.extend(writers.clone().copied().zip(writers.skip(1).copied()));
        }
        for (txn, observed) in self.not_aborted() {
            for Seen { key, others, .. } in observed.reads() {
                let writer = others.last().and_then(|value| self.writers.get(value));
                edges.extend(writer.map(|&writer| (writer, txn)));
                if level == Level::Serializable {
                    let next = self.orders[&key].get(others.len());
                    let overwriter = next.and_then(|value| self.writers.get(value));
                    edges.extend(overwriter.map(|&overwriter| (txn, overwriter)));
                }
            }
        }
        let cycle = cycle(self.transactions.len(), &edges)?;
        Some(format!("a cycle of dependencies: {cycle:?}"))
    }
}

/// Transactions on a cycle, if there is one: those left when all without predecessors or successors are taken away.
fn cycle(count: usize, edges: &BTreeSet<(usize, usize)>) -> Option<Vec<usize>> {
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut edges: Vec<(usize, usize)> = edges
        .iter()
        .copied()
        .filter(|(from, to)| from != to)
        .collect();
    loop {
        let from: BTreeSet<usize> = edges.iter().map(|&(from, _)| from).collect();
        let to: BTreeSet<usize> = edges.iter().map(|&(_, to)| to).collect();
        let before = left.len();
        left.retain(|txn| from.contains(txn) && to.contains(txn));
        edges.retain(|(from, to)| left.contains(from) && left.contains(to));
        if left.is_empty() {
            return None;
        }
        if left.len() == before {
            return Some(left.into_iter().collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::End::{Aborted, Committed, Unknown};
    use super::Operation::{Append, Read};
    use super::*;

    fn check(
        history: &[(Vec<Operation>, End)],
        last: &[(i64, &[i64])],
        level: Level,
        release: Release,
    ) -> Vec<String> {
        let history: Vec<Observed> = history
            .iter()
            .map(|(operations, end)| Observed {
                operations: operations.clone(),
                end: *end,
            })
            .collect();
        let last = last
            .iter()
            .map(|&(key, list)| (key, list.to_vec()))
            .collect();
        anomalies(&history, &last, level, release)
    }

    /// The name of each anomaly found, the same for both releases.
    fn kinds(
        history: &[(Vec<Operation>, End)],
        last: &[(i64, &[i64])],
        level: Level,
    ) -> Vec<String> {
        let [one, other] = [Release::WhenLogged, Release::WhenDurable]
            .map(|release| check(history, last, level, release));
        assert_eq!(one, other);
        one.iter().map(|found| kind(found)).collect()
    }

    fn kind(found: &str) -> String {
        found.split([':', ' ']).next().unwrap_or_default().into()
    }

    fn read(key: i64, list: &[i64]) -> Operation {
        Read {
            key,
            list: list.to_vec(),
        }
    }

    fn append(key: i64, value: i64) -> Operation {
        Append { key, value }
    }

    #[test]
    fn known_anomalies_are_found_and_serial_histories_are_not() {
        use Level::{ReadCommitted, Serializable};
        let serial = [
            (vec![append(1, 10)], Committed),
            (
                vec![read(1, &[10]), append(1, 11), read(1, &[10, 11])],
                Committed,
            ),
        ];
        assert!(kinds(&serial, &[(1, &[10, 11])], Serializable).is_empty());
        // Write skew: each read what the other then wrote.
        let skew = [
            (vec![read(1, &[]), append(2, 20)], Committed),
            (vec![read(2, &[]), append(1, 10)], Committed),
        ];
        let lists: [(i64, &[i64]); 2] = [(1, &[10]), (2, &[20])];
        assert_eq!(kinds(&skew, &lists, Serializable), ["a"]);
        assert!(kinds(&skew, &lists, ReadCommitted).is_empty());
        let aborted = [
            (vec![append(1, 10)], Aborted),
            (vec![read(1, &[10])], Committed),
        ];
        assert_eq!(kinds(&aborted, &[(1, &[])], ReadCommitted), ["G1a", "read"]);
        assert_eq!(
            kinds(&aborted, &[(1, &[10])], ReadCommitted),
            ["G1a", "G1a"]
        );
        let unfinished = [
            (vec![append(1, 10), append(1, 11)], Committed),
            (vec![read(1, &[10])], Committed),
        ];
        assert_eq!(
            kinds(&unfinished, &[(1, &[10, 11])], ReadCommitted),
            ["G1b"]
        );
        let own_missing = [(vec![append(1, 10), read(1, &[])], Committed)];
        assert_eq!(
            kinds(&own_missing, &[(1, &[10])], ReadCommitted),
            ["internal"]
        );
        let lost = [(vec![append(1, 10)], Committed)];
        assert_eq!(kinds(&lost, &[(1, &[])], ReadCommitted), ["lost"]);
        // Circular information flow: each read the other's write.
        let circular = [
            (vec![append(1, 10), read(2, &[20])], Committed),
            (vec![append(2, 20), read(1, &[10])], Committed),
        ];
        assert_eq!(kinds(&circular, &lists, ReadCommitted), ["a"]);
    }

    /// T0's commit of 10 was lost, and T1 has read it. That is right only if T1 was not acknowledged, nothing of it is left, and
    /// locks were released early.
    #[test]
    fn lost_values_were_read_by_no_acknowledged_transaction() {
        let read_by = |more: Option<Operation>, end, last: &[i64], release| -> Vec<String> {
            let reading = std::iter::once(read(1, &[10])).chain(more).collect();
            let history = [(vec![append(1, 10)], Unknown), (reading, end)];
            let lists: [(i64, &[i64]); 2] = [(1, &[]), (2, last)];
            check(&history, &lists, Level::ReadCommitted, release)
        };
        let appending = Some(append(2, 20));
        for (more, end, last, logged, durable) in [
            (None, Unknown, &[][..], 0, 1),
            (None, Aborted, &[], 0, 1),
            (None, Committed, &[], 1, 1),
            (appending.clone(), Unknown, &[], 0, 1),
            (appending.clone(), Unknown, &[20], 1, 1),
            (appending, Committed, &[20], 1, 1),
        ] {
            for (release, expected) in [
                (Release::WhenLogged, logged),
                (Release::WhenDurable, durable),
            ] {
                let found = read_by(more.clone(), end, last, release);
                assert_eq!(found.len(), expected, "{end:?}, {release:?}: {found:?}");
                assert!(found.iter().all(|found| kind(found) == "read"));
            }
        }
    }

    /// Lost transactions existed before the failure: they may not be partial, nor contradict what others saw.
    #[test]
    fn lost_transactions_count_for_the_time_before_the_failure() {
        use Level::ReadCommitted;
        let logged = |history: &[(Vec<Operation>, End)], last: &[(i64, &[i64])]| -> Vec<String> {
            let found = check(history, last, ReadCommitted, Release::WhenLogged);
            found.iter().map(|found| kind(found)).collect()
        };
        let torn = [(vec![append(1, 10), append(2, 20)], Unknown)];
        for (last, expected) in [
            ([(1, &[10][..]), (2, &[20][..])], &[][..]),
            ([(1, &[]), (2, &[])], &[]),
            ([(1, &[10]), (2, &[])], &["torn"]),
        ] {
            assert_eq!(logged(&torn, &last), expected);
        }
        let dirty = [
            (vec![append(1, 10)], Aborted),
            (vec![read(1, &[10])], Unknown),
        ];
        assert_eq!(logged(&dirty, &[]), ["G1a"]);
        let circular = [
            (vec![append(1, 10), read(2, &[20])], Unknown),
            (vec![append(2, 20), read(1, &[10])], Unknown),
        ];
        assert_eq!(logged(&circular, &[]), ["a"]);
        // Both cannot be the list before the failure.
        let forked = [
            (vec![append(1, 10)], Unknown),
            (vec![append(1, 11)], Unknown),
            (vec![read(1, &[10])], Unknown),
            (vec![read(1, &[11])], Unknown),
        ];
        assert_eq!(logged(&forked, &[]), ["T3"]);
    }
}
