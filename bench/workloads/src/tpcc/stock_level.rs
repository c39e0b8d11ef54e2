//! StockLevel (TPC-C 2.8): how many recently sold items run low.

use super::terminal::{District, Terminal};
use crate::interface::Compare::Less;
use crate::interface::declare::{Statements, count_distinct, from, outer, p};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// Orders looked at.
const ORDERS: i64 = 20;

/// A question for low stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The district whose last orders are looked at.
    pub at: District,
    /// The threshold of a low stock, 10 to 20.
    pub threshold: i64,
}

impl StockLevel {
    /// Draws an input (2.8.1).
    pub(super) fn draw(terminal: &mut Terminal) -> Self {
        StockLevel {
            at: terminal.district(),
            threshold: terminal.random.between(10, 20),
        }
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    next_order: StatementId,
    low: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let low = from("order_line")
            .key([p(0), p(1)])
            .at_least(p(2))
            .below(p(3))
            .join("stock")
            .key([p(0), outer("ol_i_id")])
            .filter("s_quantity", Less, p(4))
            .aggregates([count_distinct("s_i_id")]);
        let next_order = from("district").key([p(0), p(1)]).columns(["d_next_o_id"]);
        Body {
            next_order: statements.add("stock_level_next_order", next_order),
            low: statements.add("stock_level_low", low),
        }
    }

    pub(super) async fn run<T: Transaction>(
        &self,
        level: &StockLevel,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let District { w, d } = level.at;
        let next = transaction
            .query_one(self.next_order, &[w, d].map(Value::Int))
            .await?
            .int(0)?;
        let parameters = [w, d, next - ORDERS, next, level.threshold].map(Value::Int);
        let low = transaction.query_one(self.low, &parameters).await?.int(0)?;
        std::hint::black_box(low);
        Ok(Outcome::Commit)
    }
}
