//! SEATS on the embedded store.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_drive::workload::Hosted;
use evenkeel_workloads::interface::{Outcome, Workload, complete};
use evenkeel_workloads::seats::{self, Seats};

use crate::{assert_fraction, database, rows, run, set, violated};

const SMALL_SEATS: seats::Sizes = seats::Sizes {
    customers: 800,
    days_past: 1,
    days_future: 2,
    fewer_flights: 60,
};

#[test]
fn seats_runs() {
    let (seats, database, tally) = run(|| Seats::new(SMALL_SEATS, 2), 3, 4000);
    for kind in 0..6 {
        assert!(
            tally.committed[kind] > 0,
            "{}",
            seats.transactions()[kind].name
        );
    }
    // The seats found are random, so now and then somebody else was faster, or the customer flies already.
    assert!(
        tally.rolled_back.contains_key(seats::CUSTOMER_BOOKED),
        "{:?}",
        tally.rolled_back
    );
    let before = database::load(&Seats::new(SMALL_SEATS, 2));
    let change = rows(&seats, &database, "reservation").len() as i64
        - rows(&seats, &before, "reservation").len() as i64;
    assert_eq!(
        change,
        tally.committed[3] as i64 - tally.committed[0] as i64
    );
}

#[test]
fn seats_inputs_follow_the_definition() {
    let seats = Seats::new(SMALL_SEATS, 2);
    let database = database::load(&seats);
    let mut clients = vec![seats.client(0)];
    // Queues fill first.
    database::run(&seats, &database, &mut clients, 500);
    let client = &mut clients[0];
    let requests: Vec<_> = (0..1000).map(|_| seats.next(client)).collect();
    let searches: Vec<_> = requests
        .iter()
        .filter_map(|r| {
            if let seats::Request::FindFlights(s) = r {
                Some(s)
            } else {
                None
            }
        })
        .collect();
    let nearby = searches
        .iter()
        .filter(|search| search.within.is_some())
        .count();
    assert_fraction("searches nearby", nearby, searches.len(), 0.25);
    assert!(searches.iter().all(|search| {
        search
            .within
            .is_none_or(|miles| [5, 10, 25, 50, 100].contains(&miles))
    }));
    assert!(searches.iter().all(|search| search.depart != search.arrive));
    let two_days = searches
        .iter()
        .filter(|s| s.to_time - s.from_time == 2 * 86_400_000_000)
        .count();
    let one_day = searches
        .iter()
        .filter(|s| s.to_time - s.from_time == 86_400_000_000)
        .count();
    assert_fraction(
        "searches for random airports",
        two_days,
        searches.len(),
        0.1,
    );
    assert_eq!(one_day + two_days, searches.len());
}

/// A search for an airport without flights finds those to its neighbours, if it may look around.
#[test]
fn seats_searches_nearby_airports() {
    let workload = Seats::new(SMALL_SEATS, 2);
    let database = database::load(&workload);
    let flights = rows(&workload, &database, "flight");
    let routes: BTreeSet<(i64, i64)> = flights
        .iter()
        .map(|flight| (flight.int(2).unwrap(), flight.int(4).unwrap()))
        .collect();
    let world = seats::World::new();
    let nearest = |airport: i64| {
        let others = (1..=seats::AIRPORTS).filter(|other| *other != airport);
        others
            .min_by(|a, b| {
                world
                    .distance(airport, *a)
                    .total_cmp(&world.distance(airport, *b))
            })
            .unwrap()
    };
    let mut searched = 0;
    for unserved in 1..=seats::AIRPORTS {
        let neighbour = nearest(unserved);
        let served = flights.iter().find(|flight| flight.int(4) == Ok(neighbour));
        let Some(flight) = served.filter(|_| world.distance(unserved, neighbour) <= 100.0) else {
            continue;
        };
        let depart = flight.int(2).unwrap();
        if depart == unserved || routes.contains(&(depart, unserved)) {
            continue;
        }
        let time = flight.int(3).unwrap();
        let search = |within| {
            let search = seats::FindFlights {
                depart,
                arrive: unserved,
                from_time: time,
                to_time: time,
                within,
            };
            let mut connection = database.connect(&Hosted(&workload));
            let request = seats::Request::FindFlights(search);
            let client = &mut workload.client(0);
            complete(database::transact(
                &workload,
                client,
                &request,
                &mut connection,
            ))
        };
        assert_eq!(search(None), Ok(Outcome::Miss));
        assert_eq!(search(Some(100)), Ok(Outcome::Commit));
        searched += 1;
    }
    assert!(searched > 0);
}

