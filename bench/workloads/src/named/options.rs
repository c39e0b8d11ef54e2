//! Which options each workload has.

use super::NAMES;

/// An option of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionHelp {
    /// Its name.
    pub name: &'static str,
    /// Its effect.
    pub help: &'static str,
}

/// The options of the workload called `name`, none if there is no such workload.
pub fn options(name: &str) -> &'static [OptionHelp] {
    match name {
        "tpcc" | "htap" => &TPCC,
        "tatp" => &TATP,
        "seats" => &SEATS,
        "epinions" => &EPINIONS,
        "sysbench" => &SYSBENCH,
        "micro" => &MICRO,
        name if NAMES.contains(&name) => &YCSB,
        _ => &[],
    }
}

const fn option(name: &'static str, help: &'static str) -> OptionHelp {
    OptionHelp { name, help }
}

const TPCC: [OptionHelp; 2] = [
    option(
        "customers",
        "customers and initial orders of a district, 3000 unless scaled down",
    ),
    option(
        "items",
        "items, and stock rows of a warehouse, 100000 unless scaled down",
    ),
];
const TATP: [OptionHelp; 1] = [option(
    "subscribers",
    "subscribers, 100000 times the scale unless set",
)];
const SEATS: [OptionHelp; 3] = [
    option("customers", "customers, 100000 times the scale unless set"),
    option(
        "days",
        "days of flights to come, 50 times the scale unless set",
    ),
    option(
        "fewer-flights",
        "divides the 1125 to 1875 flights of a day, 1 unless scaled down",
    ),
];
const EPINIONS: [OptionHelp; 2] = [
    option("users", "users, 2000 times the scale unless set"),
    option("items", "items, 1000 times the scale unless set"),
];
const YCSB: [OptionHelp; 2] = [
    option(
        "records",
        "records of 1 kB, 100000 times the scale unless set",
    ),
    option("theta", "exponent of Zipf's law, 0.99 unless set"),
];
const SYSBENCH: [OptionHelp; 8] = [
    option("records", "rows, 10000 times the scale unless set"),
    option(
        "point-selects",
        "rows that a transaction reads by id, 10 unless set",
    ),
    option(
        "ranges",
        "ranges that it reads in each of four ways, 1 unless set",
    ),
    option("range-size", "rows of a range, 100 unless set"),
    option(
        "index-updates",
        "changes of the indexed column, 1 unless set",
    ),
    option("non-index-updates", "changes of the text, 1 unless set"),
    option(
        "delete-inserts",
        "rows deleted and inserted again, 1 unless set",
    ),
    option(
        "hot",
        "probability that an id is in the hundredth in the middle, 0.75 unless set",
    ),
];
const MICRO: [OptionHelp; 5] = [
    option("records", "records, 20000 times the scale unless set"),
    option("statements", "statements of a transaction, 5 unless set"),
    option("theta", "exponent of Zipf's law, 0.8 unless set"),
    option(
        "exclusive",
        "probability that a statement is an update, 0.6 unless set",
    ),
    option(
        "ordered",
        "true: a transaction's statements go by record, which avoids deadlocks",
    ),
];
