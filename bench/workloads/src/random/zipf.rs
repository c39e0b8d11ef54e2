//! Zipf's distribution: rank `k` of `n`, from 0, has probability `1 / (k + 1)^theta / zeta(n, theta)`.
//!
//! [`Gray`] is the constant-time generator of Gray et al., "Quickly Generating Billion-Record Synthetic Databases"
//! (SIGMOD 1994, figure 4), which YCSB uses. It needs `theta < 1`, and is exact for the two most popular ranks only.
//! [`RankTable`] is exact for every theta, and needs memory for `n` numbers.

use super::Random;

/// The sum of `1 / i^theta` for `i` in `1..=n`.
///
/// Beyond the first ten thousand terms by the Euler-Maclaurin formula with two correction terms, whose remainder is
/// below 1e-13 there. So ten thousand million ranks cost no more than ten thousand.
pub fn zeta(n: u64, theta: f64) -> f64 {
    const SUMMED: u64 = 10_000;
    let direct: f64 = (1..=n.min(SUMMED))
        .rev()
        .map(|i| libm::pow(i as f64, -theta))
        .sum();
    if n <= SUMMED {
        return direct;
    }
    let (a, b) = (SUMMED as f64, n as f64);
    let integral = if (theta - 1.0).abs() < 1e-12 {
        libm::log(b / a)
    } else {
        (libm::pow(b, 1.0 - theta) - libm::pow(a, 1.0 - theta)) / (1.0 - theta)
    };
    let value = |x: f64| libm::pow(x, -theta);
    let derivative = |x: f64| -theta * libm::pow(x, -theta - 1.0);
    // The sum over a < i <= b: the integral, half the difference of the ends, a twelfth of that of their
    // derivatives.
    direct + integral + (value(b) - value(a)) / 2.0 + (derivative(b) - derivative(a)) / 12.0
}

/// YCSB's scrambling: the 64-bit FNV-1a hash of a number's eight bytes, least significant first, without its
/// sign. It spreads popular ranks over the key space.
pub fn scramble(rank: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in rank.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash as i64).unsigned_abs()
}

/// Gray's generator over a number of ranks that may grow.
#[derive(Clone, Debug)]
pub struct Gray {
    ranks: u64,
    theta: f64,
    zeta_ranks: f64,
    alpha: f64,
    eta: f64,
}

impl Gray {
    /// Over `ranks` ranks.
    ///
    /// # Panics
    /// If there are no ranks or theta is not in [0, 1).
    pub fn new(ranks: u64, theta: f64) -> Self {
        assert!(ranks > 0, "there are no ranks");
        assert!(
            (0.0..1.0).contains(&theta),
            "Gray's generator needs a theta in [0, 1), not {theta}"
        );
        let mut gray = Gray {
            ranks,
            theta,
            zeta_ranks: zeta(ranks, theta),
            alpha: 1.0 / (1.0 - theta),
            eta: 0.0,
        };
        gray.set_eta();
        gray
    }

    fn set_eta(&mut self) {
        let n = self.ranks as f64;
        let above = 1.0 - libm::pow(2.0 / n, 1.0 - self.theta);
        self.eta = above / (1.0 - zeta(2, self.theta) / self.zeta_ranks);
    }

    /// Extends it to `ranks` ranks, in time proportional to those added.
    pub fn grow(&mut self, ranks: u64) {
        if ranks > self.ranks {
            self.zeta_ranks += (self.ranks + 1..=ranks)
                .map(|i| libm::pow(i as f64, -self.theta))
                .sum::<f64>();
            self.ranks = ranks;
            self.set_eta();
        }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// A rank in `0..ranks`.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let u = random.unit();
        let scaled = u * self.zeta_ranks;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + libm::pow(0.5, self.theta) {
            return 1.min(self.ranks - 1);
        }
        let rank = self.ranks as f64 * libm::pow(self.eta * u - self.eta + 1.0, self.alpha);
        (rank as u64).min(self.ranks - 1)
    }
}

/// Zipf's distribution by a table of cumulative weights.
#[derive(Clone, Debug)]
pub struct RankTable {
    cumulative: Vec<f64>,
}

