//! What PostgreSQL, MariaDB and SQLite have in common: tables that are ours are marked, and loaded in parallel.
//!
//! A table of this program has a comment (in SQLite, a mark) that begins with [`PREFIX`], from the moment it exists.
//! Once the data is loaded the comment describes it. So tables of somebody else are recognised and never dropped, a
//! load that was cut short is recognised and repeated, and data that is there already is used.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use evenkeel_workloads::interface::{Batch, Connection, Schema, Statement, Table};
use evenkeel_workloads::sql::{Dialect, after_load};

use super::executor::runtime;
use crate::Error;
use crate::dataset::Dataset;
use crate::progress::Progress;

/// How the comments on our tables begin.
pub const PREFIX: &str = "evenkeel ";
/// The comment of a table whose data is not complete.
const LOADING: &str = "evenkeel loading";

/// A database that speaks SQL.
pub trait SqlTarget: Sync {
    /// Its dialect.
    const DIALECT: Dialect;
    /// A connection to it.
    type Link: SqlLink;
    /// Name with version and place, for messages.
    fn name(&self) -> &str;
    /// Connects.
    fn connect(&self) -> impl Future<Output = Result<Self::Link, Error>> + Send;
}

/// A connection to such a database.
pub trait SqlLink: Connection + Send {
    /// Runs SQL that returns nothing.
    fn command(&mut self, sql: &str) -> impl Future<Output = Result<(), Error>> + Send;
    /// Prepares a workload's statements.
    fn prepare(
        &mut self,
        schema: &Schema,
        statements: &[Statement],
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Which tables of these lower-case names there are.
    fn find(
        &mut self,
        names: &[String],
    ) -> impl Future<Output = Result<Vec<FoundTable>, Error>> + Send;
    /// SQL that makes a table and its mark in one.
    fn create(&self, table: &Table, mark: &str) -> String;
    /// SQL that changes a table's mark.
    fn mark(&self, table: &Table, mark: &str) -> String;
    /// Loads rows, the fastest way there is; `loaded` gets how many at a time.
    fn load(
        &mut self,
        schema: &Schema,
        batches: Box<dyn Iterator<Item = Batch> + Send + '_>,
        loaded: &(dyn Fn(u64) + Sync),
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A table that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTable {
    /// Its name, in lower case.
    pub table: String,
    /// The comment on it, if any.
    pub comment: Option<String>,
}

/// What is to be done about the tables that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plan {
    /// All are there with the wanted data.
    Use,
    /// These are ours and have to go.
    Replace(Vec<String>),
    /// This one is not ours.
    Refuse(String),
}

fn plan(names: &[String], found: &[FoundTable], mark: &str, reload: bool) -> Plan {
    let ours = |found: &&FoundTable| {
        found
            .comment
            .as_deref()
            .is_some_and(|comment| comment.starts_with(PREFIX))
    };
    if let Some(foreign) = found.iter().find(|found| !ours(found)) {
        return Plan::Refuse(foreign.table.clone());
    }
    let complete = names.iter().all(|name| {
        let mut same = found.iter().filter(|found| found.table == *name);
        same.any(|found| found.comment.as_deref() == Some(mark))
    });
    if complete && !reload {
        return Plan::Use;
    }
    Plan::Replace(found.iter().map(|found| found.table.clone()).collect())
}

/// Sees to it that a workload's tables are there with its initial data. With `reload`, also when they are.
///
/// # Errors
/// [`Error::Foreign`] if there is a table of that name that we did not make, [`Error::Setting`] if `stop` was set, or what
/// the server says.
pub fn set_up<T: SqlTarget>(
    target: &T,
    workload: &dyn Dataset,
    reload: bool,
    loaders: usize,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let mark = mark(workload);
    let tables = &workload.schema().tables;
    let names: Vec<String> = tables
        .iter()
        .map(|table| table.name.to_lowercase())
        .collect();
    let fresh = runtime()?.block_on(async {
        let mut link = target.connect().await?;
        let gone = match plan(&names, &link.find(&names).await?, &mark, reload) {
            Plan::Use => return Ok(false),
            Plan::Refuse(table) => {
                return Err(Error::Foreign {
                    target: target.name().to_owned(),
                    table,
                });
            }
            Plan::Replace(gone) => gone,
        };
        for table in gone {
            link.command(&format!("DROP TABLE {table}")).await?;
        }
        for table in tables {
            let create = link.create(table, LOADING);
            link.command(&create).await?;
        }
        Ok(true)
    })?;
    if !fresh {
        progress.step("using the data that is there");
        return Ok(());
    }
    let partitions = workload.partitions();
    in_parallel(target, loaders, partitions.len(), stop, async |link, at| {
        let batches = workload.batches(&partitions[at]);
        let batches = Box::new(batches.take_while(|_| !stop.load(Ordering::Relaxed)));
        link.load(workload.schema(), batches, &|rows| progress.loaded(rows))
            .await
    })?;
    progress.step("making indexes");
    in_parallel(target, loaders, tables.len(), stop, async |link, at| {
        for sql in after_load(T::DIALECT, &tables[at]) {
            link.command(&sql).await?;
        }
        Ok(())
    })?;
    runtime()?.block_on(async {
        let mut link = target.connect().await?;
        for table in tables {
            let sql = link.mark(table, &mark);
            link.command(&sql).await?;
        }
        Ok(())
    })
}

/// What marks complete data of a workload: here the comment on its tables.
pub(super) fn mark(workload: &dyn Dataset) -> String {
    let options = workload.options();
    let options = options
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    format!("{PREFIX}{}{}", workload.name(), options.collect::<String>())
}

/// Does jobs 0 to `jobs` on up to `threads` connections of their own, and ends at the first error.
fn in_parallel<T: SqlTarget>(
    target: &T,
    threads: usize,
    jobs: usize,
    stop: &AtomicBool,
    job: impl AsyncFn(&mut T::Link, usize) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        runtime()?.block_on(async {
            let mut link = target.connect().await?;
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= jobs {
                    return Ok(());
                }
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Setting("stopped while loading".to_owned()));
                }
                job(&mut link, at).await?;
            }
        })
    };
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.max(1)) {
            scope.spawn(|| {
                if let Err(error) = work() {
                    // Nobody takes a further job.
                    next.store(jobs, Ordering::Relaxed);
                    failure
                        .lock()
                        .expect("no panic with the lock held")
                        .get_or_insert(error);
                }
            });
        }
    });
    let failure = failure.into_inner().expect("no panic with the lock held");
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(table: &str, comment: Option<&str>) -> FoundTable {
        FoundTable {
            table: table.to_owned(),
            comment: comment.map(str::to_owned),
        }
    }

    #[test]
    fn tables_are_used_replaced_or_left_alone() {
        let names = ["item".to_owned(), "stock".to_owned()];
        let mark = "evenkeel tpcc warehouses=1 seed=1";
        let marked = |comment: &str| [found("item", Some(comment)), found("stock", Some(comment))];
        let both = Plan::Replace(names.to_vec());
        assert_eq!(plan(&names, &marked(mark), mark, false), Plan::Use);
        assert_eq!(plan(&names, &marked(mark), mark, true), both);
        assert_eq!(
            plan(
                &names,
                &marked("evenkeel tpcc warehouses=2 seed=1"),
                mark,
                false
            ),
            both
        );
        assert_eq!(plan(&names, &marked(LOADING), mark, false), both);
        assert_eq!(plan(&names, &[], mark, false), Plan::Replace(Vec::new()));
        // One is missing.
        assert_eq!(
            plan(&names, &marked(mark)[..1], mark, false),
            Plan::Replace(vec!["item".to_owned()])
        );
        // One is somebody else's.
        for comment in [None, Some(""), Some("our items")] {
            let mixed = [found("item", Some(mark)), found("stock", comment)];
            assert_eq!(
                plan(&names, &mixed, mark, true),
                Plan::Refuse("stock".to_owned())
            );
        }
    }
}
