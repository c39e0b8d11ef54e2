//! A transaction and the locks it holds.

use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::error::{LockError, TxnId};
use crate::held::HeldLocks;
use crate::manager::{Inner, Progress, deadline};
use crate::modes::Mode;
use crate::owner::{Owner, WaitEnd};
use crate::table::Quick;

/// A transaction of a [`crate::LockManager`]. Holds its locks until [`Transaction::release_all`] or until it is dropped
/// (strict two-phase locking); waits for one lock at a time.
pub struct Transaction<K: Hash + Eq + Clone> {
    manager: Arc<Inner<K>>,
    owner: Owner,
    held: HeldLocks<K>,
    /// Grants it waited for, and the sum of their times: what hLDSF's estimates need at the end.
    scheduled_grants: u32,
    scheduled_at_ns_sum: f64,
}

/// Ends a transaction's waits from another thread.
pub struct Canceller<K> {
    manager: Arc<Inner<K>>,
    owner: Owner,
}

impl<K: Hash + Eq + Clone> Canceller<K> {
    /// Ends the wait of the transaction, if any, and refuses all its further requests with [`LockError::Cancelled`]. It
    /// keeps its locks until it releases them.
    pub fn cancel(&self) {
        self.manager.cancel(&self.owner);
    }
}

/// What a request needs to know of its object.
struct Request<'k, K> {
    key: &'k K,
    hash: u64,
    held: Option<Mode>,
    target: Mode,
}

impl<K: Hash + Eq + Clone> Transaction<K> {
    pub(crate) fn new(manager: Arc<Inner<K>>, owner: Owner) -> Transaction<K> {
        Transaction {
            manager,
            owner,
            held: HeldLocks::new(),
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

    /// Number of locks held.
    pub fn locks_held(&self) -> usize {
        self.held.len()
    }

    /// The mode held on `key`.
    pub fn mode_of(&self, key: &K) -> Option<Mode> {
        self.held.mode_of(key, self.manager.hash(key))
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
        self.lock_until(key, mode, None)
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
            let expired = |error| {
                if error == LockError::WouldBlock {
                    LockError::Timeout
                } else {
                    error
                }
            };
            return self.try_lock(key, mode).map_err(expired);
        }
        self.lock_until(key, mode, deadline(timeout))
    }

    /// Locks `key` in `mode` if that needs no waiting. An object somebody waits for already is refused, because to grant
    /// it might pass that one over.
    ///
    /// # Errors
    /// [`LockError::WouldBlock`] if it would have to wait; otherwise as [`Transaction::lock`].
    pub fn try_lock(&mut self, key: &K, mode: Mode) -> Result<(), LockError> {
        let Some(request) = self.prepare(key, mode)? else {
            return Ok(());
        };
        match self.grant_quickly(&request) {
            Quick::Done => Ok(()),
            Quick::Conflict | Quick::Contended => Err(LockError::WouldBlock),
        }
    }

    /// As [`Transaction::lock`], for asynchronous callers, on the same queues. Dropping the future takes the wait back;
    /// if the lock was granted in that moment, it is held until the end like any other.
    pub fn lock_async<'t>(&'t mut self, key: &'t K, mode: Mode) -> LockFuture<'t, K> {
        LockFuture {
            txn: self,
            key,
            mode,
            waiting: false,
        }
    }

    /// Releases the lock on `key` before the end (read committed). Whether one was held.
    pub fn release(&mut self, key: &K) -> bool {
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
        self.report_remaining();
    }

    fn lock_until(
        &mut self,
        key: &K,
        mode: Mode,
        deadline: Option<Instant>,
    ) -> Result<(), LockError> {
        if let Progress::Granted = self.start(key, mode)? {
            return Ok(());
        }
        let end = self
            .owner
            .wait(deadline)
            .or_else(|| self.manager.stop_waiting(&self.owner));
        self.finish_wait(key, end.unwrap_or(Err(LockError::Timeout)))
    }

    /// Asks for the lock; on [`Progress::Waiting`] the caller sees the wait to its end.
    fn start(&mut self, key: &K, mode: Mode) -> Result<Progress, LockError> {
        let Some(request) = self.prepare(key, mode)? else {
            return Ok(Progress::Granted);
        };
        if self.grant_quickly(&request) == Quick::Done {
            return Ok(Progress::Granted);
        }
        let Request {
            hash, held, target, ..
        } = request;
        let locks_held = self.held.len() as u32;
        let progress =
            self.manager
                .grant_or_wait(&self.owner, key, hash, held, target, locks_held)?;
        if let Progress::Granted = progress {
            self.held.set(key, hash, target);
        }
        Ok(progress)
    }

    /// What to ask for; nothing if the lock is held already.
    fn prepare<'k>(&self, key: &'k K, mode: Mode) -> Result<Option<Request<'k, K>>, LockError> {
        self.owner.check()?;
        let hash = self.manager.hash(key);
        let held = self.held.mode_of(key, hash);
        let target = held.map_or(mode, |held| held.supremum(mode));
        if held == Some(target) {
            return Ok(None);
        }
        let locks_max = self.manager.config.locks_max;
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

    fn grant_quickly(&mut self, request: &Request<'_, K>) -> Quick {
        let Request {
            key,
            hash,
            held,
            target,
        } = *request;
        let quick = self
            .manager
            .grant_quickly(&self.owner, key, hash, held, target);
        if quick == Quick::Done {
            self.held.set(key, hash, target);
        }
        quick
    }

    fn finish_wait(&mut self, key: &K, end: WaitEnd) -> Result<(), LockError> {
        let (mode, granted_at_ns) = end?;
        self.held.set(key, self.manager.hash(key), mode);
        self.scheduled_grants += 1;
        self.scheduled_at_ns_sum += granted_at_ns as f64;
        Ok(())
    }

    /// Tells hLDSF how long this transaction went on after its scheduled grants, on average.
    fn report_remaining(&mut self) {
        let grants = f64::from(std::mem::take(&mut self.scheduled_grants));
        let granted_at_ns_sum = std::mem::take(&mut self.scheduled_at_ns_sum);
        if grants > 0.0 && self.manager.config.rules.schedule.needs_remaining_times() {
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

/// The future of [`Transaction::lock_async`].
#[must_use = "a future does nothing unless polled"]
pub struct LockFuture<'t, K: Hash + Eq + Clone> {
    txn: &'t mut Transaction<K>,
    key: &'t K,
    mode: Mode,
    waiting: bool,
}

impl<K: Hash + Eq + Clone> Future for LockFuture<'_, K> {
    type Output = Result<(), LockError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if !this.waiting {
            match this.txn.start(this.key, this.mode) {
                Ok(Progress::Waiting) => this.waiting = true,
                Ok(Progress::Granted) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Poll::Ready(end) = this.txn.owner.poll(context.waker()) else {
            return Poll::Pending;
        };
        this.waiting = false;
        Poll::Ready(this.txn.finish_wait(this.key, end))
    }
}

impl<K: Hash + Eq + Clone> Drop for LockFuture<'_, K> {
    fn drop(&mut self) {
        if !self.waiting {
            return;
        }
        if let Some(end) = self.txn.manager.stop_waiting(&self.txn.owner) {
            // Nobody is left to tell an error to; a lock granted meanwhile must be known to be released.
            let _ = self.txn.finish_wait(self.key, end);
        }
    }
}
