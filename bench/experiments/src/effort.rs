//! The effort for an experiment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The effort for an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// All of them within half an hour on two processors.
    Quick,
    /// As precisely as the tables are meant to be; a night.
    Full,
}

impl Effort {
    /// Chooses between the values for a quick run and a full one.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }

    /// Like [`pick`](Self::pick), for times in seconds.
    pub(crate) fn seconds(self, quick: u64, full: u64) -> Duration {
        Duration::from_secs(self.pick(quick, full))
    }
}
