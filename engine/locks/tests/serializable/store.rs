//! A store of two levels, tables and rows, under multi-granularity locking (Gray et al. 1976): what the transactions of
//! the histories run on.
//!
//! A row is locked only where the lock on its table does not cover it, so a wrong answer about intention modes shows as
//! an anomaly. Writes happen in place and are undone by an abort, so a lock given up too early shows, too.

use std::cell::UnsafeCell;

use evenkeel_locks::{LockError, LockManager, Mode, Transaction};

/// Tables.
pub const TABLES: usize = 2;
/// Rows of each.
pub const ROWS: usize = 3;

/// Time for which a row is looked at, in turns of a spinning loop.
const SPINS: u32 = 30;

/// A row's list, guarded by the locks under test alone.
struct Row(UnsafeCell<Vec<u64>>);

// SAFETY: a row is read under a lock that excludes writers and written under one that excludes everybody. That this is so
// is what the tests are about; they run under no other synchronisation.
unsafe impl Sync for Row {}

/// Tables of rows and the lock manager that guards them: objects `0..TABLES` are tables, rows come after.
pub struct Store {
    /// Guards the rows.
    pub locks: LockManager<usize>,
    rows: Vec<Row>,
}

/// A transaction: its locks, what it saw, and how to undo it.
pub struct StoreTxn<'s> {
    store: &'s Store,
    locks: Transaction<usize>,
    number: u64,
    /// Rows appended to.
    written: Vec<usize>,
    /// Rows and the lists seen there.
    pub seen: Vec<(usize, Vec<u64>)>,
}

impl Store {
    /// Empty rows.
    pub fn new(locks: LockManager<usize>) -> Store {
        let row = || Row(UnsafeCell::new(Vec::new()));
        Store {
            locks,
            rows: std::iter::repeat_with(row).take(TABLES * ROWS).collect(),
        }
    }

    /// A transaction that appends `number` and takes these locks.
    pub fn begin(&self, number: u64, locks: Transaction<usize>) -> StoreTxn<'_> {
        StoreTxn {
            store: self,
            locks,
            number,
            written: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// The final lists.
    pub fn into_rows(self) -> Vec<Vec<u64>> {
        self.rows
            .into_iter()
            .map(|row| row.0.into_inner())
            .collect()
    }
}

impl StoreTxn<'_> {
    /// Reads a row.
    pub fn read(&mut self, row: usize) -> Result<(), LockError> {
        self.lock_row(row, Mode::S)?;
        self.note(row);
        Ok(())
    }

    /// Appends to a row.
    pub fn write(&mut self, row: usize) -> Result<(), LockError> {
        self.lock_row(row, Mode::X)?;
        self.append(row);
        Ok(())
    }

    /// Reads every row of a table under one lock.
    pub fn scan(&mut self, table: usize) -> Result<(), LockError> {
        self.locks.lock(&table, Mode::S)?;
        (table * ROWS..(table + 1) * ROWS).for_each(|row| self.note(row));
        Ok(())
    }

    /// Appends to every row of a table under one lock.
    pub fn rewrite(&mut self, table: usize) -> Result<(), LockError> {
        self.locks.lock(&table, Mode::X)?;
        (table * ROWS..(table + 1) * ROWS).for_each(|row| self.append(row));
        Ok(())
    }

    /// Undoes what was written; the locks are still held.
    pub fn undo(&mut self) {
        for row in self.written.drain(..).rev() {
            // SAFETY: see `Row`; the transaction wrote the row under an exclusive lock it has kept.
            let undone = unsafe { &mut *self.store.rows[row].0.get() }.pop();
            assert_eq!(undone, Some(self.number), "somebody wrote to a locked row");
        }
    }

    /// `Mode::S` or `Mode::X` on a row, and the intention on its table, where the table's lock does not cover it.
    fn lock_row(&mut self, row: usize, mode: Mode) -> Result<(), LockError> {
        let table = row / ROWS;
        let intention = if mode == Mode::X { Mode::IX } else { Mode::IS };
        self.locks.lock(&table, intention)?;
        let covered = self
            .locks
            .mode_of(&table)
            .is_some_and(|held| held.covers(mode));
        if covered {
            return Ok(());
        }
        self.locks.lock(&(TABLES + row), mode)
    }

    fn note(&mut self, row: usize) {
        // Time for another thread to be where it must not be.
        for _ in 0..SPINS {
            std::hint::spin_loop();
        }
        // SAFETY: see `Row`; a lock that excludes writers is held.
        let list = unsafe { &*self.store.rows[row].0.get() };
        self.seen.push((row, list.clone()));
    }

    fn append(&mut self, row: usize) {
        // SAFETY: see `Row`; an exclusive lock is held.
        unsafe { &mut *self.store.rows[row].0.get() }.push(self.number);
        self.written.push(row);
        self.note(row);
    }
}
