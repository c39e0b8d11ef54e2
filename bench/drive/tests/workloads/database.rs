//! A database of a workload, in the embedded store: loaded, run by one client after the other, damaged, checked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use evenkeel_drive::dataset::Dataset;
use evenkeel_drive::progress::Progress;
use evenkeel_drive::target::embedded::{Link, Target};
use evenkeel_drive::workload::Hosted;
use evenkeel_store::{self as store, Scan, TransactionOptions};
use evenkeel_workloads::interface::{
    Connection, Error, Immediate, Outcome, Row, Schema, StatementId, TableId, TransactionType,
    Value, Violation, Workload, complete,
};

/// A database.
pub struct Database {
    target: Target,
    schema: Schema,
    executed: AtomicU64,
    /// Fails each execution of a statement whose number is divisible by this; 0: none.
    deadlock_every: AtomicU64,
}

struct Unseen;

impl Progress for Unseen {
    fn loaded(&self, _: u64) {}
    fn step(&self, _: &str) {}
}

impl Database {
    /// With the initial data.
    pub fn of(data: &dyn Dataset) -> Database {
        let settings = [("flush", "lazy-write"), ("pool-mb", "64")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let target = Target::open(None, &settings).expect("a store");
        let loaded = target.set_up(data, false, 1, &AtomicBool::new(false), &Unseen);
        loaded.expect("the data fits the schema");
        Database {
            target,
            schema: data.schema().clone(),
            executed: AtomicU64::new(0),
            deadlock_every: AtomicU64::new(0),
        }
    }

    pub fn connect(&self, data: &dyn Dataset) -> Client<'_> {
        Client {
            link: self.target.connect(data).expect("the tables are there"),
            database: self,
        }
    }

    /// From now on one in `every` executions of a statement fails with [`Error::Deadlock`]; 0 ends that. A transaction
    /// of as many statements would never succeed.
    pub fn inject_deadlocks(&self, every: u64) {
        self.executed.store(0, Relaxed);
        self.deadlock_every.store(every, Relaxed);
    }

    /// All rows of a table in key order, without the hidden column of a table without a key.
    pub fn rows(&self, table: TableId) -> Vec<Row> {
        let columns = self.schema[table].columns.len();
        let rows = self.change(table, |_, _, rows| rows);
        let row = |row: &store::Row| Row(row.iter().take(columns).map(plain).collect());
        rows.iter().map(row).collect()
    }

    /// Damages the database: offers each row of `table` to `change`, in key order, until it returns true. Key columns
    /// may change, too. Gives whether any row was changed.
    pub fn corrupt(&self, table: TableId, mut change: impl FnMut(&mut Row) -> bool) -> bool {
        let mut damage = |row: &store::Row| {
            let mut new = Row(row.iter().map(plain).collect());
            change(&mut new).then(|| new.0.iter().map(stored).collect::<Vec<_>>())
        };
        self.change(table, |transaction, found, rows| {
            let damaged = rows.iter().find_map(|row| Some((row, damage(row)?)));
            damaged.is_some_and(|(old, new)| {
                assert!(transaction.delete(found, &found.key_of(old)).unwrap());
                transaction.insert(found, &new).unwrap();
                true
            })
        })
    }

    /// Damages the database: removes the first row of `table`, in key order, that `choose` accepts. Gives whether there
    /// was one.
    pub fn lose(&self, table: TableId, mut choose: impl FnMut(&Row) -> bool) -> bool {
        let mut chosen = |row: &&store::Row| choose(&Row(row.iter().map(plain).collect()));
        self.change(table, |transaction, found, rows| {
            rows.iter()
                .find(&mut chosen)
                .is_some_and(|row| transaction.delete(found, &found.key_of(row)).unwrap())
        })
    }

    fn change<R>(
        &self,
        table: TableId,
        change: impl FnOnce(&mut store::Transaction, &store::Table, Vec<store::Row>) -> R,
    ) -> R {
        let store = self.target.store();
        let table = store.table(self.schema[table].name).expect("tables stay");
        let mut transaction = store.begin(TransactionOptions::default());
        let rows = transaction.scan(&table, &Scan::all()).expect("rows");
        let changed = change(&mut transaction, &table, rows);
        transaction.commit().expect("nobody else runs");
        changed
    }
}

