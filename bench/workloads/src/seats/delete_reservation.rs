//! DeleteReservation: gives a seat back.

use super::customer::{CustomerBy, Lookup};
use super::data::attributes;
use super::traveller::{Reservation, Traveller};
use crate::interface::Compare::Equal;
use crate::interface::declare::{Statements, add, from, p, set, subtract};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// Why nothing is deleted or changed: the customer has no reservation for the flight.
pub(crate) const NO_RESERVATION: &str = "no_reservation";

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    lookup: Lookup,
    flight: StatementId,
    reservation: StatementId,
    delete: StatementId,
    free_seat: StatementId,
    count: StatementId,
    count_flyer: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>, lookup: Lookup) -> Self {
        let flight = || from("flight").key([p(0)]);
        let reservation = from("reservation")
            .index("reservation_seat", [p(0)])
            .filter("r_c_id", Equal, p(1))
            .columns(["r_id", "r_seat", "r_price", "r_iattr00"]);
        let [first, ..] = attributes::CUSTOMER;
        let [.., a10, a11, _, _, _, _, _, _, _, _] = attributes::CUSTOMER;
        let count = [
            subtract("c_balance", p(1)),
            set(first, p(2)),
            subtract(a10, p(3)),
            subtract(a11, p(3)),
        ];
        let [.., f10, _, _, _, _, _] = attributes::FREQUENT_FLYER;
        let flyer = from("frequent_flyer")
            .key([p(0), p(1)])
            .update([subtract(f10, p(2))]);
        let seats = flight().for_update().columns(["f_al_id", "f_seats_left"]);
        let delete = from("reservation").key([p(0), p(1), p(2)]).delete();
        Body {
            lookup,
            flight: statements.add("delete_reservation_flight", seats),
            reservation: statements.add("delete_reservation_reservation", reservation),
            delete: statements.add("delete_reservation_delete", delete),
            free_seat: statements.add(
                "delete_reservation_free_seat",
                flight().update([add("f_seats_left", p(1))]),
            ),
            count: statements.add(
                "delete_reservation_count",
                from("customer").key([p(0)]).update(count),
            ),
            count_flyer: statements.add("delete_reservation_count_flyer", flyer),
        }
    }

    pub(super) async fn run<T: Transaction>(
        &self,
        traveller: &mut Traveller,
        held: &Reservation,
        by: CustomerBy,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        traveller.gone = false;
        let c_id = self.lookup.find(by, held.c_id, transaction).await?;
        let flight = transaction
            .query_one(self.flight, &[held.f_id.into()])
            .await?;
        let found = transaction
            .query_optional(self.reservation, &[held.f_id, c_id].map(Value::Int))
            .await?;
        let Some(reservation) = found else {
            traveller.gone = true;
            return Ok(Outcome::Rollback(NO_RESERVATION));
        };
        let (r_id, price) = (reservation.int(0)?, reservation.int(2)?);
        let deleted = transaction
            .execute(self.delete, &[r_id, c_id, held.f_id].map(Value::Int))
            .await?;
        if deleted != 1 {
            return Err(Error::Other(format!(
                "reservation {r_id} was found and is gone"
            )));
        }
        transaction
            .execute(self.free_seat, &[held.f_id, 1].map(Value::Int))
            .await?;
        let counted = [c_id, price, reservation.int(3)?, 1].map(Value::Int);
        transaction.execute(self.count, &counted).await?;
        transaction
            .execute(self.count_flyer, &[c_id, flight.int(0)?, 1].map(Value::Int))
            .await?;
        Ok(Outcome::Commit)
    }
}
