//! The error of a recording's own variance.

use evenkeel_analysis::profile::Profile;

/// Standard error of Var(L) in ns²: sqrt((m4 - Var²) / n) for n independent intervals, with the fourth central moment m4
/// taken from the histogram's bins. Nought where the profile has no histogram.
///
/// Bins are coarse and neighbouring intervals are correlated, so this is the order of the error, not more.
pub(super) fn variance_se_ns2(profile: &Profile) -> f64 {
    let intervals: u64 = profile.histogram.iter().map(|bin| bin.count).sum();
    if intervals == 0 {
        return 0.0;
    }
    let fourth_powers: f64 = profile
        .histogram
        .iter()
        .map(|bin| {
            let middle_ns = (bin.from_ns + bin.to_ns) / 2.0;
            bin.count as f64 * (middle_ns - profile.mean_ns).powi(4)
        })
        .sum();
    let n = intervals as f64;
    ((fourth_powers / n - profile.variance_ns2.powi(2)).max(0.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::profile::Bin;

    use super::*;

    #[test]
    fn from_the_fourth_moment() {
        // Half at 0, a quarter each at -2 and +2 from the mean of 10: Var = 2, m4 = 8, n = 16: sqrt((8 - 4) / 16) = 0.5.
        let bin = |middle: f64, count| Bin {
            from_ns: middle - 0.5,
            to_ns: middle + 0.5,
            count,
        };
        let histogram = vec![bin(8.0, 4), bin(10.0, 8), bin(12.0, 4)];
        let profile = Profile {
            mean_ns: 10.0,
            variance_ns2: 2.0,
            histogram,
            ..Profile::default()
        };
        assert_eq!(variance_se_ns2(&profile), 0.5);
        assert_eq!(variance_se_ns2(&Profile::default()), 0.0);
    }
}
