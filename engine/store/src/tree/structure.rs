//! Splits and merges of nodes.
//!
//! Each is one log record over all pages it changes, allocation included, so it is atomic. It is never undone, even
//! if the transaction that needed it rolls back.
//!
//! A split's separator is always a key of the node. Gaps between keys are locked by the key above them (see
//! [`crate::locking`]), and the fence must name an existing gap.

use evenkeel_log::{Depends, Lsn};
use evenkeel_pages::{PageId, PageWrite};

use crate::error::StoreError;
use crate::storage::{Storage, apply};
use crate::tree::Tree;
use crate::tree::change::{Change, Entries};
use crate::tree::node::{Entry, Node, NodeHeader, entry_bytes};

/// A node whose entries use less of its body than this fraction is merged with a neighbour...
const UNDERFULL: f64 = 0.25;
/// ...if both together use no more than this, or one of them is empty.
const MERGED_MAX: f64 = 0.75;

/// Whether a node has so little in it that [`Tree::merge`] is worth trying. Its fences do not count: long ones are more than little by
/// themselves.
pub(crate) fn is_underfull(node: Node<'_>) -> bool {
    let fences = node.low().len() + node.high().map_or(0, <[u8]>::len);
    let entries = node.used_bytes() - fences;
    (entries as f64) < UNDERFULL * node.0.len() as f64
}

impl Tree {
    /// Makes a new tree with one empty leaf. `log` appends the record of the changes given, which depend on the LSN given.
    pub(crate) fn create<'p>(
        storage: &'p Storage,
        log: impl FnOnce(PageId, &[(PageId, Change<'_>)], Lsn) -> Result<Lsn, StoreError>,
    ) -> Result<Tree, StoreError> {
        let mut logged = Lsn::ZERO;
        let header = |tree| NodeHeader {
            level: 0,
            tree,
            low: &[],
            high: None,
        };
        let mut buffer = Vec::new();
        let entries = Entries::collect(std::iter::empty(), &mut buffer);
        let mut page: PageWrite<'p> = storage.pool.allocate(|allocation| {
            let change = Change::Format {
                header: header(allocation.pages[0]),
                entries,
            };
            logged = log(
                allocation.pages[0],
                &[(allocation.pages[0], change)],
                allocation.map_lsn,
            )?;
            Ok::<Lsn, StoreError>(logged)
        })?;
        let root = page.id();
        apply(
            &mut page,
            &Change::Format {
                header: header(root),
                entries,
            },
            logged,
        );
        Ok(Tree { root })
    }

    /// Splits nodes until that of `key` on `level` has `needed` bytes free.
    pub(crate) fn make_room(
        self,
        storage: &Storage,
        key: &[u8],
        level: u8,
        needed: usize,
    ) -> Result<(), StoreError> {
        loop {
            let Some(mut parent) = self.node_to_write(&storage.pool, key, level + 1)? else {
                let root = storage.pool.write(self.root)?;
                if Node(&root).level() == level {
                    if Node(&root).free_bytes() >= needed {
                        return Ok(());
                    }
                    self.grow(storage, root)?;
                }
                continue;
            };
            let slot = Node(&parent).child_slot(key);
            let mut child = self.child_to_write(storage, &parent, slot)?;
            if Node(&child).free_bytes() >= needed {
                return Ok(());
            }
            let at = split_slot(Node(&child), key);
            let separator_bytes = entry_bytes(Node(&child).key(at).len(), size_of::<u64>());
            if Node(&parent).free_bytes() >= separator_bytes {
                split(storage, &mut parent, slot, &mut child, at)?;
                continue;
            }
            drop(child);
            drop(parent);
            self.make_room(storage, key, level + 1, separator_bytes)?;
        }
    }

