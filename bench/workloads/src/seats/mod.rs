//! SEATS: the airline-ticketing workload of OLTP-Bench (Difallah et al., VLDB 2013; Stonebraker and Pavlo
//! 2012).
//!
//! Clients look for flights and open seats, and later reserve, move and return the seats they found: the results of
//! one transaction fill the client's queues for others. A type with an empty queue is drawn again, so the first
//! seconds of a run have fewer of these types than the mix says. There are differences from the original. Airports,
//! routes and times are made up ([`World`]). Customers are numbered without their airport in the number. The share of
//! seats taken at the beginning, 1 %, is from memory.

mod check;
mod customer;
mod data;
mod delete_reservation;
mod find_flights;
mod find_open_seats;
mod load;
mod new_reservation;
mod schema;
mod traveller;
mod update_customer;
mod update_reservation;
mod world;

pub use customer::CustomerBy;
pub use data::{SEATS, Sizes};
pub use find_flights::FindFlights;
pub use find_open_seats::FindOpenSeats;
pub use new_reservation::CUSTOMER_BOOKED;
pub use schema::Tables;
pub use traveller::{Flight, Knowledge, Reservation, Traveller};
pub use update_customer::UpdateCustomer;
pub use world::{AIRPORTS, Airport, World};

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::interface::declare::{Statements, count, from, p};
use crate::interface::{
    Batch, Declared, Error, Findings, Outcome, Partition, StatementId, Transaction,
    TransactionType, Violation, Workload,
};
use crate::random::{Random, Weighted};
use data::TODAY;

/// First step of the generators of clients; [`load`] has the smaller ones.
const RUN: u64 = 100;

/// The workload.
#[derive(Debug)]
pub struct Seats {
    sizes: Sizes,
    seed: u64,
    declared: Declared,
    weights: Weighted,
    bodies: Bodies,
    load: load::Loader,
    known: Mutex<Arc<Knowledge>>,
    before: Mutex<Option<check::Totals>>,
    /// Reservations made less those deleted since the beginning of the run.
    added: AtomicI64,
}

#[derive(Debug)]
struct Bodies {
    delete_reservation: delete_reservation::Body,
    find_flights: find_flights::Body,
    find_open_seats: find_open_seats::Body,
    new_reservation: new_reservation::Body,
    update_customer: update_customer::Body,
    update_reservation: update_reservation::Body,
    check: check::Check,
    upcoming: StatementId,
    customers: StatementId,
}

/// The input of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Gives a seat back.
    DeleteReservation(Reservation, CustomerBy),
    /// Looks for flights.
    FindFlights(FindFlights),
    /// Looks for free seats.
    FindOpenSeats(FindOpenSeats),
    /// Takes a seat, with attributes.
    NewReservation(Reservation, [i64; 9]),
    /// Changes a customer.
    UpdateCustomer(UpdateCustomer),
    /// Moves to another seat, and sets one of four attributes to a value.
    UpdateReservation(Reservation, i64, usize, i64),
}

/// The types in the order of [`Request`].
fn transaction_types() -> Vec<TransactionType> {
    let kind = |name, percent, read_only| TransactionType::new(name, percent, read_only, false);
    vec![
        kind("delete_reservation", 10.0, false),
        kind("find_flights", 10.0, true),
        kind("find_open_seats", 35.0, true),
        kind("new_reservation", 20.0, false),
        kind("update_customer", 10.0, false),
        kind("update_reservation", 15.0, false),
    ]
}

impl Seats {
    /// A database of this size; `seed` determines data and inputs, but not the airports.
    ///
    /// # Panics
    /// If there are no customers or no days to come.
    pub fn new(sizes: Sizes, seed: u64) -> Self {
        assert!(
            sizes.customers > 0 && sizes.days_future > 0,
            "SEATS needs customers and flights to come"
        );
        let (schema, tables) = schema::declare();
        let mut statements = Statements::new(&schema);
        let lookup = customer::Lookup::declare(&mut statements);
        let upcoming = from("flight")
            .index("flight_depart_time", [])
            .at_least(p(0))
            .columns(["f_id", "f_depart_ap_id", "f_depart_time", "f_arrive_ap_id"]);
        let bodies = Bodies {
            delete_reservation: delete_reservation::Body::declare(&mut statements, lookup),
            find_flights: find_flights::Body::declare(&mut statements),
            find_open_seats: find_open_seats::Body::declare(&mut statements),
            new_reservation: new_reservation::Body::declare(&mut statements),
            update_customer: update_customer::Body::declare(&mut statements, lookup),
            update_reservation: update_reservation::Body::declare(&mut statements),
            check: check::Check::declare(&mut statements),
            upcoming: statements.add("prepare_upcoming", upcoming),
            customers: statements.add("prepare_customers", from("customer").aggregates([count()])),
        };
        let types = transaction_types();
        Seats {
            sizes,
            seed,
            weights: Weighted::new(types.iter().map(|kind| kind.fraction)),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types,
            },
            bodies,
            load: load::Loader::new(seed, sizes, tables),
            known: Mutex::default(),
            before: Mutex::new(None),
            added: AtomicI64::new(0),
        }
    }
}

impl Workload for Seats {
    type Client = Traveller;
    type Request = Request;

