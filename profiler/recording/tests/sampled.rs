//! Which intervals to keep of a recorded server: by latency, the shares of the largest call paths are surer than by a uniform sample of as many.

use std::collections::BTreeMap;
use std::path::Path;

use evenkeel_analysis::fleet::observed::Observed;
use evenkeel_analysis::sums::keeping;
use evenkeel_recording::Observation;
use evenkeel_wire::{KeepRate, LATENCY_CLASSES, latency_class};

/// Intervals are drawn so often, ...
const DRAWS: u64 = 400;
/// ... this part of all each time, ...
const FRACTION: f64 = 0.08;
/// ... and this many call paths are checked.
const LARGEST: usize = 25;

fn intervals(name: &str) -> Vec<Observed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let path = folder.join(format!("{name}.keel"));
    let mut intervals = Vec::new();
    let observation = Observation::open(&[path]).unwrap();
    let replayed = observation.replay(&mut |interval| {
        intervals.push(interval.observed);
        Ok(())
    });
    replayed.unwrap();
    intervals
}

/// Weighted sums of 1, L, L^2, and by node of X and X L.
#[derive(Default)]
struct Sums {
    all: [f64; 3],
    nodes: BTreeMap<u32, [f64; 2]>,
}

impl Sums {
    fn add(&mut self, interval: &Observed, weight: f64) {
        let latency = interval.latency as f64;
        let terms = [1.0, latency, latency * latency];
        self.all
            .iter_mut()
            .zip(terms)
            .for_each(|(sum, term)| *sum += weight * term);
        for spent in &interval.spent {
            let inclusive = spent.inclusive as f64;
            let sums = self.nodes.entry(spent.node).or_default();
            sums[0] += weight * inclusive;
            sums[1] += weight * inclusive * latency;
        }
    }

    /// Cov(X, L) / Var(L).
    fn share(&self, node: u32) -> f64 {
        let [n, latency, squared] = self.all;
        let [x, with_latency] = self.nodes.get(&node).copied().unwrap_or_default();
        (with_latency - x * latency / n) / (squared - latency * latency / n)
    }
}

/// Root mean square error of the shares of these nodes over many draws.
fn error(intervals: &[Observed], truth: &[(u32, f64)], keep: impl Fn(&Observed) -> f64) -> f64 {
    let mut squares = 0.0;
    let mut random = 7_u64;
    for _ in 0..DRAWS {
        let mut sums = Sums::default();
        for interval in intervals {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let drawn = (random >> 11) as f64 / (1_u64 << 53) as f64;
            let probability = keep(interval);
            if drawn < probability {
                sums.add(interval, 1.0 / probability);
            }
        }
        let errors = truth.iter().map(|&(node, share)| sums.share(node) - share);
        squares += errors.map(|error| error * error).sum::<f64>();
    }
    (squares / DRAWS as f64 / truth.len() as f64).sqrt()
}

#[test]
fn keeping_by_latency_makes_shares_of_a_server_surer() {
    for name in ["postgres-transaction", "apache-request", "redis-command"] {
        let intervals = intervals(name);
        let mut whole = Sums::default();
        intervals
            .iter()
            .for_each(|interval| whole.add(interval, 1.0));
        let mut truth: Vec<_> = whole
            .nodes
            .keys()
            .map(|&node| (node, whole.share(node)))
            .collect();
        truth.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        truth.truncate(LARGEST);

        let mut by_class = vec![0.0; LATENCY_CLASSES];
        let class = |interval: &Observed| latency_class(interval.latency as u64);
        intervals
            .iter()
            .for_each(|interval| by_class[class(interval)] += 1.0);
        let table = keeping::table(&by_class, FRACTION);
        let probability = |keep: KeepRate| 1.0 / keep.weight() as f64;
        let kept: f64 = intervals
            .iter()
            .map(|it| probability(table[class(it)]))
            .sum();
        let uniform = kept / intervals.len() as f64;
        let by_latency = error(&intervals, &truth, |it| probability(table[class(it)]));
        let uniform = error(&intervals, &truth, |_| uniform);
        println!(
            "{name}: {} intervals, {kept:.0} kept, {by_latency:.4} against {uniform:.4}",
            intervals.len()
        );
        assert!(by_latency < 0.8 * uniform, "{name}: {by_latency} {uniform}");
    }
}
