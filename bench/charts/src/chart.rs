//! Charts as SVG: axes, curves over them, columns, marks.

use std::fmt::Write;

use crate::axis::Axis;
use crate::escape;

/// Margins of the drawing, for its labels.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 34.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 42.0;
/// Series with a colour of their own; then they begin again. Paul Tol's bright, vibrant and muted schemes, which can be told
/// apart with colour-blind eyes, too.
const COLOURS: usize = 14;
/// Width of a letter, about.
const LETTER: f64 = 7.0;

/// Size and making of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width in user units.
    pub width: f64,
    /// Height in user units.
    pub height: f64,
}

/// A chart that is being drawn.
pub struct Chart {
    svg: String,
    x: Axis,
    y: Axis,
    size: Size,
    /// Where the next entry of the legend ends.
    legend: f64,
}

impl Chart {
    /// An empty chart; `y_label` writes the values along the vertical axis.
    pub fn new(
        title: &str,
        size: Size,
        x: Axis,
        (y, y_label): (Axis, &dyn Fn(f64) -> String),
    ) -> Chart {
        let Size { width, height } = size;
        let mut chart = Chart {
            svg: format!(
                "<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\">\
                 <title>{0}</title>\n<text class=\"title\" x=\"{LEFT}\" y=\"16\">{0}</text>\n",
                escape(title)
            ),
            x,
            y,
            size,
            legend: width - RIGHT,
        };
        let right = width - RIGHT;
        for value in y.ticks() {
            let (at, label) = (chart.y_at(value), escape(&y_label(value)));
            chart.put(format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>\n",
                LEFT - 8.0,
                at + 4.0
            ));
        }
        chart
    }

    /// Writes round values along the horizontal axis.
    pub fn ticks(self, label: &dyn Fn(f64) -> String) -> Chart {
        let values = self.x.ticks();
        self.ticks_at(&values, label)
    }

    /// Writes these values along the horizontal axis.
    pub fn ticks_at(mut self, values: &[f64], label: &dyn Fn(f64) -> String) -> Chart {
        for &value in values {
            let (at, bottom) = (self.x_at(value), self.bottom());
            let label = escape(&label(value));
            self.put(format_args!(
                "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\
                 <text class=\"x\" x=\"{at:.1}\" y=\"{:.1}\">{label}</text>\n",
                bottom + 5.0,
                bottom + 19.0
            ));
        }
        self
    }

    /// A curve through points, interrupted where a value is not a number. `series` decides its colour.
    pub fn curve(self, series: usize, points: impl Iterator<Item = (f64, f64)>) -> Chart {
        self.path("curve", series, points)
    }

    /// Adds a dashed series: values that were not measured here.
    pub fn reference(self, series: usize, points: impl Iterator<Item = (f64, f64)>) -> Chart {
        self.path("curve dashed", series, points)
    }

    fn path(
        mut self,
        class: &str,
        series: usize,
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
            "<path class=\"{class}\" style=\"{}\" d=\"{path}\"/>\n",
            colour(series)
        ));
        self
    }

    /// Dots at points, for curves with only some known points.
    pub fn points(mut self, series: usize, points: impl Iterator<Item = (f64, f64)>) -> Chart {
        for (x, y) in points.filter(|point| !point.1.is_nan()) {
            let (x, y) = (self.x_at(x), self.y_at(y));
            self.put(format_args!(
                "<circle class=\"point\" style=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>\n",
                colour(series)
            ));
        }
        self
    }

    /// The name of a series; the legend grows from the right.
    pub fn named(mut self, series: usize, name: &str) -> Chart {
        self.legend -= 26.0 + LETTER * name.chars().count() as f64;
        let at = self.legend;
        self.put(format_args!(
            "<line class=\"curve\" style=\"{}\" x1=\"{at:.1}\" x2=\"{:.1}\" y1=\"12\" y2=\"12\"/>\
             <text x=\"{:.1}\" y=\"16\">{}</text>\n",
            colour(series),
            at + 14.0,
            at + 18.0,
            escape(name)
        ));
        self
    }

    /// A column from one value to another, as high as a third.
    pub fn column(mut self, series: usize, (from, to): (f64, f64), value: f64) -> Chart {
        let (left, right, top) = (self.x_at(from), self.x_at(to), self.y_at(value));
        let height = (self.bottom() - top).max(0.0);
        self.put(format_args!(
            "<rect class=\"column\" style=\"{}\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{height:.2}\"/>\n",
            colour(series),
            (right - left).max(0.5),
        ));
        self
    }

    /// A vertical mark with a label, in the row `row` from above.
    pub fn mark(mut self, x: f64, word: &str, row: u32) -> Chart {
        let (at, bottom) = (self.x_at(x), self.bottom());
        let y = TOP + 12.0 + 14.0 * f64::from(row);
        // Near the right end there is room for the word only on the other side.
        let (side, anchor) = if at < 0.8 * self.size.width {
            (4.0, "start")
        } else {
            (-4.0, "end")
        };
        self.put(format_args!(
            "<line class=\"limit\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text class=\"word\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
            at + side,
            escape(word)
        ));
        self
    }

    /// The finished image, with words below the horizontal axis.
    pub fn finish(mut self, below: &str) -> String {
        let middle = (LEFT + self.size.width - RIGHT) / 2.0;
        let y = self.size.height - 6.0;
        self.put(format_args!(
            "<text class=\"x\" x=\"{middle}\" y=\"{y}\">{}</text>\n</svg>\n",
            escape(below)
        ));
        self.svg
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.svg.write_fmt(text).expect("a string takes all");
    }

    fn bottom(&self) -> f64 {
        self.size.height - BOTTOM
    }

    fn x_at(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (self.size.width - LEFT - RIGHT)
    }

    fn y_at(&self, value: f64) -> f64 {
        self.bottom() - self.y.place(value) * (self.bottom() - TOP)
    }
}

