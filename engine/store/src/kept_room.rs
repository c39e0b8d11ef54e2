//! Room in leaves that undoing may need: what a change frees is given to nobody else while the change may be undone.
//!
//! A change that makes a value shorter is undone by putting the longer one back. If others had filled the leaf meanwhile, it would have to be split,
//! and on a full disk there is no page for that. Hence a leaf counts as used what the longest values that may come back to it take. That is
//! counted by key and not by page, so that splits and merges move it without knowing.
//!
//! A commit that is not durable may turn out not to have happened: what it frees is free when it is durable.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_log::Lsn;
use evenkeel_pages::PageId;
use parking_lot::Mutex;

use crate::tree::Tree;
use crate::tree::node::Node;

/// A key, with the tree that it belongs to.
pub(crate) type TreeKey = (Tree, Box<[u8]>);

/// The values of a store that may become longer by being put back.
#[derive(Default)]
pub(crate) struct KeptRoom {
    /// Number of keys, so that who finds none need not lock anything.
    count: AtomicUsize,
    keys: Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    trees: HashMap<PageId, BTreeMap<Box<[u8]>, Value>>,
    /// What transactions kept whose commit, the record given, is not durable yet; the earliest first.
    committed: VecDeque<(Lsn, Vec<TreeKey>)>,
}

/// A value that was made shorter.
#[derive(Debug)]
struct Value {
    /// Bytes it has.
    len: usize,
    /// The most it had before a change that may be undone.
    len_max: usize,
    /// The last transaction that made it shorter, by its number.
    owner: u64,
    /// How many transactions still keep its room.
    holders: usize,
}

impl KeptRoom {
    /// Bytes of `leaf` into which the value of `key` may grow, or its entry be inserted. A page is latched that keeps the leaf from changing.
    #[inline]
    pub(crate) fn free_bytes(&self, leaf: Node<'_>, key: &[u8], flushed: Lsn) -> usize {
        let free = leaf.free_bytes();
        // With one entry there is no splitting, and room enough for any other.
        if self.count.load(Ordering::Acquire) == 0 || leaf.count() < 2 {
            return free;
        }
        self.release_durable(flushed);
        free.saturating_sub(self.kept_bytes(leaf, Some(key)))
    }

    /// Bytes of `leaf` that are kept for values beside that of `own`.
    pub(crate) fn kept_bytes(&self, leaf: Node<'_>, own: Option<&[u8]>) -> usize {
        if self.count.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let keys = self.keys.lock();
        let Some(values) = keys.trees.get(&leaf.tree()) else {
            return 0;
        };
        let high = leaf.high().map_or(Bound::Unbounded, Bound::Excluded);
        let values = values.range::<[u8], _>((Bound::Included(leaf.low()), high));
        let others = values.filter(|&(key, _)| Some(&**key) != own);
        others.map(|(_, value)| value.kept_bytes()).sum()
    }

    /// The value of `key` was changed by the transaction `owner` and had another length before. What is returned is to be
    /// [released](KeptRoom::release) when it ends.
    #[inline]
    pub(crate) fn spliced(
        &self,
        (tree, key): (Tree, &[u8]),
        owner: u64,
        (len_before, len): (usize, usize),
    ) -> Option<TreeKey> {
        if len >= len_before {
            self.changed(tree, key, len);
            return None;
        }
        let mut keys = self.keys.lock();
        let values = keys.trees.entry(tree.root).or_default();
        let value = values.entry(key.into()).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Release);
            Value {
                len,
                len_max: len_before,
                owner: 0,
                holders: 0,
            }
        });
        value.len = len;
        value.len_max = value.len_max.max(len_before);
        if value.owner == owner {
            return None;
        }
        value.owner = owner;
        value.holders += 1;
        Some((tree, key.into()))
    }

    /// The value of `key` has so many bytes now.
    pub(crate) fn changed(&self, tree: Tree, key: &[u8], len: usize) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut keys = self.keys.lock();
        let values = keys.trees.get_mut(&tree.root);
        if let Some(value) = values.and_then(|values| values.get_mut(key)) {
            value.len = len;
        }
    }

    /// A transaction has ended that kept the room of `kept`: undone, or durably committed.
    pub(crate) fn release(&self, kept: Vec<TreeKey>) {
        if !kept.is_empty() {
            self.keys.lock().release(kept, &self.count);
        }
    }

    /// The same for one whose commit record will only be durable when everything up to it is.
    pub(crate) fn release_when_durable(&self, commit: Lsn, kept: Vec<TreeKey>) {
        if !kept.is_empty() {
            let committed = &mut self.keys.lock().committed;
            let place = committed.partition_point(|&(earlier, _)| earlier < commit);
            committed.insert(place, (commit, kept));
        }
    }

    /// Everything up to `flushed` is durable.
    fn release_durable(&self, flushed: Lsn) {
        let mut keys = self.keys.lock();
        let durable = keys
            .committed
            .partition_point(|&(commit, _)| commit <= flushed);
        let kept: Vec<TreeKey> = keys
            .committed
            .drain(..durable)
            .flat_map(|(_, kept)| kept)
            .collect();
        keys.release(kept, &self.count);
    }
}

