//! NewReservation: takes a seat that was free when it was looked for.

use super::data::attributes;
use super::traveller::Reservation;
use crate::interface::Compare::Equal;
use crate::interface::declare::{Statements, add, from, insert, p, set, subtract};
use crate::interface::{Error, Outcome, StatementId, Transaction, Value};

/// Why a reservation is not made: the flight is full.
pub(crate) const NO_SEATS_LEFT: &str = "no_seats_left";
/// Why a reservation is not made, or not moved: somebody else has the seat.
pub(crate) const SEAT_TAKEN: &str = "seat_taken";
/// Why a reservation is not made: the customer has another seat on the flight.
pub const CUSTOMER_BOOKED: &str = "customer_booked";
/// Why a reservation is not made: there is no such customer.
pub(crate) const NO_CUSTOMER: &str = "no_customer";

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    flight: StatementId,
    seat: StatementId,
    booked: StatementId,
    customer: StatementId,
    insert: StatementId,
    take_seat: StatementId,
    count: StatementId,
    count_flyer: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let flight = || from("flight").key([p(0)]);
        let of_flight = || from("reservation").index("reservation_seat", [p(0)]);
        let seat = from("reservation").index("reservation_seat", [p(0), p(1)]);
        let [.., a10, a11, a12, a13, a14, a15, _, _, _, _] = attributes::CUSTOMER;
        let count = [
            add(a10, p(1)),
            add(a11, p(1)),
            set(a12, p(2)),
            set(a13, p(3)),
            set(a14, p(4)),
            set(a15, p(5)),
        ];
        let [.., f10, f11, f12, f13, f14, _] = attributes::FREQUENT_FLYER;
        let count_flyer = [
            add(f10, p(2)),
            set(f11, p(3)),
            set(f12, p(4)),
            set(f13, p(5)),
            set(f14, p(6)),
        ];
        let customer =
            from("customer")
                .key([p(0)])
                .columns(["c_base_ap_id", "c_balance", "c_sattr00"]);
        let flyer = from("frequent_flyer").key([p(0), p(1)]);
        let mut add = |name, declaration| statements.add(name, declaration);
        Body {
            flight: add(
                "new_reservation_flight",
                flight().for_update().columns(["f_al_id", "f_seats_left"]),
            ),
            seat: add("new_reservation_seat", seat.columns(["r_id"])),
            booked: add(
                "new_reservation_booked",
                of_flight().filter("r_c_id", Equal, p(1)).columns(["r_id"]),
            ),
            customer: add("new_reservation_customer", customer),
            insert: add("new_reservation_insert", insert("reservation")),
            take_seat: add(
                "new_reservation_take_seat",
                flight().update([subtract("f_seats_left", p(1))]),
            ),
            count: add(
                "new_reservation_count",
                from("customer").key([p(0)]).update(count),
            ),
            count_flyer: add("new_reservation_count_flyer", flyer.update(count_flyer)),
        }
    }

    /// The flight's row is locked first, so that what is found about its seats stays true.
    pub(super) async fn run<T: Transaction>(
        &self,
        wish: &Reservation,
        values: [i64; 9],
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let (f_id, c_id) = (Value::Int(wish.f_id), Value::Int(wish.c_id));
        let flight = transaction
            .query_one(self.flight, std::slice::from_ref(&f_id))
            .await?;
        if flight.int(1)? <= 0 {
            return Ok(Outcome::Rollback(NO_SEATS_LEFT));
        }
        if !transaction
            .query(self.seat, &[f_id.clone(), wish.seat.into()])
            .await?
            .is_empty()
        {
            return Ok(Outcome::Rollback(SEAT_TAKEN));
        }
        if !transaction
            .query(self.booked, &[f_id.clone(), c_id.clone()])
            .await?
            .is_empty()
        {
            return Ok(Outcome::Rollback(CUSTOMER_BOOKED));
        }
        if transaction
            .query_optional(self.customer, std::slice::from_ref(&c_id))
            .await?
            .is_none()
        {
            return Ok(Outcome::Rollback(NO_CUSTOMER));
        }
        let mut row = [wish.r_id, wish.c_id, wish.f_id, wish.seat, wish.price]
            .map(Value::Int)
            .to_vec();
        row.extend(values.map(Value::Int));
        match transaction.execute(self.insert, &row).await {
            Err(Error::DuplicateKey(_)) => return Ok(Outcome::Rollback(SEAT_TAKEN)),
            inserted => inserted?,
        };
        transaction
            .execute(self.take_seat, &[f_id, 1.into()])
            .await?;
        let [a, b, c, d, ..] = values;
        transaction
            .execute(self.count, &[wish.c_id, 1, a, b, c, d].map(Value::Int))
            .await?;
        // A customer who is no frequent flyer of the airline has no such row.
        let flyer = [wish.c_id, flight.int(0)?, 1, a, b, c, d].map(Value::Int);
        transaction.execute(self.count_flyer, &flyer).await?;
        Ok(Outcome::Commit)
    }
}
