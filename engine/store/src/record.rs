//! The store's log records.
//!
//! ```text
//! kind  payload
//! Change        changes, undo         of a transaction; undone if it does not commit
//! Compensation  undo-next (8), changes    the undoing of a Change; never undone. Undo goes on before `undo-next`
//! Commit        -
//! End           -                     of a transaction that was undone completely
//! Structure     changes               of no transaction: a split or merge, a ghost removed; never undone
//! Bootstrap     changes               the first: the catalog's tree, whose root is the page it formats
//!
//! changes: count (1), then each: page (8), change (see tree/change.rs)
//! ```
//! Changes of several pages that make sense only together are one record, so neither a crash nor a lost log stream
//! separates them. It is a nested top action (Mohan et al., TODS 1992, section 9) of one record.

use evenkeel_pages::PageId;

use crate::codec::{Reader, Write};
use crate::tree::change::Change;

/// Kinds of log records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum RecordKind {
    Change = 1,
    Compensation = 2,
    Commit = 3,
    End = 4,
    Structure = 5,
    Bootstrap = 6,
}

impl RecordKind {
    pub(crate) fn from_code(code: u8) -> Option<RecordKind> {
        [
            RecordKind::Change,
            RecordKind::Compensation,
            RecordKind::Commit,
            RecordKind::End,
            RecordKind::Structure,
            RecordKind::Bootstrap,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == code)
    }
}

/// Appends changes of pages to a payload.
pub(crate) fn put_changes(changes: &[(PageId, Change<'_>)], payload: &mut Vec<u8>) {
    payload.u8(u8::try_from(changes.len()).expect("a record changes a handful of pages"));
    for (page, change) in changes {
        payload.u64(page.0);
        change.encode(payload);
    }
}

/// Takes changes of pages off a payload; `None` if one is malformed.
pub(crate) fn take_changes<'p>(payload: &mut Reader<'p>) -> Option<Vec<(PageId, Change<'p>)>> {
    let count = payload.u8()?;
    (0..count)
        .map(|_| Some((PageId(payload.u64()?), Change::decode(payload)?)))
        .collect()
}

/// The undoing of a change. Logical: by key, wherever the entry is by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Undo<'u> {
    /// Makes an inserted entry a ghost.
    Insert { tree: PageId, key: &'u [u8] },
    /// Makes a ghost a live entry again.
    Delete { tree: PageId, key: &'u [u8] },
    /// Puts back the part of a value that was replaced, and makes the entry a ghost if it was one.
    Splice {
        tree: PageId,
        key: &'u [u8],
        ghost: bool,
        at: u16,
        removed: u16,
        with: &'u [u8],
    },
    /// Frees an allocated page.
    Allocate { page: PageId },
}

impl<'u> Undo<'u> {
    /// Appends it: a code (1), then its fields.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Undo::Insert { tree, key } => {
                bytes.u8(1);
                bytes.u64(tree.0);
                bytes.short_bytes(key);
            }
            Undo::Delete { tree, key } => {
                bytes.u8(2);
                bytes.u64(tree.0);
                bytes.short_bytes(key);
            }
            Undo::Splice {
                tree,
                key,
                ghost,
                at,
                removed,
                with,
            } => {
                bytes.u8(3);
                bytes.u64(tree.0);
                bytes.short_bytes(key);
                bytes.u8(u8::from(*ghost));
                bytes.u16(*at);
                bytes.u16(*removed);
                bytes.short_bytes(with);
            }
            Undo::Allocate { page } => {
                bytes.u8(4);
                bytes.u64(page.0);
            }
        }
    }

    /// Takes it off a payload; `None` if it is malformed.
    pub(crate) fn decode(reader: &mut Reader<'u>) -> Option<Undo<'u>> {
        Some(match reader.u8()? {
            1 => Undo::Insert {
                tree: PageId(reader.u64()?),
                key: reader.short_bytes()?,
            },
            2 => Undo::Delete {
                tree: PageId(reader.u64()?),
                key: reader.short_bytes()?,
            },
            3 => Undo::Splice {
                tree: PageId(reader.u64()?),
                key: reader.short_bytes()?,
                ghost: reader.u8()? != 0,
                at: reader.u16()?,
                removed: reader.u16()?,
                with: reader.short_bytes()?,
            },
            4 => Undo::Allocate {
                page: PageId(reader.u64()?),
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_decoded_as_encoded_and_refused_when_cut() {
        let undos = [
            Undo::Insert {
                tree: PageId(1),
                key: b"key",
            },
            Undo::Delete {
                tree: PageId(2),
                key: b"",
            },
            Undo::Splice {
                tree: PageId(3),
                key: b"k",
                ghost: true,
                at: 4,
                removed: 5,
                with: b"old",
            },
            Undo::Allocate { page: PageId(6) },
        ];
        for undo in undos {
            let changes = [
                (PageId(7), Change::Remove { slot: 8 }),
                (PageId(9), Change::Free),
            ];
            let mut payload = Vec::new();
            put_changes(&changes, &mut payload);
            undo.encode(&mut payload);
            let mut reader = Reader(&payload);
            assert_eq!(take_changes(&mut reader), Some(changes.to_vec()));
            assert_eq!(Undo::decode(&mut reader), Some(undo));
            assert!(reader.is_empty());
            for len in 0..payload.len() {
                let mut reader = Reader(&payload[..len]);
                let whole = take_changes(&mut reader).and_then(|_| Undo::decode(&mut reader));
                assert_eq!(whole, None);
            }
        }
    }

    #[test]
    fn kinds_have_codes() {
        for code in 0..=u8::MAX {
            assert!(RecordKind::from_code(code).is_none_or(|kind| kind as u8 == code));
        }
        assert_eq!(RecordKind::from_code(6), Some(RecordKind::Bootstrap));
    }
}
