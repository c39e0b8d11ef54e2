//! A client: the reservations it means to make, change and delete.

use std::collections::VecDeque;
use std::sync::Arc;

use super::data::SEATS;
use crate::random::Random;

/// Most reservations waiting to be made.
pub(crate) const MOST_INSERTS: usize = 10_000;

/// Most reservations waiting to be changed, and to be deleted.
pub(crate) const MOST_CHANGES: usize = 5000;

/// A flight as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Its id.
    pub f_id: i64,
    /// Where from.
    pub depart: i64,
    /// When, in microseconds since 1970.
    pub depart_time: i64,
    /// Where to.
    pub arrive: i64,
}

/// A reservation as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its id.
    pub r_id: i64,
    /// The customer.
    pub c_id: i64,
    /// The flight.
    pub f_id: i64,
    /// The seat, from 0.
    pub seat: i64,
    /// The price in cents.
    pub price: i64,
}

/// Facts about the database that clients read once, before they begin.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Flights that have not departed.
    pub flights: Vec<Flight>,
    /// Customers.
    pub customers: i64,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Traveller {
    pub(super) random: Random,
    pub(super) known: Arc<Knowledge>,
    pub(super) inserts: VecDeque<Reservation>,
    pub(super) updates: VecDeque<Reservation>,
    pub(super) deletes: VecDeque<Reservation>,
    /// Prefix of the ids of its reservations.
    number: u32,
    made: i64,
    /// Open seats the running FindOpenSeats found: flight, seats with prices.
    pub(super) open: Option<(i64, Vec<(i64, i64)>)>,
    /// Whether the reservation the running transaction is about turned out not to exist.
    pub(super) gone: bool,
}

impl Traveller {
    pub(super) fn new(random: Random, number: u32, known: Arc<Knowledge>) -> Self {
        Traveller {
            random,
            known,
            inserts: VecDeque::new(),
            updates: VecDeque::new(),
            deletes: VecDeque::new(),
            number,
            made: 0,
            open: None,
            gone: false,
        }
    }

    /// An id for a reservation. Ids of another run may return: with customer and flight, which cannot both be
    /// the same, they are still a key.
    fn r_id(&mut self) -> i64 {
        self.made += 1;
        (i64::from(self.number) + 1) << 40 | self.made
    }

    pub(super) fn customer(&mut self) -> i64 {
        self.random.between(1, self.known.customers)
    }

    pub(super) fn flight(&mut self) -> Flight {
        let at = self.random.below(self.known.flights.len());
        self.known.flights[at]
    }

    /// Means to reserve open seats, in random order, each for some customer.
    pub(super) fn enqueue_open_seats(&mut self) {
        let Some((f_id, seats)) = self.open.take() else {
            return;
        };
        let last = seats.len() as i64 - 1;
        for at in self.random.permutation(0, last) {
            if self.inserts.len() >= MOST_INSERTS {
                break;
            }
            let (seat, price) = seats[at as usize];
            let reservation = Reservation {
                r_id: self.r_id(),
                c_id: self.customer(),
                f_id,
                seat,
                price,
            };
            self.inserts.push_back(reservation);
        }
    }

    /// Means to change or to delete a reservation it holds: a coin decides. A full queue forgets it.
    pub(super) fn enqueue_held(&mut self, reservation: Reservation) {
        let queue = if self.random.chance(0.5) {
            &mut self.updates
        } else {
            &mut self.deletes
        };
        if queue.len() < MOST_CHANGES {
            queue.push_back(reservation);
        }
    }

    /// Means to make a deleted reservation again, in nine cases of ten.
    pub(super) fn enqueue_again(&mut self, reservation: Reservation) {
        if self.random.chance(0.9) && self.inserts.len() < MOST_INSERTS {
            let r_id = self.r_id();
            self.inserts.push_back(Reservation {
                r_id,
                ..reservation
            });
        }
    }

    /// A seat other than this one.
    pub(super) fn other_seat(&mut self, seat: i64) -> i64 {
        (seat + self.random.between(1, SEATS - 1)) % SEATS
    }
}
