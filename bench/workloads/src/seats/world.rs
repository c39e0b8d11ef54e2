//! Airports, airlines and routes.
//!
//! The original draws them, and the times of flights, from histograms of real flights of 2008, which are not part of
//! this project. This world is made up, and the same for every seed. Airports are spread over a rectangle of the size
//! of the contiguous United States, with traffic between them by Zipf's law. Departures by hour are those of a busy
//! airport: few at night, a peak in the morning and one in the afternoon.

use crate::random::{Random, RankTable, Weighted};

/// Airports; the original's flights use about as many.
pub const AIRPORTS: i64 = 280;

/// Airlines.
pub(crate) const AIRLINES: i64 = 40;

/// Countries; all airports lie in the first.
pub(crate) const COUNTRIES: i64 = 20;

/// Speed of a flight in miles an hour.
const SPEED: f64 = 570.0;

/// Mean radius of the earth in miles.
const EARTH: f64 = 3958.8;

/// Exponent of the traffic of airports.
const TRAFFIC: f64 = 1.0;

/// Relative numbers of departures by hour of the day.
const DEPARTURES: [f64; 24] = [
    1.0, 0.5, 0.3, 0.3, 0.5, 3.0, 8.0, 9.0, 8.0, 7.0, 7.0, 7.0, 7.0, 7.0, 6.0, 7.0, 8.0, 9.0, 7.0,
    6.0, 5.0, 4.0, 3.0, 2.0,
];

/// An airport.
#[derive(Clone, Debug, PartialEq)]
pub struct Airport {
    /// Three letters.
    pub code: String,
    /// Degrees east.
    pub longitude: f64,
    /// Degrees north.
    pub latitude: f64,
}

/// The made-up world.
#[derive(Clone, Debug)]
pub struct World {
    airports: Vec<Airport>,
    traffic: RankTable,
    hours: Weighted,
}

impl World {
    /// The one there is.
    pub fn new() -> Self {
        let mut random = Random::new(2012, &[]);
        let mut airport = |_| Airport {
            code: random.capitals(3, 3),
            longitude: -124.0 + 57.0 * random.unit(),
            latitude: 25.0 + 24.0 * random.unit(),
        };
        World {
            airports: (0..AIRPORTS).map(&mut airport).collect(),
            traffic: RankTable::new(AIRPORTS as u64, TRAFFIC),
            hours: Weighted::new(DEPARTURES),
        }
    }

    /// The airport with this id, from 1.
    pub fn airport(&self, ap_id: i64) -> &Airport {
        &self.airports[ap_id as usize - 1]
    }

    /// Great-circle distance in miles (haversine formula).
    pub fn distance(&self, from: i64, to: i64) -> f64 {
        let (a, b) = (self.airport(from), self.airport(to));
        let half_sine_squared = |degrees: f64| {
            let sine = libm::sin(degrees.to_radians() / 2.0);
            sine * sine
        };
        let cosines = libm::cos(a.latitude.to_radians()) * libm::cos(b.latitude.to_radians());
        let h = half_sine_squared(b.latitude - a.latitude)
            + cosines * half_sine_squared(b.longitude - a.longitude);
        2.0 * EARTH * libm::asin(libm::sqrt(h.min(1.0)))
    }

    /// Microseconds a flight takes.
    pub(crate) fn flight_time(&self, from: i64, to: i64) -> i64 {
        (self.distance(from, to) / SPEED * 3.6e9) as i64
    }

    /// Two different airports, busy ones more often.
    pub(crate) fn route(&self, random: &mut Random) -> (i64, i64) {
        let depart = self.traffic.draw(random) as i64 + 1;
        loop {
            let arrive = self.traffic.draw(random) as i64 + 1;
            if arrive != depart {
                return (depart, arrive);
            }
        }
    }

    /// Microseconds after midnight of a departure, in steps of five minutes.
    pub(crate) fn departure(&self, random: &mut Random) -> i64 {
        (self.hours.draw(random) as i64 * 60 + random.between(0, 11) * 5) * 60_000_000
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_metric_and_some_airports_are_near_each_other() {
        let world = World::new();
        let mut near = 0;
        for a in 1..=AIRPORTS {
            assert!(world.distance(a, a) < 1e-6);
            for b in 1..a {
                let d = world.distance(a, b);
                assert!(
                    (d - world.distance(b, a)).abs() < 1e-9 && d < 3500.0,
                    "{a} {b}: {d}"
                );
                near += i32::from(d <= 100.0);
            }
        }
        // About 280^2 / 2 pairs, each near with the share a circle of 100 miles has of some five million
        // square miles: 240.
        assert!(near > 100, "{near}");
    }

    #[test]
    fn a_degree_of_latitude_is_69_miles() {
        let mut world = World::new();
        world.airports[0] = Airport {
            code: String::new(),
            longitude: -100.0,
            latitude: 40.0,
        };
        world.airports[1] = Airport {
            code: String::new(),
            longitude: -100.0,
            latitude: 41.0,
        };
        assert!(
            (world.distance(1, 2) - 69.09).abs() < 0.01,
            "{}",
            world.distance(1, 2)
        );
        // 69.09 miles at 570 miles an hour: 436.4 seconds.
        assert_eq!(world.flight_time(1, 2) / 1_000_000, 436);
    }

    #[test]
    fn traffic_is_skewed() {
        let world = World::new();
        let mut random = Random::new(1, &[]);
        let busiest = (0..10_000)
            .filter(|_| world.route(&mut random).0 == 1)
            .count();
        // 1 / H(280) = 0.161.
        assert!((1400..1830).contains(&busiest), "{busiest}");
    }
}
