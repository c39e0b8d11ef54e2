//! Payment (TPC-C 2.5).

use super::customer::Lookup;
use super::terminal::{CustomerBy, District, Terminal};
use crate::interface::declare::{Statements, add, from, insert, p, set, subtract};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// Most characters of C_DATA.
const DATA_LENGTH: usize = 500;

/// A payment to be booked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Where it is paid.
    pub at: District,
    /// Where the customer belongs: elsewhere for 15 %.
    pub customer_at: District,
    /// The paying customer.
    pub customer: CustomerBy,
    /// Amount, 1.00 to 5000.00, in cents.
    pub amount: i64,
    /// When it is paid, in microseconds since 1970.
    pub date: i64,
}

impl Payment {
    /// Draws an input (2.5.1).
    pub(super) fn draw(terminal: &mut Terminal) -> Self {
        let at = terminal.district();
        let remote = terminal.random.between(1, 100) > 85 && terminal.scale.warehouses > 1;
        let customer_at = if remote {
            District {
                w: terminal.other_warehouse(at.w),
                d: terminal.district().d,
            }
        } else {
            at
        };
        Payment {
            at,
            customer_at,
            customer: terminal.customer_by(),
            amount: terminal.random.between(100, 500_000),
            date: terminal.tick(),
        }
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    lookup: Lookup,
    warehouse: StatementId,
    district: StatementId,
    customer: StatementId,
    customer_data: StatementId,
    pay: StatementId,
    pay_with_data: StatementId,
    insert_history: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>, lookup: Lookup) -> Self {
        let customer = || from("customer").key([p(0), p(1), p(2)]);
        let warehouse = from("warehouse").key([p(0)]).update_returning(
            [add("w_ytd", p(1))],
            "w_name w_street_1 w_street_2 w_city w_state w_zip".split(' '),
        );
        let district = from("district").key([p(0), p(1)]).update_returning(
            [add("d_ytd", p(2))],
            "d_name d_street_1 d_street_2 d_city d_state d_zip".split(' '),
        );
        let displayed = customer().for_update().columns(
            "c_credit c_first c_middle c_last c_street_1 c_street_2 c_city c_state c_zip \
             c_phone c_since c_credit_lim c_discount c_balance"
                .split(' '),
        );
        let pay = || {
            // One parameter a column: balance and payments are decimals alike, the count is not.
            [
                subtract("c_balance", p(3)),
                add("c_ytd_payment", p(3)),
                add("c_payment_cnt", p(4)),
            ]
        };
        let [balance, ytd, count] = pay();
        let pay_with_data = customer().update([balance, ytd, count, set("c_data", p(5))]);
        Body {
            lookup,
            warehouse: statements.add("payment_warehouse", warehouse),
            district: statements.add("payment_district", district),
            customer: statements.add("payment_customer", displayed),
            customer_data: statements.add("payment_customer_data", customer().columns(["c_data"])),
            pay: statements.add("payment_pay", customer().update(pay())),
            pay_with_data: statements.add("payment_pay_with_data", pay_with_data),
            insert_history: statements.add("payment_insert_history", insert("history")),
        }
    }

    pub(super) async fn run<T: Transaction>(
        &self,
        payment: &Payment,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let (at, customer_at, amount) = (payment.at, payment.customer_at, payment.amount);
        let warehouse = transaction
            .query_one(self.warehouse, &[at.w.into(), amount.into()])
            .await?;
        let district = transaction
            .query_one(self.district, &[at.w.into(), at.d.into(), amount.into()])
            .await?;
        let c = self
            .lookup
            .find(transaction, customer_at, &payment.customer)
            .await?;
        let key = [customer_at.w, customer_at.d, c].map(Value::Int);
        let customer = transaction.query_one(self.customer, &key).await?;

        let mut change = key.to_vec();
        change.extend([amount.into(), 1.into()]);
        if customer.text(0)? == "BC" {
            let old = transaction.query_one(self.customer_data, &key).await?;
            change.push(bad_credit_data(payment, c, old.text(0)?).into());
            transaction.execute(self.pay_with_data, &change).await?;
        } else {
            transaction.execute(self.pay, &change).await?;
        }

        let mut history = [
            c,
            customer_at.d,
            customer_at.w,
            at.d,
            at.w,
            payment.date,
            amount,
        ]
        .map(Value::Int)
        .to_vec();
        history.push(format!("{}    {}", warehouse.text(0)?, district.text(0)?).into());
        transaction.execute(self.insert_history, &history).await?;
        Ok(Outcome::Commit)
    }
}

/// C_DATA of a customer with bad credit (2.5.2.2): the payment's numbers before what was there, cut at 500
/// characters.
fn bad_credit_data(payment: &Payment, c: i64, old: &str) -> String {
    let (at, customer_at) = (payment.at, payment.customer_at);
    let amount = crate::sql::decimal::format(payment.amount, 2);
    let mut data = format!(
        "{c} {} {} {} {} {amount} {old}",
        customer_at.d, customer_at.w, at.d, at.w
    );
    data.truncate(DATA_LENGTH);
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_credit_data_is_prepended_and_cut() {
        let payment = Payment {
            at: District { w: 1, d: 2 },
            customer_at: District { w: 3, d: 4 },
            customer: CustomerBy::Id(5),
            amount: 12_345,
            date: 0,
        };
        assert_eq!(bad_credit_data(&payment, 5, "old"), "5 4 3 2 1 123.45 old");
        let long = bad_credit_data(&payment, 5, &"x".repeat(500));
        assert_eq!(long.len(), 500);
        assert!(long.starts_with("5 4 3 2 1 123.45 xxx"));
    }
}
