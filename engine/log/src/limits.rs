//! How small and how large things may be.

/// The smallest block, in bytes.
pub const MIN_BLOCK_BYTES: usize = 512;
/// The largest block, in bytes.
pub const MAX_BLOCK_BYTES: usize = 1 << 20;
/// The largest of a stream's files, in bytes.
pub const MAX_SEGMENT_BYTES: u64 = 1 << 40;
/// The most streams.
pub const MAX_STREAMS: usize = 16;
