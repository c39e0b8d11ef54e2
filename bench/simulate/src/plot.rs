//! A plot that needs nothing beside itself: SVG, or HTML with the table below.
//!
//! Four panels: mean, 99th and 99.9th percentile of latency, and throughput. A line a schedule where a parameter
//! varies, a bar a schedule where none does. Latencies that spread over more than a factor of 20 get a logarithmic axis.

use std::fmt::Write;

use crate::Outcome;
use crate::export::numbers::{number, time};
use crate::export::{Report, table};
use crate::outcome::schedule_name;

const PANEL_WIDTH: f64 = 400.0;
const PANEL_HEIGHT: f64 = 260.0;
const MARGIN_LEFT: f64 = 74.0;
const MARGIN_TOP: f64 = 34.0;
const MARGIN_BOTTOM: f64 = 46.0;
const MARGIN_RIGHT: f64 = 18.0;
const LEGEND_HEIGHT: f64 = 34.0;
/// Ratio of the greatest to the least value above which an axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 20.0;
/// Paul Tol's bright, vibrant and muted schemes: told apart with colour-blind eyes too.
const COLOURS: [&str; 14] = [
    "#4477aa", "#bbbbbb", "#ee7733", "#228833", "#ccbb44", "#66ccee", "#cc3311", "#aa3377",
    "#009988", "#222222", "#332288", "#ee3377", "#999933", "#882255",
];

/// One curve or bar.
struct Series {
    name: String,
    colour: &'static str,
    /// By value of the parameter.
    points: Vec<(f64, f64)>,
}

/// A panel's title, what it shows of an outcome, and how its axis is labelled.
type Measure<'a> = (
    &'static str,
    &'a dyn Fn(&Outcome) -> f64,
    &'a dyn Fn(f64) -> String,
);

struct Panel<'a> {
    title: &'static str,
    x_label: &'a str,
    series: Vec<Series>,
    /// Writes a value of the vertical axis.
    label: &'a dyn Fn(f64) -> String,
}

/// A whole HTML page.
pub fn html(report: &Report<'_>) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Lock schedules</title>\n\
         <style>body{{font:15px system-ui,sans-serif;margin:2em auto;max-width:{0}px}}pre{{overflow-x:auto}}</style>\n\
         <h1>Lock schedules, simulated</h1>\n{1}\n<pre>{2}</pre>\n</html>\n",
        2.0 * PANEL_WIDTH + 40.0,
        svg(report),
        escape(&table(report)),
    )
}

/// An SVG image.
pub fn svg(report: &Report<'_>) -> String {
    let Some(first) = report.rows().first().map(|row| row.case) else {
        return "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_owned();
    };
    let unit = first.config.unit;
    let x_label = first.point.map_or("", |(parameter, _)| parameter.name());
    let ticks = move |value: f64| time(value, unit);
    let measures: [Measure<'_>; 4] = [
        ("mean latency", &|o| o.latency.mean, &ticks),
        ("99th percentile", &|o| o.latency.p99 as f64, &ticks),
        ("99.9th percentile", &|o| o.latency.p999 as f64, &ticks),
        ("commits per second", &|o| o.window.throughput, &number),
    ];
    let (width, height) = (2.0 * PANEL_WIDTH, 2.0 * PANEL_HEIGHT + LEGEND_HEIGHT);
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (at, (title, measure, label)) in measures.into_iter().enumerate() {
        let title = if at == 3 && unit == crate::config::Unit::Epoch {
            "commits per epoch"
        } else {
            title
        };
        let series = series(report, measure);
        if at == 0 {
            legend(&mut image, &series);
        }
        let (left, top) = (
            (at % 2) as f64 * PANEL_WIDTH,
            (at / 2) as f64 * PANEL_HEIGHT + LEGEND_HEIGHT,
        );
        writeln!(image, "<g transform=\"translate({left} {top})\">").expect("a string takes all");
        Panel {
            title,
            x_label,
            series,
            label,
        }
        .draw(&mut image);
        image += "</g>\n";
    }
    image + "</svg>"
}

fn series(report: &Report<'_>, measure: &dyn Fn(&Outcome) -> f64) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for row in report.rows() {
        let name = schedule_name(row.schedule());
        let at = row.case.point.map_or(0.0, |(_, value)| value);
        let point = (at, row.estimate(measure).mean);
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => {
                let colour = COLOURS[all.len() % COLOURS.len()];
                all.push(Series {
                    name,
                    colour,
                    points: vec![point],
                });
            }
        }
    }
    all
}

fn legend(image: &mut String, series: &[Series]) {
    let step = (2.0 * PANEL_WIDTH - MARGIN_LEFT) / series.len().max(1) as f64;
    for (at, Series { name, colour, .. }) in series.iter().enumerate() {
        let x = MARGIN_LEFT + at as f64 * step;
        writeln!(
            image,
            "<rect x=\"{x:.1}\" y=\"12\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"22\">{}</text>",
            x + 16.0,
            escape(name)
        )
        .expect("a string takes all");
    }
}

