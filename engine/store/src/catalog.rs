//! The catalog: a tree with one entry for each table.
//!
//! ```text
//! key: the table's name as a key      value: root's page (8), that of its overflow tree (8), count (2), that of each index (8), schema
//! ```

use std::sync::Arc;

use evenkeel_locks::Mode;
use evenkeel_log::{Depends, Lsn, NewRecord};
use evenkeel_pages::PageId;

use crate::codec::{Reader, Write};
use crate::error::StoreError;
use crate::inner::StoreInner;
use crate::key::encode_all;
use crate::locking::LockName;
use crate::record::{RecordKind, Undo, put_changes};
use crate::schema::Schema;
use crate::storage::{Storage, check_entry};
use crate::table::Table;
use crate::transaction::{Transaction, TransactionOptions};
use crate::tree::Tree;
use crate::tree::descend::Seek;
use crate::tree::node::{Node, entry_bytes};
use crate::value::Value;

/// Makes the catalog's tree: the first thing that happens to a store.
pub(crate) fn create_catalog(storage: &Storage) -> Result<Tree, StoreError> {
    Tree::create(storage, |_, changes, map_lsn| {
        let mut payload = Vec::new();
        put_changes(changes, &mut payload);
        Ok(storage.log.append(&NewRecord {
            txn: 0,
            prev: Lsn::ZERO,
            kind: RecordKind::Bootstrap as u8,
            depends: Depends::On(&[map_lsn]),
            payload: &payload,
        })?)
    })
}

impl StoreInner {
    /// Makes a table, durably.
    ///
    /// # Errors
    /// [`StoreError::BadSchema`], [`StoreError::TableExists`], or what the disk says.
    pub(crate) fn create_table(
        self: &Arc<StoreInner>,
        schema: Schema,
    ) -> Result<Table, StoreError> {
        schema.check_limits()?;
        schema.check()?;
        let mut txn = Transaction::begin(Arc::clone(self), &TransactionOptions::default());
        txn.lock(LockName::catalog(), Mode::X)?;
        let tree = txn.create_tree()?;
        let overflow_tree = txn.create_tree()?;
        let index_trees: Vec<Tree> = schema
            .indexes
            .iter()
            .map(|_| txn.create_tree())
            .collect::<Result<_, _>>()?;
        let key = encode_all(&[Value::Text(schema.name.clone())]);
        let value = encode_table(&schema, tree, overflow_tree, &index_trees);
        check_entry(
            &self.storage.pool,
            &schema.name,
            entry_bytes(key.len(), value.len()),
        )?;
        if !txn.insert_entry(self.catalog, &key, &value)? {
            return Err(StoreError::TableExists(schema.name));
        }
        txn.commit()?;
        self.storage.log.flush_all()?;
        let table = Table::new(schema, tree, index_trees, overflow_tree, self.number);
        self.add_table(table.clone());
        Ok(table)
    }

    /// Reads the catalog.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn load_tables(&self) -> Result<(), StoreError> {
        let mut from = Vec::new();
        loop {
            let leaf = self
                .catalog
                .leaf_to_read(&self.storage.pool, Seek::At(&from))?;
            let node = Node(&leaf);
            for entry in node.entries().filter(|entry| !entry.ghost) {
                let table = decode_table(entry.value, self.number);
                self.add_table(
                    table.ok_or_else(|| {
                        StoreError::Corrupt("the catalog is malformed".to_owned())
                    })?,
                );
            }
            match node.high() {
                Some(high) => from = high.to_vec(),
                None => return Ok(()),
            }
        }
    }
}

impl Transaction {
    /// Makes an empty tree, which is freed if the transaction does not commit.
    fn create_tree(&mut self) -> Result<Tree, StoreError> {
        let store = Arc::clone(&self.store);
        self.reserve_log(0)?;
        Tree::create(&store.storage, |page, changes, map_lsn| {
            let mut undo = Vec::new();
            Undo::Allocate { page }.encode(&mut undo);
            self.append(changes, &undo, &[map_lsn])
        })
    }
}

fn encode_table(schema: &Schema, tree: Tree, overflow_tree: Tree, index_trees: &[Tree]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.u64(tree.root.0);
    bytes.u64(overflow_tree.root.0);
    bytes.u16(index_trees.len() as u16);
    for tree in index_trees {
        bytes.u64(tree.root.0);
    }
    schema.encode(&mut bytes);
    bytes
}

fn decode_table(bytes: &[u8], store: u64) -> Option<Table> {
    let mut reader = Reader(bytes);
    let tree = Tree {
        root: PageId(reader.u64()?),
    };
    let overflow_tree = Tree {
        root: PageId(reader.u64()?),
    };
    let count = reader.u16()?;
    let index_trees: Option<Vec<Tree>> = (0..count)
        .map(|_| {
            Some(Tree {
                root: PageId(reader.u64()?),
            })
        })
        .collect();
    let index_trees = index_trees?;
    let schema = Schema::decode(&mut reader)?;
    let whole = reader.is_empty() && index_trees.len() == schema.indexes.len();
    whole.then(|| Table::new(schema, tree, index_trees, overflow_tree, store))
}
