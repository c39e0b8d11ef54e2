//! Charts and pages of benchmarks and simulations, in the look of the profiler's report.
//!
//! A [`chart::Chart`] is an SVG image that takes its colours from a style sheet, so one image serves a light page and
//! a dark one. [`rows`] compare numbers. A [`page`] holds charts and tables, and is one file that needs nothing else.
//!
//! ```
//! use evenkeel_charts::page;
//!
//! let table = page::table(["schedule", "p99"], &[["fifo", "12 ms"], ["ldsf", "7 ms"]]);
//! let html = page::document("Schedules", &table);
//! assert!(html.contains(">7 ms</td>") && !html.contains("http"));
//! ```
//!
//! Nothing here knows what is drawn: `evenkeel-drive`, `evenkeel-simulate` and `evenkeel-experiments` pass series, labels and units.

pub mod axis;
pub mod chart;
pub mod grid;
pub mod page;
pub mod rows;

/// Text as it stands between tags and in attributes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
