//! Numbers in cells of tables.

use evenkeel_simulate::config::Unit;
use evenkeel_simulate::estimate::Estimate;
use evenkeel_simulate::{Outcome, Replicated};

/// About three digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

pub fn spread(estimate: Estimate) -> String {
    format!("{} ±{}", short(estimate.mean), short(estimate.half_width))
}

/// Ticks as milliseconds, or unchanged epochs.
pub fn ticks(row: &Replicated<'_>, measure: impl Fn(&Outcome) -> f64) -> Estimate {
    let scale = match row.case.config.unit {
        Unit::Nanosecond => 1e6,
        Unit::Epoch => 1.0,
    };
    row.estimate(|outcome| measure(outcome) / scale)
}

pub fn throughput(row: &Replicated<'_>) -> String {
    spread(row.estimate(|o| o.window.throughput))
}
