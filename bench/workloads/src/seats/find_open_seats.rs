//! FindOpenSeats: a flight's free seats, which become the client's wishes.

use super::data::{SEATS, seat_price};
use super::traveller::Traveller;
use crate::interface::declare::{Statements, from, p};
use crate::interface::{Error, Outcome, StatementId, Transaction};

/// A question for free seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindOpenSeats {
    /// The flight.
    pub f_id: i64,
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    flight: StatementId,
    taken: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let flight = from("flight").key([p(0)]).columns([
            "f_status",
            "f_base_price",
            "f_seats_total",
            "f_seats_left",
            "f_al_id",
        ]);
        let taken = from("reservation")
            .index("reservation_seat", [p(0)])
            .columns(["r_seat"]);
        Body {
            flight: statements.add("find_open_seats_flight", flight),
            taken: statements.add("find_open_seats_taken", taken),
        }
    }

    /// A miss if no seat is free.
    pub(super) async fn run<T: Transaction>(
        &self,
        traveller: &mut Traveller,
        search: FindOpenSeats,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let flight = transaction
            .query_one(self.flight, &[search.f_id.into()])
            .await?;
        let (base, total, left) = (flight.int(1)?, flight.int(2)?, flight.int(3)?);
        // The fuller, the dearer: by the share of seats that are taken.
        let price = base + base * (total - left) / total;
        let mut free = [true; SEATS as usize];
        for row in transaction.query(self.taken, &[search.f_id.into()]).await? {
            free[row.int(0)? as usize] = false;
        }
        let open = (0..SEATS)
            .filter(|&seat| free[seat as usize])
            .map(|seat| (seat, seat_price(price, seat)));
        let open: Vec<_> = open.collect();
        let outcome = if open.is_empty() {
            Outcome::Miss
        } else {
            Outcome::Commit
        };
        traveller.open = Some((search.f_id, open));
        Ok(outcome)
    }
}
