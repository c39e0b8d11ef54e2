//! B+trees over pages.
//!
//! A tree is known by the page of its root, which never changes. All entries are in the leaves. Every node knows its
//! *fences*, the bounds of its keys; there are no links between siblings: whoever reaches the end of a leaf descends again to
//! its fence.
//!
//! Latches are coupled from parent to child (Bayer and Schkolnick, "Concurrency of Operations on B-Trees", 1977). The
//! descent latches inner nodes shared and only the node to change exclusively, hoping that it has room ([`descend`]).
//! Where it has not, [`structure`] latches a parent and its child exclusively and splits the child. Latches are taken
//! top down, and among siblings left to right, so they cannot deadlock. No thread waits for a lock while it holds a
//! latch.

pub(crate) mod change;
pub(crate) mod descend;
pub(crate) mod edit;
pub(crate) mod node;
pub(crate) mod structure;

use evenkeel_pages::PageId;

/// A tree, by the page of its root.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tree {
    pub(crate) root: PageId,
}
