//! Expected remaining time of a transaction, by its class (dissertation section 4.7.3).
//!
//! "For each transaction type, we compute and maintain their average remaining time whenever a scheduling occurs": the
//! time from each scheduled grant to the transaction's end.

use crate::meta::TxnMeta;

/// Classes told apart; higher class numbers share the last one, so memory is bounded.
const CLASSES_MAX: usize = 256;

/// Mean remaining time by class.
#[derive(Clone, Debug, Default)]
pub struct RemainingTimes {
    classes: Vec<Mean>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    count: u64,
    mean_ns: f64,
}

impl RemainingTimes {
    /// A transaction of `class` ended `remaining_ns` after a scheduled grant.
    pub fn observe(&mut self, class: u32, remaining_ns: f64) {
        let at = slot(class);
        if self.classes.len() <= at {
            self.classes.resize(at + 1, Mean::default());
        }
        let mean = &mut self.classes[at];
        mean.count += 1;
        mean.mean_ns += (remaining_ns - mean.mean_ns) / mean.count as f64;
    }

    /// The expected remaining time of a transaction in nanoseconds: its owner's value, else the mean of its class,
    /// else the mean of all classes. Always positive, as speeds divide by it.
    pub fn expected_ns(&self, meta: &TxnMeta) -> f64 {
        let of_class = || {
            self.classes
                .get(slot(meta.class))
                .filter(|mean| mean.count > 0)
                .map(|mean| mean.mean_ns)
        };
        meta.expected_remaining_ns
            .or_else(of_class)
            .unwrap_or_else(|| self.overall_ns())
            .max(1.0)
    }

    fn overall_ns(&self) -> f64 {
        let count: u64 = self.classes.iter().map(|mean| mean.count).sum();
        let sum: f64 = self
            .classes
            .iter()
            .map(|mean| mean.mean_ns * mean.count as f64)
            .sum();
        if count == 0 { 1.0 } else { sum / count as f64 }
    }
}

fn slot(class: u32) -> usize {
    (class as usize).min(CLASSES_MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_its_own_mean_and_an_unseen_one_that_of_all() {
        let mut times = RemainingTimes::default();
        let meta = |class| TxnMeta {
            id: 0,
            birth_ns: 0,
            class,
            expected_remaining_ns: None,
        };
        assert_eq!(times.expected_ns(&meta(3)), 1.0);
        times.observe(0, 10.0);
        times.observe(0, 30.0);
        times.observe(1, 110.0);
        assert_eq!(times.expected_ns(&meta(0)), 20.0);
        assert_eq!(times.expected_ns(&meta(1)), 110.0);
        assert_eq!(times.expected_ns(&meta(2)), 50.0);
        let known = TxnMeta {
            expected_remaining_ns: Some(5.0),
            ..meta(0)
        };
        assert_eq!(times.expected_ns(&known), 5.0);
    }
}
