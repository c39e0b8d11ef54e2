//! Embedded transactional store: typed tables as B+trees over the buffer pool, a write-ahead log, and locks that are
//! granted in the order a *schedule* decides.
//!
//! Transactions are strict two-phase locked and serializable unless they ask for less. A commit is durable as the
//! flush policy says. Recovery follows ARIES (Mohan et al., TODS 1992): redo repeats history by page sequence
//! numbers, undo writes compensation records.
//!
//! ## API
//! ```text
//! Store::open(path, Settings) -> Result<Store, StoreError>            clones share the store; Send + Sync
//! Store::open_on(directory, log_directories, Settings)                the same on any evenkeel_disk::Directory
//! store.create_table(Schema) -> Result<Table, StoreError>             durable when it returns
//! store.table("name") -> Option<Table>                                cheap handle to keep: "prepared" access
//! store.begin(TransactionOptions { isolation, class, birth_ns, lock_timeout }) -> Transaction
//! store.execute(options, |txn| -> Result<T, E>) -> Executed<Result<T, E>> { result, queued_ns, executed_ns }
//!                           on a worker thread if there are any (dissertation, section 3.2.3), else on this one
//! store.checkpoint(), store.close(), store.statistics() -> Statistics
//! store.verify() -> Result<u64, StoreError>                           reads every page in use: damage is found, pages counted
//! store.change(Change)      schedule, deadlock policy, replacement, flush policy, ... of the running store
//! store.observe(Some(Arc<dyn Observer>))     age at each lock grant and remaining time (figure 3.2)
//!
//! Schema::new("customer").column("c_id", ColumnType::Int)...primary_key(["c_id"]).index("by_name", ["last", "first"])
//!     .unique_index(..).nullable("carrier", ColumnType::Int)
//! table.index("by_name") -> Option<Index>; table.column("c_id") -> Option<usize>
//!
//! txn.get(&table, &key) -> Result<Option<Row>, StoreError>            key: &[Value], the primary key's columns in order
//! txn.get_for_update(&table, &key) -> Result<Option<Row>, StoreError> exclusive lock from the start
//! txn.insert(&table, &row)  -> Err(DuplicateKey) if it exists         row: &[Value], all columns in schema order
//! txn.put(&table, &row)     insert or replace
//! txn.update(&table, &row)  -> Err(NotFound) if there is none         found by the primary key in the row
//! txn.delete(&table, &key)  -> Result<bool, StoreError>               whether there was one
//! txn.scan(&table, &Scan) -> Result<Vec<Row>, StoreError>
//! txn.scan_each(&table, &Scan, |row: Row| ControlFlow<()>)            until it breaks
//!     Scan::all() | Scan::prefix(values) | Scan::between(Bound<values>, Bound<values>)   bounds may be key prefixes
//!         .on(index) .limit(n) .reverse() .for_update()
//! txn.commit() -> Result<(), StoreError>; txn.rollback() -> Result<(), StoreError>; dropping it rolls back
//!
//! Value: Null | Int(i64) | Float(f64) | Text(String) | Bytes(Vec<u8>);  amounts of money: Int in the smallest unit
//! Row: derefs to [Value]; row.int(i), row.float(i), row.text(i), row.bytes(i), row.is_null(i)
//! ```
//! After [`StoreError::is_retryable`] (deadlock, wound, ...) the transaction is rolled back already: begin a new one, with
//! the `birth_ns` of the old one so that it keeps its age. After any other error of a statement that statement is undone, and
//! the transaction goes on. After [`StoreError::CommitUnknown`] and [`StoreError::Stopped`] only reopening the store helps. Using
//! a table with a store it does not come from is a mistake of the program and panics.
//!
//! ## How it works
//! | module | idea |
//! |---|---|
//! | `key`, `row`, `schema`, `catalog` | values as bytes that compare as they do; rows as entries of trees; tables as rows |
//! | `overflow` | rows longer than a page takes, in chunks |
//! | `tree` | nodes with fences, latch coupling, splits and merges as one log record each |
//! | `locking`, `covering`, `escalation` | what is locked: rows, gaps below keys, unique values; why ghosts; when whole tables |
//! | `entries`, `indexes`, `read`, `write`, `cursor` | statements: lock, then latch, then log, then change |
//! | `transaction`, `commit`, `undo`, `record` | begin to end; what a record holds; taking changes back |
//! | `released` | locks are given up before the disk is waited for; what that asks of who gets them |
//! | `claim` | what is no store's is refused, and not changed |
//! | `recovery`, `checkpoint`, `checkpointer`, `running` | analysis, redo, undo; where they begin |
//! | `ghosts`, `purge`, `housekeeping` | deleted entries and their removal, in the background |
//! | `workers`, `observe`, `settings`, `statistics` | the papers' knobs and what to measure |
//!
//! ## A full disk
//! On a full disk, or when a quota is used up, the store can still be read. A statement that needs more room fails
//! ([`StoreError::is_disk_full`]) and is undone; its transaction can continue, commit or roll back. Writing works once there is space.
//!
//! For this, each stream of the log has a file ahead, and a transaction reserves log room for undoing its changes before it makes them. Page
//! file, double-write file and checkpoint have their room, too. The store can be opened on a full disk, however often an opening was cut
//! short. One case needs space: a rollback that has to split a page, because others have filled what it had freed. The store then stops, and
//! opening it completes the rollback once there is space.
//!
//! A new store takes 32 MB for each stream of its log. It takes up to 48 MB more than the last checkpoint left
//! (`log.segment_bytes` is 16 MB).
//!
//! ## Files The store's directory holds `checkpoint`, `pages`, `pages.double` (torn-page protection), `lock`, and a
//! directory for each stream of the log: `log-0`, `log-1` and so on. All belong together: back them up together, with
//! the store closed.
//!
//! A new store is made in an empty directory only, so a wrong path does no harm. Files that are added to a store's directory later do no
//! harm either. A foreign file with the name of one of the store's is refused and not changed. A file of zeros may be overwritten: it cannot
//! be told from a new file of the store that a power failure left. The contents of `lock` do not matter, and stay.

mod catalog;
mod checkpoint;
mod checkpointer;
mod claim;
mod codec;
mod commit;
mod covering;
mod cursor;
mod entries;
mod error;
mod escalation;
mod ghosts;
mod housekeeping;
mod indexes;
mod inner;
mod key;
mod locking;
mod observe;
mod overflow;
mod purge;
mod read;
mod record;
mod recovery;
mod released;
mod row;
mod running;
mod scan;
mod schema;
mod settings;
mod statistics;
mod storage;
mod store;
mod table;
mod transaction;
mod tree;
mod undo;
mod value;
mod workers;
mod write;

pub use error::StoreError;
pub use locking::{LockKind, LockName};
pub use observe::{Grant, Observer, Trace};
pub use scan::Scan;
pub use schema::{Column, IndexSchema, Schema};
pub use settings::{Change, Housekeeping, Release, Settings};
pub use statistics::{Statistics, TransactionStatistics};
pub use store::Store;
pub use table::{Index, Table};
pub use transaction::{Isolation, Transaction, TransactionOptions};
pub use value::{ColumnType, Row, Value};
pub use workers::Executed;

pub use evenkeel_locks::{DeadlockPolicy, Rules, ScheduleKind, Starvation, Victim};
pub use evenkeel_log::FlushPolicy;
pub use evenkeel_pages::Replacement;
