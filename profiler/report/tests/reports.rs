//! What is written of a profile, and of two that are compared: one program, since each takes long to build.

#[path = "reports/attributes.rs"]
mod attributes;
#[path = "reports/browser.rs"]
mod browser;
#[path = "reports/compare.rs"]
mod compare;
mod fixture;
#[path = "reports/html.rs"]
mod html;
#[path = "reports/json.rs"]
mod json;
#[path = "reports/terminal.rs"]
mod terminal;
#[path = "reports/waits.rs"]
mod waits;
#[path = "reports/words.rs"]
mod words;
