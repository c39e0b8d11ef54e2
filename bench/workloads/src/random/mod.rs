//! Reproducible random draws: the same seed gives the same numbers on every machine.
//!
//! The generator is PCG (O'Neill 2014) with 128 bits of state and 64 of output. Each client, and each batch of loaded
//! rows, has a separate generator, seeded by hashing a *path* of numbers (seed, purpose, number). So data does not
//! depend on the loading thread, and clients draw independently. Powers and logarithms are libm's, not the
//! platform's.

mod nurand;
mod weighted;
mod zipf;

pub use nurand::nurand;
pub use weighted::Weighted;
pub use zipf::{Gray, RankTable, scramble, zeta};

use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

/// A source of random draws.
#[derive(Clone, Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The generator for `path` under `seed`. Different paths give unrelated draws.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut state = mix(seed);
        for step in path {
            state = mix(state ^ mix(step.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        }
        Random(Pcg64Mcg::new(
            u128::from(state) << 64 | u128::from(mix(state ^ 0x5851_f42d_4c95_7f2d)),
        ))
    }

    /// Uniform in `low..=high`.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    /// Uniform in `0..n`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.between(0, n as i64 - 1) as usize
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Text of uniform length in `low..=high` over letters and digits: TPC-C's "random a-string".
    pub fn text(&mut self, low: usize, high: usize) -> String {
        self.characters(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            low,
            high,
        )
    }

    /// Text of uniform length in `low..=high` over capital letters.
    pub(crate) fn capitals(&mut self, low: usize, high: usize) -> String {
        self.characters(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", low, high)
    }

    /// Text of uniform length in `low..=high` over digits: TPC-C's "random n-string".
    pub fn digits(&mut self, low: usize, high: usize) -> String {
        self.characters(b"0123456789", low, high)
    }

    /// Ten characters come of one 64-bit draw (62^10 < 2^60): texts are most of what a load draws.
    fn characters(&mut self, alphabet: &[u8], low: usize, high: usize) -> String {
        let length = self.between(low as i64, high as i64) as usize;
        let base = alphabet.len() as u64;
        let mut text = String::with_capacity(length);
        let mut bits = 0;
        for position in 0..length {
            if position % 10 == 0 {
                bits = self.0.next_u64();
            }
            text.push(alphabet[(bits % base) as usize] as char);
            bits /= base;
        }
        text
    }

    /// A uniformly random permutation of `low..=high` (Fisher and Yates).
    pub(crate) fn permutation(&mut self, low: i64, high: i64) -> Vec<i64> {
        let mut values: Vec<i64> = (low..=high).collect();
        for last in (1..values.len()).rev() {
            let other = self.below(last + 1);
            values.swap(last, other);
        }
        values
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input changes half of the output.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_determines_the_draws() {
        let draw = |seed, path: &[u64]| Random::new(seed, path).between(0, i64::MAX);
        assert_eq!(draw(1, &[2, 3]), draw(1, &[2, 3]));
        let different = [
            draw(1, &[2, 3]),
            draw(2, &[2, 3]),
            draw(1, &[3, 2]),
            draw(1, &[2]),
            draw(1, &[2, 3, 0]),
        ];
        for (i, a) in different.iter().enumerate() {
            assert!(different[i + 1..].iter().all(|b| a != b));
        }
    }

    /// Fixed for good: a change here means that recorded results are no longer comparable.
    #[test]
    fn the_sequence_never_changes() {
        let mut random = Random::new(42, &[7]);
        let drawn: Vec<i64> = (0..5).map(|_| random.between(0, 999)).collect();
        assert_eq!(drawn, [474, 59, 459, 259, 430]);
        assert_eq!(random.text(8, 8), "J1w1OIg1");
    }

    #[test]
    fn texts_have_their_lengths_and_alphabets() {
        let mut random = Random::new(1, &[]);
        let mut lengths = [0; 6];
        for _ in 0..600 {
            let text = random.digits(3, 5);
            assert!(text.bytes().all(|byte| byte.is_ascii_digit()));
            lengths[text.len()] += 1;
        }
        // 200 each; the standard deviation is 11.5.
        assert!(
            lengths[3..].iter().all(|&n: &i32| (140..260).contains(&n)),
            "{lengths:?}"
        );
        assert!(
            random
                .capitals(26, 26)
                .bytes()
                .all(|byte| byte.is_ascii_uppercase())
        );
        assert_eq!(random.text(25, 25).len(), 25);
        assert_eq!(random.text(0, 0), "");
    }

    #[test]
    fn a_permutation_has_every_value_once() {
        let mut permuted = Random::new(5, &[]).permutation(1, 100);
        assert_ne!(permuted, (1..=100).collect::<Vec<_>>());
        permuted.sort_unstable();
        assert_eq!(permuted, (1..=100).collect::<Vec<_>>());
    }
}
