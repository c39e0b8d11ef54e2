//! Targets that do their work, and their waiting, inside the call: their futures never wait.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Error, Row, StatementId, Transaction, Value};

/// A running transaction whose statements run to their end in the call. That makes it a [`Transaction`] for [`complete`].
pub trait Immediate: Send {
    /// Runs a statement of any kind: the rows it gives, and the number that [`Transaction::execute`] gives.
    ///
    /// # Errors
    /// See [`Error`].
    fn run(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<(Vec<Row>, u64), Error>;
}

impl<T: Immediate> Transaction for T {
    async fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<Vec<Row>, Error> {
        self.run(statement, parameters).map(|(rows, _)| rows)
    }

    async fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<u64, Error> {
        self.run(statement, parameters).map(|(_, changed)| changed)
    }
}

/// Completes a future on this thread with a single poll. Costs no more than the call itself.
///
/// # Panics
/// If the future is pending: then the target belongs on an asynchronous runtime.
pub fn complete<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a future that should complete at once is pending"),
    }
}
