//! Mixes two numbers into one, for keys of objects.

/// A number in which every bit depends on every bit of both (the finaliser of SplitMix64, Steele et al., OOPSLA 2014).
pub const fn mix(a: u64, b: u64) -> u64 {
    let mut z = a
        .rotate_left(32)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(b);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
