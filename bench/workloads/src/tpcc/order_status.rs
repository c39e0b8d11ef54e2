//! OrderStatus (TPC-C 2.6): a customer's last order.

use super::customer::Lookup;
use super::terminal::{CustomerBy, District, Terminal};
use crate::interface::declare::{Statements, constant, from, p};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// A question for a customer's last order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// Where the customer belongs.
    pub at: District,
    /// The customer who asks.
    pub customer: CustomerBy,
}

impl OrderStatus {
    /// Draws an input (2.6.1).
    pub(super) fn draw(terminal: &mut Terminal) -> Self {
        OrderStatus {
            at: terminal.district(),
            customer: terminal.customer_by(),
        }
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    lookup: Lookup,
    customer: StatementId,
    last_order: StatementId,
    lines: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>, lookup: Lookup) -> Self {
        let customer = from("customer").key([p(0), p(1), p(2)]).columns([
            "c_balance",
            "c_first",
            "c_middle",
            "c_last",
        ]);
        let last_order = from("orders")
            .index("orders_customer", [p(0), p(1), p(2)])
            .descending()
            .limit(constant(1))
            .columns(["o_id", "o_entry_d", "o_carrier_id"]);
        let lines = from("order_line").key([p(0), p(1), p(2)]).columns([
            "ol_i_id",
            "ol_supply_w_id",
            "ol_quantity",
            "ol_amount",
            "ol_delivery_d",
        ]);
        Body {
            lookup,
            customer: statements.add("order_status_customer", customer),
            last_order: statements.add("order_status_last_order", last_order),
            lines: statements.add("order_status_lines", lines),
        }
    }

    /// Every customer has an order from the initial data on.
    pub(super) async fn run<T: Transaction>(
        &self,
        status: &OrderStatus,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let District { w, d } = status.at;
        let c = self
            .lookup
            .find(transaction, status.at, &status.customer)
            .await?;
        let customer = [w, d, c].map(Value::Int);
        transaction.query_one(self.customer, &customer).await?;
        let order = transaction.query_one(self.last_order, &customer).await?;
        let lines = transaction
            .query(self.lines, &[w.into(), d.into(), order.int(0)?.into()])
            .await?;
        std::hint::black_box(lines);
        Ok(Outcome::Commit)
    }
}
