//! A span as every format has it.

/// The role of a span towards its neighbours (OpenTelemetry's SpanKind).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// Work inside a service.
    #[default]
    Internal,
    /// A service answers a call.
    Server,
    /// A call to another service, or to a database.
    Client,
    /// A message is sent; nobody waits for what becomes of it.
    Producer,
    /// A message is taken up.
    Consumer,
}

/// A span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The trace it is of.
    pub trace: u128,
    /// Its own number; not 0.
    pub id: u64,
    /// The span that caused it; 0 for none.
    pub parent: u64,
    /// The operation: a number of `crate::names::Names`.
    pub operation: u32,
    /// The clock of its times: a number of `crate::names::Names`.
    pub clock: u32,
    /// Its role towards its neighbours.
    pub kind: SpanKind,
    /// Nanoseconds since 1970, by that clock.
    pub start_ns: u64,
    /// The end, on the same clock.
    pub end_ns: u64,
    /// It follows from its parent, which does not wait for it (OpenTracing's FOLLOWS_FROM).
    pub follows: bool,
    /// It failed.
    pub failed: bool,
}
