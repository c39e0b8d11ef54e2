//! A transaction's life: begin, statements that are undone when they fail, rollback. Its commit is in [`crate::commit`].

use std::sync::Arc;
use std::time::Duration;

use evenkeel_locks::{LockError, Mode, TxnId, TxnOptions};
use evenkeel_log::{Depends, Lsn, NewRecord};
use evenkeel_pages::PageWrite;

use crate::covering::{Escalation, Wait};
use crate::error::StoreError;
use crate::ghosts::Ghost;
use crate::inner::StoreInner;
use crate::locking::{LockDuration, LockName};
use crate::observe::{Grant, Trace};
use crate::record::{RecordKind, Undo, put_changes};
use crate::storage::apply;
use crate::table::Table;
use crate::tree::change::Change;
use crate::undo::{Compensation, UndoList};

/// The changes of others that a transaction may see.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Isolation {
    /// Reads see committed data. Rows are locked only while they are read.
    ReadCommitted,
    /// And what was read does not change until the end; but a repeated scan may find new rows.
    RepeatableRead,
    /// As if transactions ran one after the other: scans lock the gaps they pass, too.
    #[default]
    Serializable,
}

/// Options of a transaction's beginning.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct TransactionOptions {
    /// The changes of others that it may see.
    pub isolation: Isolation,
    /// Its type, for hLDSF's estimates and for statistics.
    pub class: u32,
    /// The [`Transaction::birth_ns`] of the one it is a retry of: it keeps that one's age.
    pub birth_ns: Option<u64>,
    /// Its expected remaining time where known, for hLDSF, in nanoseconds.
    pub expected_remaining_ns: Option<f64>,
    /// Longest wait for a lock, instead of the store's setting.
    pub lock_timeout: Option<Duration>,
}

/// The log's own part of a record and its compensation record, or more.
const RECORD_BYTES: usize = 128;

/// A transaction. Rolled back when dropped without [`commit`](Transaction::commit).
pub struct Transaction {
    pub(crate) store: Arc<StoreInner>,
    pub(crate) locks: evenkeel_locks::Transaction<LockName>,
    pub(crate) isolation: Isolation,
    class: u32,
    lock_timeout: Option<Duration>,
    pub(crate) ended: bool,
    /// Its number in the log, and 0 before its first record.
    pub(crate) number: u64,
    last_lsn: Lsn,
    /// Locks on the statement's whole table, and when to escalate to more.
    pub(crate) escalation: Escalation,
    /// Commits that were not durable when it got their locks: it may have seen their changes.
    pub(crate) needs: Vec<Lsn>,
    undo: UndoList,
    /// Bytes of the log that undoing and ending it may take.
    undo_bytes: u64,
    /// Bytes of the log that it has reserved: for that, and for the change that it is making.
    reserved_bytes: u64,
    /// Rows that it deleted: removable when it commits.
    pub(crate) deleted: Vec<Ghost>,
    /// Rows that it inserted and took back: removable when it ends.
    pub(crate) taken_back: Vec<Ghost>,
    /// Its lock grants, if somebody observes them.
    grants: Option<Vec<Grant>>,
    pub(crate) buffers: Buffers,
}

/// Memory used by statement after statement.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    payload: Vec<u8>,
}

impl Transaction {
    pub(crate) fn begin(store: Arc<StoreInner>, options: &TransactionOptions) -> Transaction {
        let locks = store.locks.begin_with(TxnOptions {
            class: options.class,
            birth_ns: options.birth_ns,
            expected_remaining_ns: options.expected_remaining_ns,
        });
        Transaction {
            isolation: options.isolation,
            class: options.class,
            lock_timeout: options.lock_timeout.or_else(|| store.lock_timeout()),
            ended: false,
            number: 0,
            last_lsn: Lsn::ZERO,
            escalation: Escalation::new(store.escalation_locks),
            needs: Vec::new(),
            undo: UndoList::default(),
            undo_bytes: 0,
            reserved_bytes: 0,
            deleted: Vec::new(),
            taken_back: Vec::new(),
            grants: store.is_observed().then(Vec::new),
            buffers: Buffers::default(),
            locks,
            store,
        }
    }

