//! The shortest driver: loads a workload, runs transactions of several clients in turn, checks.

use std::collections::BTreeMap;

use super::{Reference, ReferenceConnection};
use crate::interface::{
    Connection, Error, Outcome, TransactionType, Violation, Workload, complete,
};

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Committed transactions by type, misses included.
    pub committed: Vec<u64>,
    /// The misses among them.
    pub missed: Vec<u64>,
    /// Rolled-back transactions by reason.
    pub rolled_back: BTreeMap<&'static str, u64>,
    /// Repetitions after deadlocks.
    pub retries: u64,
}

/// A database with the workload's initial data.
///
/// # Errors
/// [`Error::DuplicateKey`] if the data is at odds with the schema.
pub fn load<W: Workload>(workload: &W) -> Result<Reference, Error> {
    let reference = Reference::new(workload.schema(), workload.statements());
    for partition in workload.partitions() {
        for batch in workload.batches(&partition) {
            reference.load(batch)?;
        }
    }
    within(&mut reference.connect(), async |connection| {
        workload.prepare(connection).await
    })?;
    Ok(reference)
}

/// Runs `count` transactions of `clients`, each in its turn. Repeats after deadlocks without limit.
///
/// # Errors
/// Those of statements that are not retryable.
pub fn run<W: Workload>(
    workload: &W,
    reference: &Reference,
    clients: &mut [W::Client],
    count: usize,
) -> Result<Tally, Error> {
    let types = workload.transactions();
    let mut tally = Tally {
        committed: vec![0; types.len()],
        missed: vec![0; types.len()],
        ..Tally::default()
    };
    let mut connection = reference.connect();
    for turn in 0..count {
        let client = &mut clients[turn % clients.len()];
        let request = workload.next(client);
        let kind = workload.transaction_type(&request);
        let ended = complete(attempt(
            workload,
            client,
            &request,
            &mut connection,
            &mut tally.retries,
        ))?;
        match ended {
            Outcome::Commit => tally.committed[kind] += 1,
            Outcome::Miss => {
                tally.committed[kind] += 1;
                tally.missed[kind] += 1;
            }
            Outcome::Rollback(reason) => *tally.rolled_back.entry(reason).or_default() += 1,
        }
        workload.finished(client, &request, !matches!(ended, Outcome::Rollback(_)));
    }
    Ok(tally)
}

/// A request, repeated until it ends other than by a retryable error.
async fn attempt<W: Workload>(
    workload: &W,
    client: &mut W::Client,
    request: &W::Request,
    connection: &mut ReferenceConnection,
    retries: &mut u64,
) -> Result<Outcome, Error> {
    loop {
        connection
            .begin(&workload.transactions()[workload.transaction_type(request)])
            .await?;
        let ended = workload.run(client, request, connection).await;
        match ended {
            Ok(Outcome::Commit | Outcome::Miss) => connection.commit().await?,
            Ok(Outcome::Rollback(_)) | Err(_) => connection.rollback().await?,
        }
        match ended {
            Err(error) if error.is_retryable() => *retries += 1,
            ended => return ended,
        }
    }
}

/// The workload's consistency conditions.
///
/// # Errors
/// Those of statements.
pub fn check<W: Workload>(workload: &W, reference: &Reference) -> Result<Vec<Violation>, Error> {
    within(&mut reference.connect(), async |connection| {
        workload.check(connection).await
    })
}

/// Runs something that only reads within a transaction.
fn within<T>(
    connection: &mut ReferenceConnection,
    body: impl AsyncFnOnce(&mut ReferenceConnection) -> Result<T, Error>,
) -> Result<T, Error> {
    let reading = TransactionType::reading();
    complete(async {
        connection.begin(&reading).await?;
        let result = body(connection).await;
        connection.rollback().await?;
        result
    })
}