/// Names of series that several charts have in common, in a strip.
pub struct Legend(Vec<String>);

impl Legend {
    /// Height of the strip.
    pub const HEIGHT: f64 = 34.0;

    /// A legend of the series 0, 1, ...
    pub fn of<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Legend {
        Legend(names.into_iter().map(Into::into).collect())
    }

    /// The strip, so wide.
    pub fn draw(&self, width: f64) -> String {
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {width} {}\">\n",
            Self::HEIGHT
        );
        let step = (width - LEFT - RIGHT) / self.0.len().max(1) as f64;
        for (series, name) in self.0.iter().enumerate() {
            let x = LEFT + series as f64 * step;
            writeln!(
                svg,
                "<rect class=\"column\" style=\"{}\" x=\"{x:.1}\" y=\"12\" width=\"12\" height=\"12\"/>\
                 <text x=\"{:.1}\" y=\"22\">{}</text>",
                colour(series),
                x + 16.0,
                escape(name)
            )
            .expect("a string takes all");
        }
        svg + "</svg>\n"
    }
}

/// The colour of a series, as the style of an element.
pub(crate) fn colour(series: usize) -> String {
    format!("--series:var(--s{})", series % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        width: 400.0,
        height: 260.0,
    };

    fn chart() -> Chart {
        let axis = Axis::Linear(0.0, 10.0);
        Chart::new("a < b", SIZE, axis, (axis, &|value| value.to_string()))
    }

    #[test]
    fn text_is_no_markup() {
        let svg = chart().named(0, "<script>").finish("x & y");
        assert!(svg.contains("a &lt; b") && svg.contains("x &amp; y"));
        assert!(!svg.contains("<script>"), "{svg}");
    }

    #[test]
    fn a_curve_is_interrupted_where_nothing_is_known() {
        let points = [(0.0, 0.0), (5.0, f64::NAN), (10.0, 10.0)];
        let svg = chart().curve(0, points.into_iter()).finish("");
        // From the lower left corner of the drawing, and again at the upper right one.
        assert!(svg.contains("d=\"M76.0 218.0M366.0 28.0\""), "{svg}");
    }
}
