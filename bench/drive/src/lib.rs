//! Open- and closed-loop load on the embedded store, PostgreSQL, MariaDB and SQLite.
//!
//! ```text
//! benchmark, comparison   one benchmark, or several configurations round by round: settings in, reports out
//!  ├─ settings               what a benchmark is made of
//!  ├─ catalogue, workload    workloads by name, without their types; dataset: what a target must know of one
//!  ├─ testbed                a target with a workload's data and clients connected
//!  │   ├─ target                 embedded store, PostgreSQL, MariaDB, SQLite: loading, connections, statements
//!  │   └─ run                    clients under load, from the warm-up to the last transaction
//!  │       ├─ arrivals, admission    the open loop: when transactions are due, and which are rejected
//!  │       ├─ transaction            one transaction with its retries
//!  │       ├─ round_trip, delay      the client's time between the statements of a transaction
//!  │       └─ metrics, sums, in_flight   samples in, statistics out; no clock, no threads
//!  ├─ grants                 age and remaining time at lock grants, on the embedded store
//!  ├─ paired                 intervals of paired rounds, and what is told apart
//!  └─ report, compare, table, page, raw   the result as JSON, table, HTML page, CSV
//! ```
//!
//! **What latency is.** In an open loop it counts from the moment a transaction was *scheduled* to start. So a
//! stalled target cannot hide its stall by delaying the driver ("coordinated omission"). It is the sum of *queueing*,
//! from the schedule until a client is free, and *service*, from then to the end. Service includes retries and their
//! back-off.
//!
//! **What is measured** are the transactions scheduled in the window after the warm-up, wherever they end. Those of
//! the warm-up that are still queueing when the window begins are counted, as are those rejected, not served in time,
//! or given up.

mod admission;
pub mod arrivals;
mod benchmark;
pub mod catalogue;
pub mod client;
mod clock;
pub mod compare;
mod comparison;
pub mod dataset;
pub mod delay;
mod error;
pub mod formats;
mod grants;
mod in_flight;
pub mod metrics;
pub mod page;
pub mod paired;
pub mod progress;
mod raw;
pub mod report;
mod round_trip;
pub mod run;
pub mod sample;
pub mod settings;
mod sums;
pub mod table;
pub mod target;
pub mod testbed;
mod transaction;
pub mod window;
pub mod workload;

pub use benchmark::{Beside, Recorded, Watcher, benchmark, set};
pub use comparison::{Comparison, RoundLoad, compare, drawn_order, measure};
pub use error::Error;
pub use settings::BenchmarkSettings;
