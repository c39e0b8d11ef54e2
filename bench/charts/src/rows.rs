//! Numbers with their intervals on one logarithmic scale, one row each, with the number that it is compared with.

use std::fmt::Write;

use crate::chart::colour;
use crate::escape;

const WIDTH: f64 = 640.0;
const LABELS: f64 = 270.0;
const RIGHT: f64 = 16.0;
const ROW: f64 = 22.0;
const FOOT: f64 = 24.0;
/// Letters of a label that there is room for.
const LABEL_MAX: usize = 42;
/// Room at both ends of the scale.
const MARGIN: f64 = 1.15;

/// A number and its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// The row's subject.
    pub label: &'a str,
    /// The number.
    pub value: f64,
    /// Ends of its interval.
    pub interval: [f64; 2],
    /// The reference.
    pub reference: f64,
}

/// From numbers to columns.
struct Scale {
    least: f64,
    greatest: f64,
}

impl Scale {
    fn of(rows: &[Row<'_>]) -> Scale {
        // An interval that reaches zero ends at the scale's end.
        let numbers = rows
            .iter()
            .flat_map(|row| [row.reference, row.value, row.interval[0], row.interval[1]])
            .filter(|number| *number > 0.0);
        Scale {
            least: numbers.clone().fold(f64::INFINITY, f64::min) / MARGIN,
            greatest: numbers.fold(0.0, f64::max) * MARGIN,
        }
    }

    fn holds(&self, value: f64) -> bool {
        (self.least..self.greatest).contains(&value)
    }

    fn column(&self, value: f64) -> f64 {
        let part = (value.max(self.least) / self.least).ln() / (self.greatest / self.least).ln();
        LABELS + part * (WIDTH - LABELS - RIGHT)
    }
}

/// The chart; empty without a row that has a place on a logarithmic scale. `names` are what the numbers and what they are compared
/// with are called, `label` writes values below.
pub fn svg(rows: &[Row<'_>], names: [&str; 2], label: &dyn Fn(f64) -> String) -> String {
    let has_place = |row: &&Row<'_>| row.reference > 0.0 && row.value > 0.0;
    let drawn: Vec<Row<'_>> = rows.iter().filter(has_place).copied().collect();
    if drawn.is_empty() {
        return String::new();
    }
    let scale = Scale::of(&drawn);
    let height = ROW * drawn.len() as f64 + FOOT;
    let (foot, own, other) = (height - 8.0, colour(0), colour(1));
    let mut text = format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n");
    if scale.holds(1.0) {
        let (at, bottom) = (scale.column(1.0), height - FOOT);
        put(
            &mut text,
            format_args!(
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom:.1}\"/>\n"
            ),
        );
    }
    for (number, row) in drawn.iter().enumerate() {
        let middle = ROW * (number as f64 + 0.5);
        put(
            &mut text,
            format_args!(
                "<text class=\"y\" x=\"{}\" y=\"{:.1}\"><title>{}</title>{}</text>\
                 <line class=\"curve\" style=\"{own}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>\
                 <circle class=\"point\" style=\"{own}\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"4\"/>\
                 <circle class=\"ring\" style=\"{other}\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"5\"/>\n",
                LABELS - 10.0,
                middle + 4.0,
                escape(row.label),
                escape(&shortened(row.label)),
                scale.column(row.interval[0]),
                scale.column(row.interval[1]),
                scale.column(row.value),
                scale.column(row.reference),
            ),
        );
    }
    for value in [scale.least * MARGIN, 1.0, scale.greatest / MARGIN] {
        if scale.holds(value) {
            let (at, label) = (scale.column(value), escape(&label(value)));
            put(
                &mut text,
                format_args!("<text class=\"x\" x=\"{at:.1}\" y=\"{foot:.1}\">{label}</text>"),
            );
        }
    }
    let names = names.map(escape);
    put(
        &mut text,
        format_args!(
            "<circle class=\"point\" style=\"{own}\" cx=\"10\" cy=\"{0:.1}\" r=\"4\"/>\
             <text x=\"18\" y=\"{foot:.1}\">{1}</text>\
             <circle class=\"ring\" style=\"{other}\" cx=\"90\" cy=\"{0:.1}\" r=\"5\"/>\
             <text x=\"100\" y=\"{foot:.1}\">{2}</text>\n</svg>\n",
            foot - 4.0,
            names[0],
            names[1]
        ),
    );
    text
}

/// A label that is too long for its room ends in an ellipsis; the whole one is shown where the pointer rests on it.
fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL_MAX {
        return label.to_owned();
    }
    let kept: String = label.chars().take(LABEL_MAX - 1).collect();
    kept.trim_end().to_owned() + "…"
}

fn put(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW_OF_P99: Row<'_> = Row {
        label: "p99 of <VATS>",
        value: 2.0,
        interval: [0.0, 2.5],
        reference: 6.3,
    };

    #[test]
    fn every_row_has_both_numbers() {
        let rows = [ROW_OF_P99, ROW_OF_P99];
        let text = svg(&rows, ["here", "paper"], &|value| value.to_string());
        assert_eq!(text.matches("r=\"4\"").count(), 3, "with the legend's");
        assert_eq!(text.matches("class=\"ring\"").count(), 3);
        assert!(text.contains("&lt;VATS&gt;"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn a_long_label_is_cut_and_whole_below_the_pointer() {
        let label = "throughput of sixteen readers over that of four, é";
        let row = Row {
            label,
            ..ROW_OF_P99
        };
        let text = svg(&[row], ["", ""], &|value| value.to_string());
        assert!(text.contains(&format!("<title>{label}</title>throughput of")));
        assert!(text.contains("…</text>"), "{text}");
    }

    #[test]
    fn nothing_is_drawn_of_what_was_not_measured() {
        let label = |value: f64| value.to_string();
        let unknown = Row {
            value: 0.0,
            ..ROW_OF_P99
        };
        assert_eq!(svg(&[unknown], ["", ""], &label), "");
    }
}
