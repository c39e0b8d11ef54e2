//! A client's handle of the embedded store.

use std::sync::Arc;

use evenkeel_store::{Isolation, Store, StoreError, TransactionOptions};
use evenkeel_workloads::interface::{
    Connection, Error, Immediate, Row, StatementId, TransactionType, Value,
};

use super::interpret::{Execution, Failure, Tables};

/// A handle. Its futures are always ready: what waits, waits inside.
pub struct Link {
    store: Store,
    tables: Arc<Tables>,
    /// Names of the types of transactions; a type's position is its class in the store.
    types: Arc<[&'static str]>,
    isolation: Isolation,
    transaction: Option<evenkeel_store::Transaction>,
    /// Isolation of the running transaction.
    running: Isolation,
    /// Age of the attempt that failed: the next one inherits it, so that a victim is not the youngest for ever.
    birth_ns: Option<u64>,
}

impl Link {
    pub(super) fn new(
        store: Store,
        tables: Arc<Tables>,
        types: Arc<[&'static str]>,
        isolation: Isolation,
    ) -> Link {
        Link {
            store,
            tables,
            types,
            isolation,
            transaction: None,
            running: isolation,
            birth_ns: None,
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A request has come to its end: the next transaction is no retry of it.
    pub(crate) fn forget_age(&mut self) {
        self.birth_ns = None;
    }

    /// Begins a transaction while nobody else runs, so that it need not hold on to the locks of what it reads.
    pub fn begin_alone(&mut self) {
        self.start(Isolation::ReadCommitted, 0);
    }

    fn start(&mut self, isolation: Isolation, class: u32) {
        let birth_ns = self.birth_ns.take();
        let options = TransactionOptions {
            isolation,
            class,
            birth_ns,
            ..TransactionOptions::default()
        };
        self.transaction = Some(self.store.begin(options));
        self.running = isolation;
    }

    fn failure(&mut self, error: &StoreError) -> Error {
        let words = error.to_string();
        let failure = match error {
            StoreError::Deadlock { .. } => Error::Deadlock(words),
            // Made to give way by a policy that prevents deadlocks.
            StoreError::GaveWay(_) => Error::SerializationFailure(words),
            StoreError::LockTimeout => Error::LockTimeout(words),
            StoreError::DuplicateKey { .. } => Error::DuplicateKey(words),
            _ => Error::Other(words),
        };
        if failure.is_retryable() {
            self.birth_ns = self
                .transaction
                .as_ref()
                .map(evenkeel_store::Transaction::birth_ns);
        }
        failure
    }
}

impl Immediate for Link {
    fn run(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<(Vec<Row>, u64), Error> {
        let Some(transaction) = &mut self.transaction else {
            return Err(Error::Other(
                "a statement outside of a transaction".to_owned(),
            ));
        };
        let unlocked = self.running == Isolation::ReadCommitted;
        let mut execution = Execution {
            tables: &self.tables,
            transaction,
            unlocked,
            parameters,
        };
        let done = execution.run(&self.tables.statements[statement.0]);
        done.map_err(|failure| match failure {
            Failure::Store(error) => self.failure(&error),
            Failure::Value(error) => error,
        })
    }
}

impl Connection for Link {
    async fn begin(&mut self, transaction: &TransactionType) -> Result<(), Error> {
        let class = self
            .types
            .iter()
            .position(|name| *name == transaction.name)
            .unwrap_or(0);
        self.start(self.isolation, class as u32);
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        match self
            .transaction
            .take()
            .map(evenkeel_store::Transaction::commit)
        {
            None | Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(self.failure(&error)),
        }
    }

    async fn rollback(&mut self) -> Result<(), Error> {
        match self
            .transaction
            .take()
            .map(evenkeel_store::Transaction::rollback)
        {
            None | Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(self.failure(&error)),
        }
    }
}
