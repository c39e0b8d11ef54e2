//! Changes of pages: what is written to the log, applied when it happens, and applied again by recovery.
//!
//! Logging is physiological (Mohan et al., TODS 1992, section 1.1): physical to a page, by slots within it. The same
//! [`Change::apply`] serves normal operation and redo, so a page recovers to the same entries.

use evenkeel_pages::PageId;

use crate::codec::{Reader, Write};
use crate::tree::edit::NodeMut;
use crate::tree::node::{Entry, Node, NodeHeader};

/// A change of one page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change<'c> {
    /// Adds an entry as `slot`.
    Insert { slot: u16, entry: Entry<'c> },
    /// Removes an entry.
    Remove { slot: u16 },
    /// Makes an entry a ghost, or a live one again.
    SetGhost { slot: u16, ghost: bool },
    /// Replaces `removed` bytes from `at` of an entry's value.
    Splice {
        slot: u16,
        ghost: bool,
        at: u16,
        removed: u16,
        with: &'c [u8],
    },
    /// Keeps the first `count` entries: what the left half of a split does.
    Truncate { count: u16, high: &'c [u8] },
    /// Makes a newly allocated page a node.
    Format {
        header: NodeHeader<'c>,
        entries: Entries<'c>,
    },
    /// Appends entries and takes over the upper bound: what the left half of a merge does.
    Absorb {
        high: Option<&'c [u8]>,
        entries: Entries<'c>,
    },
    /// Makes a node another one, of the same page and tree: a root that gets or loses a level.
    Replace {
        header: NodeHeader<'c>,
        entries: Entries<'c>,
    },
    /// Gives the page back to the pool.
    Free,
}

/// Entries within a log record: count (2), then each as in [`put_entry`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entries<'c>(pub(crate) &'c [u8]);

impl<'c> Entries<'c> {
    /// Writes `entries` down in `buffer`.
    pub(crate) fn collect<'e>(
        entries: impl Iterator<Item = Entry<'e>>,
        buffer: &'c mut Vec<u8>,
    ) -> Entries<'c> {
        buffer.clear();
        buffer.u16(0);
        let mut count = 0;
        for entry in entries {
            put_entry(&entry, buffer);
            count += 1;
        }
        buffer[..2].copy_from_slice(&u16::to_le_bytes(count));
        Entries(buffer)
    }

    fn iter(self) -> impl Iterator<Item = Entry<'c>> {
        let mut reader = Reader(self.0);
        let count = reader.u16().unwrap_or_default();
        (0..count).map_while(move |_| take_entry(&mut reader))
    }

    /// Takes entries off a log record; `None` if one is malformed.
    fn take(reader: &mut Reader<'c>) -> Option<Entries<'c>> {
        let start = *reader;
        for _ in 0..reader.u16()? {
            take_entry(reader)?;
        }
        Some(Entries(&start.0[..start.0.len() - reader.0.len()]))
    }
}

fn put_entry(entry: &Entry<'_>, bytes: &mut Vec<u8>) {
    bytes.u8(u8::from(entry.ghost));
    bytes.short_bytes(entry.key);
    bytes.short_bytes(entry.value);
}

fn take_entry<'c>(reader: &mut Reader<'c>) -> Option<Entry<'c>> {
    let ghost = reader.u8()? != 0;
    let key = reader.short_bytes()?;
    let value = reader.short_bytes()?;
    Some(Entry { key, value, ghost })
}

fn put_header(header: &NodeHeader<'_>, bytes: &mut Vec<u8>) {
    bytes.u8(header.level);
    bytes.u64(header.tree.0);
    bytes.short_bytes(header.low);
    put_high(header.high, bytes);
}

fn take_header<'c>(reader: &mut Reader<'c>) -> Option<NodeHeader<'c>> {
    Some(NodeHeader {
        level: reader.u8()?,
        tree: PageId(reader.u64()?),
        low: reader.short_bytes()?,
        high: take_high(reader)?,
    })
}

fn put_high(high: Option<&[u8]>, bytes: &mut Vec<u8>) {
    bytes.u8(u8::from(high.is_some()));
    bytes.short_bytes(high.unwrap_or_default());
}

fn take_high<'c>(reader: &mut Reader<'c>) -> Option<Option<&'c [u8]>> {
    let bounded = reader.u8()? != 0;
    let high = reader.short_bytes()?;
    Some(bounded.then_some(high))
}

