//! Undo: taking back the changes of losers, the latest first over all of them.
//!
//! The order over all transactions matters under the lazy flush policies: a transaction may have changed a row after
//! another whose commit record was then lost.

use std::collections::BTreeMap;

use evenkeel_log::Lsn;

use crate::error::StoreError;
use crate::recovery::analysis::Loser;
use crate::storage::Storage;
use crate::undo::Compensation;

/// Undoes all `losers`, by their numbers.
///
/// # Errors
/// If pages or log fail.
pub(crate) fn undo_losers(
    storage: &Storage,
    mut losers: BTreeMap<u64, Loser>,
) -> Result<(), StoreError> {
    while let Some(number) = latest(&losers) {
        let loser = losers.get_mut(&number).expect("just found");
        let mut compensation = Compensation {
            storage,
            txn: number,
            prev: loser.last_lsn,
        };
        let keep = loser.undo.len().saturating_sub(1);
        compensation.undo_to(&mut loser.undo, keep)?;
        loser.last_lsn = compensation.prev;
        if loser.undo.is_empty() {
            compensation.end()?;
            losers.remove(&number);
        }
    }
    Ok(())
}

/// The loser with the latest change; those without any come first.
fn latest(losers: &BTreeMap<u64, Loser>) -> Option<u64> {
    let next_lsn = |loser: &Loser| loser.undo.last().map_or(Lsn::MAX, |(lsn, _)| lsn);
    losers
        .iter()
        .max_by_key(|(_, loser)| next_lsn(loser))
        .map(|(&number, _)| number)
}
