//! sysbench's `oltp_read_write` (sysbench 1.0), the load that administrators of MySQL and PostgreSQL know best.
//!
//! | statements | of a transaction |
//! |---|---|
//! | a row by its id | 10 |
//! | a hundred rows by id: read, summed up, in order, distinct | 1 each |
//! | a row's indexed column + 1 | 1 |
//! | a row's text changed | 1 |
//! | a row deleted, and inserted with other values | 1 |
//!
//! Ids are drawn as by sysbench's default, three of four from a hundredth of the rows (`special.rs`). The counts, and
//! the length of a range, are options as in sysbench, so its read-only and write-only loads are possible too. There
//! are two differences. There is one table (sysbench's own default). Rows are read in the order of the index instead
//! of the text, so the server's sort of a hundred rows is left out.

mod special;

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::interface::declare::{Statements, add, count, from, insert, p, set, sum};
use crate::interface::{
    Batch, Declared, Error, Findings, Outcome, Partition, Row, Schema, StatementId, TableId,
    Transaction, TransactionType, Value, Violation, Workload, columns,
};
use crate::random::Random;
use special::Special;

/// Rows of a partition of the load.
const PARTITION: i64 = 10_000;

/// Rows of a batch.
const BATCH: i64 = 500;

/// Rows whose text the check looks at.
const SAMPLE: i64 = 1000;

/// Groups of eleven digits in `c` and in `pad`.
const GROUPS: [usize; 2] = [10, 5];

/// Size, statements and skew. The default is sysbench's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Rows of the table.
    pub records: i64,
    /// Rows read by their id (`--point-selects`).
    pub point_selects: usize,
    /// Ranges read in each of the four ways (`--simple-ranges`, `--sum-ranges`, `--order-ranges`, `--distinct-ranges`).
    pub ranges: usize,
    /// Rows of a range (`--range-size`).
    pub range_size: i64,
    /// Changes of the indexed column (`--index-updates`).
    pub index_updates: usize,
    /// Changes of the text (`--non-index-updates`).
    pub other_updates: usize,
    /// Rows deleted and inserted again (`--delete-inserts`).
    pub replaced: usize,
    /// Probability that an id is in the hundredth in the middle (`--rand-spec-res`, as a fraction).
    pub hot: f64,
    /// Determines data and inputs.
    pub seed: u64,
}

impl Options {
    /// Statements of a transaction.
    pub fn statements(&self) -> usize {
        self.point_selects + 4 * self.ranges + self.writes()
    }

    /// Number of statements that write.
    fn writes(&self) -> usize {
        self.index_updates + self.other_updates + 2 * self.replaced
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            records: 10_000,
            point_selects: 10,
            ranges: 1,
            range_size: 100,
            index_updates: 1,
            other_updates: 1,
            replaced: 1,
            hot: 0.75,
            seed: 1,
        }
    }
}

/// The workload.
#[derive(Debug)]
pub struct Sysbench {
    options: Options,
    declared: Declared,
    table: TableId,
    point: StatementId,
    /// The four ways to read a range, in the order in which a transaction uses them.
    ranges: [StatementId; 4],
    update_k: StatementId,
    update_c: StatementId,
    delete: StatementId,
    insert: StatementId,
    totals: StatementId,
    ids: Special,
    /// The sum of `k` at the beginning of the run.
    before: Mutex<Option<i64>>,
    /// Changes of `k` committed since.
    updates: AtomicI64,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    random: Random,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    points: Vec<i64>,
    /// The first ids of the ranges of each way.
    ranges: [Vec<i64>; 4],
    index_updates: Vec<i64>,
    other_updates: Vec<(i64, String)>,
    replaced: Vec<Vec<Value>>,
}

/// Groups of eleven digits, separated by dashes.
fn groups(random: &mut Random, count: usize) -> String {
    let groups: Vec<String> = (0..count).map(|_| random.digits(11, 11)).collect();
    groups.join("-")
}

/// Whether it is such a text.
fn is_grouped(text: &str, count: usize) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let whole = |group: &&str| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit());
    groups.len() == count && groups.iter().all(whole)
}

