//! Analysis: which transactions had neither committed nor been undone, and what they changed.

use std::collections::BTreeMap;

use evenkeel_log::{Lsn, Record};
use evenkeel_pages::PageId;

use crate::checkpoint::Checkpoint;
use crate::codec::Reader;
use crate::record::{RecordKind, take_changes};
use crate::tree::change::Change;
use crate::undo::UndoList;

/// A record taken apart.
pub(crate) struct Content<'r> {
    kind: RecordKind,
    pub(crate) changes: Vec<(PageId, Change<'r>)>,
    /// In a compensation record: where undo continues.
    undo_next: Lsn,
    /// In a change: the undo part.
    undo: &'r [u8],
}

impl<'r> Content<'r> {
    /// `None` if the record is malformed.
    pub(crate) fn of(record: &'r Record) -> Option<Content<'r>> {
        let kind = RecordKind::from_code(record.kind)?;
        let mut payload = Reader(&record.payload);
        let undo_next = if kind == RecordKind::Compensation {
            Lsn(payload.u64()?)
        } else {
            Lsn::ZERO
        };
        let changes = match kind {
            RecordKind::Commit | RecordKind::End => Vec::new(),
            _ => take_changes(&mut payload)?,
        };
        Some(Content {
            kind,
            changes,
            undo_next,
            undo: payload.0,
        })
    }
}

/// A transaction that has to be undone.
#[derive(Default, Debug)]
pub(crate) struct Loser {
    pub(crate) last_lsn: Lsn,
    pub(crate) undo: UndoList,
}

/// The state after reading the log so far.
pub(crate) struct Analysis {
    running: BTreeMap<u64, Loser>,
    pub(crate) catalog: Option<PageId>,
    pub(crate) next_number: u64,
}

impl Analysis {
    pub(crate) fn new(checkpoint: &Checkpoint) -> Analysis {
        Analysis {
            running: BTreeMap::new(),
            catalog: checkpoint.catalog,
            next_number: checkpoint.next_number,
        }
    }

    pub(crate) fn note(&mut self, record: &Record, content: &Content<'_>) {
        self.next_number = self.next_number.max(record.txn + 1);
        match content.kind {
            RecordKind::Structure => {}
            RecordKind::Bootstrap => self.catalog = content.changes.first().map(|&(page, _)| page),
            RecordKind::Commit | RecordKind::End => {
                self.running.remove(&record.txn);
            }
            RecordKind::Change => {
                let loser = self.running.entry(record.txn).or_default();
                loser.last_lsn = record.lsn;
                loser.undo.push(record.lsn, content.undo);
            }
            RecordKind::Compensation => {
                let loser = self.running.entry(record.txn).or_default();
                loser.last_lsn = record.lsn;
                loser.undo.pop_after(content.undo_next);
            }
        }
    }

    pub(crate) fn into_losers(self) -> BTreeMap<u64, Loser> {
        self.running
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Write;
    use crate::record::{Undo, put_changes};

    fn record(lsn: u64, txn: u64, kind: RecordKind, payload: Vec<u8>) -> Record {
        Record {
            lsn: Lsn(lsn),
            txn,
            prev: Lsn::ZERO,
            kind: kind as u8,
            payload,
        }
    }

    fn change(lsn: u64, txn: u64) -> Record {
        let mut payload = Vec::new();
        put_changes(&[(PageId(1), Change::Remove { slot: 0 })], &mut payload);
        Undo::Delete {
            tree: PageId(1),
            key: &[lsn as u8],
        }
        .encode(&mut payload);
        record(lsn, txn, RecordKind::Change, payload)
    }

    fn compensation(lsn: u64, txn: u64, next: u64) -> Record {
        let mut payload = Vec::new();
        payload.u64(next);
        put_changes(&[], &mut payload);
        record(lsn, txn, RecordKind::Compensation, payload)
    }

    #[test]
    fn losers_keep_what_is_not_undone() {
        let records = [
            change(1, 7),
            change(2, 8),
            change(3, 7),
            change(4, 9),
            record(5, 8, RecordKind::Commit, Vec::new()),
            change(6, 7),
            compensation(7, 7, 3), // 6 is undone; 3 comes next
            compensation(8, 9, 0), // 4 is undone
            record(9, 9, RecordKind::End, Vec::new()),
        ];
        let mut analysis = Analysis::new(&Checkpoint::default());
        for record in &records {
            analysis.note(record, &Content::of(record).unwrap());
        }
        assert_eq!(analysis.next_number, 10);
        let losers = analysis.into_losers();
        assert_eq!(losers.keys().collect::<Vec<_>>(), [&7]);
        let loser = &losers[&7];
        assert_eq!((loser.last_lsn, loser.undo.len()), (Lsn(7), 2));
        assert_eq!(loser.undo.last().unwrap().0, Lsn(3));
        assert_eq!(loser.undo.next_after_last(), Lsn(1));
    }
}
