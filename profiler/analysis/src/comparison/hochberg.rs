//! Many rows at once: of those that are called different, few are so by chance.

/// The adjusted p-values of Benjamini and Hochberg (1995, "Controlling the false discovery rate", section 3). Rows
/// with a value of at most q are those that their procedure rejects at q. If nothing differs at all, the chance that
/// any row is called different is at most q.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (larger, at) in order.into_iter().enumerate() {
        let rank = p.len() - larger;
        least = least.min(p[at] * p.len() as f64 / rank as f64);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four p-values by hand: 0.005 x 4, 0.02 x 4/2, 0.04 x 4/3 and 0.5; none above that of a larger one.
    #[test]
    fn by_hand() {
        let expected = [0.04, 0.02, 0.5, 0.16 / 3.0];
        for (found, expected) in adjusted(&[0.02, 0.005, 0.5, 0.04]).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        // The second is not larger than the third: 0.03 x 3/2 is more than 0.03.
        assert_eq!(adjusted(&[0.03, 0.03, 0.03]), [0.03; 3]);
    }
}
