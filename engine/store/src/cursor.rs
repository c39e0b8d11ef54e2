//! Scans: going through the leaves of a range, locking rows and the gaps between them.
//!
//! Locks are only tried while a leaf is latched. One that cannot be had at once is waited for without the latch; then the
//! scan descends again to where it was, because anything may have happened there. The locks that count are thus always
//! taken with the leaf latched, and an insertion looks at them with the leaf latched, too.

use std::ops::{Bound, ControlFlow};

use evenkeel_locks::Mode;

use crate::error::StoreError;
use crate::ghosts::Ghost;
use crate::key::KeyRange;
use crate::locking::{LockDuration, LockName};
use crate::row::is_out_of_line;
use crate::scan::Scan;
use crate::table::{Index, Table};
use crate::transaction::{Isolation, Transaction};
use crate::tree::Tree;
use crate::tree::descend::Seek;
use crate::tree::node::Node;
use crate::value::{Row, Value};

/// Rows locked ahead of the caller at most, in a scan it may stop.
const AHEAD_MAX: usize = 64;

/// A scan under way.
struct Cursor<'t> {
    table: &'t Table,
    index: Option<Index>,
    tree: Tree,
    range: KeyRange,
    reverse: bool,
    mode: Mode,
    /// Forward: the next key, included. Backward: the bound below which to go on, excluded; `None` for no bound.
    position: Option<Vec<u8>>,
    done: bool,
    /// The lock just waited for, if it is not to be kept.
    waited: Option<LockName>,
    /// Rows found and not yet returned.
    found: Vec<FoundRow>,
}

/// A row found.
struct FoundRow {
    /// Its primary key, or the row itself if it was there.
    row: Result<Row, Vec<u8>>,
    /// Its lock, if it is to be released when the row is read.
    release: Option<LockName>,
}

/// Reaction of a scan to a lock in its way.
enum Step {
    /// The leaf is through, or enough was found.
    Paused,
    /// Wait for this lock, then look again.
    Wait(LockName, Mode),
}

