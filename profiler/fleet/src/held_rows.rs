//! Rows that are kept, and the memory that they take.

use std::collections::HashSet;

use datafusion::arrow::array::{Array, ArrayData, RecordBatch};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;

/// Rows in memory that is counted.
#[derive(Default)]
pub(crate) struct HeldRows {
    rows: Vec<RecordBatch>,
    /// Where the buffers are that were counted. The engine cuts what it made at once into batches, which have their buffers in common.
    counted: HashSet<usize>,
}

impl HeldRows {
    /// Keeps some more.
    ///
    /// # Errors
    /// Memory does not hold them.
    pub(crate) fn push(
        &mut self,
        rows: RecordBatch,
        memory: &MemoryReservation,
    ) -> Result<(), DataFusionError> {
        let mut bytes = 0;
        for column in rows.columns() {
            self.count(&column.to_data(), &mut bytes);
        }
        memory.try_grow(bytes)?;
        self.rows.push(rows);
        Ok(())
    }

    /// All of them.
    pub(crate) fn into_rows(self) -> Vec<RecordBatch> {
        self.rows
    }

    fn count(&mut self, data: &ArrayData, bytes: &mut usize) {
        let nulls = data.nulls().map(|nulls| nulls.buffer());
        for buffer in data.buffers().iter().chain(nulls) {
            if self.counted.insert(buffer.data_ptr().addr().get()) {
                *bytes += buffer.capacity();
            }
        }
        for child in data.child_data() {
            self.count(child, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, StringArray};
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;

    #[test]
    fn shared_memory_of_batches_counts_once() {
        let names: StringArray = (0..4096).map(|n| Some(format!("name {n}"))).collect();
        let whole = RecordBatch::try_from_iter([("name", Arc::new(names) as ArrayRef)]).unwrap();
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(150_000));
        let memory = MemoryConsumer::new("it").register(&pool);
        let mut kept = HeldRows::default();
        for at in (0..4096).step_by(256) {
            kept.push(whole.slice(at, 256), &memory).unwrap();
        }
        assert_eq!(
            kept.rows.iter().map(RecordBatch::num_rows).sum::<usize>(),
            4096
        );
        let bytes = memory.size();
        assert!((50_000..120_000).contains(&bytes), "{bytes}");
        let other: StringArray = (0..4096).map(|n| Some(format!("other {n}"))).collect();
        let other = RecordBatch::try_from_iter([("name", Arc::new(other) as ArrayRef)]).unwrap();
        assert!(kept.push(other, &memory).is_err());
        assert_eq!(memory.size(), bytes);
    }
}
