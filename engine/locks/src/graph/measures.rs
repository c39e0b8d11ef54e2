//! Measures that schedules take by searching the graph: dependency sets, depth, blocking locks (dissertation section
//! 4.3).

use super::vertices::{Graph, TxnNode};
use crate::meta::{QueueIndex, TxnIndex};
use crate::modes::Mode;

impl Graph {
    /// `|g(txn)|`: how many transactions, itself included, wait for `txn` directly or through others.
    pub fn dependency_set_size(&self, txn: TxnIndex) -> u64 {
        self.dependency_union().add(txn)
    }

    /// Measures the union of dependency sets, one transaction at a time.
    pub fn dependency_union(&self) -> DependencyUnion<'_> {
        self.scratch.borrow_mut().begin(self.txns.len());
        DependencyUnion {
            graph: self,
            size: 0,
        }
    }

    /// Calls `visit` once for every member of the union of the dependency sets of `txns`, themselves included.
    pub fn for_dependency_set(
        &self,
        txns: impl Iterator<Item = TxnIndex>,
        mut visit: impl FnMut(&TxnNode),
    ) {
        let mut scratch = self.scratch.borrow_mut();
        scratch.begin(self.txns.len());
        for txn in txns {
            if scratch.visit(txn) {
                scratch.stack.push(txn);
            }
        }
        while let Some(txn) = scratch.stack.pop() {
            visit(self.txn(txn));
            self.for_dependents(txn, |dependent| {
                if scratch.visit(dependent) {
                    scratch.stack.push(dependent);
                }
            });
        }
    }

    /// Number of transactions on the longest path that ends in `txn`, itself included (section 4.3.1).
    pub fn depth(&self, txn: TxnIndex) -> u32 {
        let mut scratch = self.scratch.borrow_mut();
        scratch.begin(self.txns.len());
        scratch.visit(txn);
        let dependents = |txn: TxnIndex| {
            let mut found = Vec::new();
            self.for_dependents(txn, |dependent| found.push(dependent));
            found
        };
        // Depth first without recursion: chains may be longer than a stack is deep.
        let mut path = vec![(txn, dependents(txn), 0)];
        loop {
            let (top, rest, deepest) = path
                .last_mut()
                .expect("the path ends with the transaction itself");
            if let Some(dependent) = rest.pop() {
                if scratch.visit(dependent) {
                    path.push((dependent, dependents(dependent), 0));
                } else {
                    *deepest = (*deepest).max(scratch.depth[dependent.0 as usize]);
                }
                continue;
            }
            let (top, depth) = (*top, *deepest + 1);
            scratch.depth[top.0 as usize] = depth;
            path.pop();
            match path.last_mut() {
                Some((_, _, deepest)) => *deepest = (*deepest).max(depth),
                None => return depth,
            }
        }
    }

    /// Number of locks of `txn` that have a waiter (section 4.3.1).
    pub fn blocking_locks(&self, txn: TxnIndex) -> u32 {
        let blocks = |&&(index, held): &&(QueueIndex, Mode)| {
            let queue = self.queue(index);
            let blocking = queue.blocking_modes();
            queue
                .waiting_modes()
                .iter()
                .any(|mode| blocking[mode as usize].contains(held))
                || queue
                    .upgrading()
                    .iter()
                    .any(|w| w.txn != txn && !w.mode.compatible(held))
        };
        self.txn(txn).holds.iter().filter(blocks).count() as u32
    }
}

/// The union of the dependency sets of the transactions added so far.
pub struct DependencyUnion<'a> {
    graph: &'a Graph,
    size: u64,
}

impl DependencyUnion<'_> {
    /// Adds the dependency set of `txn`; returns the size of the union so far.
    pub fn add(&mut self, txn: TxnIndex) -> u64 {
        let mut scratch = self.graph.scratch.borrow_mut();
        if scratch.visit(txn) {
            scratch.stack.push(txn);
        }
        while let Some(txn) = scratch.stack.pop() {
            self.size += 1;
            self.graph.for_dependents(txn, |dependent| {
                if scratch.visit(dependent) {
                    scratch.stack.push(dependent);
                }
            });
        }
        self.size
    }

    /// Leaves `txn` and what is reached only through it out of what is counted from now on.
    pub fn exclude(&mut self, txn: TxnIndex) {
        self.graph.scratch.borrow_mut().visit(txn);
    }

    /// Size of the union so far.
    pub fn size(&self) -> u64 {
        self.size
    }
}
