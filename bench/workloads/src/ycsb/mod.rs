//! YCSB's core workloads A to F (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010,
//! table 2).
//!
//! | | operations | popularity |
//! |---|---|---|
//! | A | 50 % read, 50 % update | Zipf |
//! | B | 95 % read, 5 % update | Zipf |
//! | C | 100 % read | Zipf |
//! | D | 95 % read, 5 % insert | latest |
//! | E | 95 % scan of 1 to 100 records, 5 % insert | Zipf |
//! | F | 50 % read, 50 % read-modify-write | Zipf |
//!
//! Follows YCSB's own client. Reads return all fields and updates write one. Keys are `user` and a hash of the
//! record's number. Popular records are spread over the keys by hashing Zipf ranks of ten thousand million items. The
//! latest records are those whose insert is acknowledged. There are two differences: scans begin at records of the
//! initial data only, and each operation is a transaction.

mod core;
mod inserts;
mod popularity;

pub use self::core::Core;

use self::core::{OperationKind, transaction_types};
use inserts::Inserts;
use popularity::Popularity;

use crate::interface::ColumnType::Text;
use crate::interface::declare::{Statements, count, from, insert, p, set};
use crate::interface::{
    Batch, Declared, Error, Findings, Outcome, Partition, Row, Schema, StatementId, TableId,
    Transaction, Value, Violation, Workload, column,
};
use crate::random::{Random, Weighted, scramble};

/// Fields of a record.
pub const FIELDS: usize = 10;

/// Characters of a field.
pub(crate) const FIELD_LENGTH: usize = 100;

/// Longest scan.
const SCAN: i64 = 100;

/// Records of a partition of the load.
const PARTITION: u64 = 10_000;

/// Records of a batch.
const BATCH: u64 = 500;

/// Records whose fields the check looks at.
const SAMPLE: i64 = 1000;

const NAMES: [&str; FIELDS] = numbered!("field": 0 1 2 3 4 5 6 7 8 9);

const UPDATES: [&str; FIELDS] = numbered!("ycsb_update_": 0 1 2 3 4 5 6 7 8 9);

/// Size and skew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Records loaded; about 1 kB each.
    pub records: u64,
    /// Zipf's exponent: YCSB has 0.99.
    pub theta: f64,
    /// Determines data and inputs.
    pub seed: u64,
}

/// The workload.
#[derive(Debug)]
pub struct Ycsb {
    core: Core,
    options: Options,
    declared: Declared,
    table: TableId,
    weights: Weighted,
    read: StatementId,
    read_for_update: StatementId,
    updates: [StatementId; FIELDS],
    insert: StatementId,
    scan: StatementId,
    count: StatementId,
    popularity: Popularity,
    inserts: Inserts,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    random: Random,
    popularity: Popularity,
    /// Whether the record of the running insert was there already.
    exists: bool,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reads all fields of a record.
    Read(u64),
    /// Writes a field of a record.
    Update(u64, usize, String),
    /// Adds a record.
    Insert(u64, Vec<String>),
    /// Reads this many records in key order, from this one on.
    Scan(u64, i64),
    /// Reads a record and writes a field of it.
    ReadModifyWrite(u64, usize, String),
}

/// The key of a record.
pub fn key(number: u64) -> String {
    format!("user{}", scramble(number))
}

fn fields(random: &mut Random) -> Vec<String> {
    (0..FIELDS)
        .map(|_| random.text(FIELD_LENGTH, FIELD_LENGTH))
        .collect()
}

fn row(number: u64, fields: impl IntoIterator<Item = String>) -> Vec<Value> {
    std::iter::once(key(number))
        .chain(fields)
        .map(Value::Text)
        .collect()
}

impl Ycsb {
    /// A core workload.
    ///
    /// # Panics
    /// If there are no records.
    pub fn new(core: Core, options: Options) -> Self {
        assert!(options.records > 0, "YCSB needs records");
        let mut schema = Schema::new();
        let columns = std::iter::once(column("ycsb_key", Text(24)));
        let columns = columns.chain(NAMES.map(|name| column(name, Text(FIELD_LENGTH as u16))));
        let table = schema.table("usertable", columns.collect(), &["ycsb_key"]);
        let mut statements = Statements::new(&schema);
        let record = || from("usertable").key([p(0)]);
        let scan = from("usertable").at_least(p(0)).ascending().limit(p(1));
        let types = transaction_types(core);
        let mut update = |field: usize| {
            statements.add(UPDATES[field], record().update([set(NAMES[field], p(1))]))
        };
        let updates = std::array::from_fn(&mut update);
        Ycsb {
            core,
            options,
            read: statements.add("ycsb_read", record().columns(NAMES)),
            read_for_update: statements
                .add("ycsb_read_for_update", record().for_update().columns(NAMES)),
            updates,
            insert: statements.add("ycsb_insert", insert("usertable")),
            scan: statements.add("ycsb_scan", scan.columns(NAMES)),
            count: statements.add("ycsb_count", from("usertable").aggregates([count()])),
            weights: Weighted::new(types.iter().map(|kind| kind.fraction)),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types,
            },
            table,
            popularity: match core {
                Core::D => Popularity::latest(options.records, options.theta),
                _ => Popularity::scrambled(options.records, options.theta),
            },
            inserts: Inserts::new(options.records),
        }
    }
}

