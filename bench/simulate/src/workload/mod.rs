//! Transactions: lists of locks and of work after each grant.
//!
//! Transaction number `n` depends on the seed and on `n` (and in a closed loop on its client) alone, so every
//! schedule meets the same transactions.

mod drawn;
mod tpcc;

pub use drawn::{Class, Drawn, LockOrder};
pub use tpcc::Tpcc;

use evenkeel_locks::Mode;

use crate::Error;
use drawn::DrawnMaker;
use tpcc::TpccMaker;

/// A step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object locked. In drawn workloads its number is its rank: 0 is the hottest.
    pub object: u32,
    /// In this mode.
    pub mode: Mode,
    /// Ticks of work between the grant and the next step, or the end.
    pub work: u64,
}

/// A transaction given by hand, or replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// When it arrives, in ticks.
    pub at: u64,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its class, for hLDSF's estimates.
    pub class: u32,
}

/// Kinds of transactions.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Drawn.
    Drawn(Drawn),
    /// The locks of TPC-C.
    Tpcc(Tpcc),
    /// Exactly these, by time of arrival.
    Listed(Vec<Listed>),
}

impl Workload {
    /// The names of the classes; none if transactions are listed.
    pub(crate) fn class_names(&self) -> Vec<&'static str> {
        match self {
            Workload::Drawn(drawn) => drawn.classes.iter().map(|class| class.name).collect(),
            Workload::Tpcc(_) => Tpcc::CLASSES.map(|(name, _)| name).to_vec(),
            Workload::Listed(_) => Vec::new(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Workload::Drawn(drawn) => drawn.check(),
            Workload::Tpcc(tpcc) => tpcc.check(),
            Workload::Listed(listed) if listed.iter().any(|txn| txn.steps.is_empty()) => {
                Err(Error::setting("a listed transaction has no step"))
            }
            Workload::Listed(listed) if !listed.is_sorted_by_key(|txn| txn.at) => Err(
                Error::setting("listed transactions must be in the order of their arrival"),
            ),
            Workload::Listed(_) => Ok(()),
        }
    }
}

/// Makes the transactions of a workload.
pub(crate) enum Maker<'a> {
    Drawn(DrawnMaker<'a>),
    Tpcc(TpccMaker<'a>),
    Listed(&'a [Listed]),
}

impl<'a> Maker<'a> {
    pub(crate) fn new(workload: &'a Workload, seed: u64) -> Maker<'a> {
        match workload {
            Workload::Drawn(drawn) => Maker::Drawn(DrawnMaker::new(drawn, seed)),
            Workload::Tpcc(tpcc) => Maker::Tpcc(TpccMaker::new(tpcc, seed)),
            Workload::Listed(listed) => Maker::Listed(listed),
        }
    }

    /// Puts what transaction `number` does into `steps`; returns its class. `client` issues it in a closed loop.
    pub(crate) fn make(&self, number: u64, client: Option<u32>, steps: &mut Vec<Step>) -> u32 {
        match self {
            Maker::Drawn(maker) => maker.make(number, steps),
            Maker::Tpcc(maker) => maker.make(number, client, steps),
            Maker::Listed(listed) => {
                let txn = &listed[number as usize];
                steps.clone_from(&txn.steps);
                txn.class
            }
        }
    }
}
