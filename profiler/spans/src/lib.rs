//! Variance across services: the spans of distributed traces as intervals of a profile.
//!
//! ```text
//! files, OTLP over HTTP > [read]: spans > [traces]: one trace each > [clocks]: hosts' clocks brought together
//!   > [tree]: who called whom > [critical]: the request's critical path > [join]: functions of profiled processes in it
//!   > records, as a profiled process would write them
//! ```
//! One request (the root span of a trace) is one interval; its class is the operation it asks for. Its critical path through the spans is
//! nested calls, without gap or overlap, so it is written in the records that the agent writes for a thread, and everything behind that
//! is as ever: recordings, tree, shares, factors, findings, tails, comparisons. A "function" is an operation of a service,
//! `cart: GET /cart`, and a "call site" one operation that calls another.
//!
//! No bad input stops anything: what cannot be used is counted ([`Counts`]) and reported, and the rest is analysed.

mod clocks;
pub mod convert;
mod counts;
pub mod critical;
pub mod join;
mod names;
pub mod read;
pub mod receive;
mod span;
mod traces;
pub mod tree;

pub use convert::{Converter, Request};
pub use counts::Counts;
pub use span::{Span, SpanKind};
pub use traces::Traces;
