//! The embedded store as a target.

mod collect;
mod interpret;
mod link;
mod settings;
mod values;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use evenkeel_disk::RealDirectory;
use evenkeel_store::{
    self as store, Change, FlushPolicy, Isolation, Scan, Store, TransactionOptions,
};
use evenkeel_workloads::interface::Table;

use super::sql::mark;
use crate::Error;
use crate::dataset::Dataset;
use crate::progress::Progress;
use interpret::{StoredTable, Tables};
pub use link::Link;

/// The table that says with which workload's data the store was loaded.
const MARK_TABLE: &str = "evenkeel";
/// Rows that are loaded in one transaction.
const LOAD_ROWS: usize = 1000;
/// Column of the keys of a table that is declared without one.
const HIDDEN_KEY: &str = "evenkeel_row";

/// The store in a new directory, the streams of its log on simulated devices in turn.
fn open_simulated(path: &Path, chosen: &settings::Chosen) -> Result<Store, Error> {
    let refused = |source| Error::System {
        action: "open the store's directory".to_owned(),
        source,
    };
    let directory = RealDirectory::open(path).map_err(refused)?;
    let devices = chosen.devices.simulated();
    let stream = |number: usize| {
        let own = directory.subdirectory(&format!("log-{number}"))?;
        Ok(devices[number % devices.len()].hold(own))
    };
    let logs: std::io::Result<Vec<_>> = (0..chosen.store.log_streams).map(stream).collect();
    let logs = logs.map_err(refused)?;
    Ok(Store::open_on(directory, logs, chosen.store.clone())?)
}

/// A store.
pub struct Target {
    store: Store,
    isolation: Isolation,
    policy: FlushPolicy,
    workers: usize,
    name: String,
    /// Where it is, for messages.
    place: String,
    tables: OnceLock<Arc<Tables>>,
    // Fields are dropped in their order: the directory goes after the store is closed.
    _temporary: Option<tempfile::TempDir>,
}

impl Target {
    /// Opens the store in `directory`, or in a temporary one that is removed afterwards.
    ///
    /// # Errors
    /// A setting makes no sense, or what the store says.
    pub fn open(directory: Option<&Path>, settings: &[(String, String)]) -> Result<Target, Error> {
        let chosen = settings::chosen(settings)?;
        let temporary = match directory {
            Some(_) => None,
            None => {
                let made = tempfile::Builder::new().prefix("evenkeel-store-").tempdir();
                Some(made.map_err(|source| Error::System {
                    action: "make a temporary directory".to_owned(),
                    source,
                })?)
            }
        };
        let path = directory
            .or_else(|| temporary.as_ref().map(tempfile::TempDir::path))
            .unwrap_or(Path::new("."));
        let store = if chosen.devices.latency.is_none() {
            Store::open(path, chosen.store.clone())
                .map_err(|error| Error::Store(format!("{}: {error}", path.display())))?
        } else if directory.is_some() {
            return Err(Error::Setting(
                "commits on a simulated log-device do not reach the disk: leave out --data, whose store would not be safe"
                    .to_owned(),
            ));
        } else {
            open_simulated(path, &chosen)?
        };
        Ok(Target {
            isolation: chosen.isolation,
            place: format!("the store in {}", path.display()),
            _temporary: temporary,
            ..Target::over(store, &chosen.store)
        })
    }

