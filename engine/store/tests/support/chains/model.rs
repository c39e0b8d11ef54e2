//! The contents that the store must hold: all that was acknowledged, and each other transaction whole or not at all.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_store::{
    ColumnType, FlushPolicy, Scan, Schema, Store, StoreError, TransactionOptions,
};

/// A row's number and text, by its id.
pub type Rows = BTreeMap<i64, (i64, String)>;
/// The rows that a transaction changed, after it.
pub type Changes = BTreeMap<i64, Option<(i64, String)>>;

pub const TABLE: &str = "rows";

/// A violation.
#[derive(Debug)]
pub enum Wrong {
    /// An error of the store.
    Store(StoreError),
    /// Its contents differ from the model.
    Contents(String),
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Wrong {
        Wrong::Store(error)
    }
}

/// All that was done, in order. Transactions run one after the other, so what a crash leaves is what a prefix of them left.
#[derive(Clone, Default)]
pub struct Model {
    /// The rows found when the store was last opened.
    base: Rows,
    /// The transactions since.
    done: Vec<Changes>,
    /// Number of them that cannot be lost while the operating system runs.
    written: usize,
    /// Number of them that cannot be lost at all.
    durable: usize,
    /// Tables that cannot be lost.
    tables: BTreeSet<String>,
    /// Whether something happened that the operating system's cache did not survive as a whole.
    cache_lost: bool,
}

pub fn schema() -> Schema {
    Schema::new(TABLE)
        .column("id", ColumnType::Int)
        .column("number", ColumnType::Int)
        .column("text", ColumnType::Text)
        .primary_key(["id"])
        .unique_index("by_number", ["number", "id"])
}

impl Model {
    /// A model of a store that holds these rows, durably.
    pub fn new(base: Rows) -> Model {
        Model {
            base,
            ..Model::default()
        }
    }

    /// The rows after everything done.
    pub fn rows(&self) -> Rows {
        let mut rows = self.base.clone();
        self.done
            .iter()
            .for_each(|changes| apply(&mut rows, changes));
        rows
    }

    /// A transaction was acknowledged.
    pub fn committed(&mut self, changes: Changes, policy: FlushPolicy) {
        self.done.push(changes);
        match policy {
            FlushPolicy::EagerFlush => self.all_durable(),
            FlushPolicy::LazyFlush => self.written = self.done.len(),
            FlushPolicy::LazyWrite => {}
        }
    }

    /// Nobody knows whether it is committed.
    pub fn in_doubt(&mut self, changes: Changes) {
        self.done.push(changes);
    }

    /// Everything done so far was made durable.
    pub fn all_durable(&mut self) {
        self.written = self.done.len();
        self.durable = self.done.len();
    }

    pub fn made_table(&mut self, name: &str) {
        self.tables.insert(name.to_owned());
        self.all_durable();
    }

    pub fn lose_cache(&mut self) {
        self.cache_lost = true;
    }

    /// Compares a store just opened with what it must hold, and reads every page of it. From here on what was found must
    /// stay.
    pub fn check(&mut self, store: &Store) -> Result<(), Wrong> {
        store.verify()?;
        let names = store.table_names();
        if let Some(lost) = self.tables.iter().find(|name| !names.contains(name)) {
            return Err(Wrong::Contents(format!("table {lost} is lost")));
        }
        for name in names.iter().filter(|name| *name != TABLE) {
            let table = store.table(name).expect("it was listed");
            let mut txn = store.begin(TransactionOptions::default());
            for index in table.indexes() {
                let scan = Scan::all().on(table.index(&index.name).expect("it has it"));
                txn.scan(&table, &scan)?;
            }
        }
        let found = read(store)?;
        let floor = match self.cache_lost {
            true => self.durable,
            false => self.written,
        };
        let mut rows = self.base.clone();
        for changes in &self.done[..floor] {
            apply(&mut rows, changes);
        }
        let mut rest = self.done[floor..].iter();
        while rows != found {
            let Some(changes) = rest.next() else {
                return Err(Wrong::Contents(self.difference(&found, floor)));
            };
            apply(&mut rows, changes);
        }
        *self = Model {
            base: found,
            tables: names.into_iter().collect(),
            ..Model::default()
        };
        Ok(())
    }

    /// The difference between the rows found and the smallest allowed state.
    fn difference(&self, found: &Rows, floor: usize) -> String {
        let mut rows = self.base.clone();
        for changes in &self.done[..floor] {
            apply(&mut rows, changes);
        }
        let ids: BTreeSet<&i64> = rows.keys().chain(found.keys()).collect();
        let differs = |id: &&&i64| rows.get(id) != found.get(id);
        let different: Vec<&&i64> = ids.iter().filter(differs).collect();
        format!(
            "contents that there never were, or acknowledged ones lost: {floor} of {} transactions must be there, and then {} \
             rows differ, the first is {}",
            self.done.len(),
            different.len(),
            different[0],
        )
    }
}

pub fn apply(rows: &mut Rows, changes: &Changes) {
    for (&id, row) in changes {
        match row {
            Some(row) => rows.insert(id, row.clone()),
            None => rows.remove(&id),
        };
    }
}

/// The table, read by its primary key and by its index.
pub fn read(store: &Store) -> Result<Rows, Wrong> {
    let Some(table) = store.table(TABLE) else {
        return Err(Wrong::Contents("the table is lost".to_owned()));
    };
    let mut txn = store.begin(TransactionOptions::default());
    let mut rows = txn.scan(&table, &Scan::all())?;
    let by_number = Scan::all().on(table.index("by_number").expect("it has it"));
    let mut by_index = txn.scan(&table, &by_number)?;
    by_index.sort_by_key(|row| row.int(0));
    if rows != by_index {
        return Err(Wrong::Contents("table and index differ".to_owned()));
    }
    let row = |row: evenkeel_store::Row| (row.int(0), (row.int(1), row.text(2).to_owned()));
    Ok(rows.drain(..).map(row).collect())
}
