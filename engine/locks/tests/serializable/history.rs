//! Whether a history is serializable, in the manner of Elle (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies
//! from Experimental Observations", VLDB 2020).
//!
//! Every row is a list, a write appends the transaction's number, a read returns the list. The final lists give the
//! order of versions. From it follow the write-write, write-read and read-write dependencies; a serializable history
//! has no cycle of them.

use std::collections::{BTreeMap, BTreeSet};

/// Reads and writes of a committed transaction: per read the row and its list, and per write the list after its
/// append.
pub struct Committed {
    /// Its number, unlike that of any other attempt.
    pub number: u64,
    /// Rows and lists.
    pub seen: Vec<(usize, Vec<u64>)>,
}

/// A violation in a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Anomaly {
    /// A list was seen that no sequence of commits produced: a write of an aborted transaction, or a lost one.
    NeverCommitted { reader: u64, row: usize },
    /// The dependencies of these transactions cannot be ordered.
    Cycle(Vec<u64>),
}

/// Whether some serial order of the transactions explains everything they saw, given the rows' final lists.
pub fn check(committed: &[Committed], rows: &[Vec<u64>]) -> Result<(), Anomaly> {
    unordered(committed, &dependencies(committed, rows)?)
}

/// The order that transactions depend on.
fn dependencies(
    committed: &[Committed],
    rows: &[Vec<u64>],
) -> Result<BTreeMap<u64, BTreeSet<u64>>, Anomaly> {
    let mut edges: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut depends = |from: u64, to: u64| {
        if from != to {
            edges.entry(from).or_default().insert(to);
        }
    };
    for list in rows {
        for pair in list.windows(2) {
            depends(pair[0], pair[1]); // write-write
        }
    }
    for txn in committed {
        for &(row, ref seen) in &txn.seen {
            // Version k was written by the k-th element of the list, version 0 by nobody.
            let list = &rows[row];
            if !list.starts_with(seen) {
                let reader = txn.number;
                return Err(Anomaly::NeverCommitted { reader, row });
            }
            if let Some(&writer) = seen.last() {
                depends(writer, txn.number); // write-read
            }
            if let Some(&next) = list.get(seen.len()) {
                depends(txn.number, next); // read-write
            }
        }
    }
    Ok(edges)
}

/// Kahn's algorithm: what cannot be put in order is on a cycle, or behind one.
fn unordered(committed: &[Committed], edges: &BTreeMap<u64, BTreeSet<u64>>) -> Result<(), Anomaly> {
    let mut indegree: BTreeMap<u64, usize> = committed.iter().map(|txn| (txn.number, 0)).collect();
    for &to in edges.values().flatten() {
        *indegree.entry(to).or_default() += 1;
    }
    let mut ready: Vec<u64> = indegree
        .iter()
        .filter(|entry| *entry.1 == 0)
        .map(|entry| *entry.0)
        .collect();
    while let Some(txn) = ready.pop() {
        indegree.remove(&txn);
        for to in edges.get(&txn).into_iter().flatten() {
            let left = indegree
                .get_mut(to)
                .expect("ordered after its predecessors");
            *left -= 1;
            if *left == 0 {
                ready.push(*to);
            }
        }
    }
    if indegree.is_empty() {
        Ok(())
    } else {
        Err(Anomaly::Cycle(indegree.into_keys().collect()))
    }
}

fn saw(number: u64, seen: &[(usize, &[u64])]) -> Committed {
    let seen = seen.iter().map(|&(row, list)| (row, list.to_vec()));
    Committed {
        number,
        seen: seen.collect(),
    }
}

#[test]
fn a_serial_history_passes() {
    // 1 writes both rows, 2 reads both and writes the second.
    let history = [
        saw(1, &[(0, &[1]), (1, &[1])]),
        saw(2, &[(0, &[1]), (1, &[1]), (1, &[1, 2])]),
    ];
    assert_eq!(check(&history, &[vec![1], vec![1, 2]]), Ok(()));
}

#[test]
fn write_skew_is_a_cycle() {
    // Each reads both empty rows and appends to one: a cycle of two read-write dependencies.
    let history = [
        saw(1, &[(0, &[]), (1, &[]), (0, &[1])]),
        saw(2, &[(0, &[]), (1, &[]), (1, &[2])]),
    ];
    let anomaly = check(&history, &[vec![1], vec![2]]);
    assert_eq!(anomaly, Err(Anomaly::Cycle(vec![1, 2])));
}

#[test]
fn a_lost_update_is_a_cycle() {
    // Both read the empty row before either appends.
    let history = [
        saw(1, &[(0, &[]), (0, &[1])]),
        saw(2, &[(0, &[]), (0, &[1, 2])]),
    ];
    let anomaly = check(&history, &[vec![1, 2]]);
    assert_eq!(anomaly, Err(Anomaly::Cycle(vec![1, 2])));
}

#[test]
fn a_phantom_is_a_cycle() {
    // 1 scans an empty row and a row 2 has written; 2 wrote the first one, too.
    let history = [
        saw(1, &[(0, &[]), (1, &[2])]),
        saw(2, &[(0, &[2]), (1, &[2])]),
    ];
    let anomaly = check(&history, &[vec![2], vec![2]]);
    assert_eq!(anomaly, Err(Anomaly::Cycle(vec![1, 2])));
}

#[test]
fn a_write_that_was_undone_must_not_be_seen() {
    let history = [saw(1, &[(0, &[9])])];
    let expected = Anomaly::NeverCommitted { reader: 1, row: 0 };
    assert_eq!(check(&history, &[vec![]]), Err(expected));
}