    fn name(&self) -> &'static str {
        "seats"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("customers", self.sizes.customers.to_string()),
            ("days_past", self.sizes.days_past.to_string()),
            ("days_future", self.sizes.days_future.to_string()),
            ("fewer_flights", self.sizes.fewer_flights.to_string()),
            ("seed", self.seed.to_string()),
        ]
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn partitions(&self) -> Vec<Partition> {
        self.load.partitions()
    }

    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        self.load.batches(partition.number)
    }

    async fn prepare<T: Transaction>(&self, transaction: &mut T) -> Result<(), Error> {
        let mut flights = Vec::new();
        for row in transaction
            .query(self.bodies.upcoming, &[TODAY.into()])
            .await?
        {
            let (f_id, depart, depart_time, arrive) =
                (row.int(0)?, row.int(1)?, row.int(2)?, row.int(3)?);
            flights.push(Flight {
                f_id,
                depart,
                depart_time,
                arrive,
            });
        }
        let customers = transaction
            .query_one(self.bodies.customers, &[])
            .await?
            .int(0)?;
        if flights.is_empty() || customers == 0 {
            return Err(Error::Other(
                "the database has no customers or no flights to come: load it first".into(),
            ));
        }
        // In the order of departure, ties by id, on every target.
        flights.sort_unstable_by_key(|flight| (flight.depart_time, flight.f_id));
        *self.known.lock() = Arc::new(Knowledge { flights, customers });
        *self.before.lock() = Some(self.bodies.check.totals(transaction).await?);
        self.added.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// # Panics
    /// If [`Workload::prepare`] did not succeed before.
    fn client(&self, number: u32) -> Traveller {
        let known = Arc::clone(&self.known.lock());
        assert!(
            !known.flights.is_empty(),
            "clients of SEATS are made after prepare"
        );
        Traveller::new(Random::new(self.seed, &[RUN, number.into()]), number, known)
    }

    fn next(&self, traveller: &mut Traveller) -> Request {
        loop {
            let kind = self.weights.draw(&mut traveller.random);
            let request = match kind {
                0 => traveller.deletes.pop_front().map(|held| {
                    Request::DeleteReservation(held, CustomerBy::draw(&mut traveller.random))
                }),
                1 => Some(Request::FindFlights(FindFlights::draw(traveller))),
                2 => Some(Request::FindOpenSeats(FindOpenSeats {
                    f_id: traveller.flight().f_id,
                })),
                3 => traveller.inserts.pop_front().map(|wish| {
                    let mut value = |_| traveller.random.between(0, 1 << 30);
                    Request::NewReservation(wish, std::array::from_fn(&mut value))
                }),
                4 => {
                    let c_id = traveller.customer();
                    Some(Request::UpdateCustomer(UpdateCustomer::draw(
                        &mut traveller.random,
                        c_id,
                    )))
                }
                _ => traveller.updates.pop_front().map(|held| {
                    let seat = traveller.other_seat(held.seat);
                    let attribute = traveller.random.below(update_reservation::ATTRIBUTES);
                    Request::UpdateReservation(
                        held,
                        seat,
                        attribute,
                        traveller.random.between(0, 1 << 30),
                    )
                }),
            };
            if let Some(request) = request {
                return request;
            }
        }
    }

    fn transaction_type(&self, request: &Request) -> usize {
        match request {
            Request::DeleteReservation(..) => 0,
            Request::FindFlights(_) => 1,
            Request::FindOpenSeats(_) => 2,
            Request::NewReservation(..) => 3,
            Request::UpdateCustomer(_) => 4,
            Request::UpdateReservation(..) => 5,
        }
    }

    async fn run<T: Transaction>(
        &self,
        traveller: &mut Traveller,
        request: &Request,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let bodies = &self.bodies;
        match request {
            Request::DeleteReservation(held, by) => {
                bodies
                    .delete_reservation
                    .run(traveller, held, *by, transaction)
                    .await
            }
            Request::FindFlights(search) => bodies.find_flights.run(search, transaction).await,
            Request::FindOpenSeats(search) => {
                bodies
                    .find_open_seats
                    .run(traveller, *search, transaction)
                    .await
            }
            Request::NewReservation(wish, values) => {
                bodies.new_reservation.run(wish, *values, transaction).await
            }
            Request::UpdateCustomer(change) => {
                bodies.update_customer.run(change, transaction).await
            }
            Request::UpdateReservation(held, seat, attribute, value) => {
                let change = (*seat, *attribute, *value);
                bodies
                    .update_reservation
                    .run(traveller, held, change, transaction)
                    .await
            }
        }
    }

    fn finished(&self, traveller: &mut Traveller, request: &Request, committed: bool) {
        let gone = std::mem::take(&mut traveller.gone);
        match request {
            Request::FindOpenSeats(_) if committed => traveller.enqueue_open_seats(),
            Request::FindOpenSeats(_) => traveller.open = None,
            Request::NewReservation(wish, _) if committed => {
                self.added.fetch_add(1, Ordering::Relaxed);
                traveller.enqueue_held(*wish);
            }
            Request::DeleteReservation(held, _) if committed => {
                self.added.fetch_sub(1, Ordering::Relaxed);
                traveller.enqueue_again(*held);
            }
            Request::UpdateReservation(held, seat, ..) if committed => {
                traveller.enqueue_held(Reservation {
                    seat: *seat,
                    ..*held
                });
            }
            // What could not be changed is still held.
            Request::DeleteReservation(held, _) | Request::UpdateReservation(held, ..) if !gone => {
                traveller.enqueue_held(*held);
            }
            _ => {}
        }
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let mut findings = Findings::new();
        let (before, added) = (*self.before.lock(), self.added.load(Ordering::Relaxed));
        self.bodies
            .check
            .run(before, added, transaction, &mut findings)
            .await?;
        Ok(findings.finish())
    }
}
