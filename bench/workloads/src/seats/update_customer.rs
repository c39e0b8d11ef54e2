//! UpdateCustomer: changes two attributes of a customer and, for a quarter, of all memberships.

use super::customer::{CustomerBy, Lookup};
use crate::interface::declare::{Statements, from, outer, p, set};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};
use crate::random::Random;

/// A change of a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateCustomer {
    /// The customer.
    pub c_id: i64,
    /// The way of naming the customer: 20 % by number.
    pub by: CustomerBy,
    /// Whether memberships are changed, too: 25 %.
    pub memberships: bool,
    /// The new attributes.
    pub values: [i64; 2],
}

impl UpdateCustomer {
    pub(super) fn draw(random: &mut Random, c_id: i64) -> Self {
        let by = if random.chance(0.2) {
            CustomerBy::Number
        } else {
            CustomerBy::Id
        };
        let memberships = random.chance(0.25);
        UpdateCustomer {
            c_id,
            by,
            memberships,
            values: [random.between(0, 1 << 30), random.between(0, 1 << 30)],
        }
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    lookup: Lookup,
    customer: StatementId,
    airport: StatementId,
    memberships: StatementId,
    set_membership: StatementId,
    set_customer: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>, lookup: Lookup) -> Self {
        let customer = from("customer").key([p(0)]).for_update().columns(
            "c_id_str c_base_ap_id c_balance c_sattr00 c_sattr01 c_iattr00 c_iattr01".split(' '),
        );
        let airport = from("airport")
            .key([p(0)])
            .join("country")
            .key([outer("ap_co_id")])
            .columns(["ap_code", "ap_name", "ap_city", "co_name"]);
        let memberships = from("frequent_flyer").key([p(0)]).for_update().columns([
            "ff_al_id",
            "ff_iattr00",
            "ff_iattr01",
        ]);
        let set_membership = from("frequent_flyer")
            .key([p(0), p(1)])
            .update([set("ff_iattr00", p(2)), set("ff_iattr01", p(3))]);
        let set_customer = from("customer")
            .key([p(0)])
            .update([set("c_iattr00", p(1)), set("c_iattr01", p(2))]);
        Body {
            lookup,
            customer: statements.add("update_customer_customer", customer),
            airport: statements.add("update_customer_airport", airport),
            memberships: statements.add("update_customer_memberships", memberships),
            set_membership: statements.add("update_customer_set_membership", set_membership),
            set_customer: statements.add("update_customer_set_customer", set_customer),
        }
    }

    pub(super) async fn run<T: Transaction>(
        &self,
        change: &UpdateCustomer,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let [a, b] = change.values;
        let c_id = self
            .lookup
            .find(change.by, change.c_id, transaction)
            .await?;
        let customer = transaction.query_one(self.customer, &[c_id.into()]).await?;
        transaction
            .query_one(self.airport, &[customer.int(1)?.into()])
            .await?;
        if change.memberships {
            let mut changes = Vec::new();
            for membership in transaction.query(self.memberships, &[c_id.into()]).await? {
                changes.push([c_id, membership.int(0)?, a, b].map(Value::Int).to_vec());
            }
            transaction
                .execute_all(self.set_membership, &changes)
                .await?;
        }
        transaction
            .execute(self.set_customer, &[c_id, a, b].map(Value::Int))
            .await?;
        Ok(Outcome::Commit)
    }
}
