//! The only way to the disk for pages and log: two small traits, a real implementation and a fault-injecting one.
//!
//! * [`Directory`] and [`File`]: everything the buffer pool, the log and the store may do to a disk.
//! * [`RealDirectory`]: a directory of the operating system, with direct I/O where asked for and possible.
//! * [`faults::FaultDisk`]: a disk in memory that counts every operation, fails on demand and loses power at the n-th
//!   operation. It then yields, by seed, contents that a power failure may leave.
//! * [`with_syncs`]: a directory whose syncs the caller does, to hold them up or make them slow.
//! * [`Device`]: the latency of another device, syncs one after another, for measurements.
//! * [`AlignedBuffer`]: memory fit for direct I/O.
//! * [`advice`]: what to do about an error of the disk; [`is_full`]: whether that is to free space.
//! * [`write_atomically`]: replaces a small file so that a crash leaves the old or the new one; [`reserve_atomic_write`]: takes the
//!   room for that ahead.
//! * [`Background`]: the thread that log, pages and store each have for writing in the background.
//! * [`is_blank`]: tells a file that was made and not yet written to from somebody else's.
//!
//! ## What a caller may rely on Data is durable once [`File::sync_data`] returned `Ok` after the write, and a name
//! once [`Directory::sync`] did. Until then a power failure may keep any subset of the sectors written, in any order.
//! After a **failed** sync the data written since the last successful one is lost, even if a later sync succeeds:
//! Linux marks the pages clean (Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020). Callers
//! stop using the file. The next opening writes all data again that it relies on and that may not have been synced.
//! Reading it back proves nothing, neither after a failed sync nor after a kill.
//!
//! ## API
//! ```text
//! trait Directory: open(name, Access, Create) -> Arc<dyn File>, list() -> Vec<String>, rename(from, to), remove(name),
//!                  sync(), subdirectory(name) -> Arc<dyn Directory>, lock(name, Create) -> DirectoryLock,
//!                  check_writable()
//! trait File:      read_at(&mut [u8], offset) -> usize (short only at the end), write_at(&[u8], offset), sync_data(),
//!                  len(), set_len(len), is_direct()
//! RealDirectory::open(path) -> io::Result<Arc<dyn Directory>>     (creates the directory if it is missing)
//! with_syncs(directory, |file| -> io::Result<()>) -> Arc<dyn Directory>
//! Device::new(latency, bytes_per_s) -> Arc<Device>; .hold(directory) -> Arc<dyn Directory>
//! faults::FaultDisk::new() -> FaultDisk; .root() -> Arc<dyn Directory>; .operations() -> u64;
//!     .cut_power_at(n); .power_is_off() -> bool; .after_power_failure(seed) -> FaultDisk;
//!     .after_kill() -> FaultDisk (nothing lost: the process alone died); .evict_cache()
//!     .inject(Fault { operation, name_contains, skip, times, error }); .set_capacity(bytes); .set_quota(bytes);
//!     .set_read_only(bool)
//!     .set_seed(u64): what failing writes and syncs leave
//! ```

mod access;
mod aligned;
mod atomic;
mod background;
mod blank;
mod device;
pub mod faults;
mod real;
mod syncs;

pub use access::{Access, Create, Directory, DirectoryLock, File, advice, is_full};
pub use aligned::{ALIGNMENT, AlignedBuffer};
pub use atomic::{reserve_atomic_write, temporary, write_atomically};
pub use background::{Background, Cause};
pub use blank::is_blank;
pub use device::Device;
pub use real::RealDirectory;
pub use syncs::with_syncs;