impl RankTable {
    /// Over `ranks` ranks, for any theta from 0.
    ///
    /// # Panics
    /// If there are no ranks.
    pub fn new(ranks: u64, theta: f64) -> Self {
        assert!(ranks > 0, "there are no ranks");
        let mut sum = 0.0;
        let cumulative = (1..=ranks).map(|i| {
            sum += libm::pow(i as f64, -theta);
            sum
        });
        RankTable {
            cumulative: cumulative.collect(),
        }
    }

    /// A rank in `0..ranks`.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let target = random.unit() * self.cumulative[self.cumulative.len() - 1];
        let rank = self.cumulative.partition_point(|&sum| sum <= target);
        rank.min(self.cumulative.len() - 1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.8] {
            let sum: f64 = (1..=50_000u32)
                .rev()
                .map(|i| libm::pow(f64::from(i), -theta))
                .sum();
            assert!((zeta(50_000, theta) / sum - 1.0).abs() < 1e-12, "{theta}");
        }
        // YCSB's precomputed constant for its 10^10 items.
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }

    #[test]
    fn growing_is_starting_larger() {
        let mut grown = Gray::new(1000, 0.99);
        grown.grow(1500);
        let large = Gray::new(1500, 0.99);
        assert!((grown.zeta_ranks - large.zeta_ranks).abs() < 1e-9);
        assert!((grown.eta - large.eta).abs() < 1e-12);
    }

    /// Rank 0 and 1 are exact, and so are the frequencies of the table. Ranks in between follow Gray's approximation,
    /// whose cumulative probability at rank k is where its inverse gives k.
    #[test]
    fn frequencies_follow_the_law() {
        let (n, theta, draws) = (100u64, 0.8, 200_000);
        let total = zeta(n, theta);
        let (gray, table) = (Gray::new(n, theta), RankTable::new(n, theta));
        let mut random = Random::new(17, &[]);
        let mut counts = vec![[0f64; 2]; n as usize];
        for _ in 0..draws {
            counts[gray.draw(&mut random) as usize][0] += 1.0;
            counts[table.draw(&mut random) as usize][1] += 1.0;
        }
        for (rank, [of_gray, of_table]) in counts.iter().enumerate() {
            let expected = f64::from(draws) * libm::pow(rank as f64 + 1.0, -theta) / total;
            let five_sigma = 5.0 * libm::sqrt(expected);
            assert!(
                (of_table - expected).abs() < five_sigma,
                "rank {rank}: {of_table}, expected {expected}"
            );
            if rank < 2 {
                assert!(
                    (of_gray - expected).abs() < five_sigma,
                    "rank {rank}: {of_gray}, expected {expected}"
                );
            }
        }
        let half = |column: usize| {
            counts[..10]
                .iter()
                .map(|counts| counts[column])
                .sum::<f64>()
        };
        assert!(
            (half(0) / half(1) - 1.0).abs() < 0.05,
            "the ten most popular ranks: {} and {}",
            half(0),
            half(1)
        );
    }

    #[test]
    fn steep_laws_concentrate() {
        // zeta(1000, 2) = 1.6439: rank 0 has 0.608 of the draws.
        let table = RankTable::new(1000, 2.0);
        let mut random = Random::new(8, &[]);
        let zeros = (0..10_000).filter(|_| table.draw(&mut random) == 0).count();
        assert!((5840..6330).contains(&zeros), "{zeros}");
    }

    /// From YCSB's Utils.fnvhash64. Its documentation has no vectors, so this one is FNV-1a of eight zero bytes,
    /// computed by hand as the offset basis times the prime eight times.
    #[test]
    fn scrambling_is_fnv() {
        let zeros = (0..8).fold(0xcbf2_9ce4_8422_2325u64, |hash, _| {
            hash.wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(scramble(0), (zeros as i64).unsigned_abs());
        assert_ne!(scramble(1) % 1000, scramble(2) % 1000);
    }

    #[test]
    fn one_rank_is_always_drawn() {
        let mut random = Random::new(1, &[]);
        assert!((0..100).all(|_| Gray::new(1, 0.5).draw(&mut random) == 0));
    }
}
