//! Latencies of the last seconds, by class: what is kept and recorded follows the load.

use std::time::Instant;

use evenkeel_wire::latency_class_start;

use super::policy::{HALF_LIFE_S, LATENCIES_PERIOD, MEAN_FROM};

/// Counts that fade.
#[derive(Debug, Default)]
pub struct RecentLatencies {
    last: Option<Instant>,
    /// Intervals by class of latency so far.
    known: Vec<u64>,
    /// Latencies with older ones decayed.
    recent: Vec<f64>,
}

impl RecentLatencies {
    /// Takes what came since the last time, when it is time to; whether it was. `by_class`: all intervals so far by
    /// class of latency.
    pub fn take(&mut self, now: Instant, by_class: &[u64]) -> bool {
        let last = *self.last.get_or_insert(now);
        let elapsed = now.duration_since(last);
        if elapsed < LATENCIES_PERIOD {
            return false;
        }
        self.last = Some(now);
        let part = (-elapsed.as_secs_f64() / HALF_LIFE_S).exp2();
        self.known.resize(by_class.len().max(self.known.len()), 0);
        self.recent.resize(self.known.len(), 0.0);
        for ((known, recent), &count) in self.known.iter_mut().zip(&mut self.recent).zip(by_class) {
            let new = count.saturating_sub(std::mem::replace(known, count));
            *recent = *recent * part + new as f64;
        }
        true
    }

    /// Number of latencies in each class.
    pub fn by_class(&self) -> &[f64] {
        &self.recent
    }

    /// Their mean, ticks; nothing where there were none.
    pub fn mean_ticks(&self) -> Option<f64> {
        let all: f64 = self.recent.iter().sum();
        let middle = |class: usize| {
            let (from, to) = (latency_class_start(class), latency_class_start(class + 1));
            from as f64 / 2.0 + to as f64 / 2.0
        };
        let classes = self.recent.iter().enumerate();
        let ticks: f64 = classes.map(|(class, count)| middle(class) * count).sum();
        (all >= MEAN_FROM).then(|| ticks / all)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::{LATENCY_CLASSES, latency_class};

    use std::time::Duration;

    use super::*;

    /// 1,000 quick intervals. Ten half lives later there are 1,000 slow ones, and the quick ones have a weight of
    /// one.
    #[test]
    fn old_latencies_fade() {
        let mut recent = RecentLatencies::default();
        let mut by_class = vec![0; LATENCY_CLASSES];
        let (quick, slow) = (1 << 10, 1 << 20);
        let start = Instant::now();
        assert!(!recent.take(start, &by_class));
        assert_eq!(recent.mean_ticks(), None);
        by_class[latency_class(quick)] += 1000;
        assert!(
            !recent.take(start + LATENCIES_PERIOD / 2, &by_class),
            "not yet"
        );
        assert!(recent.take(start + LATENCIES_PERIOD, &by_class));
        let mean = recent.mean_ticks().unwrap();
        assert!((mean / quick as f64 - 1.0).abs() < 0.04, "{mean}");
        by_class[latency_class(slow)] += 1000;
        let half_lives = Duration::from_secs_f64(10.0 * HALF_LIFE_S);
        assert!(recent.take(start + LATENCIES_PERIOD + half_lives, &by_class));
        let of = |ticks| recent.by_class()[latency_class(ticks)];
        assert!(
            of(quick) < 1.0 && of(slow) == 1000.0,
            "{} {}",
            of(quick),
            of(slow)
        );
        let mean = recent.mean_ticks().unwrap();
        assert!((mean / slow as f64 - 1.0).abs() < 0.04, "{mean}");
    }
}
