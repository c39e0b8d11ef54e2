//! A client's session with a target.

use std::time::Duration;

use evenkeel_store::{Store, StoreError, TransactionOptions};
use evenkeel_workloads::interface::{Error as Failure, complete};

use super::executor::Executor;
use super::link::{Inner, Link};
use crate::Error;
use crate::round_trip::{RoundTrips, SleepLog};

/// Longest that a server may take for one attempt of a transaction.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// A link and what runs its futures.
pub struct Session {
    pub(super) link: Option<Link>,
    pub(super) executor: Executor,
    /// The store, if its worker threads are to do the work.
    pub(super) workers: Option<Store>,
    pub(super) target: String,
}

impl Session {
    /// Runs `body` on the link, up to a time limit if the target is a server.
    ///
    /// # Errors
    /// [`Error::Silent`] if the limit passed.
    pub fn run<T: Send>(
        &mut self,
        body: impl AsyncFnOnce(&mut Link) -> Result<T, Failure> + Send,
    ) -> Result<Result<T, Failure>, Error> {
        let link = self
            .link
            .as_mut()
            .expect("the link is there until the session is dropped");
        match (&self.executor, &self.workers) {
            (Executor::Direct, None) => Ok(complete(body(link))),
            (Executor::Direct, Some(store)) => {
                // The transaction that a worker begins by itself stays empty: the body has its own.
                let work =
                    |_: &mut evenkeel_store::Transaction| Ok::<_, StoreError>(complete(body(link)));
                let done = store.execute(TransactionOptions::default(), work).result;
                done.map_err(|error| Error::Store(error.to_string()))
            }
            (Executor::Runtime(_), _) => {
                let limited = async { tokio::time::timeout(ANSWER_LIMIT, body(link)).await };
                self.executor.block_on(limited).map_err(|_| Error::Silent {
                    target: self.target.clone(),
                    limit_s: ANSWER_LIMIT.as_secs(),
                })
            }
        }
    }

    /// Runs `body` on the link however long it takes.
    ///
    /// # Errors
    /// Those of `body`.
    pub(crate) fn run_unlimited<T>(
        &mut self,
        body: impl AsyncFnOnce(&mut Link) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let link = self
            .link
            .as_mut()
            .expect("the link is there until the session is dropped");
        self.executor.block_on(body(link))
    }

    /// A request has come to its end: what follows is no retry of it.
    pub(crate) fn request_ended(&mut self) {
        if let Some(Inner::Embedded(link)) = self.link.as_mut().map(|link| &mut link.inner) {
            link.forget_age();
        }
    }

    /// From now on the client is this far off within its transactions. Returns where it writes down how long it slept.
    ///
    /// # Errors
    /// [`Error::Setting`] where the store's workers execute whole transactions: no client has its turn within them.
    pub(crate) fn set_round_trips(&mut self, round_trips: RoundTrips) -> Result<SleepLog, Error> {
        if self.workers.is_some() {
            return Err(Error::Setting(
                "with --set workers=N a transaction is executed as a whole, without its client: leave out --round-trip, or the workers"
                    .to_owned(),
            ));
        }
        let (log, link) = (round_trips.log(), self.link.as_mut());
        let link = link.expect("the link is there until the session is dropped");
        link.round_trips = Some(round_trips);
        Ok(log)
    }

    /// What an error means that no retry mends.
    pub fn failure(&self, workload: &str, failure: &Failure) -> Error {
        let (target, reason) = (self.target.clone(), failure.to_string());
        let lost = match self.link.as_ref().map(|link| &link.inner) {
            Some(Inner::Postgres(link)) => link.is_lost(),
            Some(Inner::MariaDb(link)) => link.is_lost(),
            Some(Inner::Embedded(_) | Inner::Sqlite(_)) | None => false,
        };
        if lost {
            Error::Lost { target, reason }
        } else {
            Error::Workload {
                workload: workload.to_owned(),
                target,
                reason,
            }
        }
    }
}

impl Drop for Session {
    /// Servers are notified that a connection ends, which takes a turn of the event loop.
    fn drop(&mut self) {
        let link = self.link.take();
        if let Executor::Runtime(runtime) = &self.executor {
            runtime.block_on(async {
                drop(link);
                tokio::task::yield_now().await;
            });
        }
    }
}
