//! A transaction's age and its remaining time when it is granted a lock (dissertation, figure 3.2).
//!
//! A scheduler that knew the remaining time would decide by it. VATS assumes that a transaction's age says nothing
//! about it (section 3.3.1, and the independence in theorem 3.1). Here it is measured: Pearson's correlation of the
//! two at each grant that was a decision, which means that the request had to wait.

use std::collections::BTreeMap;
use std::sync::Mutex;

use evenkeel_store::{Observer, Trace};
use serde::Serialize;

/// A request that got its lock sooner found it free: nobody decided.
const DECIDED_NS: u64 = 5_000;

/// Sums over the grants of the transactions that commit, by the transactions' class.
#[derive(Debug, Default)]
pub struct Grants(Mutex<Vec<Sums>>);

/// Sums over pairs of age x and remaining time y, in milliseconds so that squares stay exact enough.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

/// Correlation of age and remaining time at the grants of one type of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GrantReport {
    /// Grants of locks that were waited for.
    pub count: u64,
    /// Mean age.
    pub age_mean_ns: f64,
    /// Mean time from the grant to the end of the transaction.
    pub remaining_mean_ns: f64,
    /// Pearson's correlation of the two; none of fewer than two grants, or if one of the two never differs.
    pub correlation: Option<f64>,
}

impl Observer for Grants {
    fn ended(&self, trace: &Trace<'_>) {
        if !trace.committed {
            return;
        }
        let mut classes = self.0.lock().expect("no panic with the lock held");
        let class = trace.class as usize;
        if classes.len() <= class {
            classes.resize(class + 1, Sums::default());
        }
        let decided = trace.grants.iter().filter(|g| g.waited_ns >= DECIDED_NS);
        for grant in decided {
            classes[class].add(grant.age_ns, trace.age_ns.saturating_sub(grant.age_ns));
        }
    }
}

impl Grants {
    /// Correlations so far, by the names of the classes and under `all`; a class without grants is left out.
    pub fn report(&self, classes: &[&str]) -> BTreeMap<String, GrantReport> {
        let sums = self.0.lock().expect("no panic with the lock held");
        let all = sums.iter().fold(Sums::default(), |all, one| all.and(one));
        classes
            .iter()
            .zip(sums.iter())
            .map(|(name, sums)| ((*name).to_owned(), sums))
            .chain([(crate::metrics::ALL.to_owned(), &all)])
            .filter(|(_, sums)| sums.count > 0.0)
            .map(|(name, sums)| (name, sums.report()))
            .collect()
    }
}

impl Sums {
    fn add(&mut self, age_ns: u64, remaining_ns: u64) {
        let (x, y) = (age_ns as f64 / 1e6, remaining_ns as f64 / 1e6);
        *self = self.and(&Sums {
            count: 1.0,
            x,
            y,
            xx: x * x,
            yy: y * y,
            xy: x * y,
        });
    }

    fn and(&self, other: &Sums) -> Sums {
        Sums {
            count: self.count + other.count,
            x: self.x + other.x,
            y: self.y + other.y,
            xx: self.xx + other.xx,
            yy: self.yy + other.yy,
            xy: self.xy + other.xy,
        }
    }

    fn report(&self) -> GrantReport {
        let n = self.count;
        let variance = |sum: f64, squares: f64| squares / n - (sum / n).powi(2);
        let spread = (variance(self.x, self.xx) * variance(self.y, self.yy)).sqrt();
        let covariance = self.xy / n - self.x * self.y / (n * n);
        GrantReport {
            count: n as u64,
            age_mean_ns: self.x / n * 1e6,
            remaining_mean_ns: self.y / n * 1e6,
            correlation: (spread > 0.0).then(|| (covariance / spread).clamp(-1.0, 1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_store::Grant;

    fn ended(class: u32, age_ms: u64, granted_ms: &[u64]) -> (u32, u64, Vec<Grant>) {
        let grants = granted_ms.iter().map(|ms| Grant {
            age_ns: ms * 1_000_000,
            waited_ns: DECIDED_NS,
        });
        (class, age_ms * 1_000_000, grants.collect())
    }

    /// Class 0 has ages 1, 2, 3 ms with 3, 2, 1 ms to go: -1. Class 1 has ages 1, 1, 3, 3 with 1, 3, 1, 3 to go: 0.
    /// Together both means are 2. The covariance is (-2 + 0) / 7 = -2/7, and both variances are (2 + 4) / 7, which
    /// gives -1/3.
    #[test]
    fn correlations_are_those_worked_out_by_hand() {
        let grants = Grants::default();
        let record = |(class, age_ns, granted): (u32, u64, Vec<Grant>), committed| {
            grants.ended(&Trace {
                class,
                committed,
                age_ns,
                grants: &granted,
            });
        };
        for granted in [1, 2, 3] {
            record(ended(0, 4, &[granted]), true);
        }
        for (granted, remaining) in [(1, 1), (1, 3), (3, 1), (3, 3)] {
            record(ended(1, granted + remaining, &[granted]), true);
        }
        record(ended(0, 50, &[7]), false);
        let report = grants.report(&["rising", "level", "absent"]);
        assert_eq!(
            report.keys().collect::<Vec<_>>(),
            ["all", "level", "rising"]
        );
        let near = |name: &str, wanted: f64| {
            let found = report[name].correlation.unwrap();
            assert!((found - wanted).abs() < 1e-9, "{name}: {found}");
        };
        near("rising", -1.0);
        near("level", 0.0);
        near("all", -1.0 / 3.0);
        assert_eq!((report["rising"].count, report["all"].count), (3, 7));
        assert!((report["all"].remaining_mean_ns - 2e6).abs() < 1e-3);
    }

    #[test]
    fn a_lock_that_was_free_is_nobodys_decision() {
        let grants = Grants::default();
        grants.ended(&Trace {
            class: 0,
            committed: true,
            age_ns: 9,
            grants: &[Grant {
                age_ns: 1,
                waited_ns: DECIDED_NS - 1,
            }],
        });
        assert!(grants.report(&["one"]).is_empty());
    }
}