impl<'c> Change<'c> {
    /// Appends the change: a code (1), then its fields.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Insert { slot, entry } => {
                bytes.u8(1);
                bytes.u16(*slot);
                put_entry(entry, bytes);
            }
            Change::Remove { slot } => {
                bytes.u8(2);
                bytes.u16(*slot);
            }
            Change::SetGhost { slot, ghost } => {
                bytes.u8(3);
                bytes.u16(*slot);
                bytes.u8(u8::from(*ghost));
            }
            Change::Splice {
                slot,
                ghost,
                at,
                removed,
                with,
            } => {
                bytes.u8(4);
                bytes.u16(*slot);
                bytes.u8(u8::from(*ghost));
                bytes.u16(*at);
                bytes.u16(*removed);
                bytes.short_bytes(with);
            }
            Change::Truncate { count, high } => {
                bytes.u8(5);
                bytes.u16(*count);
                bytes.short_bytes(high);
            }
            Change::Format { header, entries } => {
                bytes.u8(6);
                put_header(header, bytes);
                bytes.extend_from_slice(entries.0);
            }
            Change::Absorb { high, entries } => {
                bytes.u8(7);
                put_high(*high, bytes);
                bytes.extend_from_slice(entries.0);
            }
            Change::Replace { header, entries } => {
                bytes.u8(8);
                put_header(header, bytes);
                bytes.extend_from_slice(entries.0);
            }
            Change::Free => bytes.u8(9),
        }
    }

    /// Takes a change off a log record; `None` if it is malformed.
    pub(crate) fn decode(reader: &mut Reader<'c>) -> Option<Change<'c>> {
        Some(match reader.u8()? {
            1 => Change::Insert {
                slot: reader.u16()?,
                entry: take_entry(reader)?,
            },
            2 => Change::Remove {
                slot: reader.u16()?,
            },
            3 => Change::SetGhost {
                slot: reader.u16()?,
                ghost: reader.u8()? != 0,
            },
            4 => Change::Splice {
                slot: reader.u16()?,
                ghost: reader.u8()? != 0,
                at: reader.u16()?,
                removed: reader.u16()?,
                with: reader.short_bytes()?,
            },
            5 => Change::Truncate {
                count: reader.u16()?,
                high: reader.short_bytes()?,
            },
            6 => Change::Format {
                header: take_header(reader)?,
                entries: Entries::take(reader)?,
            },
            7 => Change::Absorb {
                high: take_high(reader)?,
                entries: Entries::take(reader)?,
            },
            8 => Change::Replace {
                header: take_header(reader)?,
                entries: Entries::take(reader)?,
            },
            9 => Change::Free,
            _ => return None,
        })
    }

    /// Changes the page. The change must fit; [`Change::is_applicable`] checks one that was read from a log.
    pub(crate) fn apply(&self, body: &mut [u8]) {
        let mut node = NodeMut(body);
        match self {
            Change::Insert { slot, entry } => node.insert(usize::from(*slot), entry),
            Change::Remove { slot } => node.remove(usize::from(*slot)),
            Change::SetGhost { slot, ghost } => node.set_ghost(usize::from(*slot), *ghost),
            Change::Splice {
                slot,
                ghost,
                at,
                removed,
                with,
            } => {
                node.set_ghost(usize::from(*slot), *ghost);
                node.splice(
                    usize::from(*slot),
                    usize::from(*at),
                    usize::from(*removed),
                    with,
                );
            }
            Change::Truncate { count, high } => node.truncate(usize::from(*count), high),
            Change::Format { header, entries } | Change::Replace { header, entries } => {
                node.format(header, entries.iter())
            }
            Change::Absorb { high, entries } => node.absorb(entries.iter(), *high),
            Change::Free => {}
        }
    }

    /// Whether it says all that the page will be, so that the page need not be a node before.
    pub(crate) fn is_of_any_page(&self) -> bool {
        matches!(self, Change::Format { .. } | Change::Free)
    }

    /// Whether it adds, removes or changes a single entry.
    pub(crate) fn is_of_one_entry(&self) -> bool {
        matches!(
            self,
            Change::Insert { .. }
                | Change::Remove { .. }
                | Change::SetGhost { .. }
                | Change::Splice { .. }
        )
    }

    /// Whether [`apply`](Change::apply) can be done to the page, which is a [sound](Node::is_sound) node unless the change
    /// [is of any page](Change::is_of_any_page). Redo asks, because a log and pages that do not belong together must be an
    /// error and no panic. A sound node is sound after a change of one entry.
    pub(crate) fn is_applicable(&self, body: &[u8]) -> bool {
        let node = Node(body);
        let has = |slot: u16| usize::from(slot) < node.count();
        match self {
            Change::Format { header, entries } => return header.holds(entries.iter(), body.len()),
            Change::Free => return true,
            _ => {}
        }
        match self {
            Change::Insert { slot, entry } => {
                node.covers(entry.key)
                    && node.search(entry.key) == Err(usize::from(*slot))
                    && entry.bytes() <= node.free_bytes()
            }
            Change::Remove { slot } | Change::SetGhost { slot, .. } => has(*slot),
            Change::Splice {
                slot,
                at,
                removed,
                with,
                ..
            } => {
                let fits = |len: usize| {
                    let kept = len.checked_sub(usize::from(*at) + usize::from(*removed));
                    kept.is_some()
                        && node.fits_value(
                            usize::from(*slot),
                            len - usize::from(*removed) + with.len(),
                        )
                };
                has(*slot) && fits(node.entry(usize::from(*slot)).value.len())
            }
            Change::Truncate { count, high } => {
                let header = NodeHeader {
                    high: Some(high),
                    ..node.header()
                };
                usize::from(*count) <= node.count()
                    && header.holds(node.entries().take(usize::from(*count)), body.len())
            }
            Change::Absorb { high, entries } => {
                let header = NodeHeader {
                    high: *high,
                    ..node.header()
                };
                header.holds(node.entries().chain(entries.iter()), body.len())
            }
            Change::Replace { header, entries } => header.holds(entries.iter(), body.len()),
            Change::Format { .. } | Change::Free => true,
        }
    }
}