impl Sysbench {
    /// With these options.
    ///
    /// # Panics
    /// If there are no rows.
    pub fn new(options: Options) -> Self {
        assert!(options.records > 0, "sysbench needs rows");
        let mut schema = Schema::new();
        let columns = columns("id int, k int, c text(120), pad text(60)");
        let table = schema.table("sbtest1", columns, &["id"]);
        schema.index(table, "k_1", &["k"], false);
        let mut statements = Statements::new(&schema);
        let row = || from("sbtest1").key([p(0)]);
        let range = || from("sbtest1").at_least(p(0)).at_most(p(1));
        let kind = TransactionType::new(
            "transaction",
            100.0,
            options.writes() == 0,
            options.statements() == 1,
        );
        Sysbench {
            point: statements.add("sysbench_point", row().columns(["c"])),
            ranges: [
                statements.add("sysbench_range", range().columns(["c"])),
                statements.add("sysbench_sum", range().aggregates([sum("k")])),
                statements.add("sysbench_order", range().ascending().columns(["c"])),
                statements.add("sysbench_distinct", range().grouped(["c"], [])),
            ],
            update_k: statements.add("sysbench_update_k", row().update([add("k", p(1))])),
            update_c: statements.add("sysbench_update_c", row().update([set("c", p(1))])),
            delete: statements.add("sysbench_delete", row().delete()),
            insert: statements.add("sysbench_insert", insert("sbtest1")),
            totals: statements.add(
                "sysbench_totals",
                from("sbtest1").aggregates([sum("k"), count()]),
            ),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types: vec![kind],
            },
            table,
            ids: Special::new(options.records, options.hot),
            before: Mutex::new(None),
            updates: AtomicI64::new(0),
            options,
        }
    }

    fn row(&self, id: i64, random: &mut Random) -> Vec<Value> {
        let [c, pad] = GROUPS;
        vec![
            id.into(),
            self.ids.draw(random).into(),
            Value::Text(groups(random, c)),
            Value::Text(groups(random, pad)),
        ]
    }

    async fn totals<T: Transaction>(&self, transaction: &mut T) -> Result<(i64, i64), Error> {
        let row = transaction.query_one(self.totals, &[]).await?;
        Ok((row.int(0)?, row.int(1)?))
    }

    async fn read<T: Transaction>(
        &self,
        request: &Request,
        transaction: &mut T,
    ) -> Result<(), Error> {
        for id in &request.points {
            transaction.query(self.point, &[(*id).into()]).await?;
        }
        for (statement, ranges) in self.ranges.iter().zip(&request.ranges) {
            for first in ranges {
                let last = first + self.options.range_size - 1;
                transaction
                    .query(*statement, &[(*first).into(), last.into()])
                    .await?;
            }
        }
        Ok(())
    }

    /// Whether all rows were there.
    async fn write<T: Transaction>(
        &self,
        request: &Request,
        transaction: &mut T,
    ) -> Result<bool, Error> {
        let mut found = 0;
        for id in &request.index_updates {
            found += transaction
                .execute(self.update_k, &[(*id).into(), 1.into()])
                .await?;
        }
        for (id, text) in &request.other_updates {
            found += transaction
                .execute(self.update_c, &[(*id).into(), text.as_str().into()])
                .await?;
        }
        for row in &request.replaced {
            found += transaction.execute(self.delete, &row[..1]).await?;
            transaction.execute(self.insert, row).await?;
        }
        let sought =
            request.index_updates.len() + request.other_updates.len() + request.replaced.len();
        Ok(found == sought as u64)
    }
}

