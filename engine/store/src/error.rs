//! Errors, as types.

use std::io;

use evenkeel_disk::{advice, is_full};
use evenkeel_locks::{ConfigError, LockError, TxnId};
use evenkeel_log::LogError;
use evenkeel_pages::{PageError, PageId};

/// Errors of the store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The transaction was the victim of a deadlock and is rolled back.
    #[error("deadlock of {} transactions; this one is rolled back: begin it again", cycle.len())]
    Deadlock {
        /// Each waits for the next, the last for the first.
        cycle: Vec<TxnId>,
    },
    /// The lock manager refused the transaction and it is rolled back. The cause is an upgrade conflict, a prevention
    /// policy or a cancellation.
    #[error("{0}; this transaction is rolled back: begin it again")]
    GaveWay(LockError),
    /// A lock was not granted in time. The statement is undone; the transaction can continue.
    #[error("a lock was not granted in time; the statement is undone, the transaction can go on")]
    LockTimeout,
    /// The transaction holds as many locks as one may, though it has locked whole tables. The statement is undone.
    #[error(
        "{0} (locks.locks_max), or use fewer tables in one transaction: each is locked as a whole already; the statement is undone"
    )]
    TooManyLocks(LockError),
    /// There is a row with this primary key, or with these values of a unique index. The statement is undone.
    #[error("table {table:?} has a row with this key of {index}")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The index, or "primary key".
        index: String,
    },
    /// There is no row with this primary key.
    #[error("table {table:?} has no row with this key")]
    NotFound {
        /// The table.
        table: String,
    },
    /// A row, key or bound does not fit the table.
    #[error("table {table:?}: {what}")]
    BadRow {
        /// The table.
        table: String,
        /// The value that does not fit.
        what: String,
    },
    /// A row is too long.
    #[error(
        "table {table:?}: a row of {bytes} bytes; at most {bytes_max} can be stored: divide it into several rows"
    )]
    RowTooLong {
        /// The table.
        table: String,
        /// Its length.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// A key, an index's key or a table's definition is too long for a page.
    #[error(
        "table {table:?}: a key or definition that needs {bytes} bytes of a page; at most {bytes_max} fit: shorten it, or \
         choose larger pages (pool.page_bytes)"
    )]
    KeyTooLong {
        /// The table.
        table: String,
        /// Bytes it needs.
        bytes: usize,
        /// The limit: larger pages raise it.
        bytes_max: usize,
    },
    /// The schema contradicts itself.
    #[error("table {table:?}: {what}")]
    BadSchema {
        /// The table.
        table: String,
        /// The mistake.
        what: String,
    },
    /// There is a table of this name.
    #[error("there is a table {0:?} already")]
    TableExists(String),
    /// A setting is out of range.
    #[error("setting {setting}: {what}")]
    BadSetting {
        /// Its name.
        setting: &'static str,
        /// The allowed values.
        what: String,
    },
    /// Another process, or another [`Store`](crate::Store) of this one, has it open.
    #[error("the store is open already, here or in another process; close it there first")]
    InUse,
    /// The transaction ended before, by an error that rolled it back.
    #[error("the transaction was rolled back; begin a new one")]
    Ended,
    /// The commit record could not be made durable: whether the transaction is committed shows after reopening. The store
    /// refuses everything until then.
    #[error("unknown until the store is reopened whether the transaction is committed: {0}")]
    CommitUnknown(std::sync::Arc<StoreError>),
    /// The store met an error it could not undo, and refuses everything. What was committed is safe: reopen it.
    #[error("the store stopped ({0}); what was committed is safe, reopen it")]
    Stopped(std::sync::Arc<str>),
    /// The directory holds files of these names that are not a store's.
    #[error(
        "{0}; give the directory of a store, or an empty one (if it was a store, restore it from a backup)"
    )]
    NotAStore(String),
    /// The store was written by another version of this program.
    #[error(
        "the store was written in format version {found}, this program reads version {known}; open it with a program of \
         its version"
    )]
    Version {
        /// Version of its checkpoint file.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// The store's files contradict themselves or each other.
    #[error("{0}; restore the store from a backup")]
    Corrupt(String),
    /// A page contradicts the tree it belongs to.
    #[error("{page:?} is damaged: {what}; restore the store from a backup")]
    CorruptPage {
        /// The page.
        page: PageId,
        /// The finding.
        what: &'static str,
    },
    /// Reading or writing pages failed.
    #[error(transparent)]
    Pages(#[from] PageError),
    /// Writing or reading the log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Another file of the store could not be read or written.
    #[error("{doing}: {cause}{}", advice(cause))]
    Io {
        /// The operation.
        doing: &'static str,
        /// The disk's error.
        cause: std::sync::Arc<io::Error>,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |cause| StoreError::Io {
            doing,
            cause: std::sync::Arc::new(cause),
        }
    }

    pub(crate) fn bad_locks(error: ConfigError) -> StoreError {
        StoreError::BadSetting {
            setting: "locks",
            what: error.to_string(),
        }
    }

    /// The disk's error, if that is the cause. Its `kind()` distinguishes a full disk (`StorageFull`,
    /// `QuotaExceeded`) and a read-only one (`ReadOnlyFilesystem`, `PermissionDenied`) from a broken one.
    pub fn disk_error(&self) -> Option<&io::Error> {
        match self {
            StoreError::Io { cause, .. } => Some(cause),
            StoreError::CommitUnknown(cause) => cause.disk_error(),
            StoreError::Log(error) | StoreError::Pages(PageError::Log(error)) => match error {
                LogError::Io { cause, .. } | LogError::Failed { cause, .. } => Some(cause),
                _ => None,
            },
            StoreError::Pages(PageError::Io { cause, .. } | PageError::Failed { cause, .. }) => {
                Some(cause)
            }
            _ => None,
        }
    }

    /// Whether the disk is full, or the quota used up. The statement is undone and the transaction can continue.
    /// Reading still works, and writing does once there is space. (After [`StoreError::CommitUnknown`] and
    /// [`StoreError::Stopped`] the store must be reopened as ever.)
    pub fn is_disk_full(&self) -> bool {
        self.disk_error().is_some_and(is_full)
    }

    /// Whether the transaction was rolled back only because of others, so that beginning it again may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, StoreError::Deadlock { .. } | StoreError::GaveWay(_))
    }

    /// Whether the transaction could not go on because of the disk or of what is on it.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            StoreError::CommitUnknown(_)
                | StoreError::Stopped(_)
                | StoreError::Corrupt(_)
                | StoreError::NotAStore(_)
                | StoreError::Version { .. }
                | StoreError::CorruptPage { .. }
                | StoreError::Pages(_)
                | StoreError::Log(_)
                | StoreError::Io { .. }
        )
    }
}

/// The meaning of a refused lock for a statement.
impl From<LockError> for StoreError {
    fn from(error: LockError) -> StoreError {
        match error {
            LockError::Deadlock { cycle } => StoreError::Deadlock { cycle },
            LockError::Timeout => StoreError::LockTimeout,
            LockError::TooManyLocks { .. } => StoreError::TooManyLocks(error),
            other => StoreError::GaveWay(other),
        }
    }
}
