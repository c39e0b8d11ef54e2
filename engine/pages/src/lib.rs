//! Buffer pool with LRU and Lazy LRU Update.
//!
//! Fixed-size pages of one file, pinned and latched by guards, with checksums. A double-write file protects them from
//! tearing (see `double_write.rs`), and they are written back after the log. Pages are replaced by InnoDB's list with
//! a young and an old part (`lru.rs`). The policy decides *when* a used page becomes young (`replacement.rs`): at
//! once, or lazily as in Huang et al., SIGMOD 2017, section 6.1 (dissertation, section 3.4.1).
//!
//! ## API
//! ```text
//! Pool::open(&directory, name, PoolSettings, barrier: Arc<dyn LogBarrier>) -> Result<Arc<Pool>, PageError>
//!                                      makes `name` if missing, repairs torn pages from `name.double`, and makes
//!                                      durable what it found
//! Pool::check_files(&directory, name, &PoolSettings) -> Result<(), PageError>     before it, changing nothing
//! trait LogBarrier { fn flush_log_to(&self, Lsn) -> Result<(), LogError> }      implemented by evenkeel_log::Log
//!
//! Pool: .read(PageId) -> Result<PageRead, PageError>      shared latch; derefs to the body [u8]
//!       .write(PageId) -> Result<PageWrite, PageError>    exclusive latch; derefs mutably to the body
//!       .write_for_redo(PageId) -> Result<PageWrite, _>   as write, but a page never written comes as zeros with LSN 0
//!       .write_anew_for_redo(PageId)                      the same without reading it: for a change that says all that is in it
//!       .allocate(|&Allocation| -> Result<Lsn, E>) -> Result<PageWrite, E>           zeroed page, exclusive latch
//!       .allocate_many(n, |&Allocation| -> Result<Lsn, E>) -> Result<Vec<PageWrite>, E>    by one record
//!       .free(PageId, |&Allocation| -> Result<Lsn, E>) -> Result<(), E>              E: From<PageError>
//!       .redo_allocate(&[PageId], Lsn), .redo_free(&[PageId], Lsn) -> Result<(), PageError>     idempotent
//!       .is_allocated(PageId), .allocated_pages(), .verify() -> Result<u64, PageError>    reads every page in use
//!       .dirty_pages() -> Vec<DirtyPage { page, recovery_lsn }>     for checkpoints; hold no latch, read last_lsn before
//!       .flush_all() / .flush_before(Lsn) (recovery LSN smaller; hold no latch) / .flush_some(n) -> Result<.., PageError>
//!       .set_replacement(Replacement::Lru | LazyLru), .set_lazy_wait(Duration)
//!       .stop_writer()                 to be called before others may use the files
//!       .statistics() -> PoolStatistics, .body_bytes() -> usize, .frames(), .repaired_pages()
//! PageRead:  id(), lsn(), Deref<[u8]>
//! PageWrite: id(), lsn(), Deref/DerefMut<[u8]>, mark_dirty(Lsn), downgrade() -> PageRead
//! Allocation { pages: Vec<PageId>, map_page: PageId, map_lsn: Lsn }
//! ```
//! Append to the log first, then change, then mark, under one guard; a guard that was changed and is dropped unmarked
//! panics in debug builds. Records of allocations depend on `map_lsn` (`Depends::On`), and may say more than the
//! allocation: a split that takes two pages into use is one record, appended in the closure of `allocate_many`.
//! The first page a new store allocates is page 2.

mod allocation;
mod dirty;
mod double_write;
mod error;
mod file;
mod flush;
mod frame;
mod guards;
mod id;
mod latch;
mod lru;
mod page;
mod pool;
mod replacement;
mod settings;
mod statistics;
mod sync;
mod table;
mod writer;

pub use allocation::Allocation;
pub use error::PageError;
pub use flush::DirtyPage;
pub use guards::{PageRead, PageWrite};
pub use id::PageId;
pub use page::PAGE_HEADER_BYTES;
pub use pool::{LogBarrier, Pool};
pub use settings::{FRAMES_MIN, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PoolSettings, Replacement};
pub use statistics::PoolStatistics;
