//! What there is.

/// All names.
pub const NAMES: [&str; 13] = [
    "tpcc", "htap", "tatp", "seats", "epinions", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e",
    "ycsb-f", "sysbench", "micro",
];
