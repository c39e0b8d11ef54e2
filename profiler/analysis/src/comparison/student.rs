//! Student's distribution: how far an estimate may be off by chance when its error is an estimate, too.

/// Chance that equal sides are called different (in at most this part of a family's rows), and that an interval misses
/// the true value.
pub const LEVEL: f64 = 0.05;
/// Steps of the continued fraction, at most; it converges within tens.
const STEPS_MAX: usize = 300;

/// Chance that a Student variable with `df` degrees of freedom is at least as far from zero as `t`. 1 where `t` is no
/// number.
pub fn two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The value that a Student variable exceeds in magnitude with this chance.
pub fn quantile(two_sided_chance: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, df) > two_sided_chance && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, df) > two_sided_chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Regularised incomplete beta function, by its continued fraction (Press et al., "Numerical Recipes", section 6.4).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (1.0 - x).ln();
    // The fraction converges fast on one side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * fraction(x, a, b) / a
    } else {
        1.0 - ln_front.exp() * fraction(1.0 - x, b, a) / b
    }
}

/// Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for step in 1..STEPS_MAX {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            result *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of printed tables.
    #[test]
    fn as_in_the_tables() {
        for (df, chance, value) in [
            (1.0, 0.05, 12.706),
            (2.0, 0.05, 4.303),
            (10.0, 0.05, 2.228),
            (10.0, 0.01, 3.169),
            (60.0, 0.05, 2.000),
            (1e6, 0.05, 1.960),
        ] {
            assert!((quantile(chance, df) - value).abs() < 1e-3, "{df} {chance}");
            assert!((two_sided(value, df) - chance).abs() < 1e-4, "{df} {value}");
        }
        assert_eq!(two_sided(0.0, 5.0), 1.0);
        assert_eq!(two_sided(f64::NAN, 5.0), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 5.0), 0.0);
    }
}