    /// Uses a store that was opened with these settings, on whatever disk.
    pub fn over(store: Store, settings: &store::Settings) -> Target {
        Target {
            store,
            isolation: Isolation::default(),
            policy: settings.log.policy,
            workers: settings.workers,
            name: format!("embedded store, {}", settings.locks.rules.schedule.name()),
            place: "the store".to_owned(),
            tables: OnceLock::new(),
            _temporary: None,
        }
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether transactions are executed by the store's worker threads.
    pub(crate) fn has_workers(&self) -> bool {
        self.workers > 0
    }

    /// Sees to it that the workload's data is there. A store that was loaded with it is used unchanged; one with
    /// other data is left alone.
    ///
    /// # Errors
    /// There is other data, or what the store says.
    pub fn set_up(
        &self,
        workload: &dyn Dataset,
        reload: bool,
        loaders: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let wanted = mark(workload);
        let names = self.store.table_names();
        if !names.is_empty() {
            let found = self.found_mark()?;
            if found.as_deref() != Some(&wanted) || reload {
                let found = found
                    .unwrap_or_else(|| "tables that evenkeel did not load completely".to_owned());
                return Err(Error::Setting(format!(
                    "{} holds `{found}`, not fresh data of `{wanted}`; name another --data directory, or remove this one",
                    self.place
                )));
            }
            progress.step("using the data that is there");
            return Ok(());
        }
        let marks = self.create_mark_table()?;
        for table in &workload.schema().tables {
            self.store.create_table(schema(table))?;
        }
        self.load(workload, loaders, stop, progress)?;
        self.write_mark(&marks, &wanted)
    }

    /// A handle for a client.
    ///
    /// # Errors
    /// A table is missing.
    pub fn connect(&self, workload: &dyn Dataset) -> Result<Link, Error> {
        let tables = self.tables(workload)?;
        let types = workload
            .transactions()
            .iter()
            .map(|kind| kind.name)
            .collect();
        Ok(Link::new(self.store.clone(), tables, types, self.isolation))
    }

    fn tables(&self, workload: &dyn Dataset) -> Result<Arc<Tables>, Error> {
        if let Some(tables) = self.tables.get() {
            return Ok(Arc::clone(tables));
        }
        let tables = workload
            .schema()
            .tables
            .iter()
            .map(|declared| self.find(declared));
        let tables = Tables {
            schema: workload.schema().clone(),
            statements: workload.statements().to_vec(),
            tables: tables.collect::<Result<_, _>>()?,
        };
        Ok(Arc::clone(self.tables.get_or_init(|| Arc::new(tables))))
    }

    fn find(&self, declared: &Table) -> Result<StoredTable, Error> {
        let missing = || {
            Error::Store(format!(
                "it has no table {} as the workload declares it",
                declared.name
            ))
        };
        let table = self.store.table(declared.name).ok_or_else(missing)?;
        let indexes = declared
            .indexes
            .iter()
            .map(|index| table.index(index.name).ok_or_else(missing));
        let indexes = indexes.collect::<Result<_, _>>()?;
        let last_row = match declared.primary_key.is_empty() {
            true => Some(AtomicI64::new(
                self.last_row(&table, declared.columns.len())?,
            )),
            false => None,
        };
        Ok(StoredTable {
            table,
            indexes,
            last_row,
        })
    }

    /// The greatest hidden key of a table; 0 of an empty one.
    fn last_row(&self, table: &store::Table, column: usize) -> Result<i64, Error> {
        let mut transaction = self.store.begin(reading());
        let rows = transaction.scan(table, &Scan::all().reverse().limit(1))?;
        transaction.rollback()?;
        Ok(rows.first().map_or(0, |row| row.int(column)))
    }

    /// Loads all partitions in parallel. A load that is cut short is not used, so its commits need not be waited for.
    fn load(
        &self,
        workload: &dyn Dataset,
        loaders: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let tables = self.tables(workload)?;
        let partitions = workload.partitions();
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let change = |policy| self.store.change(Change::FlushPolicy(policy));
        change(FlushPolicy::LazyWrite)?;
        thread::scope(|scope| {
            for _ in 0..loaders.clamp(1, partitions.len().max(1)) {
                scope.spawn(|| {
                    while let Some(partition) = partitions.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let loaded = self.load_partition(
                            &tables,
                            workload.batches(partition),
                            stop,
                            progress,
                        );
                        if let Err(error) = loaded {
                            next.store(partitions.len(), Ordering::Relaxed);
                            failed
                                .lock()
                                .expect("no panic with the lock held")
                                .get_or_insert(error);
                        }
                    }
                });
            }
        });
        failed
            .into_inner()
            .expect("no panic with the lock held")
            .map_or(Ok(()), Err)?;
        change(self.policy)?;
        progress.step("writing a checkpoint");
        Ok(self.store.checkpoint()?)
    }

    fn load_partition(
        &self,
        tables: &Tables,
        batches: Box<dyn Iterator<Item = evenkeel_workloads::interface::Batch> + Send + '_>,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        for batch in batches {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Setting("stopped while loading".to_owned()));
            }
            let stored = &tables.tables[batch.table.0];
            for rows in batch.rows.chunks(LOAD_ROWS) {
                let mut transaction = self.store.begin(reading());
                let inserted = rows
                    .iter()
                    .try_for_each(|row| transaction.insert(&stored.table, &stored.stored(&row.0)));
                inserted.and_then(|()| transaction.commit())?;
                progress.loaded(rows.len() as u64);
            }
        }
        Ok(())
    }

    fn create_mark_table(&self) -> Result<store::Table, Error> {
        let schema = store::Schema::new(MARK_TABLE)
            .column("data", store::ColumnType::Text)
            .primary_key(["data"]);
        Ok(self.store.create_table(schema)?)
    }

    fn write_mark(&self, marks: &store::Table, mark: &str) -> Result<(), Error> {
        let mut transaction = self.store.begin(reading());
        let written = transaction
            .insert(marks, &[mark.into()])
            .and_then(|()| transaction.commit());
        Ok(written?)
    }

    /// What the store says that it was loaded with.
    fn found_mark(&self) -> Result<Option<String>, Error> {
        let Some(marks) = self.store.table(MARK_TABLE) else {
            return Ok(None);
        };
        let mut transaction = self.store.begin(reading());
        let rows = transaction.scan(&marks, &Scan::all())?;
        transaction.rollback()?;
        Ok(rows.first().map(|row| row.text(0).to_owned()))
    }
}

/// Options of a transaction that nobody runs against.
fn reading() -> TransactionOptions {
    TransactionOptions {
        isolation: Isolation::ReadCommitted,
        ..TransactionOptions::default()
    }
}

/// A table as the store wants it declared.
fn schema(table: &Table) -> store::Schema {
    let mut schema = store::Schema::new(table.name);
    for column in &table.columns {
        let kind = values::kept_as(column.column_type);
        schema = if column.nullable {
            schema.nullable(column.name, kind)
        } else {
            schema.column(column.name, kind)
        };
    }
    let names = |columns: &[usize]| -> Vec<&'static str> {
        columns
            .iter()
            .map(|&column| table.columns[column].name)
            .collect()
    };
    schema = if table.primary_key.is_empty() {
        schema
            .column(HIDDEN_KEY, store::ColumnType::Int)
            .primary_key([HIDDEN_KEY])
    } else {
        schema.primary_key(names(&table.primary_key))
    };
    for index in &table.indexes {
        let columns = names(&index.columns);
        schema = if index.unique {
            schema.unique_index(index.name, columns)
        } else {
            schema.index(index.name, columns)
        };
    }
    schema
}
