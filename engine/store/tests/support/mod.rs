//! Stores on the fault-injecting disk, small enough that every kind of page change happens soon.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::Arc;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{
    ColumnType, Isolation, Schema, Settings, Store, StoreError, Transaction, TransactionOptions,
};

/// Settings without threads, with the smallest pages and few of them in memory.
pub fn small_settings(streams: usize) -> Settings {
    let mut settings = Settings::default().without_threads();
    settings.pool.page_bytes = 4096;
    settings.pool.frames = 24;
    settings.log.block_bytes = 512;
    settings.log.segment_bytes = 64 << 10;
    settings.log_streams = streams;
    settings
}

/// Opens the store on `disk` with this many log streams.
pub fn open(disk: &FaultDisk, settings: Settings) -> Result<Store, StoreError> {
    let root = disk.root();
    let directory = |stream| root.subdirectory(&format!("log-{stream}"));
    let directories = (0..settings.log_streams)
        .map(directory)
        .collect::<std::io::Result<Vec<_>>>();
    let directories = directories.map_err(|cause| StoreError::Io {
        doing: "opening a log directory",
        cause: Arc::new(cause),
    })?;
    Store::open_on(root, directories, settings)
}

/// A table of numbered rows in groups, with an index on the group.
pub fn grouped_rows() -> Schema {
    Schema::new("rows")
        .column("id", ColumnType::Int)
        .column("group", ColumnType::Int)
        .primary_key(["id"])
        .index("by_group", ["group"])
}

/// Begins a transaction that is isolated so.
pub fn begin(store: &Store, isolation: Isolation) -> Transaction {
    store.begin(TransactionOptions {
        isolation,
        ..TransactionOptions::default()
    })
}