fn plain(value: &store::Value) -> Value {
    match value {
        store::Value::Null => Value::Null,
        store::Value::Int(number) => Value::Int(*number),
        store::Value::Float(number) => Value::Float(*number),
        store::Value::Text(text) => Value::Text(text.clone()),
        store::Value::Bytes(_) => panic!("workloads have no bytes"),
    }
}

fn stored(value: &Value) -> store::Value {
    match value {
        Value::Null => store::Value::Null,
        Value::Int(number) => store::Value::Int(*number),
        Value::Float(number) => store::Value::Float(*number),
        Value::Text(text) => store::Value::Text(text.clone()),
    }
}

/// A connection, which fails as often as the database is told.
pub struct Client<'d> {
    link: Link,
    database: &'d Database,
}

impl Immediate for Client<'_> {
    fn run(&mut self, id: StatementId, given: &[Value]) -> Result<(Vec<Row>, u64), Error> {
        let executed = self.database.executed.fetch_add(1, Relaxed) + 1;
        let every = self.database.deadlock_every.load(Relaxed);
        if every > 0 && executed.is_multiple_of(every) {
            return Err(Error::Deadlock("injected".into()));
        }
        self.link.run(id, given)
    }
}

impl Connection for Client<'_> {
    async fn begin(&mut self, transaction: &TransactionType) -> Result<(), Error> {
        self.link.begin(transaction).await
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.link.commit().await
    }

    async fn rollback(&mut self) -> Result<(), Error> {
        self.link.rollback().await
    }
}

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

/// A database with the workload's initial data, for which the workload is prepared.
pub fn load<W: Workload>(workload: &W) -> Database {
    let database = Database::of(&Hosted(workload));
    let mut client = database.connect(&Hosted(workload));
    let prepared = complete(async {
        client.begin(&TransactionType::reading()).await?;
        workload.prepare(&mut client).await?;
        client.rollback().await
    });
    prepared.expect("statements succeed");
    drop(client);
    database
}

/// Runs `count` transactions of `clients`, each in its turn. Repeats after deadlocks without limit.
pub fn run<W: Workload>(
    workload: &W,
    database: &Database,
    clients: &mut [W::Client],
    count: usize,
) -> Tally {
    let types = workload.transactions();
    let mut tally = Tally {
        committed: vec![0; types.len()],
        missed: vec![0; types.len()],
        ..Tally::default()
    };
    let mut connection = database.connect(&Hosted(workload));
    for turn in 0..count {
        let client = &mut clients[turn % clients.len()];
        let request = workload.next(client);
        let kind = workload.transaction_type(&request);
        let ended = loop {
            match complete(transact(workload, client, &request, &mut connection)) {
                Err(error) if error.is_retryable() => tally.retries += 1,
                ended => break ended.expect("no other error"),
            }
        };
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
    tally
}

/// One attempt of a transaction.
pub async fn transact<W: Workload>(
    workload: &W,
    client: &mut W::Client,
    request: &W::Request,
    connection: &mut Client<'_>,
) -> Result<Outcome, Error> {
    let kind = &workload.transactions()[workload.transaction_type(request)];
    connection.begin(kind).await?;
    let ended = workload.run(client, request, connection).await;
    match ended {
        Ok(Outcome::Commit | Outcome::Miss) => connection.commit().await?,
        Ok(Outcome::Rollback(_)) | Err(_) => connection.rollback().await?,
    }
    ended
}

/// The workload's consistency conditions.
pub fn check<W: Workload>(workload: &W, database: &Database) -> Vec<Violation> {
    let mut client = database.connect(&Hosted(workload));
    let checked = complete(async {
        client.begin(&TransactionType::reading()).await?;
        let violations = workload.check(&mut client).await?;
        client.rollback().await.map(|()| violations)
    });
    checked.expect("statements succeed")
}
