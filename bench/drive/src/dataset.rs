//! The parts of a workload that a target must know: tables, initial rows and statements.

use evenkeel_workloads::interface::{Batch, Partition, Schema, Statement, TransactionType};

/// The data and the statements of a workload.
pub trait Dataset: Send + Sync {
    /// The workload's name on the command line.
    fn name(&self) -> &'static str;
    /// Its scale and options for the report.
    fn options(&self) -> Vec<(&'static str, String)>;
    /// Its tables.
    fn schema(&self) -> &Schema;
    /// Its statements.
    fn statements(&self) -> &[Statement];
    /// Its transaction types.
    fn transactions(&self) -> &[TransactionType];
    /// The parts of the initial data.
    fn partitions(&self) -> Vec<Partition>;
    /// The rows of one part.
    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_>;
}
