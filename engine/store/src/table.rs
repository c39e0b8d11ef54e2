//! Handles of tables and indexes.

use std::sync::Arc;

use crate::error::StoreError;
use crate::locking::LockName;
use crate::row::RowLayout;
use crate::schema::{Column, IndexSchema, Schema};
use crate::tree::Tree;
use crate::value::{Row, Value};

/// A table of a store. Cheap to clone and to keep; belongs to the store it came from.
#[derive(Clone, Debug)]
pub struct Table {
    inner: Arc<TableInner>,
}

#[derive(Debug)]
struct TableInner {
    layout: RowLayout,
    tree: Tree,
    /// A tree for each index of the schema.
    index_trees: Vec<Tree>,
    overflow_tree: Tree,
    /// Which store it belongs to.
    store: u64,
}

/// An index of a table, by its place among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index {
    pub(crate) place: usize,
}

impl Table {
    pub(crate) fn new(
        schema: Schema,
        tree: Tree,
        index_trees: Vec<Tree>,
        overflow_tree: Tree,
        store: u64,
    ) -> Table {
        let inner = TableInner {
            layout: RowLayout::new(schema),
            tree,
            index_trees,
            overflow_tree,
            store,
        };
        Table {
            inner: Arc::new(inner),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.schema().name
    }

    /// Its columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.schema().columns
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// Its indexes.
    pub fn indexes(&self) -> &[IndexSchema] {
        &self.schema().indexes
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<Index> {
        let place = self.indexes().iter().position(|index| index.name == name)?;
        Some(Index { place })
    }

    /// The primary key's values of a row.
    pub fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.schema()
            .primary_key
            .iter()
            .map(|&at| row[at].clone())
            .collect()
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.inner.layout.schema()
    }

    pub(crate) fn layout(&self) -> &RowLayout {
        &self.inner.layout
    }

    /// The row of an entry of the primary tree.
    pub(crate) fn decode(&self, key: &[u8], value: &[u8]) -> Result<Row, StoreError> {
        let row = self.layout().decode(key, value);
        row.ok_or_else(|| StoreError::Corrupt(format!("a row of {:?} is malformed", self.name())))
    }

    pub(crate) fn tree(&self) -> Tree {
        self.inner.tree
    }

    pub(crate) fn index_trees(&self) -> &[Tree] {
        &self.inner.index_trees
    }

    /// The chunks of rows too long for the primary tree.
    pub(crate) fn overflow_tree(&self) -> Tree {
        self.inner.overflow_tree
    }

    pub(crate) fn store(&self) -> u64 {
        self.inner.store
    }

    /// The lock of all of it.
    pub(crate) fn lock(&self) -> LockName {
        LockName::table(self.tree())
    }

    /// The lock of the row with this primary key.
    pub(crate) fn row_lock(&self, primary_key: &[u8]) -> LockName {
        LockName::row(self.tree(), primary_key)
    }
}
