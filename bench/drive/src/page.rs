//! A result as one HTML file that needs nothing else: latency and throughput over time, the histogram of latencies, and
//! the table.

use evenkeel_charts::axis::Axis;
use evenkeel_charts::chart::{Chart, Size};
use evenkeel_charts::{escape, page};
use evenkeel_report::units;

use crate::metrics::Slice;
use crate::report::Report;
use crate::table::render;

/// Width of each chart.
const WIDTH: f64 = 1120.0;
/// Series by their colour.
const P50: usize = 0;
const P99: usize = 1;
const MAX: usize = 2;
/// Bars of the histogram in a decade.
const BARS_IN_DECADE: f64 = 20.0;

/// The page.
pub fn html(report: &Report) -> String {
    let title = format!("{} on {}", report.workload, report.target);
    let body = format!(
        "{}{}{}<div class=\"scroll\"><pre class=\"mono\">{}</pre></div>\n",
        over_time(report),
        throughput(report),
        histogram(report),
        escape(&render(report))
    );
    page::document(&title, &body)
}

fn sized(height: f64) -> Size {
    Size {
        width: WIDTH,
        height,
    }
}

fn time_axis(report: &Report) -> Axis {
    let begin = report.slices.first().map_or(0.0, |slice| slice.begin_s);
    let end = report.slices.last().map_or(1.0, |slice| slice.begin_s);
    Axis::Linear(begin, end.max(begin + 1.0))
}

/// A time of the run, written without needless digits.
fn seconds(value: f64) -> String {
    format!("{}", (value * 1e3).round() / 1e3)
}

fn duration(ns: f64) -> String {
    units::duration(ns)
}

fn over_time(report: &Report) -> String {
    let slices = || report.slices.iter();
    let values = slices().flat_map(|slice| [slice.p50_ns as f64, slice.max_ns as f64]);
    // A slice in which nothing was done has no latency.
    let value = |ns: u64| if ns > 0 { ns as f64 } else { f64::NAN };
    let line = |of: fn(&Slice) -> u64| slices().map(move |slice| (slice.begin_s, value(of(slice))));
    Chart::new(
        "Response time of the transactions that were done at the time",
        sized(340.0),
        time_axis(report),
        (Axis::decades(values), &duration),
    )
    .ticks(&seconds)
    .mark(0.0, "measured from here", 0)
    .curve(MAX, line(|slice| slice.max_ns))
    .named(MAX, "max")
    .curve(P99, line(|slice| slice.p99_ns))
    .named(P99, "p99")
    .curve(P50, line(|slice| slice.p50_ns))
    .named(P50, "p50")
    .finish("seconds since measuring began")
}

fn throughput(report: &Report) -> String {
    let rates = || report.slices.iter().map(|slice| slice.throughput_per_s);
    let y = Axis::from_zero(rates().chain(report.offered_per_s));
    let time = time_axis(report);
    let mut chart = Chart::new(
        "Transactions done per second",
        sized(220.0),
        time,
        (y, &seconds),
    )
    .ticks(&seconds);
    if let (Some(offered), Axis::Linear(begin, end)) = (report.offered_per_s, time) {
        let flat = [(begin, offered), (end, offered)];
        chart = chart.curve(MAX, flat.into_iter()).named(MAX, "offered");
    }
    let done = report
        .slices
        .iter()
        .map(|slice| (slice.begin_s, slice.throughput_per_s));
    chart
        .curve(P50, done)
        .named(P50, "done")
        .finish("seconds since measuring began")
}

fn histogram(report: &Report) -> String {
    let axis = Axis::decades(report.buckets.iter().map(|&(ns, _)| ns as f64));
    let bars = bars(&report.buckets);
    let all = report.all();
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    let mut chart = Chart::new(
        "Response times, warm-up left out",
        sized(300.0),
        axis,
        (Axis::from_zero(bars.iter().map(|bar| bar.2)), &share),
    )
    .ticks(&duration);
    for (from, to, share) in bars {
        chart = chart.column(P50, (from, to), share);
    }
    let marks = [
        (all.mean_ns, "mean"),
        (all.p50_ns as f64, "p50"),
        (all.p99_ns as f64, "p99"),
        (all.p999_ns as f64, "p99.9"),
    ];
    for (row, (ns, word)) in marks.into_iter().enumerate() {
        if ns > 0.0 {
            chart = chart.mark(ns, &format!("{word} {}", units::duration(ns)), row as u32);
        }
    }
    chart.finish("response time, each bar a twentieth of a decade; its height is the share of transactions in it")
}

/// Bars of equal width on a logarithmic axis: from, to, share of all.
fn bars(buckets: &[(u64, u64)]) -> Vec<(f64, f64, f64)> {
    let total: u64 = buckets.iter().map(|&(_, count)| count).sum();
    let mut bars: Vec<(f64, f64, f64)> = Vec::new();
    for &(ns, count) in buckets {
        let number = ((ns.max(1) as f64).log10() * BARS_IN_DECADE).floor();
        let edge = |number: f64| 10f64.powf(number / BARS_IN_DECADE);
        let (from, to, share) = (
            edge(number),
            edge(number + 1.0),
            count as f64 / total as f64,
        );
        match bars.last_mut() {
            Some(last) if last.0 == from => last.2 += share,
            _ => bars.push((from, to, share)),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_hold_all_transactions() {
        // 10 and 11 ns lie in the first twentieth of a decade behind 10 (up to 11.2), 90 and 100 do not.
        let bars = bars(&[(10, 1), (11, 2), (90, 4), (100, 1)]);
        assert_eq!(bars.len(), 3);
        assert_eq!((bars[0].0, bars[0].2), (10.0, 0.375));
        assert!((bars.iter().map(|bar| bar.2).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
