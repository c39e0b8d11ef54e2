//! Delay factors (dissertation sections 4.4.1 and 4.6.7).
//!
//! `f(k)` is the expected time until the last of `k` transactions that share a lock releases it, over the expected time
//! of one. It satisfies C1 `f(1) = 1`, C2 `f(k) < f(k + 1)` and C3 `f(k) <= k`.

/// The factor by which `k` transactions together hold a lock longer than one alone: the functions of section 4.6.7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayFactor {
    /// `f1(k) = 1`: no delay, which makes bLDSF LDSF. The lower bound; it breaks C2.
    Constant,
    /// `f2(k) = sqrt(log2(1 + k))`.
    SqrtLog,
    /// `f3(k) = log2(1 + k)`: the papers' default.
    Log,
    /// `f4(k) = sqrt(k)`.
    Sqrt,
    /// `f5(k) = (1 + k) / 2`.
    HalfLinear,
    /// `f6(k) = k`: as slow as one after the other. The upper bound.
    Linear,
}

impl DelayFactor {
    /// All of section 4.6.7, f1 to f6.
    pub const ALL: [DelayFactor; 6] = [
        DelayFactor::Constant,
        DelayFactor::SqrtLog,
        DelayFactor::Log,
        DelayFactor::Sqrt,
        DelayFactor::HalfLinear,
        DelayFactor::Linear,
    ];

    /// `f(k)` for `k >= 1`. Logarithms come from `libm`: those of the system differ between systems in their last digit,
    /// and a simulation is to be the same everywhere.
    pub fn at(self, k: usize) -> f64 {
        let k = k as f64;
        match self {
            DelayFactor::Constant => 1.0,
            DelayFactor::SqrtLog => libm::log2(1.0 + k).sqrt(),
            DelayFactor::Log => libm::log2(1.0 + k),
            DelayFactor::Sqrt => k.sqrt(),
            DelayFactor::HalfLinear => 0.5 * (1.0 + k),
            DelayFactor::Linear => k,
        }
    }

    /// The factor called `f1` to `f6`.
    pub fn from_name(name: &str) -> Option<DelayFactor> {
        let number: usize = name.strip_prefix('f')?.parse().ok()?;
        DelayFactor::ALL.get(number.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_satisfy_c1_to_c3() {
        for factor in DelayFactor::ALL {
            assert!((factor.at(1) - 1.0).abs() < 1e-12, "C1 of {factor:?}");
            for k in 1..100 {
                assert!(factor.at(k) <= k as f64 + 1e-12, "C3 of {factor:?}");
                assert!(
                    factor == DelayFactor::Constant || factor.at(k) < factor.at(k + 1),
                    "C2 of {factor:?}"
                );
            }
        }
    }

    #[test]
    fn the_values_are_those_of_section_4_4_2() {
        // "when b = 10, sqrt(b) = 3.16 and log2(1 + b) = 3.46 ... sqrt(log2(1 + b)) = 1.86"
        let close = |value: f64, printed: f64| (value - printed).abs() < 0.005;
        assert!(close(DelayFactor::Sqrt.at(10), 3.16));
        assert!(close(DelayFactor::Log.at(10), 3.46));
        assert!(close(DelayFactor::SqrtLog.at(10), 1.86));
        assert_eq!(DelayFactor::from_name("f4"), Some(DelayFactor::Sqrt));
        assert_eq!(DelayFactor::from_name("f7"), None);
    }
}
