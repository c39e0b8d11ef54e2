//! Random numbers that are the same on every machine and in every version.
//!
//! A decision must be reproducible from its seed alone, so the generator is part of the code. It is SplitMix64
//! (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), with Lemire's bounded
//! reduction ("Fast Random Integer Generation in an Interval", TOMACS 2019).

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, each equally likely; `end` is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(end > 0, "an empty range has no number");
        let mut product = u128::from(self.bits()) * u128::from(end);
        if (product as u64) < end {
            let threshold = end.wrapping_neg() % end;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(end);
            }
        }
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // The reference implementation's first outputs for seed 1234567.
        let mut rng = Rng::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(expected, [rng.bits(), rng.bits(), rng.bits()]);
    }

    #[test]
    fn every_number_below_the_end_comes_up() {
        let mut rng = Rng::new(7);
        let mut seen = [0u32; 6];
        for _ in 0..600 {
            seen[rng.below(6) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
