//! The layout of a B+tree node in the body of a page.
//!
//! ```text
//!  0  kind        u8   1: a node (a page never used is zero)
//!  1  level       u8   0: leaf
//!  2  count       u16  entries
//!  4  heap        u16  where the heap begins; it ends with the body
//!  6  dead        u16  bytes of the heap no entry or fence uses
//!  8  tree        u64  page of the tree's root
//! 16  low fence   u16 offset, u16 length     no key of the node is smaller
//! 20  high fence  u16 offset, u16 length     every key is smaller; length FFFF: there is no bound
//! 24  prefix      u16  bytes that low and high fence, and so all keys, begin with
//! 26  slots       u16 offset of each entry, u32 its key's head, in the order of the keys
//!     ...free...
//!     heap: entries  u16 key length (top bit: ghost), u16 value length, key, value
//! ```
//! In an inner node the value is the child's page (u64) and the key is the child's low fence. So the first key is the
//! node's low fence. Integers are little endian. Which bytes of the heap an entry gets is not logged and not the same
//! after recovery: log records name slots.
//!
//! A key's *head* is its first four bytes after the prefix, as a number with the same order (Graefe and Larson,
//! "B-Tree Indexes and CPU Caches", ICDE 2001: poor man's normalized keys). A search reads entries only where heads
//! are equal.

use std::cmp::Ordering;

use evenkeel_pages::PageId;

/// Bytes before the slots.
pub(super) const HEADER_BYTES: usize = 26;
/// Bytes of an entry beside its key and value.
pub(super) const ENTRY_BYTES: usize = 4;
/// Bytes of a slot.
pub(super) const SLOT_BYTES: usize = 6;
pub(super) const KIND_NODE: u8 = 1;
pub(super) const GHOST: u16 = 0x8000;
pub(super) const UNBOUNDED: u16 = 0xFFFF;

pub(super) const COUNT: usize = 2;
pub(super) const HEAP: usize = 4;
pub(super) const DEAD: usize = 6;
pub(super) const TREE: usize = 8;
pub(super) const LOW: usize = 16;
pub(super) const HIGH: usize = 20;
pub(super) const PREFIX: usize = 24;

/// An entry to store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry<'e> {
    pub(crate) key: &'e [u8],
    pub(crate) value: &'e [u8],
    /// Deleted, but still there to be locked and to be undeleted without needing space.
    pub(crate) ghost: bool,
}

impl Entry<'_> {
    /// Bytes it takes in a node, its slot included.
    pub(crate) fn bytes(&self) -> usize {
        entry_bytes(self.key.len(), self.value.len())
    }
}

/// Bytes an entry takes in a node, its slot included.
pub(crate) fn entry_bytes(key_len: usize, value_len: usize) -> usize {
    SLOT_BYTES + ENTRY_BYTES + key_len + value_len
}

/// The most bytes an entry may take, so that a node holds at least four beside two fences of that size.
pub(crate) fn entry_bytes_max(body_bytes: usize) -> usize {
    (body_bytes - HEADER_BYTES) / 6
}

/// The parts of a node other than its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeHeader<'f> {
    pub(crate) level: u8,
    pub(crate) tree: PageId,
    pub(crate) low: &'f [u8],
    pub(crate) high: Option<&'f [u8]>,
}

impl NodeHeader<'_> {
    /// Whether a body of this size holds the fences and `entries`.
    pub(crate) fn holds<'e>(
        &self,
        entries: impl Iterator<Item = Entry<'e>>,
        body_bytes: usize,
    ) -> bool {
        let fences = self.low.len() + self.high.map_or(0, <[u8]>::len);
        HEADER_BYTES + fences + entries.map(|entry| entry.bytes()).sum::<usize>() <= body_bytes
    }
}

/// A node to read, over a page's body.
#[derive(Clone, Copy)]
pub(crate) struct Node<'p>(pub(crate) &'p [u8]);

impl<'p> Node<'p> {
    pub(super) fn u16(self, at: usize) -> usize {
        usize::from(u16::from_le_bytes([self.0[at], self.0[at + 1]]))
    }

    /// Whether the page holds a node.
    pub(crate) fn is_node(self) -> bool {
        self.0[0] == KIND_NODE
    }

