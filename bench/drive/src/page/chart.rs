//! Charts as SVG: an axis, lines over it, steps under it.

use std::fmt::Write;

/// Size of a chart, and what is left around it for its labels.
pub const WIDTH: f64 = 960.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 34.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 42.0;
/// Labels along an axis, about.
const TICKS: f64 = 8.0;

/// From values to places on one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    /// From the first value to the second.
    Linear(f64, f64),
    /// From one power of ten to another.
    Logarithmic(i32, i32),
}

impl Axis {
    /// From zero to a round number that is not below the greatest value.
    #[must_use]
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Axis {
        let greatest = values.fold(0.0, f64::max).max(1e-9);
        let step = round_step(greatest);
        Axis::Linear(0.0, (greatest / step).ceil() * step)
    }

    /// The decades in which the values above zero lie.
    #[must_use]
    pub fn decades(values: impl Iterator<Item = f64>) -> Axis {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|&value| value > 0.0) {
            (least, greatest) = (least.min(value), greatest.max(value));
        }
        if greatest <= 0.0 {
            return Axis::Logarithmic(0, 1);
        }
        let low = least.log10().floor() as i32;
        Axis::Logarithmic(low, (greatest.log10().ceil() as i32).max(low + 1))
    }

    /// 0 at its beginning, 1 at its end.
    #[must_use]
    pub fn place(self, value: f64) -> f64 {
        let (value, low, high) = match self {
            Axis::Linear(low, high) => (value, low, high),
            Axis::Logarithmic(low, high) => (value.max(1e-300).log10(), low.into(), high.into()),
        };
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Round values along it.
    #[must_use]
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Axis::Linear(low, high) => {
                let step = round_step(high - low);
                let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
                (first..=last).map(|at| at as f64 * step).collect()
            }
            Axis::Logarithmic(low, high) => (low..=high).map(|power| 10f64.powi(power)).collect(),
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that about [`TICKS`] of it make up `length`.
fn round_step(length: f64) -> f64 {
    let power = 10f64.powf((length / TICKS).log10().floor());
    let times = length / TICKS / power;
    power
        * if times <= 1.0 {
            1.0
        } else if times <= 2.0 {
            2.0
        } else if times <= 5.0 {
            5.0
        } else {
            10.0
        }
}

/// A chart that is drawn.
pub struct Chart {
    svg: String,
    x: Axis,
    y: Axis,
    height: f64,
    legend: f64,
}

impl Chart {
    /// An empty chart; `x_label` and `y_label` write the values along the axes.
    #[must_use]
    pub fn new(
        title: &str,
        (x, x_label): (Axis, &dyn Fn(f64) -> String),
        (y, y_label): (Axis, &dyn Fn(f64) -> String),
        height: f64,
    ) -> Chart {
        let svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"><title>{0}</title>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"16\">{0}</text>\n",
            escape(title)
        );
        let mut chart = Chart {
            svg,
            x,
            y,
            height,
            legend: WIDTH - RIGHT,
        };
        let (right, bottom) = (WIDTH - RIGHT, height - BOTTOM);
        for value in y.ticks() {
            let (at, label) = (chart.y_at(value), y_label(value));
            chart.put(format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>\n",
                LEFT - 8.0,
                at + 4.0
            ));
        }
        for value in x.ticks() {
            let (at, label) = (chart.x_at(value), x_label(value));
            chart.put(format_args!(
                "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\
                 <text class=\"x\" x=\"{at:.1}\" y=\"{:.1}\">{label}</text>\n",
                bottom + 5.0,
                bottom + 19.0
            ));
        }
        chart
    }

    /// A line through points, interrupted where a value is not a number, with its name in the legend. `class` decides its
    /// colour.
    #[must_use]
    pub fn line(
        mut self,
        class: &str,
        name: &str,
        points: impl Iterator<Item = (f64, f64)>,
    ) -> Chart {
        let mut path = String::new();
        let mut mark = 'M';
        for (x, y) in points {
            if y.is_nan() {
                mark = 'M';
                continue;
            }
            write!(path, "{mark}{:.1} {:.1}", self.x_at(x), self.y_at(y))
                .expect("a string takes all");
            mark = 'L';
        }
        self.put(format_args!(
            "<path class=\"line {class}\" d=\"{path}\"/>\n"
        ));
        // Wide enough for a word of so many letters; the legend grows from the right.
        self.legend -= 26.0 + 7.0 * name.chars().count() as f64;
        let at = self.legend;
        self.put(format_args!(
            "<line class=\"line {class}\" x1=\"{at:.1}\" x2=\"{:.1}\" y1=\"12\" y2=\"12\"/>\
             <text x=\"{:.1}\" y=\"16\">{}</text>\n",
            at + 14.0,
            at + 18.0,
            escape(name)
        ));
        self
    }

    /// Bars from one value to another, as high as a third.
    #[must_use]
    pub fn bars(mut self, bars: impl Iterator<Item = (f64, f64, f64)>) -> Chart {
        let bottom = self.height - BOTTOM;
        for (from, to, value) in bars.filter(|bar| bar.2 > 0.0) {
            let (left, right, top) = (self.x_at(from), self.x_at(to), self.y_at(value));
            self.put(format_args!(
                "<rect class=\"bar\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\"/>\n",
                (right - left).max(0.5),
                (bottom - top).max(0.0)
            ));
        }
        self
    }

    /// A vertical mark with a word beside it, in the row `row` from above.
    #[must_use]
    pub fn mark(mut self, x: f64, word: &str, row: u32) -> Chart {
        let (at, bottom) = (self.x_at(x), self.height - BOTTOM);
        let y = TOP + 12.0 + 14.0 * f64::from(row);
        // Near the right end there is room for the word only on the other side.
        let (side, anchor) = if at < 0.8 * WIDTH {
            (4.0, "start")
        } else {
            (-4.0, "end")
        };
        self.put(format_args!(
            "<line class=\"mark\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text class=\"word\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
            at + side,
            escape(word)
        ));
        self
    }

    /// The finished image, with a word below the horizontal axis.
    #[must_use]
    pub fn finish(mut self, below: &str) -> String {
        let (middle, y) = ((LEFT + WIDTH - RIGHT) / 2.0, self.height - 6.0);
        self.put(format_args!(
            "<text class=\"x\" x=\"{middle}\" y=\"{y}\">{}</text>\n</svg>\n",
            escape(below)
        ));
        self.svg
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.svg.write_fmt(text).expect("a string takes all");
    }

    fn x_at(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y_at(&self, value: f64) -> f64 {
        let bottom = self.height - BOTTOM;
        bottom - self.y.place(value) * (bottom - TOP)
    }
}

/// Text that is no markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_that_cover_the_values() {
        let axis = Axis::from_zero([3.0, 37.0].into_iter());
        assert_eq!(axis, Axis::Linear(0.0, 40.0));
        assert_eq!(
            axis.ticks(),
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]
        );
        let axis = Axis::decades([0.0, 2.0, 900.0].into_iter());
        assert_eq!((axis, axis.place(1000.0)), (Axis::Logarithmic(0, 3), 1.0));
        assert_eq!(Axis::decades(std::iter::empty()), Axis::Logarithmic(0, 1));
        assert_eq!(Axis::decades([10.0].into_iter()), Axis::Logarithmic(1, 2));
        assert_eq!(
            Axis::Linear(-2.0, 6.0).ticks(),
            [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
    }
}
