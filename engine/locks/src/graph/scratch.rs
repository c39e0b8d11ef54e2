//! Marks and stacks of a traversal.

use crate::meta::TxnIndex;

/// Working memory of one traversal at a time, kept from one to the next.
#[derive(Default)]
pub(super) struct Scratch {
    stamp: u32,
    /// Per transaction: the traversal that saw it last.
    seen: Vec<u32>,
    pub(super) depth: Vec<u32>,
    pub(super) stack: Vec<TxnIndex>,
}

impl Scratch {
    /// Begins a traversal of a graph of `len` transactions.
    pub(super) fn begin(&mut self, len: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.seen.fill(0);
            self.stamp = 1;
        }
        self.seen.resize(len.max(self.seen.len()), 0);
        self.depth.resize(self.seen.len(), 0);
        self.stack.clear();
    }

    /// Marks `txn`; whether this traversal sees it for the first time.
    pub(super) fn visit(&mut self, txn: TxnIndex) -> bool {
        let seen = &mut self.seen[txn.0 as usize];
        std::mem::replace(seen, self.stamp) != self.stamp
    }
}
