//! p-values of many comparisons at once.

/// Holm's correction (1979): the k-th smallest of m p-values times m - k + 1, none below one before it, at most 1.
pub fn corrected(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![1.0; p.len()];
    let mut before: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        before = before.max(p[at] * (p.len() - rank) as f64).min(1.0);
        corrected[at] = before;
    }
    corrected
}

/// Chance that a normal variable without a mean is as far off as `change`, whose standard error is `se`. 1 where no error is known.
pub fn two_sided(change: f64, se: f64) -> f64 {
    if se > 0.0 && change.is_finite() {
        libm::erfc(change.abs() / se / std::f64::consts::SQRT_2)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holm's procedure by hand: the sorted values 0.01, 0.02, 0.03 and 0.5 times 4, 3, 2 and 1 give 0.04, 0.06, 0.06
    /// and 0.5.
    #[test]
    fn corrections() {
        let p = [0.03, 0.01, 0.5, 0.02];
        let expected = [0.06, 0.04, 0.5, 0.06];
        for (found, expected) in corrected(&p).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!((two_sided(1.96, 1.0) - 0.05).abs() < 1e-4);
        assert_eq!(two_sided(1.0, 0.0), 1.0);
    }
}
