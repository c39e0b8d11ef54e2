//! Bounds of sizes.

/// The smallest block, in bytes.
pub const BLOCK_BYTES_MIN: usize = 512;
/// The largest block, in bytes.
pub const BLOCK_BYTES_MAX: usize = 1 << 20;
/// The largest of a stream's files, in bytes.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 40;
/// The most streams.
pub const STREAMS_MAX: usize = 16;
