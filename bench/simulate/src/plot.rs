//! Results as charts: an SVG image, or an HTML page with the tables below them.
//!
//! Four charts: mean, 99th and 99.9th percentile of latency, and throughput. A curve a schedule where a parameter varies, a
//! column a schedule where none does. Latencies that spread over more than a factor of 20 get a logarithmic axis.

use evenkeel_charts::axis::Axis;
use evenkeel_charts::chart::{Chart, Legend, Size};
use evenkeel_charts::{escape, page};

use crate::Outcome;
use crate::config::Unit;
use crate::export::Report;
use crate::export::numbers::{number, time};
use crate::export::table::{absolute, rejections, relative};
use crate::outcome::schedule_name;

/// Two of them, and the space between, fit into a window of 1,200 pixels.
const SIZE: Size = Size {
    width: 560.0,
    height: 300.0,
};
/// Labels along a parameter's axis at most.
const LABELS_MAX: usize = 8;
/// Part of its place that a column takes.
const COLUMN_PART: f64 = 0.7;

/// A curve or column.
struct Series {
    name: String,
    /// By value of the parameter.
    points: Vec<(f64, f64)>,
}

/// The value of an outcome in a chart, and the label of its axis.
struct Measure<'a> {
    title: &'static str,
    of: &'a dyn Fn(&Outcome) -> f64,
    label: &'a dyn Fn(f64) -> String,
}

/// A whole HTML page.
pub fn html(report: &Report<'_>) -> String {
    let charts = charts(report);
    let mut body = String::new();
    if varies(report) {
        body += &legend(report).draw(2.0 * SIZE.width);
    }
    body += &page::columns(&charts);
    for block in report.blocks() {
        if let Some((parameter, value)) = block[0].case.point {
            body += &format!("<h2>{} = {value}</h2>\n", escape(parameter.name()));
        }
        body += &table(absolute(block));
        body += &relative(report, block).map_or(String::new(), table);
        for line in rejections(block).lines() {
            body += &format!("<p class=\"note\">{}</p>\n", escape(line));
        }
    }
    page::document("Lock schedules, simulated", &body)
}

/// A table of a line of headings and lines of cells.
fn table<const N: usize>(mut lines: Vec<[String; N]>) -> String {
    let headings = lines.remove(0);
    page::table(headings, &lines)
}

/// An SVG image.
pub fn svg(report: &Report<'_>) -> String {
    page::image(&legend(report), &charts(report), SIZE)
}

/// Whether a parameter takes several values, so that there are curves.
fn varies(report: &Report<'_>) -> bool {
    report.blocks().count() > 1
}

fn legend(report: &Report<'_>) -> Legend {
    Legend::of(
        series(report, &|_| 0.0)
            .into_iter()
            .map(|series| series.name),
    )
}

fn charts(report: &Report<'_>) -> Vec<String> {
    let Some(first) = report.rows().first().map(|row| row.case) else {
        return Vec::new();
    };
    let unit = first.config.unit;
    let parameter = first.point.map_or("", |(parameter, _)| parameter.name());
    let ticks = move |value: f64| time(value, unit);
    let throughput = match unit {
        Unit::Epoch => "commits per epoch",
        Unit::Nanosecond => "commits per second",
    };
    let latency = |title, of| Measure {
        title,
        of,
        label: &ticks,
    };
    [
        latency("mean latency", &|o: &Outcome| o.latency.mean),
        latency("99th percentile", &|o| o.latency.p99 as f64),
        latency("99.9th percentile", &|o| o.latency.p999 as f64),
        Measure {
            title: throughput,
            of: &|o| o.window.throughput,
            label: &number,
        },
    ]
    .iter()
    .map(|measure| {
        let all = series(report, measure.of);
        if varies(report) {
            curves(measure, &all, parameter)
        } else {
            columns(measure, &all)
        }
    })
    .collect()
}

fn series(report: &Report<'_>, of: &dyn Fn(&Outcome) -> f64) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for row in report.rows() {
        let name = schedule_name(row.schedule());
        let at = row.case.point.map_or(0.0, |(_, value)| value);
        let point = (at, row.estimate(of).mean);
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name,
                points: vec![point],
            }),
        }
    }
    all
}

/// The chart without anything in it.
fn empty(measure: &Measure<'_>, all: &[Series], x: Axis) -> Chart {
    let values = all
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.1));
    let y = Axis::covering(values);
    Chart::new(measure.title, SIZE, x, (y, measure.label))
}

fn curves(measure: &Measure<'_>, all: &[Series], parameter: &str) -> String {
    let mut values: Vec<f64> = all[0].points.iter().map(|point| point.0).collect();
    values.dedup();
    let every = values.len().div_ceil(LABELS_MAX);
    let shown: Vec<f64> = values.iter().copied().step_by(every).collect();
    let x = Axis::between(values.into_iter());
    let mut chart = empty(measure, all, x).ticks_at(&shown, &|value| value.to_string());
    for (at, series) in all.iter().enumerate() {
        let points = || series.points.iter().copied();
        chart = chart.curve(at, points()).points(at, points());
    }
    chart.finish(parameter)
}

fn columns(measure: &Measure<'_>, all: &[Series]) -> String {
    let x = Axis::Linear(0.0, all.len().max(1) as f64);
    let middles: Vec<f64> = (0..all.len()).map(|at| at as f64 + 0.5).collect();
    let name = |middle: f64| all[middle as usize].name.clone();
    let mut chart = empty(measure, all, x).ticks_at(&middles, &name);
    for (at, series) in all.iter().enumerate() {
        let middle = at as f64 + 0.5;
        let ends = (middle - COLUMN_PART / 2.0, middle + COLUMN_PART / 2.0);
        let value = series.points.first().map_or(0.0, |point| point.1);
        chart = chart.column(at, ends, value);
    }
    chart.finish("")
}
