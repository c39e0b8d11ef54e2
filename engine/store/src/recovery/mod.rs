//! Recovery as in ARIES: analysis finds who was running, redo repeats history, undo takes back what did not commit.
//!
//! Analysis and redo share one pass over the log. They can, because the checkpoint holds what analysis would find
//! before redo begins (the pages that may lack changes), and redo repeats the changes of losers, too. A crash during
//! recovery only lengthens the log for the next one. Changes are repeated by the pages' LSNs, and compensation
//! records say how far undo had come.

mod analysis;
mod redo;
mod undo;

use evenkeel_log::Recovered;
use evenkeel_pages::PageId;

use crate::checkpoint::Checkpoint;
use crate::error::StoreError;
use crate::recovery::analysis::Analysis;
use crate::recovery::redo::Redo;
use crate::storage::Storage;

/// The result of recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// The root of the catalog's tree, if there is one.
    pub(crate) catalog: Option<PageId>,
    /// Greater than every transaction's number.
    pub(crate) next_number: u64,
}

/// Brings the pages to the state the recovered log describes, and takes back what had not committed.
///
/// # Errors
/// If log or pages cannot be read or written or contradict each other. Recovery can then be tried again.
pub(crate) fn recover(
    storage: &Storage,
    recovered: &Recovered,
    checkpoint: &Checkpoint,
) -> Result<Outcome, StoreError> {
    let mut analysis = Analysis::new(checkpoint);
    let mut redo = Redo::new(&storage.pool, checkpoint);
    for record in recovered.scan(checkpoint.scan_from)? {
        let record = record?;
        let malformed = || StoreError::Corrupt(format!("log record {} is malformed", record.lsn));
        let content = analysis::Content::of(&record).ok_or_else(malformed)?;
        redo.repeat(record.lsn, &content.changes)?;
        analysis.note(&record, &content);
    }
    let outcome = Outcome {
        catalog: analysis.catalog,
        next_number: analysis.next_number.max(recovered.end().0 + 1),
    };
    undo::undo_losers(storage, analysis.into_losers())?;
    Ok(outcome)
}
