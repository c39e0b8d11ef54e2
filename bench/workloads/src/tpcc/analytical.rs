//! The analytical query of the HTAP mix (dissertation, section 4.7.4).
//!
//! ```sql
//! SELECT COUNT(DISTINCT OL_O_ID) FROM WAREHOUSE, ORDERLINE
//! WHERE W_ID BETWEEN ? AND ? AND OL_W_ID = W_ID GROUP BY W_STATE
//! ```
//!
//! As printed, both comparisons bound W_ID from below (`? <= W_ID AND W_ID >= ?`); an upper bound is what two
//! parameters are for. The dissertation does not say how they are drawn: here uniformly, the smaller first.

use super::terminal::Terminal;
use crate::interface::declare::{Statements, count_distinct, from, outer, p};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// A question for the number of orders by state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrdersByState {
    /// The first warehouse.
    pub low: i64,
    /// The last warehouse.
    pub high: i64,
}

impl OrdersByState {
    /// Draws an input.
    pub(super) fn draw(terminal: &mut Terminal) -> Self {
        let (a, b) = (terminal.warehouse(), terminal.warehouse());
        OrdersByState {
            low: a.min(b),
            high: a.max(b),
        }
    }
}

/// The statement.
#[derive(Clone, Debug)]
pub(super) struct Body {
    orders: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let orders = from("warehouse")
            .at_least(p(0))
            .at_most(p(1))
            .join("order_line")
            .key([outer("w_id")])
            .grouped(["w_state"], [count_distinct("ol_o_id")]);
        Body {
            orders: statements.add("analytical_orders_by_state", orders),
        }
    }

    pub(super) async fn run<T: Transaction>(
        &self,
        query: &OrdersByState,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let states = transaction
            .query(self.orders, &[query.low, query.high].map(Value::Int))
            .await?;
        std::hint::black_box(states);
        Ok(Outcome::Commit)
    }
}
