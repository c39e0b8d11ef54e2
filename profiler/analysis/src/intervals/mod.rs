//! Intervals: threads' records assembled into them, and what labels them.

pub(crate) mod assembler;
pub(crate) mod attributes;
pub mod classes;
pub(crate) mod counts;
pub(crate) mod http;
pub(crate) mod interval;
pub(crate) mod pick;
pub(crate) mod roles;
pub(crate) mod sql;
pub(crate) mod switched_out;
pub(crate) mod thread_names;
pub mod trace_context;
