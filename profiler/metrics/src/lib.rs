//! The profile of each minute as metrics, for Prometheus, which fetches them, or for an OpenTelemetry Collector, to which they are sent.
//!
//! ```text
//! totals       minutes added up: counters over the session, gauges of the last minute
//! names        findings as label values, of which there are only so many
//! family       a metric with its points, whatever it is written as
//! prometheus   as Prometheus' text
//! serve        the text over HTTP
//! otlp         as OpenTelemetry's messages, and sent
//! ```

mod family;
mod names;
pub mod otlp;
mod prometheus;
mod serve;
mod totals;

pub use prometheus::text;
pub use serve::Server;
pub use totals::{Session, Totals};
