//! A figure as SVG.

use std::fmt::Write;

use crate::document::short;
use crate::experiment::{Figure, Series};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 40.0;
const RIGHT: f64 = 120.0;
const TOP: f64 = 12.0;
/// Told apart by people with any colour vision (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// Numbers to places.
struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone, logarithmic: bool) -> Scale {
        let positive = values.clone().fold(f64::INFINITY, f64::min) > 0.0;
        let logarithmic = logarithmic && positive;
        let place = |value: f64| if logarithmic { value.ln() } else { value };
        let low = values.clone().map(place).fold(f64::INFINITY, f64::min);
        let high = values.map(place).fold(f64::NEG_INFINITY, f64::max);
        let low = if logarithmic { low } else { low.min(0.0) };
        Scale {
            low,
            high: if high > low { high } else { low + 1.0 },
            logarithmic,
        }
    }

    /// 0 to 1.
    fn part(&self, value: f64) -> f64 {
        let place = if self.logarithmic { value.ln() } else { value };
        (place - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> [f64; 5] {
        [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| {
            let place = self.low + part * (self.high - self.low);
            if self.logarithmic { place.exp() } else { place }
        })
    }
}

/// The drawing; empty without a point.
#[must_use]
pub fn svg(figure: &Figure) -> String {
    let points = || {
        figure
            .lines
            .iter()
            .flat_map(|line| line.points.iter().copied())
    };
    if points().next().is_none() {
        return String::new();
    }
    let x = Scale::of(points().map(|(x, ..)| x), false);
    let y = Scale::of(points().map(|(_, y, _)| y), figure.logarithmic);
    let at = |(px, py): (f64, f64)| {
        (
            LEFT + x.part(px) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - y.part(py) * (HEIGHT - BOTTOM - TOP),
        )
    };
    let mut text = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">");
    for value in y.ticks() {
        let (_, row) = at((x.ticks()[0], value));
        let right = WIDTH - RIGHT;
        write!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{row:.1}\" y2=\"{row:.1}\" class=\"grid\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            row + 4.0,
            short(value)
        )
        .expect("a string takes all");
    }
    for value in x.ticks() {
        let (column, _) = at((value, y.ticks()[0]));
        let row = HEIGHT - BOTTOM + 16.0;
        write!(
            text,
            "<text x=\"{column:.1}\" y=\"{row}\" text-anchor=\"middle\">{}</text>",
            short(value)
        )
        .expect("a string takes all");
    }
    for (number, line) in figure.lines.iter().enumerate() {
        text.push_str(&drawn(line, number, &at));
    }
    let (middle, foot) = (LEFT + (WIDTH - LEFT - RIGHT) / 2.0, HEIGHT - 6.0);
    write!(
        text,
        "<text x=\"{middle}\" y=\"{foot}\" text-anchor=\"middle\">{} ({})</text></svg>",
        escaped(&figure.x),
        escaped(&figure.y)
    )
    .expect("a string takes all");
    text
}

fn drawn(line: &Series, number: usize, at: &impl Fn((f64, f64)) -> (f64, f64)) -> String {
    let colour = COLOURS[number % COLOURS.len()];
    let dashes = if line.papers {
        " stroke-dasharray=\"5 4\""
    } else {
        ""
    };
    let places: Vec<(f64, f64)> = line.points.iter().map(|&(x, y, _)| at((x, y))).collect();
    let words: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let mut text = format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
        words.join(" ")
    );
    for (x, y) in &places {
        write!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
        )
        .expect("a string takes all");
    }
    let row = TOP + 10.0 + 16.0 * number as f64;
    let column = WIDTH - RIGHT + 10.0;
    let whose = if line.papers { " (paper)" } else { "" };
    write!(
        text,
        "<text x=\"{column}\" y=\"{row}\" fill=\"{colour}\">{}{whose}</text>",
        escaped(&line.name)
    )
    .expect("a string takes all");
    text
}

/// Text in HTML.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_greatest_are_at_the_ends() {
        let scale = Scale::of([1.0, 10.0, 100.0].into_iter(), true);
        let parts = [1.0, 10.0, 100.0].map(|value| scale.part(value));
        assert!((parts[0], parts[2]) == (0.0, 1.0) && (parts[1] - 0.5).abs() < 1e-12);
        // Without a logarithm it begins at zero, and a zero has no logarithm.
        assert_eq!(Scale::of([50.0, 100.0].into_iter(), false).part(50.0), 0.5);
        assert!(!Scale::of([0.0, 1.0].into_iter(), true).logarithmic);
    }

    #[test]
    fn every_line_is_drawn_and_named() {
        let line = |name: &str, papers| Series {
            name: name.to_owned(),
            papers,
            points: vec![(1.0, 2.0, 0.0), (2.0, 4.0, 0.0)],
        };
        let figure = Figure {
            x: "clients".to_owned(),
            y: "a < b".to_owned(),
            logarithmic: false,
            lines: vec![line("fifo", false), line("ldsf", true)],
        };
        let text = svg(&figure);
        assert_eq!(text.matches("<polyline").count(), 2);
        assert!(
            text.contains("ldsf (paper)") && text.contains("a &lt; b"),
            "{text}"
        );
    }
}
