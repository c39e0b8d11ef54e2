//! Results as text.

use std::fmt::Write;

use evenkeel_charts::grid::grid;
use evenkeel_locks::ScheduleKind;

use super::Report;
use super::numbers::{interval, number, spread, spread_time, time};
use crate::config::Unit;
use crate::outcome::schedule_name;
use crate::replicated::Replicated;

/// All results, a block of lines for each value of the parameter. `gain` is FIFO's mean latency over the schedule's, if
/// FIFO is there. With several seeds a number is a mean over them and the half width of its 95 % confidence interval.
pub fn table(report: &Report<'_>) -> String {
    let mut text = String::new();
    for block in report.blocks() {
        if let Some((parameter, value)) = block[0].case.point {
            writeln!(text, "{} = {value}", parameter.name()).expect("a string takes all");
        }
        text += &grid(&absolute(block), false);
        if let Some(relative) = relative(report, block) {
            text += "\n";
            text += &grid(&relative, false);
        }
        text += &rejections(block);
        text.push('\n');
    }
    text
}

/// A line of headings, and a line of cells for each schedule.
pub(crate) fn absolute(block: &[Replicated<'_>]) -> Vec<[String; 12]> {
    let unit = block[0].case.config.unit;
    let fifo = block
        .iter()
        .find(|row| row.schedule() == ScheduleKind::Fifo);
    let fifo = fifo.map(|row| row.estimate(|o| o.latency.mean).mean);
    let header = [
        "schedule",
        "mean",
        "gain",
        "sd",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "max",
        if unit == Unit::Epoch {
            "commits/epoch"
        } else {
            "commits/s"
        },
        "queue",
        "deadlocks/commit",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    for row in block {
        let mean = row.estimate(|o| o.latency.mean);
        let gain = fifo
            .filter(|_| mean.mean > 0.0)
            .map(|fifo| fifo / mean.mean);
        let max = row
            .outcomes
            .iter()
            .map(|o| o.latency.max)
            .max()
            .unwrap_or(0);
        rows.push([
            schedule_name(row.schedule()),
            spread_time(mean, unit),
            gain.map_or("-".to_owned(), |gain| format!("{gain:.2}x")),
            spread_time(row.estimate(|o| o.latency.sd), unit),
            spread_time(row.estimate(|o| o.latency.p50 as f64), unit),
            spread_time(row.estimate(|o| o.latency.p95 as f64), unit),
            spread_time(row.estimate(|o| o.latency.p99 as f64), unit),
            spread_time(row.estimate(|o| o.latency.p999 as f64), unit),
            time(max as f64, unit),
            spread(row.estimate(|o| o.window.throughput)),
            spread(row.estimate(|o| o.window.queue_mean)),
            number(row.estimate(|o| o.window.deadlocks_per_commit()).mean),
        ]);
    }
    rows
}

/// Columns of the ratios to the baseline, if there is one.
pub(crate) fn relative(report: &Report<'_>, block: &[Replicated<'_>]) -> Option<Vec<[String; 7]>> {
    let mut rows = Vec::new();
    for row in block {
        let relative = report.relative(row)?;
        if rows.is_empty() {
            rows.push([
                format!("relative to {}", relative.to),
                "mean".to_owned(),
                "variance".to_owned(),
                "p99".to_owned(),
                "p99.9".to_owned(),
                "throughput".to_owned(),
                "gain kept".to_owned(),
            ]);
        }
        rows.push([
            schedule_name(row.schedule()),
            interval(relative.mean),
            interval(relative.variance),
            interval(relative.p99),
            interval(relative.p999),
            interval(relative.throughput),
            relative.gain_kept.map_or("-".to_owned(), number),
        ]);
    }
    Some(rows)
}

/// A line for each schedule that could not take all arrivals.
pub(crate) fn rejections(block: &[Replicated<'_>]) -> String {
    let mut text = String::new();
    for row in block {
        let rejected: u64 = row.outcomes.iter().map(|o| o.rejected).sum();
        if rejected > 0 {
            let name = schedule_name(row.schedule());
            writeln!(
                text,
                "{name}: {rejected} arrivals rejected at the limit in flight"
            )
            .expect("a string takes all");
        }
    }
    text
}
