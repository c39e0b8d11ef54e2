//! Why a transaction could not go on.

/// Why a transaction could not go on. After an error the transaction can only be rolled back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Chosen as the victim of a deadlock. Retry.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Could not be serialised with concurrent transactions. Retry.
    #[error("serialization failure: {0}")]
    SerializationFailure(String),
    /// Waited too long for a lock. Retry.
    #[error("lock wait timeout: {0}")]
    LockTimeout(String),
    /// A row with that primary or unique key exists. Some workloads expect it (TATP's InsertCallForwarding).
    #[error("duplicate key: {0}")]
    DuplicateKey(String),
    /// Everything else: a lost connection, a full disk, a result of the wrong shape. Ends the run.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Whether the same transaction may succeed when it is run again.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::Deadlock(_) | Error::SerializationFailure(_) | Error::LockTimeout(_)
        )
    }

    /// Its kind as a stable name, for the counts of aborts by reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Error::Deadlock(_) => "deadlock",
            Error::SerializationFailure(_) => "serialization_failure",
            Error::LockTimeout(_) => "lock_timeout",
            Error::DuplicateKey(_) => "duplicate_key",
            Error::Other(_) => "other",
        }
    }
}
