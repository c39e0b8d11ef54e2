//! Reasons for caution with a profile of distributed traces.

use serde::{Deserialize, Serialize};

/// A reason for caution with a profile of spans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SpansWarning {
    /// A defect of the traces, and how often it was met.
    Defects(SpansDefect, u64),
    /// The clock of a host or service was corrected.
    HostClock {
        /// Its name.
        clock: String,
        /// The clock that it is compared with.
        by: String,
        /// Correction that was added to its times, ns: negative if it is ahead.
        correction_ns: i64,
        /// Calls between the two.
        calls: u64,
        /// Calls whose callee was not within its caller.
        broken: u64,
        /// Many calls stay so with the correction: several clocks have this name.
        is_several: bool,
    },
    /// The clock of a profiled process was corrected.
    ProcessClock {
        /// The process.
        process: String,
        /// Correction that was added to its times, ns: negative if it is ahead.
        correction_ns: i64,
        /// Intervals that were compared with their spans.
        intervals: u64,
        /// Intervals of which neither contains the other.
        broken: u64,
    },
    /// No interval of a profiled process belongs to a span on a critical path.
    NothingJoined(String),
    /// Intervals of a profiled process belong to spans that are on no critical path.
    OffPath {
        /// The process.
        process: String,
        /// How many.
        intervals: u64,
    },
    /// Intervals of a profiled process name spans that are missing.
    SpanMissing {
        /// The process.
        process: String,
        /// How many.
        intervals: u64,
    },
    /// Numbers are left out of the names of operations.
    NumbersLeftOut {
        /// The services, as many as are named.
        services: Vec<String>,
        /// How many services there are besides.
        more: usize,
        /// Operations of a service from which on numbers are left out.
        names_max: usize,
    },
    /// Spans count as their service's other operations.
    OtherOperations {
        /// Number of spans.
        spans: u64,
        /// The services, as many as are named.
        services: Vec<String>,
        /// How many services there are besides.
        more: usize,
    },
}

/// What is wrong with documents, spans, traces or requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpansDefect {
    /// Documents are damaged, or of no known format.
    Damaged,
    /// Lists of spans are in Zipkin's JSON.
    Zipkin,
    /// Spans have no valid time.
    InvalidTime,
    /// Spans have an invalid trace id or span id.
    WrongIds,
    /// Spans have their ids in base64.
    Base64Ids,
    /// Spans came more than once.
    Duplicates,
    /// Spans came after their trace had been dealt with.
    Late,
    /// Traces have no root.
    Rootless,
    /// Requests were begun by a caller that is not recorded.
    RemoteRoots,
    /// Spans have a missing parent.
    Orphans,
    /// Spans call themselves in a circle.
    Cycles,
    /// Requests have no interval for an operation that is split into functions.
    NotJoined,
    /// Requests take longer than a record can hold.
    TooLong,
}
