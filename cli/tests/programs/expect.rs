//! Comparing a profile with what was planted, on machines that add noise of their own.
//!
//! **With a truth file** (durations the program measured itself) both sides saw the same preemptions, so they are compared
//! within four standard errors of both plus [`FLOOR`].
//!
//! **Without one**, let V be the planted variance of the latency and N the excess of the measured one: preemptions.
//! Noise that is independent of the planted cause moves a share v/V to between v/(V+N) and (v+N)/(V+N). So an error
//! of N/(V+N) plus four standard errors plus [`FLOOR`] is allowed. On a quiet machine N is nearly zero.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Tolerance of a share in addition to its error: self-cost, and the two reads of the clock inside each measured
/// stage.
pub const FLOOR: f64 = 0.02;
/// Smaller covariances are not listed in profiles.
const COVARIANCE_MIN: f64 = 1e-4;
/// Blocks of the truth's jackknife.
const BLOCKS: usize = 25;

/// Held by a test that measures: two at once would be noise to each other.
pub fn quiet() -> MutexGuard<'static, ()> {
    static QUIET: Mutex<()> = Mutex::new(());
    QUIET
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Ticks of the time stamp counter a nanosecond.
pub fn ticks_per_ns() -> f64 {
    static SPEED: OnceLock<f64> = OnceLock::new();
    *SPEED.get_or_init(|| {
        // SAFETY: every x86-64 processor has it.
        let now = || (unsafe { core::arch::x86_64::_rdtsc() }, Instant::now());
        let (ticks, time) = now();
        std::thread::sleep(Duration::from_millis(50));
        let (later, end) = now();
        (later - ticks) as f64 / (end - time).as_nanos() as f64
    })
}

/// A field that is a number.
#[track_caller]
pub fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} is no number in {value}"))
}

/// The nodes below `node`, itself included, that `wanted` picks.
pub fn nodes<'a>(node: &'a Value, wanted: &dyn Fn(&Value) -> bool, found: &mut Vec<&'a Value>) {
    if wanted(node) {
        found.push(node);
    }
    for child in node["children"].as_array().into_iter().flatten() {
        nodes(child, wanted, found);
    }
}

/// All nodes of a name; C++ names are given without their parameters.
pub fn named<'a>(profile: &'a Value, name: &str) -> Vec<&'a Value> {
    below(&profile["tree"], name)
}

/// The nodes of a name below another, itself included.
pub fn below<'a>(node: &'a Value, name: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    let wanted = |node: &Value| {
        node["name"]
            .as_str()
            .is_some_and(|text| text == name || text.starts_with(&format!("{name}(")))
    };
    nodes(node, &wanted, &mut found);
    found
}

/// The only node of a name.
#[track_caller]
pub fn the<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let found = named(profile, name);
    assert_eq!(
        found.len(),
        1,
        "nodes called {name} in {:#}",
        profile["tree"]
    );
    found[0]
}

/// Planted numbers of an interval, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Mean of the latency.
    pub mean: f64,
    /// Variance of the latency.
    pub variance: f64,
}

impl Planted {
    /// The possible effect of noise on a share; also asserts that the latency is at least the planted one.
    #[track_caller]
    pub fn noise(&self, profile: &Value) -> f64 {
        let speed = ticks_per_ns();
        let mean = number(profile, "mean_ns") * speed;
        assert!(
            mean > 0.95 * self.mean,
            "the mean is {mean} ticks, planted were {}",
            self.mean
        );
        let measured = number(profile, "variance_ns2") * speed * speed;
        // The design is balanced over whole groups of 16; the first and last of a round may be cut.
        assert!(
            measured > 0.8 * self.variance,
            "the variance is {measured} ticks^2, planted were {}",
            self.variance
        );
        1.0 - (self.variance / measured).min(1.0)
    }

    /// Asserts that the shares of `found` nodes add up to `planted`.
    #[track_caller]
    pub fn assert_share(&self, profile: &Value, found: &[&Value], planted: f64) {
        let sum = |key: &str| found.iter().map(|node| number(node, key)).sum::<f64>();
        let tolerance = 4.0 * sum("se") + FLOOR + self.noise(profile);
        let share = sum("share");
        assert!(
            (share - planted).abs() <= tolerance,
            "share {share}, planted {planted} ±{tolerance}: {found:#?}"
        );
    }
}

/// A program's own measurement: a row an interval, the latency first.
pub struct Truth {
    rows: Vec<Vec<f64>>,
}

