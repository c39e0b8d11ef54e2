//! What the driver knows of a kind of transactions.

/// A type of transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionType {
    /// Its name in reports, such as `new_order`.
    pub name: &'static str,
    /// Its share of the mix; the shares of a workload add up to 1.
    pub fraction: f64,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether it is exactly one statement, which a target may run with autocommit.
    pub single_statement: bool,
    /// Time a user takes to key in the input, before it; for closed loops with think times. In nanoseconds.
    pub keying_ns: u64,
    /// Mean of the exponentially distributed think time after it, in nanoseconds; draws are capped at ten
    /// times the mean.
    pub think_mean_ns: u64,
}
