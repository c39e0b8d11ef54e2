//! The initial data.

use std::collections::BTreeSet;

use super::data::attributes;
use super::data::{SEATS, Sizes, TODAY, customer_number, seat_price};
use super::schema::Tables;
use super::world::{AIRLINES, AIRPORTS, COUNTRIES, World};
use crate::interface::{Batch, Partition, Row, TableId, Value};
use crate::random::{Random, RankTable};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Customers or flights of a partition.
const PARTITION: i64 = 5000;

/// Rows of a batch, about.
const BATCH: i64 = 250;

/// Flights of a day, fewest and most.
const FLIGHTS_A_DAY: (i64, i64) = (1125, 1875);

/// Share of seats that are taken at the beginning (?).
const TAKEN: f64 = 0.01;

/// Airlines whose frequent flyer a customer may be.
const MOST_AIRLINES: u64 = 10;

// What a generator is for.
const COUNTRY: u64 = 1;
const AIRPORT: u64 = 2;
const AIRLINE: u64 = 3;
const CUSTOMER: u64 = 4;
const FREQUENT_FLYER: u64 = 5;
const FLIGHT: u64 = 6;
const DAYS: u64 = 7;
const RESERVATION: u64 = 8;

/// Generates the data.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    seed: u64,
    sizes: Sizes,
    tables: Tables,
    world: World,
    memberships: RankTable,
    /// The number of the first flight of each day, from 1, and one after the last.
    first_of_day: Vec<i64>,
}

/// Rows that are loaded together: first and last id.
enum Part {
    Places,
    Customers(i64, i64),
    Flights(i64, i64),
}

impl Loader {
    pub(super) fn new(seed: u64, sizes: Sizes, tables: Tables) -> Self {
        let mut random = Random::new(seed, &[DAYS]);
        let mut first_of_day = vec![1];
        for day in 0..(sizes.days_past + sizes.days_future) as usize {
            let flights = random.between(FLIGHTS_A_DAY.0, FLIGHTS_A_DAY.1) / sizes.fewer_flights;
            first_of_day.push(first_of_day[day] + flights.max(1));
        }
        let memberships = RankTable::new(MOST_AIRLINES + 1, 2.0);
        Loader {
            seed,
            sizes,
            tables,
            world: World::new(),
            memberships,
            first_of_day,
        }
    }

    fn parts(&self) -> Vec<Part> {
        let ranges = |last: i64| {
            let firsts = (1..=last).step_by(PARTITION as usize);
            firsts.map(move |first| (first, last.min(first + PARTITION - 1)))
        };
        let customers =
            ranges(self.sizes.customers).map(|(first, last)| Part::Customers(first, last));
        let flights = ranges(self.flights()).map(|(first, last)| Part::Flights(first, last));
        std::iter::once(Part::Places)
            .chain(customers)
            .chain(flights)
            .collect()
    }

    fn flights(&self) -> i64 {
        self.first_of_day[self.first_of_day.len() - 1] - 1
    }

    pub(super) fn partitions(&self) -> Vec<Partition> {
        let describe = |(number, part)| {
            let (name, rows) = match part {
                Part::Places => (
                    "airports".to_owned(),
                    COUNTRIES + AIRPORTS * AIRPORTS + AIRLINES,
                ),
                // Zipf's law with exponent 2 over 0 to 10 memberships has a mean of 0.94.
                Part::Customers(first, last) => (
                    format!("customers from {first}"),
                    (last - first + 1) * 194 / 100,
                ),
                // And 1 % of 150 seats.
                Part::Flights(first, last) => {
                    (format!("flights from {first}"), (last - first + 1) * 5 / 2)
                }
            };
            Partition {
                number,
                name,
                rows: rows as u64,
            }
        };
        self.parts().into_iter().enumerate().map(describe).collect()
    }

