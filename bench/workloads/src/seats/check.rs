//! Consistency conditions of SEATS' data.

use std::collections::BTreeMap;

use super::data::SEATS;
use crate::interface::declare::{Statements, count, count_distinct, from, max, min, outer, sum};
use crate::interface::{Error, Findings, StatementId, Transaction};

/// Counts that a run changes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    /// Reservations.
    pub(super) reservations: i64,
    /// Sum of the customers' counters of reservations.
    pub(super) counted: i64,
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Check {
    flights: StatementId,
    by_flight: StatementId,
    counted: StatementId,
    reservations: StatementId,
    with_flight: StatementId,
    with_customer: StatementId,
}

impl Check {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let mut add = |name, declaration| statements.add(name, declaration);
        let of_flight = [
            count(),
            count_distinct("r_c_id"),
            min("r_seat"),
            max("r_seat"),
        ];
        let with_flight = from("reservation")
            .join("flight")
            .key([outer("r_f_id")])
            .aggregates([count()]);
        let with_customer = from("reservation")
            .join("customer")
            .key([outer("r_c_id")])
            .aggregates([count()]);
        Check {
            flights: add(
                "check_flights",
                from("flight").columns(["f_id", "f_seats_total", "f_seats_left"]),
            ),
            by_flight: add(
                "check_by_flight",
                from("reservation").grouped(["r_f_id"], of_flight),
            ),
            counted: add(
                "check_counted",
                from("customer").aggregates([sum("c_iattr10")]),
            ),
            reservations: add(
                "check_reservations",
                from("reservation").aggregates([count()]),
            ),
            with_flight: add("check_with_flight", with_flight),
            with_customer: add("check_with_customer", with_customer),
        }
    }

    pub(super) async fn totals<T: Transaction>(
        &self,
        transaction: &mut T,
    ) -> Result<Totals, Error> {
        let reservations = transaction
            .query_one(self.reservations, &[])
            .await?
            .int(0)?;
        let counted = transaction
            .query_one(self.counted, &[])
            .await?
            .optional_int(0)?
            .unwrap_or(0);
        Ok(Totals {
            reservations,
            counted,
        })
    }

    /// `before` are the totals at the beginning of the run, if known, and `added` the reservations made less
    /// those deleted since.
    pub(super) async fn run<T: Transaction>(
        &self,
        before: Option<Totals>,
        added: i64,
        transaction: &mut T,
        findings: &mut Findings,
    ) -> Result<(), Error> {
        let mut taken = BTreeMap::new();
        for row in transaction.query(self.by_flight, &[]).await? {
            let (f_id, count) = (row.int(0)?, row.int(1)?);
            taken.insert(f_id, count);
            let place = || format!("flight {f_id}");
            findings.equal(
                "seats: a customer has one seat on a flight",
                count,
                row.int(2)?,
                place,
            );
            let seats = (row.int(3)?, row.int(4)?);
            findings.holds(
                "seats: r_seat lies in 0 to 149",
                seats.0 >= 0 && seats.1 < SEATS,
                place,
            );
        }
        for flight in transaction.query(self.flights, &[]).await? {
            let (f_id, total, left) = (flight.int(0)?, flight.int(1)?, flight.int(2)?);
            let reserved = taken.get(&f_id).copied().unwrap_or(0);
            let condition = "seats: f_seats_left = f_seats_total - count(reservation)";
            findings.equal(condition, left, total - reserved, || {
                format!("flight {f_id}")
            });
        }
        let totals = self.totals(transaction).await?;
        for (statement, condition) in [
            (self.with_flight, "seats: each reservation has its flight"),
            (
                self.with_customer,
                "seats: each reservation has its customer",
            ),
        ] {
            let pairs = transaction.query_one(statement, &[]).await?.int(0)?;
            findings.equal(condition, totals.reservations, pairs, || {
                "reservation".to_owned()
            });
        }
        if let Some(before) = before {
            let expected = Totals {
                reservations: before.reservations + added,
                counted: before.counted + added,
            };
            let condition =
                "seats: count(reservation) and sum(c_iattr10) follow committed inserts and deletes";
            findings.equal(condition, totals, expected, || "all rows".to_owned());
        }
        Ok(())
    }
}
