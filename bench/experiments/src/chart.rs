//! A figure, and a result's claims, as charts.

use evenkeel_charts::axis::Axis;
use evenkeel_charts::chart::{Chart, Size};
use evenkeel_charts::page;
use evenkeel_charts::rows::{self, Row};

use crate::document::short;
use crate::experiment::Figure;
use crate::verdict::Claim;

const SIZE: Size = Size {
    width: 560.0,
    height: 300.0,
};

/// The lines of a figure below their names, the paper's dashed; empty without a point.
pub fn of_figure(figure: &Figure) -> String {
    let points = || figure.lines.iter().flat_map(|line| &line.points);
    if points().next().is_none() {
        return String::new();
    }
    let values = || points().map(|&(_, y, _)| y);
    let y = if values().any(|y| y < 0.0) {
        Axis::between(values())
    } else if figure.logarithmic && values().all(|y| y > 0.0) {
        Axis::decades(values())
    } else {
        Axis::from_zero(values())
    };
    let x = Axis::between(points().map(|&(x, ..)| x));
    let mut chart = Chart::new(&figure.y, SIZE, x, (y, &short)).ticks(&short);
    for (series, line) in figure.lines.iter().enumerate() {
        let points = || line.points.iter().map(|&(x, y, _)| (x, y));
        chart = match line.papers {
            true => chart.reference(series, points()),
            false => chart.curve(series, points()),
        };
        chart = chart.points(series, points());
    }
    let names = figure.lines.iter().map(|line| match line.papers {
        true => format!("{} (paper)", line.name),
        false => line.name.clone(),
    });
    page::legend(names) + &chart.finish(&figure.x)
}

/// The claims one below the other: the paper's number, and ours with its interval.
pub fn of_claims(claims: &[Claim]) -> String {
    let rows: Vec<Row<'_>> = claims
        .iter()
        .map(|claim| Row {
            label: &claim.what,
            value: claim.found,
            interval: [claim.low, claim.high],
            reference: claim.paper,
        })
        .collect();
    rows::svg(&rows, ["here", "paper"], &short)
}

#[cfg(test)]
mod tests {
    use crate::experiment::Series;

    use super::*;

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
        let text = of_figure(&figure);
        assert_eq!(text.matches("<path").count(), 2);
        assert_eq!(text.matches("class=\"curve dashed\"").count(), 1);
        assert!(
            text.contains("ldsf (paper)") && text.contains("a &lt; b"),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_drawn_of_no_points() {
        let figure = Figure {
            x: String::new(),
            y: String::new(),
            logarithmic: true,
            lines: Vec::new(),
        };
        assert_eq!((of_figure(&figure), of_claims(&[])), Default::default());
    }
}