    fn child_to_write<'p>(
        self,
        storage: &'p Storage,
        parent: &PageWrite<'_>,
        slot: usize,
    ) -> Result<PageWrite<'p>, StoreError> {
        let corrupt = |what| StoreError::CorruptPage {
            page: parent.id(),
            what,
        };
        let child = Node(parent)
            .child(slot)
            .ok_or(corrupt("an inner node without children"))?;
        let page = storage.pool.write(child)?;
        let node = Node(&page);
        if !node.is_node() || node.tree() != self.root || node.level() + 1 != Node(parent).level() {
            return Err(StoreError::CorruptPage {
                page: child,
                what: "not the node its parent says",
            });
        }
        Ok(page)
    }

    /// Gives the tree a level: all the root has goes to a new child.
    fn grow(self, storage: &Storage, mut root: PageWrite<'_>) -> Result<(), StoreError> {
        let mut moved = Vec::new();
        let entries = Entries::collect(Node(&root).entries(), &mut moved);
        let old = root.to_vec();
        let header = Node(&old).header();
        let above = NodeHeader {
            level: header.level + 1,
            ..header
        };
        let root_lsn = root.lsn();
        let mut logged = Lsn::ZERO;
        let mut link = Vec::new();
        let mut child = storage.pool.allocate(|allocation| {
            let value = allocation.pages[0].0.to_le_bytes();
            let entry = Entry {
                key: header.low,
                value: &value,
                ghost: false,
            };
            let changes = [
                (allocation.pages[0], Change::Format { header, entries }),
                (
                    self.root,
                    Change::Replace {
                        header: above,
                        entries: Entries::collect([entry].into_iter(), &mut link),
                    },
                ),
            ];
            logged =
                storage.append_structure(&changes, Depends::On(&[root_lsn, allocation.map_lsn]))?;
            Ok::<Lsn, StoreError>(logged)
        })?;
        apply(&mut child, &Change::Format { header, entries }, logged);
        apply(
            &mut root,
            &Change::Replace {
                header: above,
                entries: Entries(&link),
            },
            logged,
        );
        Ok(())
    }

    /// Merges the node of `key` on `level` with a neighbour if both fit in one, and so on upwards. `may_join` is asked, for
    /// leaves, whether the fence between them may disappear.
    pub(crate) fn merge(
        self,
        storage: &Storage,
        key: &[u8],
        mut may_join: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        for level in 0..u8::MAX {
            let Some(mut parent) = self.node_to_write(&storage.pool, key, level + 1)? else {
                return Ok(());
            };
            if Node(&parent).count() < 2 {
                if parent.id() == self.root {
                    return self.shrink(storage, parent);
                }
                continue;
            }
            let slot = Node(&parent).child_slot(key);
            let last = Node(&parent).count() - 1;
            let mut joined = false;
            for left in [slot.checked_sub(1), Some(slot).filter(|&slot| slot < last)]
                .into_iter()
                .flatten()
            {
                joined = joined || self.join_if_small(storage, &mut parent, left, &mut may_join)?;
            }
            if !joined {
                return Ok(());
            }
            if parent.id() == self.root {
                return self.shrink(storage, parent);
            }
            if !is_underfull(Node(&parent)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Merges the children in `slot` of `parent` and after it, if they fit in one node; whether they did.
    fn join_if_small(
        self,
        storage: &Storage,
        parent: &mut PageWrite<'_>,
        slot: usize,
        may_join: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, StoreError> {
        let left = self.child_to_write(storage, parent, slot)?;
        let right = self.child_to_write(storage, parent, slot + 1)?;
        let (first, second) = (Node(&left), Node(&right));
        // The fence between them goes.
        let fences = 2 * second.low().len();
        let together = first.used_bytes() + second.used_bytes() - fences;
        let is_empty = first.count() == 0 || second.count() == 0;
        let body = left.len() as f64;
        let fits = together as f64 <= MERGED_MAX * body
            || is_empty && together <= first.free_bytes() + first.used_bytes();
        if !fits || (first.is_leaf() && !may_join(second.low())) {
            return Ok(false);
        }
        join(storage, parent, slot, left, right)?;
        Ok(true)
    }

    /// Takes the tree a level if its root, `parent`, has one child: all the child has goes to the root.
    fn shrink(self, storage: &Storage, mut parent: PageWrite<'_>) -> Result<(), StoreError> {
        if Node(&parent).count() != 1 {
            return Ok(());
        }
        let child = self.child_to_write(storage, &parent, 0)?;
        let (child_id, child_lsn, old) = (child.id(), child.lsn(), child.to_vec());
        // Nobody can be on the way to it: that way leads over the latched parent.
        drop(child);
        let mut buffer = Vec::new();
        let entries = Entries::collect(Node(&old).entries(), &mut buffer);
        let change = Change::Replace {
            header: Node(&old).header(),
            entries,
        };
        let parent_lsn = parent.lsn();
        let mut logged = Lsn::ZERO;
        storage.pool.free(child_id, |allocation| {
            let changes = [(self.root, change.clone()), (child_id, Change::Free)];
            let depends = [parent_lsn, child_lsn, allocation.map_lsn];
            logged = storage.append_structure(&changes, Depends::On(&depends))?;
            Ok::<Lsn, StoreError>(logged)
        })?;
        apply(&mut parent, &change, logged);
        Ok(())
    }
}

/// Where to split a node without room for `key`: in the middle of its bytes, or before its last entry if `key` is
/// greater than all others. So ascending keys leave full nodes.
fn split_slot(node: Node<'_>, key: &[u8]) -> usize {
    let last = node.count() - 1;
    if key > node.key(last) {
        return last;
    }
    let half = node.entries().map(|entry| entry.bytes()).sum::<usize>() / 2;
    let mut bytes = 0;
    let middle = node.entries().position(|entry| {
        bytes += entry.bytes();
        bytes > half
    });
    middle.unwrap_or(last).clamp(1, last)
}

/// Moves the entries from `at` on of `child`, which is in `slot` of `parent`, to a new node after it.
fn split(
    storage: &Storage,
    parent: &mut PageWrite<'_>,
    slot: usize,
    child: &mut PageWrite<'_>,
    at: usize,
) -> Result<(), StoreError> {
    let old = child.to_vec();
    let node = Node(&old);
    let separator = node.key(at);
    let header = NodeHeader {
        low: separator,
        ..node.header()
    };
    let mut buffer = Vec::new();
    let entries = Entries::collect(node.entries().skip(at), &mut buffer);
    let cut = Change::Truncate {
        count: at as u16,
        high: separator,
    };
    let (child_id, parent_id) = (child.id(), parent.id());
    let (child_lsn, parent_lsn) = (child.lsn(), parent.lsn());
    let mut logged = Lsn::ZERO;
    let mut right = storage.pool.allocate(|allocation| {
        let value = allocation.pages[0].0.to_le_bytes();
        let changes = [
            (child_id, cut.clone()),
            (allocation.pages[0], Change::Format { header, entries }),
            (parent_id, link(slot, separator, &value)),
        ];
        let depends = [parent_lsn, child_lsn, allocation.map_lsn];
        logged = storage.append_structure(&changes, Depends::On(&depends))?;
        Ok::<Lsn, StoreError>(logged)
    })?;
    let value = right.id().0.to_le_bytes();
    apply(&mut right, &Change::Format { header, entries }, logged);
    apply(child, &cut, logged);
    apply(parent, &link(slot, separator, &value), logged);
    Ok(())
}

/// Makes the page in `value` the child after `slot`, for the keys from `separator` on.
fn link<'c>(slot: usize, separator: &'c [u8], value: &'c [u8]) -> Change<'c> {
    let entry = Entry {
        key: separator,
        value,
        ghost: false,
    };
    Change::Insert {
        slot: slot as u16 + 1,
        entry,
    }
}

/// Moves everything of `right`, the child after `slot` of `parent`, to `left` and frees it.
fn join(
    storage: &Storage,
    parent: &mut PageWrite<'_>,
    slot: usize,
    mut left: PageWrite<'_>,
    right: PageWrite<'_>,
) -> Result<(), StoreError> {
    let (right_id, right_lsn, old) = (right.id(), right.lsn(), right.to_vec());
    // Nobody can be on the way to it: that way leads over the latched parent.
    drop(right);
    let node = Node(&old);
    let mut buffer = Vec::new();
    let absorb = Change::Absorb {
        high: node.high(),
        entries: Entries::collect(node.entries(), &mut buffer),
    };
    let unlink = Change::Remove {
        slot: slot as u16 + 1,
    };
    let (left_id, parent_id) = (left.id(), parent.id());
    let (left_lsn, parent_lsn) = (left.lsn(), parent.lsn());
    let mut logged = Lsn::ZERO;
    storage.pool.free(right_id, |allocation| {
        let changes = [
            (left_id, absorb.clone()),
            (parent_id, unlink.clone()),
            (right_id, Change::Free),
        ];
        let depends = [parent_lsn, left_lsn, right_lsn, allocation.map_lsn];
        logged = storage.append_structure(&changes, Depends::On(&depends))?;
        Ok::<Lsn, StoreError>(logged)
    })?;
    apply(&mut left, &absorb, logged);
    apply(parent, &unlink, logged);
    Ok(())
}