    pub(crate) fn level(self) -> u8 {
        self.0[1]
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Number of entries, ghosts included.
    pub(crate) fn count(self) -> usize {
        self.u16(COUNT)
    }

    pub(crate) fn tree(self) -> PageId {
        PageId(u64::from_le_bytes(
            self.0[TREE..TREE + 8].try_into().expect("eight bytes"),
        ))
    }

    pub(crate) fn low(self) -> &'p [u8] {
        let (at, len) = (self.u16(LOW), self.u16(LOW + 2));
        &self.0[at..at + len]
    }

    pub(crate) fn high(self) -> Option<&'p [u8]> {
        let (at, len) = (self.u16(HIGH), self.u16(HIGH + 2));
        (len != usize::from(UNBOUNDED)).then(|| &self.0[at..at + len])
    }

    pub(crate) fn header(self) -> NodeHeader<'p> {
        NodeHeader {
            level: self.level(),
            tree: self.tree(),
            low: self.low(),
            high: self.high(),
        }
    }

    /// Whether `key` lies between the fences.
    pub(crate) fn covers(self, key: &[u8]) -> bool {
        self.low() <= key && self.high().is_none_or(|high| key < high)
    }

    pub(super) fn slot(self, slot: usize) -> usize {
        self.u16(HEADER_BYTES + SLOT_BYTES * slot)
    }

    pub(crate) fn key(self, slot: usize) -> &'p [u8] {
        let at = self.slot(slot);
        let len = self.u16(at) & usize::from(!GHOST);
        &self.0[at + ENTRY_BYTES..at + ENTRY_BYTES + len]
    }

    pub(crate) fn entry(self, slot: usize) -> Entry<'p> {
        let at = self.slot(slot);
        let (key_len, value_len) = (self.u16(at), self.u16(at + 2));
        let (key_len, ghost) = (
            key_len & usize::from(!GHOST),
            key_len & usize::from(GHOST) != 0,
        );
        let key_at = at + ENTRY_BYTES;
        Entry {
            key: &self.0[key_at..key_at + key_len],
            value: &self.0[key_at + key_len..key_at + key_len + value_len],
            ghost,
        }
    }

    pub(crate) fn entries(self) -> impl Iterator<Item = Entry<'p>> {
        (0..self.count()).map(move |slot| self.entry(slot))
    }

    fn head(self, slot: usize) -> u32 {
        let at = HEADER_BYTES + SLOT_BYTES * slot + 2;
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    /// The slot of `key`, or where it would be inserted.
    pub(crate) fn search(self, key: &[u8]) -> Result<usize, usize> {
        let prefix = self.u16(PREFIX);
        let Some(rest) = key.strip_prefix(&self.low()[..prefix]) else {
            return Err(if key < self.low() { 0 } else { self.count() });
        };
        let head = head_of(rest);
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = (low + high) / 2;
            let order = self.head(middle).cmp(&head);
            match order.then_with(|| self.key(middle)[prefix..].cmp(rest)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The child of an inner node in `slot`.
    pub(crate) fn child(self, slot: usize) -> Option<PageId> {
        self.entry(slot)
            .value
            .try_into()
            .ok()
            .map(|bytes| PageId(u64::from_le_bytes(bytes)))
    }

    /// The slot of the child whose keys include `key`.
    pub(crate) fn child_slot(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(slot) => slot,
            Err(slot) => slot.saturating_sub(1),
        }
    }

    /// The slot of the child whose keys include the greatest one below `key`.
    pub(crate) fn child_slot_below(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(slot) | Err(slot) => slot.saturating_sub(1),
        }
    }

    /// Bytes free, in one piece or not.
    pub(crate) fn free_bytes(self) -> usize {
        self.contiguous_bytes() + self.u16(DEAD)
    }

    pub(super) fn contiguous_bytes(self) -> usize {
        self.u16(HEAP) - HEADER_BYTES - SLOT_BYTES * self.count()
    }

    /// Bytes in use by entries and fences.
    pub(crate) fn used_bytes(self) -> usize {
        self.0.len() - HEADER_BYTES - self.free_bytes()
    }

    /// Whether an entry with this value can replace that in `slot`.
    pub(crate) fn fits_value(self, slot: usize, value_len: usize) -> bool {
        value_len <= self.entry(slot).value.len() + self.free_bytes()
    }

    /// Whether everything in it is where it may be and in order; for what came from a disk and for tests.
    pub(crate) fn is_sound(self) -> bool {
        let body = self.0.len();
        let slots_end = HEADER_BYTES + SLOT_BYTES * self.count();
        let blob = |at: usize, len: usize| at >= self.u16(HEAP) && at + len <= body;
        let low_fits = blob(self.u16(LOW), self.u16(LOW + 2));
        let high_len = self.u16(HIGH + 2);
        let high_fits = high_len == usize::from(UNBOUNDED) || blob(self.u16(HIGH), high_len);
        if !self.is_node()
            || slots_end > self.u16(HEAP)
            || self.u16(HEAP) > body
            || !low_fits
            || !high_fits
        {
            return false;
        }
        let entry_fits = |slot| {
            let at = self.slot(slot);
            let header_fits = blob(at, ENTRY_BYTES);
            header_fits
                && blob(
                    at,
                    ENTRY_BYTES + (self.u16(at) & usize::from(!GHOST)) + self.u16(at + 2),
                )
        };
        let prefix = self.u16(PREFIX);
        let heads_fit = || {
            (0..self.count()).all(|slot| {
                self.key(slot)
                    .get(prefix..)
                    .is_some_and(|rest| head_of(rest) == self.head(slot))
            })
        };
        let in_order = || {
            let keys = (0..self.count()).map(|slot| self.key(slot));
            keys.clone().zip(keys.clone().skip(1)).all(|(a, b)| a < b)
                && keys.clone().all(|key| self.covers(key))
        };
        prefix <= self.low().len() && (0..self.count()).all(entry_fits) && in_order() && heads_fit()
    }
}

