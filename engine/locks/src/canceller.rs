//! Ending a transaction's waits from another thread.

use std::hash::Hash;
use std::sync::Arc;

use crate::inner::ManagerInner;
use crate::owner::Owner;

/// Ends a transaction's waits from another thread; may outlive it.
pub struct Canceller<K> {
    manager: Arc<ManagerInner<K>>,
    owner: Owner,
}

impl<K: Hash + Eq + Clone> Canceller<K> {
    pub(crate) fn new(manager: Arc<ManagerInner<K>>, owner: Owner) -> Canceller<K> {
        Canceller { manager, owner }
    }

    /// Ends the wait of the transaction, if any, and refuses all its further requests with
    /// [`LockError::Cancelled`](crate::LockError::Cancelled). It keeps its locks until it releases them.
    pub fn cancel(&self) {
        self.manager.cancel(&self.owner);
    }
}
