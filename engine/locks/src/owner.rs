//! The part of a transaction other threads see: who it is, and the cell in which it learns how its wait ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Poll, Waker};
use std::time::Instant;

use crate::error::LockError;
use crate::meta::{TxnIndex, TxnMeta};
use crate::modes::Mode;
use crate::sync::{Condvar, Mutex};

/// No place in the wait-for graph.
const NOT_IN_GRAPH: u32 = u32::MAX;

/// End of a wait: the mode held now and the time of its grant, or the error.
pub(crate) type WaitEnd = Result<(Mode, u64), LockError>;

/// A transaction, compared by identity.
#[derive(Clone)]
pub(crate) struct Owner(Arc<State>);

struct State {
    meta: TxnMeta,
    /// Its place in the wait-for graph. Read and written only under the graph's lock, so relaxed suffices.
    index: AtomicU32,
    /// Set after `Cell::abort_reason`, so that a lock on a free object need not take the cell's mutex.
    must_abort: AtomicBool,
    cell: Mutex<Cell>,
    changed: Condvar,
}

#[derive(Default)]
struct Cell {
    end: Option<WaitEnd>,
    waker: Option<Waker>,
    /// Why every further request is refused.
    abort_reason: Option<LockError>,
}

impl PartialEq for Owner {
    #[inline]
    fn eq(&self, other: &Owner) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Owner {
    pub(crate) fn new(meta: TxnMeta) -> Owner {
        Owner(Arc::new(State {
            meta,
            index: AtomicU32::new(NOT_IN_GRAPH),
            must_abort: AtomicBool::new(false),
            cell: Mutex::new(Cell::default()),
            changed: Condvar::default(),
        }))
    }

    pub(crate) fn meta(&self) -> &TxnMeta {
        &self.0.meta
    }

    pub(crate) fn index(&self) -> Option<TxnIndex> {
        let index = self.0.index.load(Ordering::Relaxed);
        (index != NOT_IN_GRAPH).then_some(TxnIndex(index))
    }

    pub(crate) fn set_index(&self, index: Option<TxnIndex>) {
        self.0.index.store(
            index.map_or(NOT_IN_GRAPH, |index| index.0),
            Ordering::Relaxed,
        );
    }

    /// Refuses every further request for this reason, the first one given.
    pub(crate) fn require_abort(&self, why: LockError) {
        self.0.cell.lock().abort_reason.get_or_insert(why);
        self.0.must_abort.store(true, Ordering::Release);
    }

    /// # Errors
    /// If the transaction must abort.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), LockError> {
        if self.0.must_abort.load(Ordering::Acquire) {
            Err(self.abort_reason())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn abort_reason(&self) -> LockError {
        let abort_reason = self.0.cell.lock().abort_reason.clone();
        abort_reason.expect("the reason is set before the flag")
    }

    /// Says how the wait ended; [`Owner::wake`] is called later, without locks.
    pub(crate) fn deliver(&self, end: WaitEnd) {
        let mut cell = self.0.cell.lock();
        debug_assert!(cell.end.is_none(), "a wait ends once");
        cell.end = Some(end);
    }

    pub(crate) fn wake(&self) {
        let waker = self.0.cell.lock().waker.take();
        self.0.changed.notify();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The end of the wait, if it has ended.
    pub(crate) fn take_end(&self) -> Option<WaitEnd> {
        self.0.cell.lock().end.take()
    }

    /// Blocks until the wait ends or the deadline passes.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Option<WaitEnd> {
        let mut cell = self.0.cell.lock();
        loop {
            if let Some(end) = cell.end.take() {
                return Some(end);
            }
            let expired;
            (cell, expired) = self.0.changed.wait(&self.0.cell, cell, deadline);
            if expired {
                return cell.end.take();
            }
        }
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<WaitEnd> {
        let mut cell = self.0.cell.lock();
        match cell.end.take() {
            Some(end) => Poll::Ready(end),
            None => {
                cell.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }
}
