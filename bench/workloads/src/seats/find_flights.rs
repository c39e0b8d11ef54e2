//! FindFlights: flights between two airports in a time window, and, for a quarter, to airports near the
//! destination.

use super::data::TODAY;
use super::traveller::Traveller;
use super::world::AIRPORTS;
use crate::interface::Compare::{Equal, LessOrEqual};
use crate::interface::declare::{Statements, from, outer, p};
use crate::interface::{Error, Outcome, StatementId, Transaction};

/// Microseconds of an hour.
const HOUR: i64 = 3_600_000_000;

/// Most destinations looked for.
const DESTINATIONS: usize = 3;

/// Radii of a search for nearby airports, in miles.
const RADII: [i64; 5] = [5, 10, 25, 50, 100];

/// A search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FindFlights {
    /// Where from.
    pub depart: i64,
    /// Where to.
    pub arrive: i64,
    /// Earliest departure.
    pub from_time: i64,
    /// Latest departure.
    pub to_time: i64,
    /// Also to airports within this many miles of the destination.
    pub within: Option<i64>,
}

impl FindFlights {
    /// A tenth asks for two random airports and two days; the others for a known flight and twelve hours
    /// around it.
    pub(super) fn draw(traveller: &mut Traveller) -> Self {
        let random_airports = traveller.random.chance(0.1);
        let flight = traveller.flight();
        let (depart, arrive, from_time, to_time) = if random_airports {
            let random = &mut traveller.random;
            let depart = random.between(1, AIRPORTS);
            let arrive = (depart + random.between(1, AIRPORTS - 1) - 1) % AIRPORTS + 1;
            let from_time = flight.depart_time.max(TODAY);
            (depart, arrive, from_time, from_time + 48 * HOUR)
        } else {
            (
                flight.depart,
                flight.arrive,
                flight.depart_time - 12 * HOUR,
                flight.depart_time + 12 * HOUR,
            )
        };
        let random = &mut traveller.random;
        let within = random
            .chance(0.25)
            .then(|| RADII[random.below(RADII.len())]);
        FindFlights {
            depart,
            arrive,
            from_time,
            to_time,
            within,
        }
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    nearby: StatementId,
    flights: StatementId,
    airport: StatementId,
}

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let nearby = from("airport_distance")
            .key([p(0)])
            .filter("d_distance", LessOrEqual, p(1))
            .columns(["d_ap_id1", "d_distance"]);
        // All destinations at once; the ones wanted are picked below, for want of lists in statements.
        let flights = from("flight")
            .index("flight_depart_time", [])
            .at_least(p(0))
            .at_most(p(1))
            .filter("f_depart_ap_id", Equal, p(2))
            .join("airline")
            .key([outer("f_al_id")])
            .columns(
                "f_id f_arrive_ap_id f_depart_time f_arrive_time al_name al_iattr00 \
             al_iattr01"
                    .split(' '),
            );
        let airport = from("airport")
            .key([p(0)])
            .join("country")
            .key([outer("ap_co_id")])
            .columns(
                "ap_code ap_name ap_city ap_longitude ap_latitude co_name co_code_2 \
             co_code_3"
                    .split(' '),
            );
        Body {
            nearby: statements.add("find_flights_nearby", nearby),
            flights: statements.add("find_flights_flights", flights),
            airport: statements.add("find_flights_airport", airport),
        }
    }

    /// A miss if there is no flight.
    pub(super) async fn run<T: Transaction>(
        &self,
        search: &FindFlights,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let destinations = self.destinations(search, transaction).await?;
        let window = [
            search.from_time.into(),
            search.to_time.into(),
            search.depart.into(),
        ];
        let mut found = Vec::new();
        for flight in transaction.query(self.flights, &window).await? {
            if destinations.contains(&flight.int(1)?) {
                found.push(flight);
            }
        }
        if found.is_empty() {
            return Ok(Outcome::Miss);
        }
        transaction
            .query_one(self.airport, &[search.depart.into()])
            .await?;
        for flight in &found {
            transaction
                .query_one(self.airport, &[flight.int(1)?.into()])
                .await?;
        }
        Ok(Outcome::Commit)
    }

    /// The destination and its nearest neighbours within the radius.
    async fn destinations<T: Transaction>(
        &self,
        search: &FindFlights,
        transaction: &mut T,
    ) -> Result<Vec<i64>, Error> {
        let mut destinations = vec![search.arrive];
        if let Some(miles) = search.within {
            // The neighbours of the *airport*: a well-known driver passes a flight's id here and finds none.
            let mut nearby = Vec::new();
            for row in transaction
                .query(self.nearby, &[search.arrive.into(), (miles as f64).into()])
                .await?
            {
                nearby.push((row.float(1)?, row.int(0)?));
            }
            nearby.sort_by(|a, b| a.0.total_cmp(&b.0));
            destinations.extend(
                nearby
                    .into_iter()
                    .map(|(_, ap_id)| ap_id)
                    .filter(|&ap_id| ap_id != search.depart),
            );
            destinations.truncate(DESTINATIONS);
        }
        Ok(destinations)
    }
}