/// The head of a key whose first bytes, those of the prefix, are taken off.
pub(super) fn head_of(rest: &[u8]) -> u32 {
    match rest.first_chunk::<4>() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => rest
            .iter()
            .zip([24, 16, 8])
            .map(|(&byte, shift)| u32::from(byte) << shift)
            .sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::edit::NodeMut;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const BODY: usize = 600;
    const ROOT: PageId = PageId(7);

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, Vec<u8>),
        Remove(u8),
        Ghost(u8, bool),
        Splice(u8, usize, usize, Vec<u8>),
    }

    fn step() -> impl Strategy<Value = Step> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..60);
        prop_oneof![
            (0..30u8, bytes()).prop_map(|(key, value)| Step::Put(key, value)),
            (0..30u8).prop_map(Step::Remove),
            (0..30u8, any::<bool>()).prop_map(|(key, ghost)| Step::Ghost(key, ghost)),
            (0..30u8, 0..60usize, 0..60usize, bytes())
                .prop_map(|(key, at, len, with)| Step::Splice(key, at, len, with)),
        ]
    }

    /// Keys of different lengths that begin alike.
    fn key_of(key: u8) -> Vec<u8> {
        [&[9, 9][..], &vec![key; 1 + usize::from(key % 7)]].concat()
    }

    proptest! {
        #[test]
        fn a_node_is_a_sorted_map(steps in proptest::collection::vec(step(), 0..80), cut in 0..30u8, bounded: bool) {
            let mut body = vec![0xEE; BODY];
            let high: &[u8] = if bounded { &[9, 9, 200] } else { &[10] };
            let header = NodeHeader { level: 0, tree: ROOT, low: &[9, 9], high: Some(high) };
            NodeMut(&mut body).format(&header, std::iter::empty());
            let mut model: BTreeMap<Vec<u8>, (Vec<u8>, bool)> = BTreeMap::new();
            for step in steps {
                let mut node = NodeMut(&mut body);
                match step {
                    Step::Put(key, value) => {
                        let key = key_of(key);
                        let entry = Entry { key: &key, value: &value, ghost: false };
                        if let Err(slot) = node.as_ref().search(&key) && entry.bytes() <= node.as_ref().free_bytes() {
                            node.insert(slot, &entry);
                            model.insert(key, (value, false));
                        }
                    }
                    Step::Remove(key) => {
                        if let Ok(slot) = node.as_ref().search(&key_of(key)) {
                            node.remove(slot);
                            model.remove(&key_of(key)).unwrap();
                        }
                    }
                    Step::Ghost(key, ghost) => {
                        if let Ok(slot) = node.as_ref().search(&key_of(key)) {
                            node.set_ghost(slot, ghost);
                            model.get_mut(&key_of(key)).unwrap().1 = ghost;
                        }
                    }
                    Step::Splice(key, at, len, with) => {
                        let Ok(slot) = node.as_ref().search(&key_of(key)) else { continue };
                        let value = &mut model.get_mut(&key_of(key)).unwrap().0;
                        let at = at.min(value.len());
                        let len = len.min(value.len() - at);
                        if node.as_ref().fits_value(slot, value.len() - len + with.len()) {
                            node.splice(slot, at, len, &with);
                            value.splice(at..at + len, with);
                        }
                    }
                }
                let node = Node(&body);
                prop_assert!(node.is_sound());
                let used: usize = model.iter().map(|(key, (value, _))| entry_bytes(key.len(), value.len())).sum();
                prop_assert_eq!(node.used_bytes(), used + 2 + high.len());
                for key in (0..30).map(key_of).chain([vec![], vec![9], vec![9, 9], vec![9, 10], vec![255]]) {
                    let expected = model.keys().position(|there| *there >= key).unwrap_or(model.len());
                    let found = node.search(&key);
                    prop_assert_eq!(found, if model.contains_key(&key) { Ok(expected) } else { Err(expected) });
                }
                let expected: Vec<Entry> =
                    model.iter().map(|(key, (value, ghost))| Entry { key, value, ghost: *ghost }).collect();
                prop_assert_eq!(node.entries().collect::<Vec<_>>(), expected);
                prop_assert_eq!(node.header(), header);
            }
            // Cut in two and joined again it is the same. A split always moves an entry, whose key is at least as long as
            // the fence that takes its place.
            let whole = body.clone();
            let count = Node(&whole).search(&key_of(cut)).unwrap_or_else(|slot| slot);
            let Some(separator) = Node(&whole).entries().nth(count).map(|entry| entry.key.to_vec()) else {
                return Ok(());
            };
            NodeMut(&mut body).truncate(count, &separator);
            prop_assert!(Node(&body).is_sound());
            NodeMut(&mut body).absorb(Node(&whole).entries().skip(count), Some(high));
            prop_assert!(Node(&body).entries().eq(Node(&whole).entries()));
            prop_assert_eq!(Node(&body).header(), header);
        }
    }

    #[test]
    fn children_are_found_by_their_low_fences() {
        let mut body = vec![0; BODY];
        let children = [10u64, 11, 12].map(u64::to_le_bytes);
        let keys: [&[u8]; 3] = [b"", b"g", b"p"];
        let entries = keys.into_iter().zip(&children).map(|(key, value)| Entry {
            key,
            value,
            ghost: false,
        });
        NodeMut(&mut body).format(
            &NodeHeader {
                level: 1,
                tree: ROOT,
                low: b"",
                high: None,
            },
            entries,
        );
        let node = Node(&body);
        assert!(node.is_sound() && !node.is_leaf() && node.tree() == ROOT);
        let at = |slot| node.child(slot).unwrap().0;
        for (key, including, below) in [
            ("a", 10, 10),
            ("g", 11, 10),
            ("h", 11, 11),
            ("p", 12, 11),
            ("z", 12, 12),
        ] {
            assert_eq!(at(node.child_slot(key.as_bytes())), including);
            assert_eq!(at(node.child_slot_below(key.as_bytes())), below);
        }
    }

    #[test]
    fn damage_is_seen() {
        let mut body = vec![0; BODY];
        assert!(!Node(&body).is_sound());
        let entries = [b"a", b"b"].map(|key| Entry {
            key,
            value: b"v",
            ghost: false,
        });
        NodeMut(&mut body).format(
            &NodeHeader {
                level: 0,
                tree: ROOT,
                low: b"",
                high: None,
            },
            entries.into_iter(),
        );
        assert!(Node(&body).is_sound());
        for byte in 0..SLOT_BYTES {
            body.swap(HEADER_BYTES + byte, HEADER_BYTES + SLOT_BYTES + byte);
        }
        assert!(!Node(&body).is_sound(), "keys out of order");
        body[HEADER_BYTES] = 0xFF;
        body[HEADER_BYTES + 1] = 0xFF;
        assert!(!Node(&body).is_sound(), "an entry beyond the end");
    }
}