impl Workload for Sysbench {
    type Client = Client;
    type Request = Request;

    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let options = &self.options;
        vec![
            ("records", options.records.to_string()),
            ("point-selects", options.point_selects.to_string()),
            ("ranges", options.ranges.to_string()),
            ("range-size", options.range_size.to_string()),
            ("index-updates", options.index_updates.to_string()),
            ("non-index-updates", options.other_updates.to_string()),
            ("delete-inserts", options.replaced.to_string()),
            ("hot", options.hot.to_string()),
            ("seed", options.seed.to_string()),
        ]
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn partitions(&self) -> Vec<Partition> {
        let firsts = (1..=self.options.records).step_by(PARTITION as usize);
        let describe = |(number, first): (usize, i64)| Partition {
            number,
            name: format!("rows from {first}"),
            rows: PARTITION.min(self.options.records - first + 1) as u64,
        };
        firsts.enumerate().map(describe).collect()
    }

    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let first = partition.number as i64 * PARTITION + 1;
        let last = self.options.records.min(first + PARTITION - 1);
        let batch = move |from: i64| {
            let row = |id: i64| {
                let mut random = Random::new(self.options.seed, &[1, id as u64]);
                Row(self.row(id, &mut random))
            };
            Batch {
                table: self.table,
                rows: (from..=last.min(from + BATCH - 1)).map(row).collect(),
            }
        };
        Box::new((first..=last).step_by(BATCH as usize).map(batch))
    }

    async fn prepare<T: Transaction>(&self, transaction: &mut T) -> Result<(), Error> {
        let (sum, _) = self.totals(transaction).await?;
        *self.before.lock() = Some(sum);
        self.updates.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn client(&self, number: u32) -> Client {
        Client {
            random: Random::new(self.options.seed, &[2, number.into()]),
        }
    }

    fn next(&self, client: &mut Client) -> Request {
        let (options, random) = (&self.options, &mut client.random);
        let ids = |random: &mut Random, count: usize| -> Vec<i64> {
            (0..count).map(|_| self.ids.draw(random)).collect()
        };
        let points = ids(random, options.point_selects);
        let ranges = std::array::from_fn(|_| ids(random, options.ranges));
        let index_updates = ids(random, options.index_updates);
        let changed = ids(random, options.other_updates);
        let replaced = ids(random, options.replaced);
        Request {
            points,
            ranges,
            index_updates,
            other_updates: changed
                .into_iter()
                .map(|id| (id, groups(random, GROUPS[0])))
                .collect(),
            replaced: replaced
                .into_iter()
                .map(|id| self.row(id, random))
                .collect(),
        }
    }

    fn transaction_type(&self, _: &Request) -> usize {
        0
    }

    /// Under read committed a row that another transaction is replacing is not found, or exists already when it is
    /// inserted.
    async fn run<T: Transaction>(
        &self,
        _: &mut Client,
        request: &Request,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        self.read(request, transaction).await?;
        match self.write(request, transaction).await {
            Ok(true) => Ok(Outcome::Commit),
            Ok(false) => Ok(Outcome::Rollback("row_replaced")),
            Err(Error::DuplicateKey(_)) => Ok(Outcome::Rollback("key_exists")),
            Err(error) => Err(error),
        }
    }

    fn finished(&self, _: &mut Client, request: &Request, committed: bool) {
        if committed {
            let updates = request.index_updates.len() as i64;
            self.updates.fetch_add(updates, Ordering::Relaxed);
        }
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let mut findings = Findings::new();
        let table = || "sbtest1".to_owned();
        let (sum, count) = self.totals(transaction).await?;
        findings.equal(
            "sysbench: count(rows) stays",
            count,
            self.options.records,
            table,
        );
        let before = *self.before.lock();
        if let Some(before) = before.filter(|_| self.options.replaced == 0) {
            let expected = before + self.updates.load(Ordering::Relaxed);
            let condition = "sysbench: sum(k) = sum at the beginning + committed index updates, where no row is replaced";
            findings.equal(condition, sum, expected, table);
        }
        let sample = [1.into(), SAMPLE.into()];
        for (position, row) in transaction
            .query(self.ranges[0], &sample)
            .await?
            .iter()
            .enumerate()
        {
            let whole = is_grouped(row.text(0)?, GROUPS[0]);
            let detail = || format!("row {position} of the table");
            findings.holds("sysbench: c is ten groups of digits", whole, detail);
        }
        Ok(findings.finish())
    }
}
