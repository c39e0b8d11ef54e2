//! The lock microbenchmark of contention-aware scheduling (dissertation, section 4.6.1; VLDB 2018 paper,
//! section 6.1).
//!
//! One table of 20 000 records. A transaction is five statements, each a SELECT (shared lock) or an UPDATE (exclusive
//! lock) of one record drawn from a Zipf distribution. Section 4.6.6 uses 300 clients. It varies the exponent between
//! 0.5 and 0.9 with 60 % of the statements exclusive, and that share between 20 and 100 % with exponent 0.8.
//!
//! The SELECT asks for its shared lock, so that it takes one at every isolation level. An update adds one to
//! the record; so the sum of all records counts committed updates, and shows lost ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::interface::declare::{Statements, add, count, from, p, sum};
use crate::interface::{
    Batch, Declared, Error, Findings, Outcome, Partition, Row, Schema, StatementId, TableId,
    Transaction, TransactionType, Violation, Workload, columns,
};
use crate::random::{Random, RankTable};

/// Records of a batch of the load.
const BATCH: i64 = 500;

/// Its parameters. The default is the paper's middle: exponent 0.8, 60 % exclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Records of the table.
    pub records: u32,
    /// Statements of a transaction.
    pub statements: u32,
    /// Zipf's exponent over the records.
    pub theta: f64,
    /// Probability that a statement is an UPDATE.
    pub exclusive: f64,
    /// Whether a transaction's statements are put in the order of their records, which avoids deadlocks. The
    /// paper's are not.
    pub ordered: bool,
    /// Determines the inputs.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            records: 20_000,
            statements: 5,
            theta: 0.8,
            exclusive: 0.6,
            ordered: false,
            seed: 1,
        }
    }
}

/// The workload.
#[derive(Debug)]
pub struct Micro {
    options: Options,
    declared: Declared,
    table: TableId,
    select: StatementId,
    update: StatementId,
    total: StatementId,
    ranks: Arc<RankTable>,
    /// The sum of all records at the beginning of the run.
    before: Mutex<Option<i64>>,
    /// Updates committed since.
    updates: AtomicI64,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    random: Random,
}

/// A statement of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The record, from 1, the most popular first.
    pub record: i64,
    /// Whether it is an UPDATE.
    pub exclusive: bool,
}

impl Micro {
    /// With these parameters.
    ///
    /// # Panics
    /// If there are no records.
    pub fn new(options: Options) -> Self {
        let mut schema = Schema::new();
        let columns = columns("r_id int, r_value bigint");
        let table = schema.table("record", columns, &["r_id"]);
        let mut statements = Statements::new(&schema);
        let record = || from("record").key([p(0)]);
        let kind = TransactionType::new(
            "transaction",
            100.0,
            options.exclusive == 0.0,
            options.statements == 1,
        );
        Micro {
            select: statements.add("micro_select", record().for_share().columns(["r_value"])),
            update: statements.add("micro_update", record().update([add("r_value", p(1))])),
            total: statements.add(
                "micro_total",
                from("record").aggregates([sum("r_value"), count()]),
            ),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types: vec![kind],
            },
            table,
            ranks: Arc::new(RankTable::new(options.records.into(), options.theta)),
            before: Mutex::new(None),
            updates: AtomicI64::new(0),
            options,
        }
    }

    async fn total<T: Transaction>(&self, transaction: &mut T) -> Result<(i64, i64), Error> {
        let row = transaction.query_one(self.total, &[]).await?;
        Ok((row.int(0)?, row.int(1)?))
    }
}

impl Workload for Micro {
    type Client = Client;
    type Request = Vec<Access>;

    fn name(&self) -> &'static str {
        "micro"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("records", self.options.records.to_string()),
            ("statements", self.options.statements.to_string()),
            ("theta", self.options.theta.to_string()),
            ("exclusive", self.options.exclusive.to_string()),
            ("ordered", self.options.ordered.to_string()),
            ("seed", self.options.seed.to_string()),
        ]
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn partitions(&self) -> Vec<Partition> {
        vec![Partition {
            number: 0,
            name: "records".to_owned(),
            rows: self.options.records.into(),
        }]
    }

    fn batches(&self, _: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let last = i64::from(self.options.records);
        let batch = move |first: i64| {
            let rows = (first..=last.min(first + BATCH - 1))
                .map(|record| Row(vec![record.into(), 0.into()]));
            Batch {
                table: self.table,
                rows: rows.collect(),
            }
        };
        Box::new((1..=last).step_by(BATCH as usize).map(batch))
    }

    async fn prepare<T: Transaction>(&self, transaction: &mut T) -> Result<(), Error> {
        let (sum, _) = self.total(transaction).await?;
        *self.before.lock() = Some(sum);
        self.updates.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn client(&self, number: u32) -> Client {
        Client {
            random: Random::new(self.options.seed, &[number.into()]),
        }
    }

    fn next(&self, client: &mut Client) -> Vec<Access> {
        let random = &mut client.random;
        let mut draw = |_| Access {
            record: self.ranks.draw(random) as i64 + 1,
            exclusive: random.chance(self.options.exclusive),
        };
        let mut accesses: Vec<_> = (0..self.options.statements).map(&mut draw).collect();
        if self.options.ordered {
            // Of one record the exclusive access first: upgrading a shared lock can deadlock, too.
            accesses.sort_by_key(|access| (access.record, !access.exclusive));
        }
        accesses
    }

    fn transaction_type(&self, _: &Vec<Access>) -> usize {
        0
    }

    async fn run<T: Transaction>(
        &self,
        _: &mut Client,
        accesses: &Vec<Access>,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        for access in accesses {
            if access.exclusive {
                let found = transaction
                    .execute(self.update, &[access.record.into(), 1.into()])
                    .await?;
                if found != 1 {
                    return Err(Error::Other(format!(
                        "there is no record {}",
                        access.record
                    )));
                }
            } else {
                transaction
                    .query_one(self.select, &[access.record.into()])
                    .await?;
            }
        }
        Ok(Outcome::Commit)
    }

    fn finished(&self, _: &mut Client, accesses: &Vec<Access>, committed: bool) {
        if committed {
            let updates = accesses.iter().filter(|access| access.exclusive).count();
            self.updates.fetch_add(updates as i64, Ordering::Relaxed);
        }
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let mut findings = Findings::new();
        let (sum, count) = self.total(transaction).await?;
        let records = i64::from(self.options.records);
        findings.equal("micro: count(records) stays", count, records, || {
            "record".to_owned()
        });
        if let Some(before) = *self.before.lock() {
            let expected = before + self.updates.load(Ordering::Relaxed);
            let condition = "micro: sum(r_value) = sum at the beginning + committed updates";
            findings.equal(condition, sum, expected, || "record".to_owned());
        }
        Ok(findings.finish())
    }
}