    /// Its identity in the lock manager, as in [`StoreError::Deadlock`].
    pub fn id(&self) -> TxnId {
        self.locks.id()
    }

    /// When it was born: give it to the transaction that tries again, so that it keeps its age.
    pub fn birth_ns(&self) -> u64 {
        self.locks.birth_ns()
    }

    /// Number of locks it holds.
    pub fn locks_held(&self) -> usize {
        self.locks.locks_held()
    }

    /// Whether it was rolled back by an error.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Runs a statement that locks parts of the table in `mode`. One that fails is undone; if the lock manager made it fail, the
    /// whole transaction is.
    pub(crate) fn statement<T>(
        &mut self,
        table: &Table,
        mode: Mode,
        run: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        assert_eq!(
            table.store(),
            self.store.number,
            "a table is used with the store it came from"
        );
        self.check()?;
        let before = self.undo.len();
        let duration = self.table_lock_duration(table, mode);
        let done = self.lock_table(table, mode).and_then(|()| run(self));
        let done = done.inspect_err(|error| self.fail(error, before));
        self.release_log();
        self.escalation.covers = None;
        if duration == LockDuration::Instant {
            self.locks.release(&table.lock());
        }
        done
    }

    /// # Errors
    /// If the transaction has ended or the store has stopped.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.ended {
            return Err(StoreError::Ended);
        }
        self.store.check()
    }

    fn fail(&mut self, error: &StoreError, before: usize) {
        match error {
            StoreError::Deadlock { .. } => self.store.counters.deadlocks.add_one(),
            StoreError::GaveWay(_) => self.store.counters.gave_way.add_one(),
            StoreError::LockTimeout => self.store.counters.lock_timeouts.add_one(),
            _ => {}
        }
        // If undoing fails, the store stops, and the next call returns the error.
        if error.is_retryable() {
            let _ = self.end_undone();
        } else {
            let _ = self.undo_to(before);
        }
    }

    /// Locks `name`, waiting for it, unless the lock of its table covers it. No page may be latched.
    pub(crate) fn lock(&mut self, name: LockName, mode: Mode) -> Result<(), StoreError> {
        if self.escalation.is_due(&self.locks, name) {
            self.escalate(Wait::No, mode)?;
        }
        if !self.escalation.covers(mode) {
            match self.lock_uncovered(name, mode) {
                Err(StoreError::TooManyLocks(_)) => {
                    self.escalate(Wait::Yes, mode)?;
                    if !self.escalation.covers(mode) {
                        self.lock_uncovered(name, mode)?;
                    }
                }
                done => done?,
            }
        }
        self.note_need(name);
        // The holder before may have released it because the store stopped, with its changes in place.
        self.store.check()
    }

    /// Locks `name` itself, waiting for it.
    pub(crate) fn lock_uncovered(&mut self, name: LockName, mode: Mode) -> Result<(), StoreError> {
        let asked_ns = self.grants.is_some().then(|| self.store.locks.now_ns());
        let held = self.locks.locks_held();
        match self.lock_timeout {
            None => self.locks.lock(&name, mode)?,
            Some(timeout) => self.locks.lock_timeout(&name, mode, timeout)?,
        }
        if let Some(asked_ns) = asked_ns
            && self.locks.locks_held() > held
        {
            self.note_grant(asked_ns);
        }
        Ok(())
    }

    /// Locks `name` if that needs no waiting, nor that the locks become fewer; whether it could.
    pub(crate) fn try_lock(&mut self, name: LockName, mode: Mode) -> Result<bool, StoreError> {
        let held = self.locks.locks_held();
        if !self.try_lock_unobserved(name, mode)? {
            return Ok(false);
        }
        if self.grants.is_some() && self.locks.locks_held() > held {
            self.note_grant(self.store.locks.now_ns());
        }
        self.note_need(name);
        // As in `lock`.
        self.store.check()?;
        Ok(true)
    }

    /// Like [`Self::try_lock`], for a lock that shows nothing of the disk's content and is held briefly.
    pub(crate) fn try_lock_unobserved(
        &mut self,
        name: LockName,
        mode: Mode,
    ) -> Result<bool, StoreError> {
        if self.escalation.covers(mode) {
            return Ok(true);
        }
        if self.escalation.is_due(&self.locks, name) {
            return Ok(false);
        }
        match self.locks.try_lock(&name, mode) {
            Ok(()) => Ok(true),
            Err(LockError::WouldBlock | LockError::TooManyLocks { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes the commit that released the lock and is not durable yet.
    pub(crate) fn note_need(&mut self, name: LockName) {
        if let Some(commit) = self.store.released.commit_of(name)
            && !self.needs.contains(&commit)
        {
            self.needs.push(commit);
        }
    }

    fn note_grant(&mut self, asked_ns: u64) {
        let now_ns = self.store.locks.now_ns();
        let grant = Grant {
            age_ns: now_ns.saturating_sub(self.locks.birth_ns()),
            waited_ns: now_ns.saturating_sub(asked_ns),
        };
        self.grants.get_or_insert_default().push(grant);
    }

    /// Changes a leaf and notes how to undo it.
    pub(crate) fn change(
        &mut self,
        leaf: &mut PageWrite<'_>,
        change: &Change<'_>,
        undo: &[u8],
    ) -> Result<(), StoreError> {
        let (page, page_lsn) = (leaf.id(), leaf.lsn());
        let lsn = self.append(&[(page, change.clone())], undo, &[page_lsn])?;
        apply(leaf, change, lsn);
        Ok(())
    }

    /// Appends a record of changes that the caller then makes.
    pub(crate) fn append(
        &mut self,
        changes: &[(evenkeel_pages::PageId, Change<'_>)],
        undo: &[u8],
        depends: &[Lsn],
    ) -> Result<Lsn, StoreError> {
        let mut payload = std::mem::take(&mut self.buffers.payload);
        payload.clear();
        put_changes(changes, &mut payload);
        payload.extend_from_slice(undo);
        let lsn = self.append_record(RecordKind::Change, Depends::On(depends), &payload);
        self.buffers.payload = payload;
        let lsn = lsn?;
        self.undo.push(lsn, undo);
        // A compensation record repeats what undoes the change, which is part of the payload.
        self.undo_bytes += (self.buffers.payload.len() + RECORD_BYTES) as u64;
        Ok(lsn)
    }

    /// Reserves room in the log for a change with records of `bytes`, for undoing it, and for the end of the
    /// transaction. The previous change has been made.
    pub(crate) fn reserve_log(&mut self, bytes: usize) -> Result<(), StoreError> {
        let ending = match self.number {
            0 => self.ending_bytes(),
            _ => 0,
        };
        // A split moves half a page, on few levels.
        let split = 2 * self.store.storage.pool.body_bytes();
        let wanted = self.undo_bytes + (2 * (bytes + RECORD_BYTES) + split + ending) as u64;
        if wanted > self.reserved_bytes {
            self.store.reserve_log(wanted - self.reserved_bytes)?;
            self.reserved_bytes = wanted;
        }
        Ok(())
    }

    /// Gives back what is reserved in the log beyond what undoing may take.
    fn release_log(&mut self) {
        debug_assert!(self.undo_bytes <= self.reserved_bytes);
        let surplus = self.reserved_bytes.saturating_sub(self.undo_bytes);
        if surplus > 0 {
            self.store.storage.log.release(surplus);
            self.reserved_bytes -= surplus;
        }
    }

    /// Bytes that a commit, or the end of a rollback, takes: a block each.
    fn ending_bytes(&self) -> usize {
        2 * self.store.log_block_bytes
    }

    /// Its last record is appended.
    pub(crate) fn leave(&mut self) {
        self.store.running.leave(self.number);
        self.undo_bytes = 0;
        self.release_log();
    }

    pub(crate) fn append_record(
        &mut self,
        kind: RecordKind,
        depends: Depends<'_>,
        payload: &[u8],
    ) -> Result<Lsn, StoreError> {
        let log = &self.store.storage.log;
        if self.number == 0 {
            self.number = self.store.running.enter(log);
            self.undo_bytes += self.ending_bytes() as u64;
        }
        let log = &self.store.storage.log;
        self.last_lsn = log.append(&NewRecord {
            txn: self.number,
            prev: self.last_lsn,
            kind: kind as u8,
            depends,
            payload,
        })?;
        Ok(self.last_lsn)
    }

    /// Takes all its changes back and releases its locks.
    ///
    /// # Errors
    /// If pages or log fail: the store has stopped then, and undoes the transaction when it is reopened.
    pub fn rollback(mut self) -> Result<(), StoreError> {
        if self.ended {
            return Ok(());
        }
        self.store.counters.rolled_back.add_one();
        self.end_undone()
    }

    /// Undoes everything and ends.
    fn end_undone(&mut self) -> Result<(), StoreError> {
        self.ended = true;
        let undone = self.undo_all();
        self.release_locks();
        if undone.is_ok() {
            self.store.ghosts.add(&mut self.taken_back);
        }
        self.notify_observer(false);
        undone
    }

    /// Releases all locks at its end.
    pub(crate) fn release_locks(&mut self) {
        self.locks.release_all();
        self.store.ghosts.transaction_ended(self.locks.id());
    }

    fn undo_all(&mut self) -> Result<(), StoreError> {
        if self.number == 0 {
            return Ok(());
        }
        self.undo_to(0)?;
        let mut compensation = self.compensation();
        compensation
            .end()
            .inspect_err(|error| self.store.stop(error))?;
        self.leave();
        Ok(())
    }

    /// Undoes its last changes until `keep` are left.
    fn undo_to(&mut self, keep: usize) -> Result<(), StoreError> {
        if self.undo.len() <= keep {
            return Ok(());
        }
        self.store.check()?;
        self.note_taken_back(keep);
        let store = Arc::clone(&self.store);
        let mut compensation = Compensation {
            storage: &store.storage,
            txn: self.number,
            prev: self.last_lsn,
        };
        let undone = compensation.undo_to(&mut self.undo, keep);
        self.last_lsn = compensation.prev;
        undone.inspect_err(|error| store.stop(error))
    }

    fn compensation(&self) -> Compensation<'_> {
        Compensation {
            storage: &self.store.storage,
            txn: self.number,
            prev: self.last_lsn,
        }
    }

    /// Its inserted rows become ghosts that can be removed once its locks are released.
    fn note_taken_back(&mut self, keep: usize) {
        for undo in self.undo.iter().skip(keep).flatten() {
            let (tree, key) = match undo {
                Undo::Insert { tree, key } => (tree, key),
                Undo::Splice {
                    tree,
                    key,
                    ghost: true,
                    ..
                } => (tree, key),
                _ => continue,
            };
            self.taken_back
                .push(Ghost::new(crate::tree::Tree { root: tree }, key));
        }
    }

    pub(crate) fn notify_observer(&mut self, committed: bool) {
        let Some(grants) = self.grants.take() else {
            return;
        };
        let Some(observer) = self.store.observer() else {
            return;
        };
        let age_ns = self
            .store
            .locks
            .now_ns()
            .saturating_sub(self.locks.birth_ns());
        observer.ended(&Trace {
            class: self.class,
            committed,
            age_ns,
            grants: &grants,
        });
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended {
            self.store.counters.rolled_back.add_one();
            // If it fails, the store has stopped, and the next call returns the error.
            let _ = self.end_undone();
        }
    }
}
