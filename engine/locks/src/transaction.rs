//! A transaction and the locks it holds.

use std::hash::Hash;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::error::{LockError, TxnId};
use crate::held::HeldLocks;
use crate::inner::{ManagerInner, Progress};
use crate::modes::Mode;
use crate::owner::{Owner, WaitEnd};
use crate::table::{Quick, Request};

/// A transaction of a [`crate::LockManager`]. Holds its locks until [`Transaction::release_all`] or until it is dropped
/// (strict two-phase locking); waits for one lock at a time.
pub struct Transaction<K: Hash + Eq + Clone> {
    manager: Arc<ManagerInner<K>>,
    owner: Owner,
    held: HeldLocks<K>,
    /// The object of the wait in progress, and its hash.
    waits_for: Option<(K, u64)>,
    /// Grants it waited for, and the sum of their times: what hLDSF's estimates need at the end.
    scheduled_grants: u32,
    scheduled_at_ns_sum: f64,
}

impl<K: Hash + Eq + Clone> Transaction<K> {
    pub(crate) fn new(manager: Arc<ManagerInner<K>>, owner: Owner) -> Transaction<K> {
        Transaction {
            manager,
            owner,
            held: HeldLocks::new(),
            waits_for: None,
            scheduled_grants: 0,
            scheduled_at_ns_sum: 0.0,
        }
    }

    /// Its identity.
    pub fn id(&self) -> TxnId {
        TxnId(self.owner.meta().id)
    }

    /// When it was born, in nanoseconds since the manager was made. A retry that is given it keeps its age.
    pub fn birth_ns(&self) -> u64 {
        self.owner.meta().birth_ns
    }

    /// Its type ([`crate::TxnOptions::class`]).
    pub fn class(&self) -> u32 {
        self.owner.meta().class
    }

    /// Number of locks held.
    pub fn locks_held(&self) -> usize {
        self.held.len()
    }

    /// The mode held on `key`.
    pub fn mode_of(&self, key: &K) -> Option<Mode> {
        self.held.mode_of(key, self.manager.hash(key))
    }

    /// The locks held, in no particular order.
    pub fn held(&self) -> impl Iterator<Item = (&K, Mode)> {
        self.held.iter()
    }

    /// A handle with which another thread can end its waits.
    pub fn canceller(&self) -> Canceller<K> {
        Canceller {
            manager: Arc::clone(&self.manager),
            owner: self.owner.clone(),
        }
    }

    /// Locks `key` in `mode`, waiting as long as it takes. Of a lock held already, upgrades it to cover both modes.
    ///
    /// # Errors
    /// See [`LockError`]; if [`LockError::must_abort`], others wait for this transaction to release its locks.
    pub fn lock(&mut self, key: &K, mode: Mode) -> Result<(), LockError> {
        self.lock_within(key, mode, None)
    }

    /// As [`Transaction::lock`], but waits no longer than `timeout`. A timeout of zero tries once.
    ///
    /// # Errors
    /// [`LockError::Timeout`] if it was not granted in time; otherwise as [`Transaction::lock`].
    pub fn lock_timeout(
        &mut self,
        key: &K,
        mode: Mode,
        timeout: Duration,
    ) -> Result<(), LockError> {
        if timeout.is_zero() {
            return match self.try_lock(key, mode) {
                Err(LockError::WouldBlock) => Err(LockError::Timeout),
                outcome => outcome,
            };
        }
        self.lock_within(key, mode, Some(timeout))
    }

    /// Locks `key` in `mode` if that needs no waiting. An object somebody waits for already is refused, because to grant
    /// it might pass that one over.
    ///
    /// # Errors
    /// [`LockError::WouldBlock`] if it would have to wait; otherwise as [`Transaction::lock`].
    pub fn try_lock(&mut self, key: &K, mode: Mode) -> Result<(), LockError> {
        match self.request(key, mode)? {
            None => Ok(()),
            Some(request) if self.grant_quickly(&request) => Ok(()),
            Some(_) => Err(LockError::WouldBlock),
        }
    }

    /// Releases the lock on `key` before the end (read committed). Whether one was held.
    pub fn release(&mut self, key: &K) -> bool {
        self.abandon_wait();
        let hash = self.manager.hash(key);
        if !self.held.remove(key, hash) {
            return false;
        }
        if !self.manager.release_quickly(&self.owner, key, hash) {
            self.manager
                .release_contended(&self.owner, &[(key.clone(), hash)]);
        }
        true
    }

    /// Releases every lock: at the commit or after the abort.
    pub fn release_all(&mut self) {
        self.abandon_wait();
        let mut contended = Vec::new();
        for lock in self.held.drain() {
            if !self
                .manager
                .release_quickly(&self.owner, &lock.key, lock.hash)
            {
                contended.push((lock.key, lock.hash));
            }
        }
        if !contended.is_empty() {
            self.manager.release_contended(&self.owner, &contended);
        }
        if self.scheduled_grants > 0 {
            self.report_remaining();
        }
    }