    pub(super) fn batches(&self, number: usize) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let tables = &self.tables;
        match self.parts().swap_remove(number) {
            Part::Places => {
                let countries = self.rows(tables.country, (1, COUNTRIES), |load, id| {
                    vec![load.country(id)]
                });
                let airports = self.rows(tables.airport, (1, AIRPORTS), |load, id| {
                    vec![load.airport(id)]
                });
                let airlines = self.rows(tables.airline, (1, AIRLINES), |load, id| {
                    vec![load.airline(id)]
                });
                Box::new(countries.chain(airports).chain(airlines).chain(self.rows(
                    tables.distance,
                    (1, AIRPORTS),
                    Loader::distances,
                )))
            }
            Part::Customers(first, last) => {
                let customers = self.rows(tables.customer, (first, last), |load, id| {
                    vec![load.customer(id)]
                });
                Box::new(customers.chain(self.rows(
                    tables.frequent_flyer,
                    (first, last),
                    Loader::memberships,
                )))
            }
            Part::Flights(first, last) => {
                let flights = self.rows(tables.flight, (first, last), |load, id| {
                    vec![load.flight(id)]
                });
                Box::new(flights.chain(self.rows(
                    tables.reservation,
                    (first, last),
                    Loader::reservations,
                )))
            }
        }
    }

    fn rows(
        &self,
        table: TableId,
        (first, last): (i64, i64),
        rows: fn(&Loader, i64) -> Vec<Row>,
    ) -> impl Iterator<Item = Batch> + Send + '_ {
        (first..=last)
            .step_by(BATCH as usize)
            .map(move |from| Batch {
                table,
                rows: (from..=last.min(from + BATCH - 1))
                    .flat_map(|id| rows(self, id))
                    .collect(),
            })
    }

    fn random(&self, purpose: u64, id: i64) -> Random {
        Random::new(self.seed, &[purpose, id as u64])
    }

    fn country(&self, co_id: i64) -> Row {
        let random = &mut self.random(COUNTRY, co_id);
        let texts = [
            random.text(8, 32),
            random.capitals(2, 2),
            random.capitals(3, 3),
        ];
        Row(std::iter::once(Value::Int(co_id))
            .chain(texts.map(Value::Text))
            .collect())
    }

    fn airport(&self, ap_id: i64) -> Row {
        let random = &mut self.random(AIRPORT, ap_id);
        let airport = self.world.airport(ap_id);
        let mut row = vec![ap_id.into(), airport.code.as_str().into()];
        row.extend([random.text(16, 64), random.text(8, 32), random.digits(5, 5)].map(Value::Text));
        // Fifteen degrees an hour.
        let offset = libm::round(airport.longitude / 15.0);
        row.extend([
            1.into(),
            airport.longitude.into(),
            airport.latitude.into(),
            offset.into(),
        ]);
        row.push(random.between(1, 999).into());
        row.extend(numbers(random, attributes::AIRPORT.len()));
        Row(row)
    }

    fn airline(&self, al_id: i64) -> Row {
        let random = &mut self.random(AIRLINE, al_id);
        let mut row = vec![Value::Int(al_id)];
        let codes = [random.capitals(2, 3), random.capitals(3, 3)];
        row.extend(
            codes
                .into_iter()
                .chain([random.text(8, 32), random.text(16, 64)])
                .map(Value::Text),
        );
        row.push(random.between(1, COUNTRIES).into());
        row.extend(numbers(random, attributes::AIRLINE.len()));
        Row(row)
    }

    /// Both directions of each pair, so that one airport finds all others.
    fn distances(&self, from: i64) -> Vec<Row> {
        let others = (1..=AIRPORTS).filter(|to| *to != from);
        others
            .map(|to| {
                Row(vec![
                    from.into(),
                    to.into(),
                    self.world.distance(from, to).into(),
                ])
            })
            .collect()
    }

    fn customer(&self, c_id: i64) -> Row {
        let random = &mut self.random(CUSTOMER, c_id);
        let base = self.world.route(random).0;
        let balance = random.between(100_000, 1_000_000);
        let mut row = vec![
            c_id.into(),
            customer_number(c_id).into(),
            base.into(),
            balance.into(),
        ];
        row.extend((0..attributes::CUSTOMER_TEXTS.len()).map(|_| Value::Text(random.text(8, 8))));
        row.extend(numbers(random, 10));
        // Counters of the run.
        row.extend((10..attributes::CUSTOMER.len()).map(|_| Value::Int(0)));
        Row(row)
    }

    /// The number of airlines is Zipf's rank.
    fn memberships(&self, c_id: i64) -> Vec<Row> {
        let random = &mut self.random(FREQUENT_FLYER, c_id);
        let count = self.memberships.draw(random) as usize;
        let mut airlines = BTreeSet::new();
        while airlines.len() < count {
            airlines.insert(random.between(1, AIRLINES));
        }
        let membership = |al_id: i64| {
            let mut row = vec![c_id.into(), al_id.into(), customer_number(c_id).into()];
            row.extend(
                (0..attributes::FREQUENT_FLYER_TEXTS.len()).map(|_| Value::Text(random.text(8, 8))),
            );
            row.extend(numbers(random, 10));
            row.extend((10..attributes::FREQUENT_FLYER.len()).map(|_| Value::Int(0)));
            Row(row)
        };
        airlines.into_iter().map(membership).collect()
    }

    /// A flight, with its base price.
    fn flight(&self, f_id: i64) -> Row {
        let random = &mut self.random(FLIGHT, f_id);
        let day = self.first_of_day.partition_point(|&first| first <= f_id) as i64 - 1;
        let (depart, arrive) = self.world.route(random);
        let depart_time = TODAY + (day - self.sizes.days_past) * DAY + self.world.departure(random);
        let arrive_time = depart_time + self.world.flight_time(depart, arrive);
        let price = base_price(random);
        let airline = random.between(1, AIRLINES);
        let left = SEATS - self.taken(f_id).len() as i64;
        let mut row = [
            f_id,
            airline,
            depart,
            depart_time,
            arrive,
            arrive_time,
            0,
            price,
            SEATS,
            left,
        ]
        .map(Value::Int)
        .to_vec();
        row.extend(numbers(random, attributes::FLIGHT.len()));
        Row(row)
    }

    /// The seats taken at the beginning, each by another customer.
    fn taken(&self, f_id: i64) -> Vec<(i64, i64)> {
        let random = &mut self.random(RESERVATION, f_id);
        let mut customers = BTreeSet::new();
        let mut taken = Vec::new();
        for seat in 0..SEATS {
            let c_id = random.between(1, self.sizes.customers);
            if random.chance(TAKEN) && customers.insert(c_id) {
                taken.push((seat, c_id));
            }
        }
        taken
    }

    fn reservations(&self, f_id: i64) -> Vec<Row> {
        let flight = self.flight(f_id);
        let price = flight.int(7).expect("a flight has a base price");
        let random = &mut self.random(RESERVATION, -f_id);
        let reservation = |(seat, c_id)| {
            let r_id = f_id * SEATS + seat;
            let mut row = [r_id, c_id, f_id, seat, seat_price(price, seat)]
                .map(Value::Int)
                .to_vec();
            row.extend(numbers(random, attributes::RESERVATION.len()));
            Row(row)
        };
        self.taken(f_id).into_iter().map(reservation).collect()
    }
}

/// 100.00 to 1000.00, in cents.
fn base_price(random: &mut Random) -> i64 {
    random.between(10_000, 100_000)
}

fn numbers(random: &mut Random, count: usize) -> Vec<Value> {
    (0..count)
        .map(|_| Value::Int(random.between(0, 1_000_000_000)))
        .collect()
}
