//! TPC-C's non-uniform random numbers.

use super::Random;

/// `NURand(A, x, y)` with the constant `c` (TPC-C 2.1.6): `(((rand(0,A) | rand(x,y)) + c) % (y - x + 1)) +
/// x`.
///
/// The bitwise or makes numbers with many one bits likelier; `c` decides which they are.
pub fn nurand(random: &mut Random, a: i64, c: i64, x: i64, y: i64) -> i64 {
    (((random.between(0, a) | random.between(x, y)) + c) % (y - x + 1)) + x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact law of NURand(3, 1, 4) with c = 0, counted by hand over its 16 cases of r in 1..=4 and a in 0..=3.
    ///
    /// Values of a|r: 1 for (0,1) (1,1); 2 for (0,2) (2,2); 3 for (2,1) (3,1) (1,2) (3,2) and four times r = 3; 4 for
    /// (0,4); 5, 6, 7 for (1..=3, 4).
    ///
    /// (a|r) % 4 + 1 is then 2 from 1 and 5, 3 cases; 3 from 2 and 6, 3 cases; 4 from 3 and 7, 9 cases; 1 from 4, 1
    /// case.
    #[test]
    fn the_law_of_a_small_case() {
        let mut random = Random::new(3, &[]);
        let mut counts = [0i32; 5];
        for _ in 0..16_000 {
            counts[nurand(&mut random, 3, 0, 1, 4) as usize] += 1;
        }
        // Standard deviations are at most 63.
        for (count, expected) in counts.into_iter().zip([0, 1000, 3000, 3000, 9000]) {
            assert!((count - expected).abs() < 320, "{counts:?}");
        }
    }

    #[test]
    fn the_constant_turns_the_law_around() {
        let draws = |c| {
            let mut random = Random::new(3, &[]);
            (0..1000)
                .map(|_| nurand(&mut random, 1023, c, 1, 3000))
                .collect::<Vec<_>>()
        };
        let turned: Vec<_> = draws(0)
            .iter()
            .map(|value| (value - 1 + 259) % 3000 + 1)
            .collect();
        assert_eq!(turned, draws(259));
    }
}
