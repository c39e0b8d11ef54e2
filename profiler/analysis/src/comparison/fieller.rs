//! A figure before and after: its change as a fraction, with an interval, and whether it is beyond a bound.

use super::student::{self, LEVEL};

/// A figure on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Its value.
    pub value: f64,
    /// Standard error.
    pub se: f64,
    /// Degrees of freedom of that.
    pub df: f64,
    /// How much stretches of the recording differ.
    pub drift: Drift,
}

/// Variances of an estimate, if all of a recording were off as one of its stretches is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drift {
    /// As stretches differ.
    pub between: f64,
    /// As stretches would differ if nothing lasted longer than a block. The expectation of both is the same without
    /// drift.
    pub within: f64,
}

impl Drift {
    /// Of an estimate that is this many times as large.
    pub fn times(self, factor: f64) -> Drift {
        Drift {
            between: self.between * factor * factor,
            within: self.within * factor * factor,
        }
    }
}

/// A figure of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Before.
    pub before: Estimate,
    /// After.
    pub after: Estimate,
    /// Degrees of freedom of the errors.
    pub df: f64,
}

/// Position of a change relative to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Surely beyond it.
    Surely,
    /// Surely not.
    SurelyNot,
    /// The interval includes the bound.
    NotTold,
}

impl Pair {
    /// after / before - 1; nothing where there is nothing before.
    pub fn change(&self) -> Option<f64> {
        (self.before.value > 0.0).then(|| self.after.value / self.before.value - 1.0)
    }

    /// In standard errors, how far `after` is from `1 + bound` times `before`.
    fn distance(&self, bound: f64) -> f64 {
        let factor = 1.0 + bound;
        let off = self.after.value - factor * self.before.value;
        let se = self.after.se.hypot(factor * self.before.se);
        match off {
            0.0 => 0.0,
            off => off / se,
        }
    }

    /// Chance of such a difference between equal sides.
    pub fn p(&self) -> f64 {
        student::two_sided(self.distance(0.0), self.df)
    }

    /// Interval of the change that holds it with 95 %: all bounds that it is not surely away from (Fieller 1954, "Some
    /// problems in interval estimation"). Nothing where `before` may be nought: the change may then be any.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let t = student::quantile(LEVEL, self.df);
        let Pair { before, after, .. } = self;
        // (after - r before)^2 = t^2 (se_after^2 + r^2 se_before^2), solved for r.
        let a = before.value.powi(2) - (t * before.se).powi(2);
        let b = before.value * after.value;
        let c = after.value.powi(2) - (t * after.se).powi(2);
        if a <= 0.0 || before.value <= 0.0 {
            return None;
        }
        let root = (b * b - a * c).max(0.0).sqrt();
        Some([(b - root) / a - 1.0, (b + root) / a - 1.0])
    }

    /// Whether the change is above `bound`, a fraction.
    pub fn above(&self, bound: f64) -> Beyond {
        let distance = self.distance(bound);
        if student::two_sided(distance, self.df) > LEVEL {
            Beyond::NotTold
        } else if distance > 0.0 {
            Beyond::Surely
        } else {
            Beyond::SurelyNot
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(before: (f64, f64), after: (f64, f64)) -> Pair {
        let estimate = |(value, se)| Estimate {
            value,
            se,
            df: 1e6,
            drift: Drift::default(),
        };
        Pair {
            before: estimate(before),
            after: estimate(after),
            df: 1e6,
        }
    }

    /// 100 exactly before and 120 ± 5 after: +20 % ± 1.96 x 5.
    #[test]
    fn an_exact_side() {
        let exact = pair((100.0, 0.0), (120.0, 5.0));
        let [low, high] = exact.interval().unwrap();
        assert!((low - 0.102).abs() < 1e-3 && (high - 0.298).abs() < 1e-3);
        assert_eq!(exact.above(0.05), Beyond::Surely);
        assert_eq!(exact.above(0.2), Beyond::NotTold);
        assert_eq!(exact.above(0.35), Beyond::SurelyNot);
    }

    /// The ends of the interval are the bounds at which the verdict changes.
    #[test]
    fn the_interval_and_the_verdict_agree() {
        let both = pair((100.0, 8.0), (150.0, 10.0));
        let [low, high] = both.interval().unwrap();
        for (bound, beyond) in [
            (low - 0.001, Beyond::Surely),
            (low + 0.001, Beyond::NotTold),
            (high - 0.001, Beyond::NotTold),
            (high + 0.001, Beyond::SurelyNot),
        ] {
            assert_eq!(both.above(bound), beyond, "{bound}");
        }
    }

    #[test]
    fn nothing_before() {
        let new = pair((0.0, 0.0), (50.0, 1.0));
        assert_eq!((new.change(), new.interval()), (None, None));
        assert_eq!(new.above(0.05), Beyond::Surely);
        assert!(new.p() < 1e-6);
        let same = pair((50.0, 0.0), (50.0, 0.0));
        assert_eq!((same.change(), same.p()), (Some(0.0), 1.0));
    }
}
