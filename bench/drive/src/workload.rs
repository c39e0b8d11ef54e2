//! A workload without its types, so that the driver needs no copy of its code for each.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_locks::rng::Rng;
use evenkeel_workloads::interface::{
    self, Batch, Connection, Outcome, Partition, Schema, Statement, TransactionType, Workload,
};

use crate::Error;
use crate::arrivals::exponential;
use crate::client::{Abort, Attempt, Client, Reason};
use crate::dataset::Dataset;
use crate::target::Session;

/// Cap of think times, as a multiple of their mean (TPC-C, clause 5.2.5.4).
const THINK_CAP: f64 = 10.0;

/// A workload, as the driver sees it.
pub trait AnyWorkload: Dataset {
    /// Reads what clients must know of the loaded data, before the first client.
    ///
    /// # Errors
    /// What the target says.
    fn prepare(&self, session: &mut Session) -> Result<(), Error>;
    /// Client `number`, with its session.
    fn client(&self, number: u32, session: Session) -> Box<dyn Client>;
    /// Checks the consistency conditions; one line for each violation.
    ///
    /// # Errors
    /// What the target says.
    fn check(&self, session: &mut Session) -> Result<Vec<String>, Error>;
}

/// A workload with its types.
pub struct Hosted<D>(pub D);

impl<D: Deref<Target: Workload> + Send + Sync> Dataset for Hosted<D> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.0.options()
    }

    fn schema(&self) -> &Schema {
        self.0.schema()
    }

    fn statements(&self) -> &[Statement] {
        self.0.statements()
    }

    fn transactions(&self) -> &[TransactionType] {
        self.0.transactions()
    }

    fn partitions(&self) -> Vec<Partition> {
        self.0.partitions()
    }

    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        self.0.batches(partition)
    }
}

impl<W: Workload> AnyWorkload for Hosted<Arc<W>> {
    fn prepare(&self, session: &mut Session) -> Result<(), Error> {
        let prepared = session.run(async |link| {
            link.begin_alone().await?;
            self.0.prepare(link).await?;
            link.rollback().await
        })?;
        prepared.map_err(|error| session.failure(self.name(), &error))
    }

    fn client(&self, number: u32, session: Session) -> Box<dyn Client> {
        Box::new(WorkloadClient {
            workload: Arc::clone(&self.0),
            state: self.0.client(number),
            request: None,
            session,
            thinking: Rng::new(u64::from(number)),
        })
    }

    fn check(&self, session: &mut Session) -> Result<Vec<String>, Error> {
        let checked = session.run_unlimited(async |link| {
            link.begin_alone().await?;
            let violations = self.0.check(link).await?;
            link.rollback().await?;
            Ok(violations)
        });
        let violations = checked.map_err(|error| session.failure(self.name(), &error))?;
        Ok(violations.iter().map(ToString::to_string).collect())
    }
}

/// A client of a workload on a session.
struct WorkloadClient<W: Workload> {
    workload: Arc<W>,
    state: W::Client,
    /// The drawn transaction.
    request: Option<W::Request>,
    session: Session,
    thinking: Rng,
}

impl<W: Workload> WorkloadClient<W> {
    fn transaction(&self) -> &TransactionType {
        let request = self.request.as_ref().expect("a transaction was drawn");
        &self.workload.transactions()[self.workload.transaction_type(request)]
    }
}

impl<W: Workload> Client for WorkloadClient<W> {
    fn draw(&mut self) -> u8 {
        let request = self.workload.next(&mut self.state);
        let kind = self.workload.transaction_type(&request) as u8;
        self.request = Some(request);
        kind
    }

    fn attempt(&mut self) -> Result<Attempt, Abort> {
        let request = self.request.as_ref().expect("a transaction was drawn");
        let (workload, state) = (&*self.workload, &mut self.state);
        let transaction = &workload.transactions()[workload.transaction_type(request)];
        let ended = self.session.run(async |link| {
            link.begin(transaction).await?;
            let ended = workload.run(state, request, link).await;
            match ended {
                Ok(Outcome::Commit | Outcome::Miss) => link.commit().await?,
                Ok(Outcome::Rollback(_)) => link.rollback().await?,
                Err(ref error) => {
                    let undone = link.rollback().await;
                    // Of two errors the first is the cause, unless it was to be tried again.
                    if error.is_retryable() {
                        undone?;
                    }
                }
            }
            ended
        });
        use interface::Error as Failure;
        match ended.map_err(Abort::Fatal)? {
            Ok(Outcome::Commit | Outcome::Miss) => Ok(Attempt::Committed),
            Ok(Outcome::Rollback(reason)) => Ok(Attempt::RolledBack(reason)),
            Err(Failure::Deadlock(_)) => Err(Abort::Retry(Reason::Deadlock)),
            Err(Failure::SerializationFailure(_)) => Err(Abort::Retry(Reason::Serialization)),
            Err(Failure::LockTimeout(_)) => Err(Abort::Retry(Reason::LockTimeout)),
            // Some workloads run into one now and then, and mean to.
            Err(error @ Failure::DuplicateKey(_)) => Ok(Attempt::RolledBack(error.reason())),
            Err(error) => Err(Abort::Fatal(self.session.failure(workload.name(), &error))),
        }
    }

    fn finished(&mut self, committed: bool) {
        self.session.request_ended();
        if let Some(request) = self.request.take() {
            self.workload.finished(&mut self.state, &request, committed);
        }
    }

    fn pauses(&mut self) -> (Duration, Duration) {
        let (keying_ns, mean_ns) = (
            self.transaction().keying_ns,
            self.transaction().think_mean_ns,
        );
        let think = exponential(&mut self.thinking).min(THINK_CAP) * mean_ns as f64;
        (
            Duration::from_nanos(keying_ns),
            Duration::from_nanos(think as u64),
        )
    }
}