/// Moments of a truth.
struct Moments {
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

impl Truth {
    /// Reads a truth file.
    pub fn read(path: &Path) -> Truth {
        let text = std::fs::read_to_string(path).unwrap();
        let row = |line: &str| line.split(' ').map(|word| word.parse().unwrap()).collect();
        Truth {
            rows: text.lines().map(row).collect(),
        }
    }

    /// Number of intervals.
    pub fn intervals(&self) -> usize {
        self.rows.len()
    }

    /// Mean of a column.
    #[allow(dead_code)] // for the edges alone
    pub fn mean(&self, column: usize) -> f64 {
        self.rows.iter().map(|row| row[column]).sum::<f64>() / self.rows.len() as f64
    }

    /// A quantile of a column, 0 to 1.
    #[allow(dead_code)] // for the answers alone
    pub fn quantile(&self, column: usize, q: f64) -> f64 {
        let mut sorted: Vec<f64> = self.rows.iter().map(|row| row[column]).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * q) as usize]
    }

    fn moments(rows: &[&Vec<f64>]) -> Moments {
        let (columns, count) = (rows[0].len(), rows.len() as f64);
        let mean: Vec<f64> = (0..columns)
            .map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / count)
            .collect();
        let product = |a: usize, b: usize| {
            rows.iter()
                .map(|row| (row[a] - mean[a]) * (row[b] - mean[b]))
                .sum::<f64>()
        };
        let covariance = (0..columns)
            .map(|a| (0..columns).map(|b| product(a, b) / count).collect())
            .collect();
        Moments { mean, covariance }
    }

    /// A statistic with its standard error from the block jackknife.
    fn statistic(&self, of: impl Fn(&Moments) -> f64) -> (f64, f64) {
        let all: Vec<&Vec<f64>> = self.rows.iter().collect();
        let value = of(&Truth::moments(&all));
        let size = self.rows.len().div_ceil(BLOCKS);
        let without = |block: usize| {
            let kept: Vec<&Vec<f64>> = self
                .rows
                .iter()
                .enumerate()
                .filter(|(i, _)| i / size != block)
                .map(|(_, row)| row)
                .collect();
            of(&Truth::moments(&kept))
        };
        let leave: Vec<f64> = (0..BLOCKS).map(without).collect();
        let n = BLOCKS as f64;
        let centre = leave.iter().sum::<f64>() / n;
        (
            value,
            ((n - 1.0) / n * leave.iter().map(|x| (x - centre).powi(2)).sum::<f64>()).sqrt(),
        )
    }

    /// Asserts that a node is the truth's `column`: share, fraction of the variance, and mean.
    #[track_caller]
    pub fn assert_node(&self, node: &Value, column: usize) {
        let share = self.statistic(|m| m.covariance[column][0] / m.covariance[0][0]);
        near("share", number(node, "share"), number(node, "se"), share);
        let fraction = self.statistic(|m| m.covariance[column][column] / m.covariance[0][0]);
        near(
            "variance fraction",
            number(node, "variance_fraction"),
            number(node, "se"),
            fraction,
        );
        let (mean, se) = self.statistic(|m| m.mean[column]);
        // The profile has no error for a node's mean; its latencies are the program's own.
        near(
            "mean",
            number(node, "mean_ns") * ticks_per_ns() / mean,
            0.0,
            (1.0, se / mean),
        );
    }

    /// Twice the covariance of two columns, as a fraction of the latency's variance, and its error.
    pub fn covariance(&self, a: usize, b: usize) -> (f64, f64) {
        self.statistic(|m| 2.0 * m.covariance[a][b] / m.covariance[0][0])
    }

    /// Asserts it. `listed`: what the profile has of it, which is nothing only where there is nothing to tell apart.
    #[track_caller]
    pub fn assert_covariance(&self, listed: Option<&Value>, a: usize, b: usize) {
        let planted = self.covariance(a, b);
        match listed {
            Some(listed) => near(
                "covariance",
                number(listed, "contribution"),
                number(listed, "se"),
                planted,
            ),
            None => assert!(
                planted.0.abs() <= COVARIANCE_MIN + 4.0 * planted.1,
                "none listed of {planted:?}"
            ),
        }
    }
}

#[track_caller]
fn near(what: &str, measured: f64, se: f64, (truth, truth_se): (f64, f64)) {
    let tolerance = 4.0 * se.hypot(truth_se) + FLOOR;
    assert!(
        (measured - truth).abs() <= tolerance,
        "{what} {measured} ±{se}, truth {truth} ±{truth_se}"
    );
}
