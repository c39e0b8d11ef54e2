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
    mean: Mean,
}

/// The present mean latency.
#[derive(Debug, Default)]
struct Mean {
    count: f64,
    sum_ticks: f64,
}

impl Mean {
    /// Takes in new intervals, and leaves this part of the older ones. Older ones have no more weight than the new ones,
    /// or than [`MEAN_FROM`] intervals. Else a million quick intervals a second would outweigh a thousand slow ones, which
    /// came later, for ten half lives.
    fn take(&mut self, part: f64, count: f64, ticks: f64) {
        let older = (self.count * part).min(count.max(MEAN_FROM));
        let of_older = self.ticks().map_or(0.0, |mean| mean * older);
        self.sum_ticks = of_older + ticks;
        self.count = older + count;
    }

    fn ticks(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum_ticks / self.count)
    }
}

/// The middle of a class of latencies, ticks.
fn middle(class: usize) -> f64 {
    let (from, to) = (latency_class_start(class), latency_class_start(class + 1));
    from as f64 / 2.0 + to as f64 / 2.0
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
        let (mut new_count, mut new_ticks) = (0.0, 0.0);
        let classes = self.known.iter_mut().zip(&mut self.recent).zip(by_class);
        for (class, ((known, recent), &count)) in classes.enumerate() {
            let new = count.saturating_sub(std::mem::replace(known, count)) as f64;
            *recent = *recent * part + new;
            new_count += new;
            new_ticks += new * middle(class);
        }
        self.mean.take(part, new_count, new_ticks);
        true
    }

    /// Number of latencies in each class.
    pub fn by_class(&self) -> &[f64] {
        &self.recent
    }

    /// Their present mean, ticks; nothing where there were none.
    pub fn mean_ticks(&self) -> Option<f64> {
        self.mean.ticks()
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

    /// A million quick intervals, then a thousand slow ones in each period, then quick ones again.
    #[test]
    fn the_mean_is_of_the_present_load() {
        let mut recent = RecentLatencies::default();
        let mut by_class = vec![0; LATENCY_CLASSES];
        let (quick, slow) = (1 << 7, 1 << 17);
        let mut now = Instant::now();
        recent.take(now, &by_class);
        let mut mean_of = |latency, count| {
            by_class[latency_class(latency)] += count;
            now += LATENCIES_PERIOD;
            assert!(recent.take(now, &by_class));
            recent.mean_ticks().unwrap() / latency as f64
        };
        mean_of(quick, 1_000_000);
        let means = [0; 5].map(|_| mean_of(slow, 1000));
        assert!(means[0] > 0.45 && means[4] > 0.9, "{means:?}");
        let mean = mean_of(quick, 1_000_000);
        assert!(mean < 10.0, "{mean}");
    }

    /// Five in each period: one alone says little of the mean, and several periods are taken together.
    #[test]
    fn the_mean_of_rare_intervals_is_of_several_periods() {
        let mut recent = RecentLatencies::default();
        let mut by_class = vec![0; LATENCY_CLASSES];
        let (quick, slow) = (1 << 10, 1 << 20);
        let mut now = Instant::now();
        recent.take(now, &by_class);
        for period in 0..20 {
            let latency = if period == 19 { slow } else { quick };
            by_class[latency_class(latency)] += 5;
            now += LATENCIES_PERIOD;
            recent.take(now, &by_class);
        }
        let mean = recent.mean_ticks().unwrap() / slow as f64;
        assert!(mean < 0.2, "{mean}");
    }
}
