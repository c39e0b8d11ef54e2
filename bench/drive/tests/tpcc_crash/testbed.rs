//! The embedded store on a simulated disk, with TPC-C's data on it.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_drive::progress::Progress as LoadProgress;
use evenkeel_drive::target::embedded::{Link, Target};
use evenkeel_store::{self as store, Scan, Settings, Store, TransactionOptions};
use evenkeel_workloads::interface::{Row, Value, Workload, complete};
use evenkeel_workloads::tpcc::Tpcc;

use crate::course::{Contents, Course, transact};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Transactions after which deleted rows are removed, and a checkpoint is taken.
const TIDY_EVERY: usize = 5;
const CHECKPOINT_EVERY: usize = 13;

/// Without threads, with the smallest pages that take a customer and so few of them in memory that transactions write pages, too.
pub fn settings(streams: usize) -> Settings {
    let mut settings = Settings::default().without_threads();
    settings.pool.page_bytes = 8192;
    settings.pool.frames = 32;
    settings.log.block_bytes = 512;
    settings.log.segment_bytes = 64 << 10;
    settings.log_streams = streams;
    settings
}

/// Progress of a sequence of transactions.
#[derive(Clone, Copy, Default)]
pub struct Progress {
    /// Transactions whose end was acknowledged, committed or not.
    pub ended: usize,
    /// Whether the commit of the next one was asked for.
    pub committing: bool,
}

/// A store, and a client's handle of it.
pub struct Testbed {
    pub link: Link,
    target: Target,
}

impl Testbed {
    /// Opens the store on `disk`, recovering it, and finds the tables.
    pub fn open(disk: &FaultDisk, settings: &Settings, course: &Course) -> Result<Testbed> {
        let target = Target::over(open(disk, settings)?, settings);
        Ok(Testbed {
            link: target.connect(&course.hosted)?,
            target,
        })
    }

    pub fn store(&self) -> &Store {
        self.target.store()
    }

    /// Runs a part of the course.
    pub fn run(
        &mut self,
        course: &Course,
        part: Range<usize>,
        progress: &mut Progress,
    ) -> Result<()> {
        for number in part {
            progress.committing = false;
            let committing = || progress.committing = true;
            complete(transact(
                &course.tpcc,
                &course.requests[number],
                &mut self.link,
                committing,
            ))?;
            progress.committing = false;
            progress.ended += 1;
            if number % TIDY_EVERY == TIDY_EVERY - 1 {
                self.store().tidy()?;
            }
            if number % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1 {
                self.store().checkpoint()?;
            }
        }
        Ok(())
    }
}

/// Runs the whole course on `disk`, from opening the store to closing it.
pub fn run_course(
    disk: &FaultDisk,
    settings: &Settings,
    course: &Course,
    progress: &mut Progress,
) -> Result<()> {
    let mut testbed = Testbed::open(disk, settings, course)?;
    testbed.run(course, 0..course.requests.len(), progress)?;
    Ok(testbed.store().close()?)
}

/// A disk with the initial data of a store that was closed.
pub fn load(course: &Course, settings: &Settings) -> FaultDisk {
    let disk = FaultDisk::new();
    let target = Target::over(open(&disk, settings).unwrap(), settings);
    target
        .set_up(&course.hosted, false, 1, &AtomicBool::new(false), &Unseen)
        .unwrap();
    target.store().close().unwrap();
    assert!(
        contents_of_closed(&disk, settings, course) == course.states[0],
        "the data is loaded"
    );
    disk
}

fn contents_of_closed(disk: &FaultDisk, settings: &Settings, course: &Course) -> Contents {
    contents(&course.tpcc, &open(&disk.after_kill(), settings).unwrap())
}

fn open(disk: &FaultDisk, settings: &Settings) -> Result<Store> {
    let root = disk.root();
    let streams = 0..settings.log_streams;
    let directories: io::Result<Vec<_>> = streams
        .map(|stream| root.subdirectory(&format!("log-{stream}")))
        .collect();
    Ok(Store::open_on(root, directories?, settings.clone())?)
}

/// All rows of TPC-C's tables; every index has each of them once.
pub fn contents(tpcc: &Tpcc, store: &Store) -> Contents {
    let mut reading = store.begin(TransactionOptions::default());
    let mut contents = Contents::new();
    for declared in &tpcc.schema().tables {
        let table = store.table(declared.name).expect("tables stay");
        let mut rows = |scan: Scan| -> Vec<Row> {
            let rows = reading.scan(&table, &scan).unwrap();
            // A table without a key has a hidden column after the declared ones.
            let row = |row: &store::Row| {
                Row(row.iter().take(declared.columns.len()).map(plain).collect())
            };
            rows.iter().map(row).collect()
        };
        let all = rows(Scan::all());
        for index in &declared.indexes {
            let mut indexed = rows(Scan::all().on(table.index(index.name).expect("indexes stay")));
            indexed.sort_by(|a, b| {
                key(a, &declared.primary_key)
                    .partial_cmp(&key(b, &declared.primary_key))
                    .expect("no NaN")
            });
            assert!(
                indexed == all,
                "index {} has other rows than its table",
                index.name
            );
        }
        contents.push(all);
    }
    contents
}

fn key(row: &Row, columns: &[usize]) -> Vec<Value> {
    columns
        .iter()
        .map(|&column| row.0[column].clone())
        .collect()
}

fn plain(value: &store::Value) -> Value {
    match value {
        store::Value::Null => Value::Null,
        store::Value::Int(number) => Value::Int(*number),
        store::Value::Float(number) => Value::Float(*number),
        store::Value::Text(text) => Value::Text(text.clone()),
        store::Value::Bytes(_) => panic!("TPC-C has no bytes"),
    }
}

/// Nobody watches the load.
pub struct Unseen;

impl LoadProgress for Unseen {
    fn loaded(&self, _: u64) {}
    fn step(&self, _: &str) {}
}
