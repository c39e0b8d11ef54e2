//! The core workloads as mixes of operations.

use crate::interface::TransactionType;

/// A core workload.
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
    pub(super) fn mix(self) -> [(OperationKind, f64); 2] {
        match self {
            Core::A => [(OperationKind::Read, 50.0), (OperationKind::Update, 50.0)],
            Core::B => [(OperationKind::Read, 95.0), (OperationKind::Update, 5.0)],
            Core::C => [(OperationKind::Read, 100.0), (OperationKind::Update, 0.0)],
            Core::D => [(OperationKind::Read, 95.0), (OperationKind::Insert, 5.0)],
            Core::E => [(OperationKind::Scan, 95.0), (OperationKind::Insert, 5.0)],
            Core::F => [
                (OperationKind::Read, 50.0),
                (OperationKind::ReadModifyWrite, 50.0),
            ],
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
pub(super) enum OperationKind {
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
            OperationKind::Read => ("read", true),
            OperationKind::Update => ("update", false),
            OperationKind::Insert => ("insert", false),
            OperationKind::Scan => ("scan", true),
            OperationKind::ReadModifyWrite => ("read_modify_write", false),
        };
        TransactionType::new(
            name,
            percent,
            read_only,
            kind != OperationKind::ReadModifyWrite,
        )
    };
    mix.map(describe).collect()
}
