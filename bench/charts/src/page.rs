//! A page: charts and tables in one HTML file, or charts alone in one SVG image.

use std::fmt::Write;

use crate::chart::{Legend, Size, colour};
use crate::escape;

/// Styles of charts, in addition to the report's.
const CHART_STYLE: &str = include_str!("../assets/chart.css");

/// A page of this title, with `body` below it.
pub fn document(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{}{CHART_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}\
         </main>\n</body>\n</html>\n",
        evenkeel_report::html::STYLE
    )
}

/// Charts beside each other where there is room.
pub fn columns(charts: &[String]) -> String {
    format!("<div class=\"columns wide\">\n{}</div>\n", charts.concat())
}

/// A table: a row of headings and rows of cells, the first of each to the left and the others, numbers, to the right.
pub fn table<C: AsRef<str>, R: AsRef<[C]>>(headings: R, rows: &[R]) -> String {
    let mut html = "<div class=\"scroll\"><table class=\"numbers\">\n".to_owned();
    let cells = |row: &R, tag: &str| -> String {
        let cell = |(at, cell): (usize, &C)| {
            let class = if at == 0 { "" } else { " class=\"num\"" };
            format!("<{tag}{class}>{}</{tag}>", escape(cell.as_ref()))
        };
        row.as_ref().iter().enumerate().map(cell).collect()
    };
    writeln!(
        html,
        "<thead><tr>{}</tr></thead><tbody>",
        cells(&headings, "th")
    )
    .expect("a string takes all");
    for row in rows {
        writeln!(html, "<tr>{}</tr>", cells(row, "td")).expect("a string takes all");
    }
    html + "</tbody></table></div>\n"
}

/// A few words in the colour of a series.
pub fn badge(words: &str, series: usize) -> String {
    let (style, words) = (colour(series), escape(words));
    format!("<span class=\"badge\" style=\"{style}\">{words}</span>")
}

/// The names of the series 0, 1, ... above a chart that has them.
pub fn legend(names: impl Iterator<Item = String>) -> String {
    let names = names.enumerate().map(|(series, name)| {
        format!(
            "<span><span class=\"swatch\" style=\"{};background:var(--series)\"></span>{}</span>",
            colour(series),
            escape(&name)
        )
    });
    format!(
        "<div class=\"legend\">{}</div>\n",
        names.collect::<String>()
    )
}

/// Charts of one size as one image, two in a row, below a legend.
pub fn image(legend: &Legend, charts: &[String], size: Size) -> String {
    let rows = charts.len().div_ceil(2);
    let width = 2.0 * size.width;
    let height = Legend::HEIGHT + rows as f64 * size.height;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\">\n<style>{CHART_STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
    );
    nest(
        &mut svg,
        &legend.draw(width),
        (0.0, 0.0),
        (width, Legend::HEIGHT),
    );
    for (at, chart) in charts.iter().enumerate() {
        let x = (at % 2) as f64 * size.width;
        let y = Legend::HEIGHT + (at / 2) as f64 * size.height;
        nest(&mut svg, chart, (x, y), (size.width, size.height));
    }
    svg + "</svg>\n"
}

/// Puts an image into another. Its class goes, since a style's width would be stronger than an attribute's; what is inside is
/// still below the class of the outer one.
fn nest(svg: &mut String, image: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
    *svg += &image.replacen("class=\"chart\"", &place, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_cell_for_each_word() {
        let html = table(["name", "mean"], &[["a < b", "1"], ["c", "2"]]);
        assert_eq!(
            (html.matches("<th").count(), html.matches("<td").count()),
            (3, 4)
        );
        assert!(
            html.contains("<td>a &lt; b</td><td class=\"num\">1</td>"),
            "{html}"
        );
    }

    #[test]
    fn words_of_series_are_no_markup() {
        let html = badge("a < b", 3) + &legend(["<x>".to_owned()].into_iter());
        assert!(html.contains("--s3") && html.contains("a &lt; b"), "{html}");
        assert!(
            html.contains("--s0") && html.contains("&lt;x&gt;"),
            "{html}"
        );
    }

    #[test]
    fn an_image_holds_its_charts_beside_each_other() {
        let size = Size {
            width: 100.0,
            height: 50.0,
        };
        let legend = Legend::of(["a", "b"]);
        let charts =
            ["one", "two", "three"].map(|word| format!("<svg class=\"chart\">{word}</svg>"));
        let svg = image(&legend, &charts, size);
        assert_eq!(svg.matches("<svg").count(), 5);
        for place in ["x=\"100\" y=\"34\"", "x=\"0\" y=\"84\""] {
            assert!(svg.contains(place), "{svg}");
        }
        assert_eq!(svg.matches("class=\"chart\"").count(), 1, "{svg}");
    }
}
