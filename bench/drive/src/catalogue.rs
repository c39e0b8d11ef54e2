//! Workloads by name, for the driver.

use std::sync::Arc;

use evenkeel_workloads::interface::Workload;
use evenkeel_workloads::named::{self, Settings, Visitor};

use crate::Error;
use crate::workload::{AnyWorkload, Hosted};

pub use evenkeel_workloads::named::NAMES;

/// Makes a workload.
///
/// # Errors
/// [`Error::Setting`] if the name, an option or a value is not known.
pub fn workload(name: &str, settings: &Settings) -> Result<Arc<dyn AnyWorkload>, Error> {
    named::build(name, settings, Host).map_err(|error| Error::Setting(error.to_string()))
}

/// Takes a workload's types away.
struct Host;

impl Visitor for Host {
    type Output = Arc<dyn AnyWorkload>;

    fn visit<W: Workload>(self, workload: W) -> Self::Output {
        Arc::new(Hosted(Arc::new(workload)))
    }
}