    fn lock_within(
        &mut self,
        key: &K,
        mode: Mode,
        timeout: Option<Duration>,
    ) -> Result<(), LockError> {
        if let Progress::Granted = self.start(key, mode)? {
            return Ok(());
        }
        // Only a waiter reads the clock. A timeout beyond the clock's range means no timeout.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let end = self
            .owner
            .wait(deadline)
            .or_else(|| self.manager.stop_waiting(&self.owner));
        self.finish_wait(end.unwrap_or(Err(LockError::Timeout)))
    }

    /// Asks for the lock; on [`Progress::Waiting`] the caller sees the wait to its end.
    pub(crate) fn start(&mut self, key: &K, mode: Mode) -> Result<Progress, LockError> {
        let Some(request) = self.request(key, mode)? else {
            return Ok(Progress::Granted);
        };
        if self.grant_quickly(&request) {
            return Ok(Progress::Granted);
        }
        let locks_held = self.held.len() as u32;
        let progress = self
            .manager
            .grant_or_wait(&self.owner, &request, locks_held)?;
        match progress {
            Progress::Granted => self.held.set(key.clone(), request.hash, request.target),
            Progress::Waiting => self.waits_for = Some((key.clone(), request.hash)),
        }
        Ok(progress)
    }

    /// The request to make; `None` if the lock is held already.
    fn request<'k>(&mut self, key: &'k K, mode: Mode) -> Result<Option<Request<'k, K>>, LockError> {
        self.abandon_wait();
        self.owner.check()?;
        let hash = self.manager.hash(key);
        let held = self.held.mode_of(key, hash);
        let target = held.map_or(mode, |held| held.supremum(mode));
        if held == Some(target) {
            return Ok(None);
        }
        let locks_max = self.manager.locks_max();
        if held.is_none() && self.held.len() >= locks_max {
            return Err(LockError::TooManyLocks { locks_max });
        }
        Ok(Some(Request {
            key,
            hash,
            held,
            target,
        }))
    }

    /// Whether the request was granted without looking at waiters.
    fn grant_quickly(&mut self, request: &Request<'_, K>) -> bool {
        if self.manager.grant_quickly(&self.owner, request) != Quick::Done {
            return false;
        }
        let (key, hash, target) = (request.key.clone(), request.hash, request.target);
        match request.held {
            None => self.held.push(key, hash, target),
            Some(_) => self.held.set(key, hash, target),
        }
        true
    }

    /// The end of the wait, if it has ended; otherwise `waker` will be woken.
    pub(crate) fn poll_wait(&mut self, waker: &Waker) -> Poll<Result<(), LockError>> {
        self.owner.poll(waker).map(|end| self.finish_wait(end))
    }

    fn finish_wait(&mut self, end: WaitEnd) -> Result<(), LockError> {
        let (key, hash) = self.waits_for.take().expect("a wait in progress");
        let (mode, granted_at_ns) = end?;
        self.held.set(key, hash, mode);
        self.scheduled_grants += 1;
        self.scheduled_at_ns_sum += granted_at_ns as f64;
        Ok(())
    }

    /// Ends a wait nobody follows any more: its future was dropped, or forgotten and never dropped.
    #[inline]
    pub(crate) fn abandon_wait(&mut self) {
        if self.waits_for.is_some() {
            self.take_wait_back();
        }
    }

    #[cold]
    fn take_wait_back(&mut self) {
        let end = self.manager.stop_waiting(&self.owner);
        // The caller has gone, so an error has no receiver. A lock that was granted must be recorded to be released.
        let _ = self.finish_wait(end.unwrap_or(Err(LockError::Timeout)));
    }

    /// Reports to hLDSF's estimates how long this transaction went on after its scheduled grants, on average.
    fn report_remaining(&mut self) {
        let grants = f64::from(std::mem::take(&mut self.scheduled_grants));
        let granted_at_ns_sum = std::mem::take(&mut self.scheduled_at_ns_sum);
        if self.manager.estimates_remaining() {
            let remaining_ns = self.manager.now_ns() as f64 - granted_at_ns_sum / grants;
            self.manager
                .observe_remaining(self.owner.meta().class, remaining_ns);
        }
    }
}

impl<K: Hash + Eq + Clone> Drop for Transaction<K> {
    fn drop(&mut self) {
        self.release_all();
    }
}

/// Ends a transaction's waits from another thread; may outlive it.
pub struct Canceller<K> {
    manager: Arc<ManagerInner<K>>,
    owner: Owner,
}

impl<K: Hash + Eq + Clone> Canceller<K> {
    /// Ends the wait of the transaction, if any, and refuses all its further requests with
    /// [`LockError::Cancelled`](crate::LockError::Cancelled). It keeps its locks until it releases them.
    pub fn cancel(&self) {
        self.manager.cancel(&self.owner);
    }
}