#[test]
fn seats_data_follows_the_definition() {
    let seats = Seats::new(
        seats::Sizes {
            fewer_flights: 10,
            customers: 5000,
            ..SMALL_SEATS
        },
        2,
    );
    let database = database::load(&seats);
    let flights = rows(&seats, &database, "flight");
    assert!(
        (3 * 112..=3 * 187).contains(&(flights.len() as i64)),
        "{}",
        flights.len()
    );
    let world = seats::World::new();
    for flight in &flights {
        let [depart, depart_time, arrive, arrive_time] =
            [2, 3, 4, 5].map(|at| flight.int(at).unwrap());
        assert_ne!(depart, arrive);
        // 570 miles an hour, in microseconds.
        let hours = world.distance(depart, arrive) / 570.0;
        assert!(((arrive_time - depart_time) as f64 / 3.6e9 - hours).abs() < 1e-6);
        assert!((10_000..=100_000).contains(&flight.int(7).unwrap()));
    }
    let reservations = rows(&seats, &database, "reservation");
    assert_fraction("taken seats", reservations.len(), flights.len() * 150, 0.01);
    for reservation in &reservations {
        let [f_id, seat, price] = [2, 3, 4].map(|at| reservation.int(at).unwrap());
        let base = flights[f_id as usize - 1].int(7).unwrap();
        assert_eq!(price, if seat < 10 { 2 * base } else { base });
    }
    let mut memberships: BTreeMap<i64, usize> = BTreeMap::new();
    for row in rows(&seats, &database, "frequent_flyer") {
        *memberships.entry(row.int(0).unwrap()).or_default() += 1;
    }
    assert!(memberships.values().all(|&count| count <= 10));
    // Rank 0, no membership, has 1 / zeta(11, 2) = 0.641 of the customers.
    let none = 5000 - memberships.len();
    assert_fraction(
        "no membership",
        none,
        5000,
        1.0 / evenkeel_workloads::random::zeta(11, 2.0),
    );
}

#[test]
fn seats_checks_see_damage() {
    let seats = Seats::new(SMALL_SEATS, 2);
    let find = |name| seats.schema().find(name);
    let one = |text: &str| BTreeSet::from([text.to_owned()]);
    assert_eq!(violated(&seats, |_| ()).len(), 0);
    let left = violated(&seats, |db| {
        assert!(db.corrupt(find("flight"), |row| set(row, 9, 3)))
    });
    assert_eq!(
        left,
        one("f_seats_left = f_seats_total - count(reservation)")
    );
    let counted = violated(&seats, |db| {
        assert!(db.corrupt(find("customer"), |row| set(row, 34, 1)))
    });
    assert_eq!(
        counted,
        one("count(reservation) and sum(c_iattr10) follow committed inserts and deletes")
    );
    let seat = violated(&seats, |db| {
        assert!(db.corrupt(find("reservation"), |row| set(row, 3, 150)))
    });
    assert_eq!(seat, one("r_seat lies in 0 to 149"));
    let lost = violated(&seats, |db| assert!(db.lose(find("reservation"), |_| true)));
    assert_eq!(lost.len(), 2);
    let stranger = violated(&seats, |db| {
        assert!(db.corrupt(find("reservation"), |row| set(row, 1, 9999)))
    });
    assert_eq!(stranger, one("each reservation has its customer"));
    let twice = violated(&seats, |db| {
        let reservations = rows(&seats, db, "reservation");
        let pair = reservations
            .windows(2)
            .find(|pair| pair[0].int(2) == pair[1].int(2))
            .expect("a flight with two");
        let (customer, other) = (pair[0].int(1).unwrap(), pair[1].int(0));
        assert!(db.corrupt(find("reservation"), |row| row.int(0) == other
            && set(row, 1, customer)));
    });
    assert_eq!(twice, one("a customer has one seat on a flight"));
}
