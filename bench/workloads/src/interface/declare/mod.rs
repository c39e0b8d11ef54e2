//! A small language to declare statements by the names of tables and columns.
//!
//! ```
//! use evenkeel_workloads::interface::{ColumnType::*, Schema, column, declare::*};
//! let mut schema = Schema::new();
//! let account = schema.table("account", vec![column("a_id", Int64), column("a_owner", Text(16)),
//!     column("a_balance", Decimal { precision: 12, scale: 2 })], &["a_id"]);
//! schema.index(account, "account_owner", &["a_owner"], false);
//!
//! let mut statements = Statements::new(&schema);
//! let balance = statements.add("balance", from("account").key([p(0)]).columns(["a_balance"]));
//! let deposit = statements.add("deposit", from("account").key([p(0)]).update([add("a_balance", p(1))]));
//! let richest = statements.add("richest", from("account").aggregates([max("a_balance")]));
//! let owned = statements.add("owned", from("account").index("account_owner", [p(0)]).columns(["a_id"]));
//! let open = statements.add("open", insert("account"));
//! assert_eq!(statements.finish()[open.0].parameters, [Int64, Text(16), Decimal { precision: 12, scale: 2 }]);
//! ```
//!
//! A mistake in a declaration (an unknown name, a gap in the parameters, a parameter of two types) panics when the
//! workload is made, with the statement's name. It is a mistake in the program and does not depend on data.

mod declaration;
mod resolve;

pub use declaration::*;

use self::resolve::Resolver;
use super::{Schema, Statement, StatementId};

/// The statements of a workload while they are declared.
#[derive(Debug)]
pub struct Statements<'s> {
    schema: &'s Schema,
    list: Vec<Statement>,
}

impl<'s> Statements<'s> {
    /// No statements yet, over `schema`.
    pub fn new(schema: &'s Schema) -> Self {
        Statements {
            schema,
            list: Vec::new(),
        }
    }

    /// Adds a statement.
    ///
    /// # Panics
    /// If the declaration has a mistake, see the module.
    pub fn add(&mut self, name: &'static str, declaration: Declaration) -> StatementId {
        assert!(
            self.list.iter().all(|statement| statement.name != name),
            "statement {name} is declared twice"
        );
        let mut resolver = Resolver::new(name, self.schema);
        let (operation, results) = resolver.operation(declaration);
        let parameters = resolver.finish();
        self.list.push(Statement {
            name,
            operation,
            parameters,
            results,
        });
        StatementId(self.list.len() - 1)
    }

    /// All of them.
    pub fn finish(self) -> Vec<Statement> {
        self.list
    }
}
