//! Waiting for a lock without blocking a thread.

use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::LockError;
use crate::inner::Progress;
use crate::modes::Mode;
use crate::transaction::Transaction;

/// The future of [`Transaction::lock_async`].
#[must_use = "a future does nothing unless polled"]
pub struct LockFuture<'t, K: Hash + Eq + Clone> {
    txn: &'t mut Transaction<K>,
    key: &'t K,
    mode: Mode,
    waiting: bool,
}

impl<K: Hash + Eq + Clone> Transaction<K> {
    /// As [`Transaction::lock`], for asynchronous callers, on the same queues. Dropping the future takes the wait back,
    /// so a timeout is any runtime's timeout around it. If the lock was granted in that moment, it is held until the end
    /// like any other.
    pub fn lock_async<'t>(&'t mut self, key: &'t K, mode: Mode) -> LockFuture<'t, K> {
        LockFuture {
            txn: self,
            key,
            mode,
            waiting: false,
        }
    }
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
        let poll = this.txn.poll_wait(context.waker());
        this.waiting = poll.is_pending();
        poll
    }
}

impl<K: Hash + Eq + Clone> Drop for LockFuture<'_, K> {
    fn drop(&mut self) {
        if self.waiting {
            self.txn.abandon_wait();
        }
    }
}
