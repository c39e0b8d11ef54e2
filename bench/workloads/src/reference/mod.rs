//! A target of ordered maps in memory, one transaction at a time: the meaning of every declaration in the
//! fewest words.
//!
//! It is what workloads are tested on, since a serial execution has exactly one right outcome, and what
//! another target can be compared with. It can also fail on purpose ([`Reference::inject_deadlocks`]) and be
//! damaged ([`Reference::corrupt`]), to show that workloads retry and that their checks see what is wrong.

mod drive;
mod interpret;
mod key;
mod tables;

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

pub use drive::{Tally, check, load, run};

use crate::interface::{
    Batch, Connection, Error, Immediate, Row, Schema, Statement, StatementId, TableId,
    TransactionType, Value,
};
use tables::Tables;

/// A database.
#[derive(Clone)]
pub struct Reference(Arc<Shared>);

struct Shared {
    schema: Schema,
    statements: Vec<Statement>,
    state: Mutex<State>,
    /// Signalled when a transaction ends.
    ended: Condvar,
}

struct State {
    tables: Tables,
    /// Whether a transaction is running; others wait in `begin`.
    busy: bool,
    executed: u64,
    /// Fail each execution whose number is divisible by this.
    deadlock_every: Option<u64>,
}

impl Reference {
    /// An empty database with these tables.
    pub fn new(schema: &Schema, statements: &[Statement]) -> Self {
        let state = State {
            tables: Tables::new(schema),
            busy: false,
            executed: 0,
            deadlock_every: None,
        };
        Reference(Arc::new(Shared {
            schema: schema.clone(),
            statements: statements.to_vec(),
            state: Mutex::new(state),
            ended: Condvar::new(),
        }))
    }

    /// A connection.
    pub fn connect(&self) -> ReferenceConnection {
        ReferenceConnection {
            shared: Arc::clone(&self.0),
            active: false,
        }
    }

    /// Loads rows.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if a key is already there.
    pub fn load(&self, batch: Batch) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        for row in batch.rows {
            state.tables.insert(&self.0.schema, batch.table, row)?;
        }
        state.tables.keep_changes();
        Ok(())
    }

    /// From now on one in `every` executions of a statement fails with [`Error::Deadlock`]; `None` ends that. A
    /// transaction of as many statements would never succeed.
    pub fn inject_deadlocks(&self, every: Option<u64>) {
        self.0.state.lock().deadlock_every = every;
    }

    /// All rows of a table in key order.
    pub fn rows(&self, table: TableId) -> Vec<Row> {
        self.0.state.lock().tables.rows(table)
    }

    /// Damages the database: offers each row of `table` to `change`, in key order, until it returns true. Key
    /// columns may change, too. Gives whether any row was changed.
    pub fn corrupt(&self, table: TableId, mut change: impl FnMut(&mut Row) -> bool) -> bool {
        let mut state = self.0.state.lock();
        for old in state.tables.rows(table) {
            let mut new = old.clone();
            if change(&mut new) {
                state.tables.remove(&self.0.schema, table, &old);
                state
                    .tables
                    .insert(&self.0.schema, table, new)
                    .expect("the damaged row's key is free");
                state.tables.keep_changes();
                return true;
            }
        }
        false
    }

    /// Damages the database: removes the first row of `table`, in key order, that `choose` accepts. Gives
    /// whether there was one.
    pub fn lose(&self, table: TableId, choose: impl FnMut(&&Row) -> bool) -> bool {
        let mut state = self.0.state.lock();
        let rows = state.tables.rows(table);
        let Some(row) = rows.iter().find(choose) else {
            return false;
        };
        state.tables.remove(&self.0.schema, table, row);
        state.tables.keep_changes();
        true
    }
}

/// A connection to a [`Reference`].
pub struct ReferenceConnection {
    shared: Arc<Shared>,
    active: bool,
}

impl ReferenceConnection {
    fn end(&mut self, finish: impl FnOnce(&mut Tables, &Schema)) {
        if std::mem::take(&mut self.active) {
            let mut state = self.shared.state.lock();
            finish(&mut state.tables, &self.shared.schema);
            state.busy = false;
            self.shared.ended.notify_one();
        }
    }
}

impl Immediate for ReferenceConnection {
    fn run(
        &mut self,
        statement: StatementId,
        parameters: &[Value],
    ) -> Result<(Vec<Row>, u64), Error> {
        let shared = &*self.shared;
        let mut state = shared.state.lock();
        if !self.active {
            return Err(Error::Other("a statement outside a transaction".into()));
        }
        state.executed += 1;
        if state
            .deadlock_every
            .is_some_and(|every| state.executed.is_multiple_of(every))
        {
            return Err(Error::Deadlock("injected".into()));
        }
        interpret::interpret(
            &shared.schema,
            &shared.statements[statement.0],
            &mut state.tables,
            parameters,
        )
    }
}

impl Connection for ReferenceConnection {
    async fn begin(&mut self, _: &TransactionType) -> Result<(), Error> {
        if self.active {
            return Err(Error::Other("a transaction within a transaction".into()));
        }
        let mut state = self.shared.state.lock();
        self.shared.ended.wait_while(&mut state, |state| state.busy);
        state.busy = true;
        self.active = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.end(|tables, _| tables.keep_changes());
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), Error> {
        self.end(Tables::undo_changes);
        Ok(())
    }
}

impl Drop for ReferenceConnection {
    fn drop(&mut self) {
        self.end(Tables::undo_changes);
    }
}