/// The shortest replacement that turns `old` into `new`: its offset, how many bytes it removes, and the bytes it
/// inserts.
pub(crate) fn difference<'n>(old: &[u8], new: &'n [u8]) -> (u16, u16, &'n [u8]) {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (
        prefix as u16,
        (old_rest.len() - suffix) as u16,
        &new_rest[..new_rest.len() - suffix],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_change_is_decoded_as_encoded() {
        let entry = Entry {
            key: b"key",
            value: b"value",
            ghost: true,
        };
        let header = NodeHeader {
            level: 3,
            tree: PageId(9),
            low: b"low",
            high: Some(b"z"),
        };
        let mut buffer = Vec::new();
        let entries = Entries::collect([entry, entry].into_iter(), &mut buffer);
        let changes = [
            Change::Insert { slot: 1, entry },
            Change::Remove { slot: 2 },
            Change::SetGhost {
                slot: 3,
                ghost: true,
            },
            Change::Splice {
                slot: 4,
                ghost: false,
                at: 5,
                removed: 6,
                with: b"with",
            },
            Change::Truncate {
                count: 7,
                high: b"high",
            },
            Change::Format { header, entries },
            Change::Absorb {
                high: None,
                entries,
            },
            Change::Replace {
                header: NodeHeader {
                    high: None,
                    ..header
                },
                entries,
            },
            Change::Free,
        ];
        for change in changes {
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            for len in 0..bytes.len() {
                assert_eq!(
                    Change::decode(&mut Reader(&bytes[..len])),
                    None,
                    "{change:?} cut"
                );
            }
            bytes.push(1);
            let mut reader = Reader(&bytes);
            assert_eq!(Change::decode(&mut reader), Some(change));
            assert_eq!(reader.0, [1]);
        }
    }

    proptest! {
        #[test]
        fn a_difference_leads_from_old_to_new(
            old in proptest::collection::vec(0..3u8, 0..12),
            new in proptest::collection::vec(0..3u8, 0..12),
        ) {
            let (at, removed, with) = difference(&old, &new);
            let mut changed = old.clone();
            changed.splice(usize::from(at)..usize::from(at) + usize::from(removed), with.iter().copied());
            prop_assert_eq!(changed, new.clone());
            prop_assert!(old != new || (removed == 0 && with.is_empty()));
        }

        #[test]
        fn changes_of_another_page_are_refused_without_panic(bytes: Vec<u8>, body in proptest::collection::vec(any::<u8>(), 400)) {
            if let Some(change) = Change::decode(&mut Reader(&bytes)) {
                let _ = (change.is_of_any_page() || Node(&body).is_sound()) && change.is_applicable(&body);
            }
        }

        /// The rule that redo relies on: it checks a page once.
        #[test]
        fn a_sound_node_is_sound_after_a_change_of_one_entry(
            keys in proptest::collection::btree_set("[ab]{1,4}", 0..12),
            changes in proptest::collection::vec((0..4u8, 0..14u16, "[ab]{0,4}", 0..9u16, 0..9u16), 1..20),
        ) {
            let mut body = vec![0; 400];
            let header = NodeHeader { level: 0, tree: PageId(3), low: b"a", high: Some(b"bbb") };
            let entries = keys.iter().filter(|key| ("a".."bbb").contains(&key.as_str()));
            let entry = |key: &'static str| Entry { key: key.as_bytes(), value: b"value", ghost: false };
            let entries: Vec<Entry<'_>> = entries.map(|key| entry(String::leak(key.clone()))).collect();
            NodeMut(&mut body).format(&header, entries.into_iter());
            prop_assert!(Node(&body).is_sound());
            for (what, slot, text, at, removed) in changes {
                let change = match what {
                    0 => Change::Insert { slot, entry: Entry { key: text.as_bytes(), value: b"v", ghost: true } },
                    1 => Change::Remove { slot },
                    2 => Change::SetGhost { slot, ghost: at < 4 },
                    _ => Change::Splice { slot, ghost: false, at, removed, with: text.as_bytes() },
                };
                if change.is_applicable(&body) {
                    change.apply(&mut body);
                    prop_assert!(Node(&body).is_sound(), "{:?}", change);
                }
            }
        }
    }
}