impl Keys {
    fn release(&mut self, kept: Vec<TreeKey>, count: &AtomicUsize) {
        for (tree, key) in kept {
            let Some(values) = self.trees.get_mut(&tree.root) else {
                continue;
            };
            let Some(value) = values.get_mut(&key) else {
                continue;
            };
            value.holders -= 1;
            if value.holders == 0 {
                values.remove(&key);
                count.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

impl Value {
    fn kept_bytes(&self) -> usize {
        self.len_max.saturating_sub(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::edit::NodeMut;
    use crate::tree::node::{Entry, Frame};

    const TREE: Tree = Tree { root: PageId(2) };

    /// A leaf for the keys from b to d, with entries of b and c.
    fn leaf() -> Vec<u8> {
        let mut page = vec![0; 1000];
        let frame = Frame {
            level: 0,
            tree: TREE.root,
            low: b"b",
            high: Some(b"d"),
        };
        let entry = |key| Entry {
            key,
            value: b"value",
            ghost: false,
        };
        let entries = [entry(&b"b"[..]), entry(b"c")];
        NodeMut(&mut page).format(&frame, entries.into_iter());
        page
    }

    #[test]
    fn what_was_freed_is_free_for_its_own_value_alone() {
        let page = leaf();
        let leaf = Node(&page);
        let all = leaf.free_bytes();
        let room = KeptRoom::default();
        let free = |key: &[u8]| room.free_bytes(leaf, key, Lsn(9));
        let kept = room.spliced((TREE, b"b"), 1, (100, 40));
        assert!(kept.is_some());
        assert_eq!([free(b"b"), free(b"c")], [all, all - 60]);
        // Of a transaction's own changes the longest value counts, and its end is reported once.
        assert!(room.spliced((TREE, b"b"), 1, (40, 120)).is_none());
        assert_eq!(free(b"c"), all);
        assert!(room.spliced((TREE, b"b"), 1, (120, 30)).is_none());
        assert_eq!(free(b"c"), all - 90);
        // Another leaf's, whose keys end where they do or begin with d, and another tree's.
        let elsewhere = [
            (TREE, &b"a"[..]),
            (TREE, b"d"),
            (Tree { root: PageId(3) }, b"b"),
        ];
        for place in elsewhere {
            assert!(room.spliced(place, 2, (500, 0)).is_some());
        }
        assert_eq!(free(b"c"), all - 90);
        room.release(kept.into_iter().collect());
        assert_eq!(free(b"c"), all);
    }

    #[test]
    fn a_commit_that_is_not_durable_may_be_undone() {
        let page = leaf();
        let leaf = Node(&page);
        let all = leaf.free_bytes();
        let room = KeptRoom::default();
        let first = room.spliced((TREE, b"b"), 1, (100, 40));
        room.release_when_durable(Lsn(20), first.into_iter().collect());
        let second = room.spliced((TREE, b"b"), 2, (40, 10));
        room.release_when_durable(Lsn(10), second.into_iter().collect());
        let free = |flushed| room.free_bytes(leaf, b"c", Lsn(flushed));
        assert_eq!([free(9), free(10), free(19)], [all - 90; 3]);
        assert_eq!(free(20), all);
    }
}