/// From values to places.
struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let least = values
            .clone()
            .filter(|&value| value > 0.0)
            .fold(f64::INFINITY, f64::min);
        let greatest = values.fold(0.0, f64::max);
        if least.is_finite() && greatest > LOGARITHMIC_FROM * least {
            let (low, high) = (
                libm::floor(libm::log10(least)),
                libm::ceil(libm::log10(greatest)),
            );
            return Scale {
                low,
                high,
                logarithmic: true,
            };
        }
        let step = round_step(greatest.max(1e-12));
        Scale {
            low: 0.0,
            high: (greatest / step).ceil().max(1.0) * step,
            logarithmic: false,
        }
    }

    /// 0 at the bottom, 1 at the top.
    fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic {
            libm::log10(value.max(1e-300))
        } else {
            value
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high - self.low) as i32;
            return (0..=decades)
                .map(|at| libm::pow(10.0, self.low + f64::from(at)))
                .collect();
        }
        let step = round_step(self.high);
        let count = (self.high / step).round() as i32;
        (0..=count).map(|at| f64::from(at) * step).collect()
    }
}

/// 1, 2 or 5 times a power of ten, between a fifth and a tenth of `greatest` or so.
fn round_step(greatest: f64) -> f64 {
    let rough = greatest / 5.0;
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let factor = match rough / power {
        r if r < 1.5 => 1.0,
        r if r < 3.5 => 2.0,
        r if r < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

impl Panel<'_> {
    fn draw(&self, image: &mut String) {
        let (width, height) = (
            PANEL_WIDTH - MARGIN_LEFT - MARGIN_RIGHT,
            PANEL_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM,
        );
        let bottom = MARGIN_TOP + height;
        let scale = Scale::of(
            self.series
                .iter()
                .flat_map(|series| series.points.iter().map(|point| point.1)),
        );
        let y = |value: f64| bottom - scale.place(value) * height;
        let mut put =
            |text: std::fmt::Arguments<'_>| image.write_fmt(text).expect("a string takes all");
        put(format_args!(
            "<text x=\"{MARGIN_LEFT}\" y=\"22\" font-size=\"13\">{}</text>\n",
            self.title
        ));
        for tick in scale.ticks() {
            let (at, right) = (y(tick), MARGIN_LEFT + width);
            put(format_args!(
                "<path d=\"M{MARGIN_LEFT} {at:.1}H{right:.1}\" stroke=\"#ddd\"/>"
            ));
            let label = (self.label)(tick);
            put(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                MARGIN_LEFT - 6.0,
                at + 4.0
            ));
        }
        if self.series.iter().any(|series| series.points.len() > 1) {
            self.lines(image, width, bottom, &y);
        } else {
            self.bars(image, width, bottom, &y);
        }
    }

    fn lines(&self, image: &mut String, width: f64, bottom: f64, y: &dyn Fn(f64) -> f64) {
        let mut put =
            |text: std::fmt::Arguments<'_>| image.write_fmt(text).expect("a string takes all");
        let xs = || {
            self.series
                .iter()
                .flat_map(|series| series.points.iter().map(|point| point.0))
        };
        let (low, high) = (
            xs().fold(f64::INFINITY, f64::min),
            xs().fold(f64::NEG_INFINITY, f64::max),
        );
        let x = |value: f64| MARGIN_LEFT + (value - low) / (high - low).max(1e-12) * width;
        let mut shown: Vec<f64> = self.series[0].points.iter().map(|point| point.0).collect();
        shown.dedup();
        let every = shown.len().div_ceil(8);
        for value in shown.iter().step_by(every) {
            let (at, below) = (x(*value), bottom + 15.0);
            put(format_args!(
                "<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{value}</text>\n"
            ));
        }
        let (middle, below) = (MARGIN_LEFT + width / 2.0, bottom + 32.0);
        put(format_args!(
            "<text x=\"{middle:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{}</text>\n",
            self.x_label
        ));
        for Series { colour, points, .. } in &self.series {
            let path: Vec<String> = points
                .iter()
                .map(|&(at, value)| format!("{:.1} {:.1}", x(at), y(value)))
                .collect();
            let path = path.join("L");
            put(format_args!(
                "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>\n"
            ));
            for &(at, value) in points {
                put(format_args!(
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\" fill=\"{colour}\"/>",
                    x(at),
                    y(value)
                ));
            }
        }
    }

    fn bars(&self, image: &mut String, width: f64, bottom: f64, y: &dyn Fn(f64) -> f64) {
        let mut put =
            |text: std::fmt::Arguments<'_>| image.write_fmt(text).expect("a string takes all");
        let step = width / self.series.len().max(1) as f64;
        for (
            at,
            Series {
                name,
                colour,
                points,
            },
        ) in self.series.iter().enumerate()
        {
            let left = MARGIN_LEFT + at as f64 * step;
            let (top, middle, below) = (
                points.first().map_or(bottom, |point| y(point.1)),
                left + step / 2.0,
                bottom + 15.0,
            );
            let (left, width, height) = (left + 0.15 * step, 0.7 * step, bottom - top);
            put(format_args!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\
                 <text x=\"{middle:.1}\" y=\"{below:.1}\" text-anchor=\"middle\" font-size=\"9\">{}</text>\n",
                escape(name)
            ));
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_that_cover_the_values() {
        let linear = Scale::of([3.0, 47.0].into_iter());
        assert!(!linear.logarithmic);
        assert_eq!(linear.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        let logarithmic = Scale::of([2.0, 900.0].into_iter());
        assert!(logarithmic.logarithmic);
        assert_eq!((logarithmic.low, logarithmic.high), (0.0, 3.0));
        assert!((logarithmic.place(1000.0) - 1.0).abs() < 1e-12);
    }
}
