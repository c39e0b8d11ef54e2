//! Reproducible draws for crash images.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one word of state, good enough to choose what survives.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform below `bound`, which is small.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