impl Workload for Ycsb {
    type Client = Client;
    type Request = Request;

    fn name(&self) -> &'static str {
        self.core.name()
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("records", self.options.records.to_string()),
            ("theta", self.options.theta.to_string()),
            ("seed", self.options.seed.to_string()),
        ]
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn partitions(&self) -> Vec<Partition> {
        let parts = (0..self.options.records)
            .step_by(PARTITION as usize)
            .enumerate();
        let describe = |(number, first)| Partition {
            number,
            name: format!("records from {first}"),
            rows: PARTITION.min(self.options.records - first),
        };
        parts.map(describe).collect()
    }

    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let first = partition.number as u64 * PARTITION;
        let end = self.options.records.min(first + PARTITION);
        let batch = move |from: u64| {
            let record = |number| {
                Row(row(
                    number,
                    fields(&mut Random::new(self.options.seed, &[1, number])),
                ))
            };
            Batch {
                table: self.table,
                rows: (from..end.min(from + BATCH)).map(record).collect(),
            }
        };
        Box::new((first..end).step_by(BATCH as usize).map(batch))
    }

    async fn prepare<T: Transaction>(&self, transaction: &mut T) -> Result<(), Error> {
        let count = transaction.query_one(self.count, &[]).await?.int(0)?;
        self.inserts.begin(count as u64);
        Ok(())
    }

    fn client(&self, number: u32) -> Client {
        let random = Random::new(self.options.seed, &[2, number.into()]);
        Client {
            random,
            popularity: self.popularity.clone(),
            exists: false,
        }
    }

    fn next(&self, client: &mut Client) -> Request {
        let kind = self.core.mix()[self.weights.draw(&mut client.random)].0;
        if kind == OperationKind::Insert {
            return Request::Insert(self.inserts.take(), fields(&mut client.random));
        }
        let random = &mut client.random;
        let number = client.popularity.draw(random, self.inserts.acknowledged());
        match kind {
            OperationKind::Read => Request::Read(number),
            OperationKind::Scan => Request::Scan(number, random.between(1, SCAN)),
            _ => {
                let (field, text) = (
                    random.below(FIELDS),
                    random.text(FIELD_LENGTH, FIELD_LENGTH),
                );
                match kind {
                    OperationKind::Update => Request::Update(number, field, text),
                    _ => Request::ReadModifyWrite(number, field, text),
                }
            }
        }
    }

    fn transaction_type(&self, request: &Request) -> usize {
        let kind = match request {
            Request::Read(_) => OperationKind::Read,
            Request::Update(..) => OperationKind::Update,
            Request::Insert(..) => OperationKind::Insert,
            Request::Scan(..) => OperationKind::Scan,
            Request::ReadModifyWrite(..) => OperationKind::ReadModifyWrite,
        };
        self.core
            .mix()
            .iter()
            .position(|(of_mix, _)| *of_mix == kind)
            .expect("requests are drawn from the mix")
    }

    /// A record that is not there is a miss: an insert before it was given up.
    async fn run<T: Transaction>(
        &self,
        client: &mut Client,
        request: &Request,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let found = match request {
            Request::Read(number) => transaction
                .query(self.read, &[key(*number).into()])
                .await?
                .len() as u64,
            Request::Scan(number, length) => transaction
                .query(self.scan, &[key(*number).into(), (*length).into()])
                .await?
                .len() as u64,
            Request::Insert(number, fields) => {
                let inserted = transaction
                    .execute(self.insert, &row(*number, fields.iter().cloned()))
                    .await;
                client.exists = matches!(inserted, Err(Error::DuplicateKey(_)));
                if client.exists {
                    return Ok(Outcome::Rollback("key_exists"));
                }
                inserted?
            }
            Request::Update(number, field, text) => {
                let parameters = [key(*number).into(), text.as_str().into()];
                transaction
                    .execute(self.updates[*field], &parameters)
                    .await?
            }
            Request::ReadModifyWrite(number, field, text) => {
                let parameters = [key(*number).into(), text.as_str().into()];
                match transaction
                    .query_optional(self.read_for_update, &parameters[..1])
                    .await?
                {
                    Some(_) => {
                        transaction
                            .execute(self.updates[*field], &parameters)
                            .await?
                    }
                    None => 0,
                }
            }
        };
        Ok(if found > 0 {
            Outcome::Commit
        } else {
            Outcome::Miss
        })
    }

    fn finished(&self, client: &mut Client, request: &Request, committed: bool) {
        if let Request::Insert(number, _) = request {
            self.inserts
                .end(*number, committed, std::mem::take(&mut client.exists));
        }
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let mut findings = Findings::new();
        if let Some(expected) = self.inserts.expected() {
            let count = transaction.query_one(self.count, &[]).await?.int(0)?;
            let condition = "ycsb: count(records) = records at the beginning + committed inserts";
            findings.equal(condition, count, expected as i64, || "usertable".to_owned());
        }
        for (position, record) in transaction
            .query(self.scan, &["".into(), SAMPLE.into()])
            .await?
            .iter()
            .enumerate()
        {
            for (field, name) in NAMES.iter().enumerate() {
                let whole = record.text(field)?.len() == FIELD_LENGTH;
                let detail = || format!("record {position} of the table, {name}");
                findings.holds("ycsb: every field has 100 characters", whole, detail);
            }
        }
        Ok(findings.finish())
    }
}
