//! Changing a node: see [`crate::tree::node`] for the layout.

use crate::tree::node::{
    COUNT, DEAD, ENTRY_BYTES, Entry, GHOST, HEADER_BYTES, HEAP, HIGH, KIND_NODE, LOW, Node,
    NodeHeader, PREFIX, SLOT_BYTES, TREE, UNBOUNDED, head_of,
};

/// A node to change. Every change needs the space it takes: ask [`Node::free_bytes`] before.
pub(crate) struct NodeMut<'p>(pub(crate) &'p mut [u8]);

impl NodeMut<'_> {
    pub(crate) fn as_ref(&self) -> Node<'_> {
        Node(self.0)
    }

    fn set_u16(&mut self, at: usize, value: usize) {
        let value = u16::try_from(value).expect("a body is shorter than 64 KiB");
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Makes the page a node with these entries, which must fit and be in order.
    pub(crate) fn format<'e>(
        &mut self,
        header: &NodeHeader<'_>,
        entries: impl Iterator<Item = Entry<'e>>,
    ) {
        let body = self.0.len();
        self.0[..HEADER_BYTES].fill(0);
        self.0[0] = KIND_NODE;
        self.0[1] = header.level;
        self.0[TREE..TREE + 8].copy_from_slice(&header.tree.0.to_le_bytes());
        self.set_u16(HEAP, body);
        self.set_low(header.low);
        self.set_high(header.high);
        let high = header.high.unwrap_or_default();
        let prefix = header
            .low
            .iter()
            .zip(high)
            .take_while(|(a, b)| a == b)
            .count();
        self.set_u16(PREFIX, prefix);
        for (slot, entry) in entries.enumerate() {
            self.insert(slot, &entry);
        }
    }

    fn set_low(&mut self, low: &[u8]) {
        let at = self.push(&[low]);
        self.set_u16(LOW, at);
        self.set_u16(LOW + 2, low.len());
    }

    fn set_high(&mut self, high: Option<&[u8]>) {
        let Some(high) = high else {
            self.set_u16(HIGH, 0);
            return self.set_u16(HIGH + 2, usize::from(UNBOUNDED));
        };
        let at = self.push(&[high]);
        self.set_u16(HIGH, at);
        self.set_u16(HIGH + 2, high.len());
    }

    /// Puts bytes on the heap, where they must fit in one piece; their offset.
    fn push(&mut self, parts: &[&[u8]]) -> usize {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let start = self.as_ref().u16(HEAP) - len;
        let mut at = start;
        for part in parts {
            self.0[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.set_u16(HEAP, start);
        start
    }

    /// Adds `entry` as `slot`; those from there on move up.
    pub(crate) fn insert(&mut self, slot: usize, entry: &Entry<'_>) {
        assert!(
            entry.bytes() <= self.as_ref().free_bytes(),
            "an entry is inserted where it fits"
        );
        if entry.bytes() > self.as_ref().contiguous_bytes() {
            self.compact();
        }
        let at = self.push_entry(entry);
        let count = self.as_ref().count();
        let (from, end) = (
            HEADER_BYTES + SLOT_BYTES * slot,
            HEADER_BYTES + SLOT_BYTES * count,
        );
        self.0.copy_within(from..end, from + SLOT_BYTES);
        self.set_u16(from, at);
        let head = head_of(&entry.key[self.as_ref().u16(PREFIX)..]);
        self.0[from + 2..from + SLOT_BYTES].copy_from_slice(&head.to_le_bytes());
        self.set_u16(COUNT, count + 1);
    }

    fn push_entry(&mut self, entry: &Entry<'_>) -> usize {
        let ghost = if entry.ghost { GHOST } else { 0 };
        let key_len = (entry.key.len() as u16 | ghost).to_le_bytes();
        let value_len = (entry.value.len() as u16).to_le_bytes();
        self.push(&[&key_len, &value_len, entry.key, entry.value])
    }

    /// Removes the entry in `slot`; those after it move down.
    pub(crate) fn remove(&mut self, slot: usize) {
        let count = self.as_ref().count();
        let bytes = self.as_ref().entry(slot).bytes() - SLOT_BYTES;
        self.bury(bytes);
        let (from, end) = (
            HEADER_BYTES + SLOT_BYTES * (slot + 1),
            HEADER_BYTES + SLOT_BYTES * count,
        );
        self.0.copy_within(from..end, from - SLOT_BYTES);
        self.set_u16(COUNT, count - 1);
    }

    fn bury(&mut self, bytes: usize) {
        let dead = self.as_ref().u16(DEAD) + bytes;
        self.set_u16(DEAD, dead);
    }

    pub(crate) fn set_ghost(&mut self, slot: usize, ghost: bool) {
        let at = self.as_ref().slot(slot);
        let key_len = self.as_ref().u16(at) & usize::from(!GHOST);
        self.set_u16(at, key_len | if ghost { usize::from(GHOST) } else { 0 });
    }

    /// Replaces `removed` bytes from `at` of the value in `slot` by `with`.
    pub(crate) fn splice(&mut self, slot: usize, at: usize, removed: usize, with: &[u8]) {
        let start = self.as_ref().slot(slot);
        let entry = self.as_ref().entry(slot);
        let (old_len, ghost) = (entry.value.len(), entry.ghost);
        let value_at = start + ENTRY_BYTES + entry.key.len();
        let new_len = old_len - removed + with.len();
        if new_len <= old_len {
            self.0.copy_within(
                value_at + at + removed..value_at + old_len,
                value_at + at + with.len(),
            );
            self.0[value_at + at..value_at + at + with.len()].copy_from_slice(with);
            self.set_u16(start + 2, new_len);
            return self.bury(old_len - new_len);
        }
        assert!(
            self.as_ref().fits_value(slot, new_len),
            "a value is replaced where the new one fits"
        );
        let mut key_value = self.0[start + ENTRY_BYTES..value_at + old_len].to_vec();
        let key_len = value_at - start - ENTRY_BYTES;
        key_value.splice(key_len + at..key_len + at + removed, with.iter().copied());
        self.remove(slot);
        let (key, value) = key_value.split_at(key_len);
        self.insert(slot, &Entry { key, value, ghost });
    }

    /// Keeps the first `count` entries and bounds the keys by `high`.
    pub(crate) fn truncate(&mut self, count: usize, high: &[u8]) {
        let old = self.0.to_vec();
        let old = Node(&old);
        let header = NodeHeader {
            high: Some(high),
            ..old.header()
        };
        self.format(&header, old.entries().take(count));
    }

    /// Adds `entries` after its own and bounds the keys by `high`.
    pub(crate) fn absorb<'e>(
        &mut self,
        entries: impl Iterator<Item = Entry<'e>>,
        high: Option<&[u8]>,
    ) {
        let old = self.0.to_vec();
        let old = Node(&old);
        let header = NodeHeader {
            high,
            ..old.header()
        };
        let mut all: Vec<Entry<'_>> = old.entries().collect();
        for entry in entries {
            all.push(entry);
        }
        self.format(&header, all.into_iter());
    }

    /// Moves everything together, so that all free bytes are in one piece.
    fn compact(&mut self) {
        let old = self.0.to_vec();
        let old = Node(&old);
        self.format(&old.header(), old.entries());
    }
}
