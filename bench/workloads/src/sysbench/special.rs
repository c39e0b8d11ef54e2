//! sysbench's "special" distribution of row ids: a few rows in the middle are popular, and the others are more
//! popular the nearer they are to the middle.

use crate::random::Random;

/// The part of the rows that are popular (`--rand-spec-pct`).
const POPULAR: f64 = 0.01;

/// Uniform draws whose mean is an id of the others (`--rand-spec-iter`).
const ITERATIONS: i64 = 12;

/// Ids from 1 to a number of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    rows: i64,
    /// Probability that an id is one of the popular (`--rand-spec-res`, as a fraction).
    hot: f64,
}

impl Special {
    pub(super) fn new(rows: i64, hot: f64) -> Self {
        Special { rows, hot }
    }

    pub(super) fn draw(self, random: &mut Random) -> i64 {
        if random.chance(self.hot) {
            let popular = self.popular();
            return random.between(*popular.start(), *popular.end());
        }
        let sum: i64 = (0..ITERATIONS)
            .map(|_| random.between(0, self.rows - 1))
            .sum();
        1 + sum / ITERATIONS
    }

    /// The popular ids: the hundredth in the middle, one at least.
    fn popular(self) -> std::ops::RangeInclusive<i64> {
        let count = ((self.rows as f64 * POPULAR) as i64).max(1);
        let first = 1 + (self.rows - count) / 2;
        first..=first + count - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_four_are_in_the_middle_hundredth() {
        let special = Special::new(10_000, 0.75);
        assert_eq!(special.popular(), 4951..=5050);
        let mut random = Random::new(3, &[]);
        let drawn: Vec<i64> = (0..40_000).map(|_| special.draw(&mut random)).collect();
        assert!(drawn.iter().all(|id| (1..=10_000).contains(id)));
        let popular = drawn.iter().filter(|id| special.popular().contains(id));
        // 4.8 % of the others, whose standard deviation is 10,000 / 12, are there as well: 30,476 with a standard
        // deviation of 85.
        let popular = popular.count();
        assert!((30_050..30_900).contains(&popular), "{popular}");
        // Half of the others are below the middle.
        let below = drawn.iter().filter(|id| **id < 4951).count();
        assert!((4500..5020).contains(&below), "{below}");
    }

    #[test]
    fn few_rows_are_all_reached() {
        for rows in 1..=3 {
            let special = Special::new(rows, 0.5);
            let mut random = Random::new(3, &[]);
            let drawn: std::collections::BTreeSet<i64> =
                (0..2000).map(|_| special.draw(&mut random)).collect();
            assert!(drawn.iter().all(|id| (1..=rows).contains(id)), "{drawn:?}");
            // The mean of twelve draws is hardly ever the greatest of three.
            assert!(drawn.contains(&1), "{drawn:?}");
        }
    }
}
