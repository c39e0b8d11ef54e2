//! Locks of transactions: on rows, gaps between keys, values of unique indexes.
//!
//! * **Rows.** A row's lock is named by its primary key, whether the row exists or not. Readers hold `S`, writers `X`. An index's
//!   entries have no locks of their own: whoever changes one holds the lock of its row (data-only locking, Mohan and Levine,
//!   "ARIES/IM", SIGMOD 1992).
//! * **Gaps.** The open interval below a key, down to the key before it, is named by that key. The last gap of a leaf
//!   is named by its high fence, which was a key when the leaf was split off; the last of the tree, by its end. A
//!   serializable scan holds `S` on every gap it passed (next-key locking). An insertion asks for `IX` for a moment,
//!   so it conflicts with a scan but not with another insertion. Rows and gaps have different names because an
//!   insertion must not wait for the writer of the next row.
//! * **Unique values.** A writer that adds or removes an entry of a unique index holds `X` on the values.
//! * **Tables.** Whoever locks anything of a table holds `IS` or `IX` on the table. A transaction with very many locks replaces
//!   those of a table by `S` or `X` on the whole of it ([`crate::escalation`]).
//!
//! A deleted entry stays as a ghost and can be locked. It is removed after the commit, when no transaction holds its
//! row or the gap below it ([`crate::purge`]). So gaps never grow under a scan that relies on them, and neither
//! deletion nor rollback locks gaps.
//!
//! A name holds a hash of the key, not the key: two keys of one hash are locked together, which is safe and rare.

use std::hash::BuildHasher;

use evenkeel_pages::PageId;
use foldhash::fast::FixedState;

use crate::tree::Tree;
use crate::tree::node::Node;

/// The name of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockName {
    /// The root's page of the tree, and what kind of thing of it.
    object: u64,
    /// Hash of the key.
    key: u64,
}

/// Kinds of things locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum LockKind {
    /// A row, existing or not.
    Row = 0,
    /// The gap below a key.
    Gap = 1,
    /// The values of a unique index.
    Unique = 2,
    /// The right to change the catalog.
    Catalog = 3,
    /// A table with all rows, gaps and unique values of it.
    Table = 4,
}

const KINDS: [LockKind; 5] = [
    LockKind::Row,
    LockKind::Gap,
    LockKind::Unique,
    LockKind::Catalog,
    LockKind::Table,
];
/// Bits of a name's object that say which kind it is.
const KIND_BITS: u32 = 3;

impl LockName {
    fn new(kind: LockKind, tree: Tree, key: &[u8]) -> LockName {
        LockName {
            object: tree.root.0 << KIND_BITS | kind as u64,
            key: FixedState::default().hash_one(key),
        }
    }

    pub(crate) fn row(table: Tree, primary_key: &[u8]) -> LockName {
        LockName::new(LockKind::Row, table, primary_key)
    }

    /// The gap below `key`, or after the last key.
    pub(crate) fn gap(tree: Tree, key: Option<&[u8]>) -> LockName {
        match key {
            Some(key) => LockName::new(LockKind::Gap, tree, key),
            // No entry has the empty key.
            None => LockName::new(LockKind::Gap, tree, &[]),
        }
    }

    /// The gap in which a key that would be inserted as `slot` lies.
    pub(crate) fn gap_at(tree: Tree, leaf: Node<'_>, slot: usize) -> LockName {
        if slot < leaf.count() {
            return LockName::gap(tree, Some(leaf.key(slot)));
        }
        LockName::gap(tree, leaf.high())
    }

    pub(crate) fn unique(index: Tree, values: &[u8]) -> LockName {
        LockName::new(LockKind::Unique, index, values)
    }

    /// The table whose primary tree this is.
    pub(crate) fn table(table: Tree) -> LockName {
        LockName::new(LockKind::Table, table, &[])
    }

    pub(crate) fn catalog() -> LockName {
        LockName {
            object: LockKind::Catalog as u64,
            key: 0,
        }
    }

    /// The kind of lock.
    pub fn kind(&self) -> LockKind {
        KINDS[(self.object & ((1 << KIND_BITS) - 1)) as usize]
    }

    /// The page of the root of the tree it belongs to.
    pub fn root(&self) -> PageId {
        PageId(self.object >> KIND_BITS)
    }
}

/// The duration of a lock, as in ARIES/IM (Mohan and Levine, SIGMOD 1992).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockDuration {
    /// Until the row is read: read committed.
    Instant,
    /// Until the transaction ends.
    Commit,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::edit::NodeMut;
    use crate::tree::node::{Entry, NodeHeader};

    #[test]
    fn names_differ_by_kind_tree_and_key() {
        let (a, b) = (Tree { root: PageId(1) }, Tree { root: PageId(2) });
        let names = [
            LockName::row(a, b"k"),
            LockName::row(b, b"k"),
            LockName::row(a, b"l"),
            LockName::gap(a, Some(b"k")),
            LockName::gap(a, None),
            LockName::unique(a, b"k"),
            LockName::table(a),
            LockName::catalog(),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name));
        }
        assert_eq!(names[3].kind(), LockKind::Gap);
        assert_eq!(names[6].kind(), LockKind::Table);
        assert_eq!(names[1].root(), PageId(2));
    }

    #[test]
    fn a_gap_is_named_by_the_key_above_or_the_fence() {
        let tree = Tree { root: PageId(1) };
        let mut body = vec![0; 600];
        let entries = [b"b", b"d"].map(|key| Entry {
            key,
            value: b"",
            ghost: false,
        });
        let header = NodeHeader {
            level: 0,
            tree: tree.root,
            low: b"",
            high: Some(b"f"),
        };
        NodeMut(&mut body).format(&header, entries.into_iter());
        for (key, above) in [(b"a", b"b"), (b"c", b"d"), (b"e", b"f")] {
            let slot = Node(&body).search(key).unwrap_err();
            assert_eq!(
                LockName::gap_at(tree, Node(&body), slot),
                LockName::gap(tree, Some(above))
            );
        }
    }
}
