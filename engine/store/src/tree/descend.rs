//! From the root to the node that holds a key.

use evenkeel_pages::{PageId, PageRead, PageWrite, Pool};

use crate::error::StoreError;
use crate::tree::Tree;
use crate::tree::node::Node;

/// Which leaf to go to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seek<'k> {
    /// The leaf whose fences include the key.
    At(&'k [u8]),
    /// The leaf that holds the keys just below this one; without a key, the last leaf.
    Below(Option<&'k [u8]>),
}

impl Seek<'_> {
    fn child_slot(self, node: Node<'_>) -> usize {
        match self {
            Seek::At(key) => node.child_slot(key),
            Seek::Below(Some(key)) => node.child_slot_below(key),
            Seek::Below(None) => node.count().saturating_sub(1),
        }
    }

    fn is_covered_by(self, node: Node<'_>) -> bool {
        match self {
            Seek::At(key) => node.covers(key),
            // The first leaf has nothing below its low fence, and is where such a search ends.
            Seek::Below(Some(key)) => {
                (node.low() < key || node.low().is_empty())
                    && node.high().is_none_or(|high| key <= high)
            }
            Seek::Below(None) => node.high().is_none(),
        }
    }
}

impl Tree {
    /// Latches the leaf for reading.
    ///
    /// # Errors
    /// If a page cannot be read or does not belong where it was found.
    pub(crate) fn leaf_to_read<'p>(
        self,
        pool: &'p Pool,
        seek: Seek<'_>,
    ) -> Result<PageRead<'p>, StoreError> {
        let mut page = pool.read(self.root)?;
        self.check(self.root, Node(&page), seek, None)?;
        while !Node(&page).is_leaf() {
            let (child, level) = self.child(page.id(), Node(&page), seek)?;
            let next = pool.read(child)?;
            self.check(child, Node(&next), seek, Some(level))?;
            page = next;
        }
        Ok(page)
    }

    /// Latches the leaf of `key` for writing, inner nodes only shared.
    ///
    /// # Errors
    /// As [`leaf_to_read`](Tree::leaf_to_read).
    pub(crate) fn leaf_to_write<'p>(
        self,
        pool: &'p Pool,
        key: &[u8],
    ) -> Result<PageWrite<'p>, StoreError> {
        let leaf = self.node_to_write(pool, key, 0)?;
        leaf.ok_or(StoreError::CorruptPage {
            page: self.root,
            what: "a tree without leaves",
        })
    }

    /// Latches the node of `key` on a level for writing; `None` if the root is below that level.
    pub(crate) fn node_to_write<'p>(
        self,
        pool: &'p Pool,
        key: &[u8],
        level: u8,
    ) -> Result<Option<PageWrite<'p>>, StoreError> {
        let seek = Seek::At(key);
        loop {
            let mut page = pool.read(self.root)?;
            self.check(self.root, Node(&page), seek, None)?;
            if Node(&page).level() < level {
                return Ok(None);
            }
            if Node(&page).level() == level {
                drop(page);
                let page = pool.write(self.root)?;
                self.check(self.root, Node(&page), seek, None)?;
                // It may have gained or lost a level since.
                if Node(&page).level() == level {
                    return Ok(Some(page));
                }
                continue;
            }
            loop {
                let (child, child_level) = self.child(page.id(), Node(&page), seek)?;
                if child_level == level {
                    let found = pool.write(child)?;
                    self.check(child, Node(&found), seek, Some(level))?;
                    return Ok(Some(found));
                }
                let next = pool.read(child)?;
                self.check(child, Node(&next), seek, Some(child_level))?;
                page = next;
            }
        }
    }

    /// The child to go to and its level.
    fn child(
        self,
        page: PageId,
        node: Node<'_>,
        seek: Seek<'_>,
    ) -> Result<(PageId, u8), StoreError> {
        let corrupt = || StoreError::CorruptPage {
            page,
            what: "an inner node without children",
        };
        if node.count() == 0 || node.is_leaf() {
            return Err(corrupt());
        }
        let child = node.child(seek.child_slot(node)).ok_or_else(corrupt)?;
        Ok((child, node.level() - 1))
    }

    /// Whether the page is the node its parent says: a page that was lost or misplaced on the disk has a checksum, too.
    fn check(
        self,
        page: PageId,
        node: Node<'_>,
        seek: Seek<'_>,
        level: Option<u8>,
    ) -> Result<(), StoreError> {
        let what = if !node.is_node() {
            "not a node of a tree"
        } else if node.tree() != self.root {
            "a node of another tree"
        } else if level.is_some_and(|level| level != node.level()) {
            "a node of another level"
        } else if !seek.is_covered_by(node) {
            "a node of other keys"
        } else {
            return Ok(());
        };
        Err(StoreError::CorruptPage { page, what })
    }
}
