//! Finding a customer by id, by number, or as a frequent flyer.

use super::data::customer_number;
use crate::interface::declare::{Statements, from, outer, p};
use crate::interface::{Error, StatementId, Transaction};
use crate::random::Random;

/// The ways in which a transaction names its customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerBy {
    /// By C_ID.
    Id,
    /// By C_ID_STR.
    Number,
    /// By FF_C_ID_STR: through the customer's memberships, if there are any.
    FrequentFlyer,
}

impl CustomerBy {
    /// 20 % by number, 20 % as a frequent flyer: for DeleteReservation.
    pub(super) fn draw(random: &mut Random) -> Self {
        match random.between(1, 100) {
            ..=20 => CustomerBy::Number,
            21..=40 => CustomerBy::FrequentFlyer,
            _ => CustomerBy::Id,
        }
    }
}

/// The statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup {
    by_number: StatementId,
    by_membership: StatementId,
}

impl Lookup {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let by_number = from("customer")
            .index("customer_id_str", [p(0)])
            .columns(["c_id"]);
        let by_membership = from("frequent_flyer")
            .index("frequent_flyer_id_str", [p(0)])
            .join("customer")
            .key([outer("ff_c_id")])
            .columns(["c_id", "ff_al_id"]);
        Lookup {
            by_number: statements.add("customer_by_number", by_number),
            by_membership: statements.add("customer_by_membership", by_membership),
        }
    }

    /// The id of the customer who is known to be `c_id`. One who is no frequent flyer is then looked up by
    /// number.
    pub(super) async fn find<T: Transaction>(
        &self,
        by: CustomerBy,
        c_id: i64,
        transaction: &mut T,
    ) -> Result<i64, Error> {
        if by == CustomerBy::Id {
            return Ok(c_id);
        }
        let number = [customer_number(c_id).into()];
        if by == CustomerBy::FrequentFlyer
            && let Some(membership) = transaction
                .query(self.by_membership, &number)
                .await?
                .first()
        {
            return membership.int(0);
        }
        transaction.query_one(self.by_number, &number).await?.int(0)
    }
}
