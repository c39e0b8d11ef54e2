//! A variance profile as people and programs read it.
//!
//! One [`Profile`](evenkeel_analysis::profile::Profile) goes in, text comes out; nothing here measures, reads a file
//! or asks the terminal anything. Each format has a module: [`terminal`], [`html`], [`json`]. [`compare`] compares
//! two profiles in all three. Shared modules are [`units`] (numbers), [`fit`] (text into columns), [`names`] (long
//! functions' names) and [`paths`] (call paths of the tree). [`words`] describes factors, and [`findings`] describes
//! findings. Knowledge about servers, which findings cite, is data: [`advice`] reads `advice/*.toml`.
//!
//! ```
//! use evenkeel_analysis::profile::Profile;
//! use evenkeel_report::terminal::{self, Style};
//! use evenkeel_report::{html, json};
//!
//! let profile = Profile { interval: "request".into(), intervals: 1000, ..Profile::default() };
//! assert!(terminal::render(&profile, &Style::default()).contains("request"));
//! assert!(html::render(&profile).starts_with("<!doctype html>"));
//! assert!(json::profile(&profile).contains("\"intervals\": 1000"));
//! ```

pub mod advice;
pub mod chains;
pub mod compare;
pub mod findings;
pub mod fit;
pub mod html;
pub mod json;
pub mod messages;
pub mod names;
pub mod paths;
pub mod terminal;
pub mod units;
pub mod words;
