//! The core workloads as mixes of operations.

use crate::interface::TransactionType;

/// One of the core workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// Update heavy.
    A,
    /// Read mostly.
    B,
    /// Read only.
    C,
    /// Read latest.
    D,
    /// Short ranges.
    E,
    /// Read-modify-write.
    F,
}

impl Core {
    /// Its operations with their percentages.
    pub(super) fn mix(self) -> [(Kind, f64); 2] {
        match self {
            Core::A => [(Kind::Read, 50.0), (Kind::Update, 50.0)],
            Core::B => [(Kind::Read, 95.0), (Kind::Update, 5.0)],
            Core::C => [(Kind::Read, 100.0), (Kind::Update, 0.0)],
            Core::D => [(Kind::Read, 95.0), (Kind::Insert, 5.0)],
            Core::E => [(Kind::Scan, 95.0), (Kind::Insert, 5.0)],
            Core::F => [(Kind::Read, 50.0), (Kind::ReadModifyWrite, 50.0)],
        }
    }

    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Core::A => "ycsb-a",
            Core::B => "ycsb-b",
            Core::C => "ycsb-c",
            Core::D => "ycsb-d",
            Core::E => "ycsb-e",
            Core::F => "ycsb-f",
        }
    }
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// The operations of a core workload as transaction types, in the order of its mix.
pub(super) fn transaction_types(core: Core) -> Vec<TransactionType> {
    let mix = core.mix().into_iter().filter(|(_, percent)| *percent > 0.0);
    let describe = |(kind, percent)| {
        let (name, read_only) = match kind {
            Kind::Read => ("read", true),
            Kind::Update => ("update", false),
            Kind::Insert => ("insert", false),
            Kind::Scan => ("scan", true),
            Kind::ReadModifyWrite => ("read_modify_write", false),
        };
        TransactionType {
            name,
            fraction: percent / 100.0,
            read_only,
            single_statement: kind != Kind::ReadModifyWrite,
            keying_ns: 0,
            think_mean_ns: 0,
        }
    };
    mix.map(describe).collect()
}