impl Transaction {
    /// The rows a scan finds, in order.
    ///
    /// # Errors
    /// If a bound does not fit the key, a lock is refused, or the disk fails.
    pub fn scan(&mut self, table: &Table, scan: &Scan) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        self.run_scan(table, scan, scan.limit, |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Calls `visit` with each row a scan finds, in order, until it breaks. Up to 64 rows further on may be locked by then.
    ///
    /// # Errors
    /// As [`scan`](Transaction::scan).
    pub fn scan_each(
        &mut self,
        table: &Table,
        scan: &Scan,
        visit: impl FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.run_scan(table, scan, AHEAD_MAX, visit)
    }

    fn run_scan(
        &mut self,
        table: &Table,
        scan: &Scan,
        ahead_max: usize,
        mut visit: impl FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.statement(table, scan.lock_mode().intention(), |txn| {
            let mut cursor = Cursor::new(table, scan)?;
            let mut left = scan.limit;
            while left > 0 && !cursor.done {
                let advanced = txn.advance(&mut cursor, left.min(ahead_max));
                let mut found = std::mem::take(&mut cursor.found).into_iter();
                let mut go_on = advanced.map(|()| ControlFlow::Continue(()));
                while let Ok(ControlFlow::Continue(())) = go_on
                    && let Some(found) = found.next()
                {
                    left -= 1;
                    go_on = txn.fetch(table, found).map(&mut visit);
                }
                found.filter_map(|found| found.release).for_each(|name| {
                    txn.locks.release(&name);
                });
                if go_on?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Finds more rows, up to `wanted`, at most to the end of a leaf.
    fn advance(&mut self, cursor: &mut Cursor<'_>, wanted: usize) -> Result<(), StoreError> {
        loop {
            let step = if cursor.reverse {
                self.step_backward(cursor, wanted)?
            } else {
                self.step_forward(cursor, wanted)?
            };
            let Step::Wait(name, mode) = step else {
                return Ok(());
            };
            let instant =
                mode == cursor.mode && self.lock_duration(name, mode) == LockDuration::Instant;
            self.lock(name, mode)?;
            if let Some(stale) = cursor.waited.replace(name).filter(|&stale| stale != name) {
                self.locks.release(&stale);
            }
            cursor.waited = cursor.waited.filter(|_| instant);
        }
    }

    fn step_forward(&mut self, cursor: &mut Cursor<'_>, wanted: usize) -> Result<Step, StoreError> {
        let store = std::sync::Arc::clone(&self.store);
        let from = cursor.position.take().unwrap_or_default();
        let leaf = cursor
            .tree
            .leaf_to_read(&store.storage.pool, Seek::At(&from))?;
        let node = Node(&leaf);
        let start = node.search(&from).unwrap_or_else(|slot| slot);
        let mut slot = start;
        let step = loop {
            if cursor.found.len() >= wanted {
                break Step::Paused;
            }
            // After the last entry it is the gap up to the fence.
            if let Some(wait) = self.pass(LockName::gap_at(cursor.tree, node, slot))? {
                break wait;
            }
            if slot == node.count() {
                match node.high() {
                    Some(high) if cursor.range.is_below_high(high) => {
                        cursor.position = Some(high.to_vec());
                        return Ok(Step::Paused);
                    }
                    _ => cursor.done = true,
                }
                break Step::Paused;
            }
            if !cursor.range.is_below_high(node.key(slot)) {
                cursor.done = true;
                break Step::Paused;
            }
            if let Some(wait) = self.take(cursor, node, slot)? {
                break wait;
            }
            slot += 1;
        };
        cursor.position = Some(match slot.checked_sub(1) {
            Some(last) if last >= start => successor(node.key(last)),
            _ => from,
        });
        Ok(step)
    }

    fn step_backward(
        &mut self,
        cursor: &mut Cursor<'_>,
        wanted: usize,
    ) -> Result<Step, StoreError> {
        let store = std::sync::Arc::clone(&self.store);
        let below = cursor.position.take();
        let leaf = cursor
            .tree
            .leaf_to_read(&store.storage.pool, Seek::Below(below.as_deref()))?;
        let node = Node(&leaf);
        let start = match &below {
            Some(key) => node.search(key).unwrap_or_else(|slot| slot),
            None => node.count(),
        };
        // What is visited begins here.
        let mut slot = start;
        let step = loop {
            if cursor.found.len() >= wanted {
                break Step::Paused;
            }
            // The gap between the entries in `slot` and before it.
            if let Some(wait) = self.pass(LockName::gap_at(cursor.tree, node, slot))? {
                break wait;
            }
            let Some(next) = slot.checked_sub(1) else {
                if node.low() > cursor.range.low.as_slice() {
                    cursor.position = Some(node.low().to_vec());
                    return Ok(Step::Paused);
                }
                cursor.done = true;
                break Step::Paused;
            };
            if node.key(next) < cursor.range.low.as_slice() {
                cursor.done = true;
                break Step::Paused;
            }
            if let Some(wait) = self.take(cursor, node, next)? {
                break wait;
            }
            slot = next;
        };
        cursor.position = if slot < start {
            Some(node.key(slot).to_vec())
        } else {
            below
        };
        Ok(step)
    }

    /// Locks a gap if the isolation needs it.
    fn pass(&mut self, gap: LockName) -> Result<Option<Step>, StoreError> {
        if self.isolation != Isolation::Serializable || self.try_lock(gap, Mode::S)? {
            return Ok(None);
        }
        Ok(Some(Step::Wait(gap, Mode::S)))
    }

    /// Locks the row of the entry in `slot` and takes it in, unless it is a ghost.
    fn take(
        &mut self,
        cursor: &mut Cursor<'_>,
        node: Node<'_>,
        slot: usize,
    ) -> Result<Option<Step>, StoreError> {
        let entry = node.entry(slot);
        let primary = cursor.primary_key(entry.key)?;
        let name = cursor.table.row_lock(primary);
        let instant = cursor.waited == Some(name)
            || self.lock_duration(name, cursor.mode) == LockDuration::Instant;
        if !self.try_lock(name, cursor.mode)? {
            return Ok(Some(Step::Wait(name, cursor.mode)));
        }
        if cursor.waited == Some(name) {
            cursor.waited = None;
        }
        if entry.ghost {
            self.store
                .ghosts
                .add(&mut vec![Ghost::new(cursor.tree, entry.key)]);
            if instant {
                self.locks.release(&name);
            }
            return Ok(None);
        }
        let row = match cursor.index {
            None if !is_out_of_line(entry.value) => {
                Ok(cursor.table.decode(entry.key, entry.value)?)
            }
            // Read when the leaf is not latched any more.
            _ => Err(primary.to_vec()),
        };
        cursor.found.push(FoundRow {
            row,
            release: instant.then_some(name),
        });
        Ok(None)
    }

    /// The row of what was found, which is locked.
    fn fetch(&mut self, table: &Table, found: FoundRow) -> Result<Row, StoreError> {
        let row = match found.row {
            Ok(row) => Ok(Some(row)),
            Err(key) => self.read_locked(table, &key),
        };
        if let Some(name) = found.release {
            self.locks.release(&name);
        }
        row?.ok_or_else(|| {
            StoreError::Corrupt(format!(
                "an index of {:?} has an entry without a row",
                table.name()
            ))
        })
    }
}

impl<'t> Cursor<'t> {
    fn new(table: &'t Table, scan: &Scan) -> Result<Cursor<'t>, StoreError> {
        let index_schema = scan.index.map(|index| &table.indexes()[index.place]);
        for bound in [&scan.low, &scan.high] {
            if let Bound::Included(values) | Bound::Excluded(values) = bound {
                table.layout().check_prefix(index_schema, values)?;
            }
        }
        let range = KeyRange::between(as_slice(&scan.low), as_slice(&scan.high));
        let position = if scan.reverse {
            range.high.clone()
        } else {
            Some(range.low.clone())
        };
        Ok(Cursor {
            table,
            index: scan.index,
            tree: scan
                .index
                .map_or(table.tree(), |index| table.index_trees()[index.place]),
            done: range.is_empty(),
            range,
            reverse: scan.reverse,
            mode: scan.lock_mode(),
            position,
            waited: None,
            found: Vec::new(),
        })
    }

    /// The primary key in a key of the tree scanned.
    fn primary_key<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], StoreError> {
        let Some(index) = self.index else {
            return Ok(key);
        };
        let schema = &self.table.indexes()[index.place];
        let start = self.table.layout().primary_key_in(schema, key);
        let start = start.ok_or_else(|| {
            StoreError::Corrupt(format!("a key of index {:?} is malformed", schema.name))
        })?;
        Ok(&key[start..])
    }
}

fn as_slice(bound: &Bound<Vec<Value>>) -> Bound<&[Value]> {
    match bound {
        Bound::Included(values) => Bound::Included(values),
        Bound::Excluded(values) => Bound::Excluded(values),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// The smallest key greater than `key`.
fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}
