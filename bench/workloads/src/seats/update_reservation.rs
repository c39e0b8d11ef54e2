//! UpdateReservation: moves a reservation to another seat.

use super::delete_reservation::NO_RESERVATION;
use super::new_reservation::SEAT_TAKEN;
use super::traveller::{Reservation, Traveller};
use crate::interface::Compare::Equal;
use crate::interface::declare::{Statements, from, p, set};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// Attributes of a reservation; one is changed.
pub(super) const ATTRIBUTES: usize = 4;

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    seat: StatementId,
    held: StatementId,
    /// By attribute.
    set: [StatementId; ATTRIBUTES],
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let seat = from("reservation")
            .index("reservation_seat", [p(0), p(1)])
            .columns(["r_id"]);
        let held = from("reservation")
            .index("reservation_seat", [p(0)])
            .filter("r_c_id", Equal, p(1))
            .columns(["r_id"]);
        let mut change = |name, attribute| {
            let reservation = from("reservation").key([p(0), p(1), p(2)]);
            statements.add(
                name,
                reservation.update([set("r_seat", p(3)), set(attribute, p(4))]),
            )
        };
        let set = [
            change("update_reservation_set_0", "r_iattr00"),
            change("update_reservation_set_1", "r_iattr01"),
            change("update_reservation_set_2", "r_iattr02"),
            change("update_reservation_set_3", "r_iattr03"),
        ];
        Body {
            seat: statements.add("update_reservation_seat", seat),
            held: statements.add("update_reservation_held", held),
            set,
        }
    }

    /// Moves `held` to `seat` and sets attribute number `attribute` to `value`.
    pub(super) async fn run<T: Transaction>(
        &self,
        traveller: &mut Traveller,
        held: &Reservation,
        (seat, attribute, value): (i64, usize, i64),
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        traveller.gone = false;
        if !transaction
            .query(self.seat, &[held.f_id, seat].map(Value::Int))
            .await?
            .is_empty()
        {
            return Ok(Outcome::Rollback(SEAT_TAKEN));
        }
        let found = transaction
            .query_optional(self.held, &[held.f_id, held.c_id].map(Value::Int))
            .await?;
        let Some(reservation) = found else {
            traveller.gone = true;
            return Ok(Outcome::Rollback(NO_RESERVATION));
        };
        let change = [reservation.int(0)?, held.c_id, held.f_id, seat, value].map(Value::Int);
        match transaction.execute(self.set[attribute], &change).await {
            Err(Error::DuplicateKey(_)) => Ok(Outcome::Rollback(SEAT_TAKEN)),
            changed => changed.map(|_| Outcome::Commit),
        }
    }
}
