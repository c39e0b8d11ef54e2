//! Several recordings, sums by minute, and intervals handed on one by one.

pub mod joint;
pub mod minutes;
pub mod observed;
