//! Rows in ordered maps, with an undo list.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::key::{Key, Part};
use crate::interface::{AccessPath, Error, Row, Schema, TableId, Value};

/// All tables.
pub(super) struct Tables {
    tables: Vec<Stored>,
    undo: Vec<Undo>,
}

/// A table.
#[derive(Default)]
struct Stored {
    /// Rows by primary key, or by a hidden row number.
    rows: BTreeMap<Key, Row>,
    /// For each secondary index: index columns and primary key to primary key.
    indexes: Vec<BTreeMap<Key, Key>>,
    next_hidden: i64,
}

/// The undoing of one change.
enum Undo {
    Remove(TableId, Key),
    Restore(TableId, Key, Row),
}

impl Tables {
    pub(super) fn new(schema: &Schema) -> Self {
        let stored = |table: &crate::interface::Table| Stored {
            indexes: table.indexes.iter().map(|_| BTreeMap::new()).collect(),
            ..Stored::default()
        };
        Tables {
            tables: schema.tables.iter().map(stored).collect(),
            undo: Vec::new(),
        }
    }

    /// All rows in key order.
    pub(super) fn rows(&self, table: TableId) -> Vec<Row> {
        self.tables[table.0].rows.values().cloned().collect()
    }

    /// Rows whose keys along `path` lie in a range, in that order, with their primary keys.
    pub(super) fn scan(
        &self,
        table: TableId,
        path: AccessPath,
        range: (Bound<Key>, Bound<Key>),
    ) -> Box<dyn DoubleEndedIterator<Item = (&Key, &Row)> + '_> {
        let stored = &self.tables[table.0];
        match path {
            AccessPath::PrimaryKey => Box::new(stored.rows.range(range)),
            AccessPath::Index(index) => {
                let keys = stored.indexes[index].range(range);
                Box::new(keys.map(|(_, primary)| (primary, &stored.rows[primary])))
            }
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`]; nothing is changed then.
    pub(super) fn insert(
        &mut self,
        schema: &Schema,
        table: TableId,
        row: Row,
    ) -> Result<(), Error> {
        let stored = &mut self.tables[table.0];
        let definition = &schema[table];
        let mut key = part_of(&row, &definition.primary_key);
        if definition.primary_key.is_empty() {
            key = vec![Part::Value(Value::Int(stored.next_hidden))];
            stored.next_hidden += 1;
        }
        if stored.rows.contains_key(&key) {
            return Err(Error::DuplicateKey(format!("{}: {key:?}", definition.name)));
        }
        for (index, entries) in definition.indexes.iter().zip(&stored.indexes) {
            let prefix = part_of(&row, &index.columns);
            if index.unique
                && entries
                    .range(super::key::range(prefix, None, None))
                    .next()
                    .is_some()
            {
                return Err(Error::DuplicateKey(format!("{}: {row:?}", index.name)));
            }
        }
        self.undo.push(Undo::Remove(table, key.clone()));
        self.put(schema, table, key, row);
        Ok(())
    }

    /// Replaces the row with this primary key by one with the same primary key.
    pub(super) fn replace(&mut self, schema: &Schema, table: TableId, key: &Key, row: Row) {
        let old = self
            .take(schema, table, key)
            .expect("the row to replace is there");
        self.undo.push(Undo::Restore(table, key.clone(), old));
        self.put(schema, table, key.clone(), row);
    }

    /// Removes the row with this primary key.
    pub(super) fn delete(&mut self, schema: &Schema, table: TableId, key: &Key) {
        if let Some(old) = self.take(schema, table, key) {
            self.undo.push(Undo::Restore(table, key.clone(), old));
        }
    }

    /// Removes one row equal to `row`.
    pub(super) fn remove(&mut self, schema: &Schema, table: TableId, row: &Row) {
        let found = self.tables[table.0]
            .rows
            .iter()
            .find(|(_, stored)| *stored == row);
        if let Some(key) = found.map(|(key, _)| key.clone()) {
            self.delete(schema, table, &key);
        }
    }

    /// Commits.
    pub(super) fn keep_changes(&mut self) {
        self.undo.clear();
    }

    /// Rolls back.
    pub(super) fn undo_changes(&mut self, schema: &Schema) {
        while let Some(change) = self.undo.pop() {
            match change {
                Undo::Remove(table, key) => {
                    self.take(schema, table, &key);
                }
                Undo::Restore(table, key, row) => {
                    self.take(schema, table, &key);
                    self.put(schema, table, key, row);
                }
            }
        }
    }

    fn put(&mut self, schema: &Schema, table: TableId, key: Key, row: Row) {
        let stored = &mut self.tables[table.0];
        for (index, entries) in schema[table].indexes.iter().zip(&mut stored.indexes) {
            let entry = [part_of(&row, &index.columns), key.clone()].concat();
            entries.insert(entry, key.clone());
        }
        stored.rows.insert(key, row);
    }

    fn take(&mut self, schema: &Schema, table: TableId, key: &Key) -> Option<Row> {
        let stored = &mut self.tables[table.0];
        let row = stored.rows.remove(key)?;
        for (index, entries) in schema[table].indexes.iter().zip(&mut stored.indexes) {
            entries.remove(&[part_of(&row, &index.columns), key.clone()].concat());
        }
        Some(row)
    }
}

fn part_of(row: &Row, columns: &[usize]) -> Key {
    columns
        .iter()
        .map(|&column| Part::Value(row.0[column].clone()))
        .collect()
}
