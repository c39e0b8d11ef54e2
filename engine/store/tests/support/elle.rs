//! Checks histories of list appends for anomalies, after Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
//! Experimental Observations" (VLDB 2020).
//!
//! Each value is appended once, so a list read tells in which order its values were written and who wrote the one read. From that
//! follow the dependencies of Adya's thesis: ww (wrote the next version), wr (read the version), rw (read the version before the
//! one written). A cycle of ww and wr edges is G1c, forbidden from read committed on; any cycle is G2, forbidden from
//! repeatable read (of single items) on.

use std::collections::{BTreeMap, BTreeSet};

/// An operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    Append { key: i64, value: i64 },
    Read { key: i64, list: Vec<i64> },
}

/// How a transaction ended.
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

/// What a history must be free of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    ReadCommitted,
    /// Repeatable reads of items, which for this history is the same as serializable.
    Serializable,
}

/// The anomalies of a history that ends with the lists `last`.
pub fn anomalies(
    history: &[Observed],
    last: &BTreeMap<i64, Vec<i64>>,
    level: Level,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut writers: BTreeMap<i64, usize> = BTreeMap::new();
    // The last value each transaction appended to each key.
    let mut finals: BTreeMap<(usize, i64), i64> = BTreeMap::new();
    for (txn, observed) in history.iter().enumerate() {
        for operation in &observed.operations {
            if let Operation::Append { key, value } = operation {
                writers.insert(*value, txn);
                finals.insert((txn, *key), *value);
            }
        }
    }
    for (key, list) in last {
        for value in list {
            if !writers
                .get(value)
                .is_some_and(|&txn| history[txn].end != End::Aborted)
            {
                found.push(format!(
                    "G1a: {value} of an aborted transaction is in list {key}"
                ));
            }
        }
    }
    for (&value, &txn) in &writers {
        let kept = last.values().any(|list| list.contains(&value));
        if history[txn].end == End::Committed && !kept {
            found.push(format!("lost: {value} was committed by T{txn}"));
        }
    }
    let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut anti: BTreeSet<(usize, usize)> = BTreeSet::new();
    for list in last.values() {
        let writers_of = list.iter().filter_map(|value| writers.get(value).copied());
        edges.extend(writers_of.clone().zip(writers_of.skip(1)));
    }
    // Nobody was told that what ended unknown has committed: unless what it appended is there, it may have read what was lost
    // with it.
    let kept = |observed: &Observed| {
        observed.operations.iter().any(|operation| match operation {
            Operation::Append { key, value } => {
                last.get(key).is_some_and(|list| list.contains(value))
            }
            Operation::Read { .. } => false,
        })
    };
    let counts = |observed: &Observed| match observed.end {
        End::Committed => true,
        End::Aborted => false,
        End::Unknown => kept(observed),
    };
    for (txn, observed) in history
        .iter()
        .enumerate()
        .filter(|(_, observed)| counts(observed))
    {
        let mut own: BTreeMap<i64, usize> = BTreeMap::new();
        for operation in &observed.operations {
            match operation {
                Operation::Append { key, .. } => *own.entry(*key).or_default() += 1,
                Operation::Read { key, list } => {
                    let order = last.get(key).map_or(&[][..], Vec::as_slice);
                    // What it appended itself may be gone if it is unknown whether it committed.
                    let others =
                        &list[..list.len() - own.get(key).copied().unwrap_or(0).min(list.len())];
                    if !order.starts_with(others) {
                        found.push(format!(
                            "T{txn} read {list:?} of list {key}, which became {order:?}"
                        ));
                        continue;
                    }
                    if let Some(value) = others.last() {
                        let writer = writers[value];
                        if writer != txn && finals[&(writer, *key)] != *value {
                            found.push(format!(
                                "G1b: T{txn} read {value}, which T{writer} had not finished"
                            ));
                        }
                        edges.insert((writer, txn));
                    }
                    let next = order.get(others.len()).map(|value| writers[value]);
                    anti.extend(next.map(|writer| (txn, writer)));
                }
            }
        }
    }
    if level == Level::Serializable {
        edges.extend(anti);
    }
    if let Some(cycle) = cycle(history.len(), &edges) {
        found.push(format!("a cycle of dependencies: {cycle:?}"));
    }
    found
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
    use super::Operation::{Append, Read};
    use super::*;

    fn check(
        history: &[(Vec<Operation>, End)],
        last: &[(i64, &[i64])],
        level: Level,
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
        anomalies(&history, &last, level)
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
        use End::{Aborted, Committed};
        let serial = [
            (vec![append(1, 10)], Committed),
            (
                vec![read(1, &[10]), append(1, 11), read(1, &[10, 11])],
                Committed,
            ),
        ];
        assert!(check(&serial, &[(1, &[10, 11])], Level::Serializable).is_empty());
        // Write skew: each read what the other then wrote.
        let skew = [
            (vec![read(1, &[]), append(2, 20)], Committed),
            (vec![read(2, &[]), append(1, 10)], Committed),
        ];
        let lists: [(i64, &[i64]); 2] = [(1, &[10]), (2, &[20])];
        assert_eq!(check(&skew, &lists, Level::Serializable).len(), 1);
        assert!(check(&skew, &lists, Level::ReadCommitted).is_empty());
        let aborted = [
            (vec![append(1, 10)], Aborted),
            (vec![read(1, &[10])], Committed),
        ];
        assert!(!check(&aborted, &[(1, &[])], Level::ReadCommitted).is_empty());
        let unfinished = [
            (vec![append(1, 10), append(1, 11)], Committed),
            (vec![read(1, &[10])], Committed),
        ];
        assert!(check(&unfinished, &[(1, &[10, 11])], Level::ReadCommitted)[0].starts_with("G1b"));
        let lost = [(vec![append(1, 10)], Committed)];
        assert!(check(&lost, &[(1, &[])], Level::ReadCommitted)[0].starts_with("lost"));
        // Circular information flow: each read the other's write.
        let circular = [
            (vec![append(1, 10), read(2, &[20])], Committed),
            (vec![append(2, 20), read(1, &[10])], Committed),
        ];
        assert_eq!(check(&circular, &lists, Level::ReadCommitted).len(), 1);
    }
}
