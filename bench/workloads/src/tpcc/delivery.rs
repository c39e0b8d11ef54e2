//! Delivery (TPC-C 2.7): the oldest open order of each district, all ten in one transaction (2.7.4.2 permits
//! it).

use super::scale::DISTRICTS;
use super::terminal::Terminal;
use crate::interface::declare::{Statements, add, constant, from, p, set};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// Looks at the open orders of a district this often before the district is skipped as empty. Under PostgreSQL's read
/// committed, a query that waited for a concurrent delivery finds its order gone and returns nothing, though another
/// is open.
const LOOKS: usize = 2;

/// A delivery to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The warehouse.
    pub w: i64,
    /// The carrier, 1 to 10.
    pub carrier: i64,
    /// When it is delivered, in microseconds since 1970.
    pub date: i64,
}

impl Delivery {
    /// Draws an input (2.7.1).
    pub(super) fn draw(terminal: &mut Terminal) -> Self {
        Delivery {
            w: terminal.warehouse(),
            carrier: terminal.random.between(1, 10),
            date: terminal.tick(),
        }
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    oldest: StatementId,
    remove: StatementId,
    set_carrier: StatementId,
    deliver_lines: StatementId,
    pay_out: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let oldest = from("new_order")
            .key([p(0), p(1)])
            .ascending()
            .limit(constant(1))
            .for_update()
            .columns(["no_o_id"]);
        let order = from("orders").key([p(0), p(1), p(2)]);
        let lines = from("order_line").key([p(0), p(1), p(2)]);
        let customer = from("customer").key([p(0), p(1), p(2)]);
        Body {
            oldest: statements.add("delivery_oldest", oldest),
            remove: statements.add(
                "delivery_remove",
                from("new_order").key([p(0), p(1), p(2)]).delete(),
            ),
            set_carrier: statements.add(
                "delivery_set_carrier",
                order.update_returning([set("o_carrier_id", p(3))], ["o_c_id"]),
            ),
            deliver_lines: statements.add(
                "delivery_lines",
                lines.update_returning([set("ol_delivery_d", p(3))], ["ol_amount"]),
            ),
            pay_out: statements.add(
                "delivery_customer",
                customer.update([add("c_balance", p(3)), add("c_delivery_cnt", p(4))]),
            ),
        }
    }

    /// A miss if a district had no open order.
    pub(super) async fn run<T: Transaction>(
        &self,
        delivery: &Delivery,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let mut skipped = false;
        for d in 1..=DISTRICTS {
            match self.oldest_open(delivery.w, d, transaction).await? {
                Some(o) => self.deliver(delivery, d, o, transaction).await?,
                None => skipped = true,
            }
        }
        Ok(if skipped {
            Outcome::Miss
        } else {
            Outcome::Commit
        })
    }

    async fn oldest_open<T: Transaction>(
        &self,
        w: i64,
        d: i64,
        transaction: &mut T,
    ) -> Result<Option<i64>, Error> {
        for _ in 0..LOOKS {
            if let Some(open) = transaction
                .query_optional(self.oldest, &[w, d].map(Value::Int))
                .await?
            {
                return open.int(0).map(Some);
            }
        }
        Ok(None)
    }

    async fn deliver<T: Transaction>(
        &self,
        delivery: &Delivery,
        d: i64,
        o: i64,
        transaction: &mut T,
    ) -> Result<(), Error> {
        let w = delivery.w;
        let key = [w, d, o].map(Value::Int);
        if transaction.execute(self.remove, &key).await? != 1 {
            return Err(Error::Other(format!(
                "order {w}/{d}/{o} was open and locked, and is gone"
            )));
        }
        let order = transaction
            .query_one(
                self.set_carrier,
                &[w, d, o, delivery.carrier].map(Value::Int),
            )
            .await?;
        let lines = transaction
            .query(
                self.deliver_lines,
                &[w, d, o, delivery.date].map(Value::Int),
            )
            .await?;
        let mut amount = 0;
        for line in &lines {
            amount += line.int(0)?;
        }
        let c = order.int(0)?;
        transaction
            .execute(self.pay_out, &[w, d, c, amount, 1].map(Value::Int))
            .await?;
        Ok(())
    }
}
