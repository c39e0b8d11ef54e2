//! Tests of the whole crate, with answers worked out by hand, and properties of random traces.

mod callers;
mod combine;
mod critical;
mod findings;
mod joint;
mod known;
mod minutes;
mod properties;
mod ranking;
mod rounds;
mod sampling;
mod stream;
mod trace;
