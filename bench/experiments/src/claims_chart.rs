//! A result's claims drawn one below the other: the paper's number, and ours with its interval, on one logarithmic scale.

use std::fmt::Write;

use crate::chart::escaped;
use crate::document::short;
use crate::verdict::Claim;

const WIDTH: f64 = 640.0;
const LABELS: f64 = 270.0;
const RIGHT: f64 = 16.0;
const ROW: f64 = 22.0;
const FOOT: f64 = 24.0;
const OURS: &str = "#0072b2";
const PAPERS: &str = "#d55e00";
/// Room at both ends of the scale.
const MARGIN: f64 = 1.15;

/// The drawing; empty without a claim that has a place on a logarithmic scale.
#[must_use]
pub fn svg(claims: &[Claim]) -> String {
    let drawn: Vec<&Claim> = claims
        .iter()
        .filter(|claim| claim.paper > 0.0 && claim.found > 0.0)
        .collect();
    if drawn.is_empty() {
        return String::new();
    }
    // An interval that reaches zero ends at the scale's end.
    let numbers = drawn
        .iter()
        .flat_map(|claim| [claim.paper, claim.found, claim.low, claim.high])
        .filter(|number| *number > 0.0);
    let least = numbers.clone().fold(f64::INFINITY, f64::min) / MARGIN;
    let greatest = numbers.fold(0.0, f64::max) * MARGIN;
    let column = |value: f64| {
        let part = (value.max(least) / least).ln() / (greatest / least).ln();
        LABELS + part * (WIDTH - LABELS - RIGHT)
    };
    let height = ROW * drawn.len() as f64 + FOOT;
    let mut text = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">");
    if (least..greatest).contains(&1.0) {
        let at = column(1.0);
        put(
            &mut text,
            format_args!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{:.1}\" class=\"grid\"/>",
                height - FOOT
            ),
        );
    }
    for (row, claim) in drawn.iter().enumerate() {
        let middle = ROW * (row as f64 + 0.5);
        put(
            &mut text,
            format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
                 <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"{OURS}\" stroke-width=\"2\"/>\
                 <circle cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"4\" fill=\"{OURS}\"/>\
                 <circle cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"5\" fill=\"none\" stroke=\"{PAPERS}\" stroke-width=\"2\"/>",
                LABELS - 10.0,
                middle + 4.0,
                escaped(&claim.what),
                column(claim.low),
                column(claim.high),
                column(claim.found),
                column(claim.paper),
            ),
        );
    }
    for value in [least * MARGIN, 1.0, greatest / MARGIN] {
        if (least..greatest).contains(&value) {
            put(
                &mut text,
                format_args!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    column(value),
                    height - 8.0,
                    short(value)
                ),
            );
        }
    }
    put(
        &mut text,
        format_args!(
            "<text x=\"4\" y=\"{:.1}\"><tspan fill=\"{OURS}\">● here</tspan> <tspan fill=\"{PAPERS}\">○ paper</tspan></text></svg>",
            height - 8.0
        ),
    );
    text
}

fn put(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_has_a_row_with_both_numbers() {
        let claims = [
            Claim::factor("FIFO over <VATS>", 6.3, 2.0, [1.5, 2.5]),
            Claim::factor("p99", 2.0, 1.0, [0.0, 2.0]),
        ];
        let text = svg(&claims);
        assert_eq!(text.matches("<circle").count(), 4);
        assert!(
            text.contains("&lt;VATS&gt;") && !text.contains("NaN"),
            "{text}"
        );
        assert!(!text.contains("inf"), "{text}");
    }

    #[test]
    fn nothing_is_drawn_of_what_was_not_measured() {
        assert_eq!(svg(&[]), "");
        assert_eq!(svg(&[Claim::at_most("size", 0.3, 0.0)]), "");
    }
}
