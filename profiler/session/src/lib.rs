//! A profiling session: the process that starts the target, plans its probes, drains its rings and refines.
//!
//! ```text
//! profile      the loop: everything below, a few hundred times a second
//! refiner        what is timed: the plan, what is known, the search; from a snapshot of the profile to actions
//! launch         a command, with the agent preloaded
//! attached       processes that run already, into which the agent is brought (evenkeel-attach does the work)
//! agent          where the agent is: beside this program or carried in it (carried)
//! arena          the shared memory
//! spare          the part of the session's time that others miss
//! ending         how a command ended
//! lease          until when the target takes the session for alive
//! modules        ELF files that agents announce, and the verdict on them
//! plan           probes: planting, taking out, ids, the table of sites
//! drain          records out of the rings
//! processes      the code of the target's processes, to unwind stacks
//! slow           stacks of intervals that are slow already
//! keys           which ring a thread of the system's numbers has
//! listening      connections that wait to be accepted
//! server_settings  settings of the target that can be seen
//! no_profile     why there is no profile
//! java           the same in a Java virtual machine, for methods of Java
//! refine         what to open and close next: a pure decision over a profile
//! ```

pub mod agent;
pub mod arena;
mod attached;
pub mod carried;
pub mod clock;
pub mod drain;
pub mod ending;
mod error;
pub mod java;
mod keys;
pub mod launch;
pub mod lease;
mod listening;
mod location;
pub mod modules;
mod no_profile;
pub mod plan;
mod processes;
pub mod profile;
pub mod refine;
mod server_settings;
mod slow;
mod spare;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use location::Location;
pub use profile::{Event, Observer, Outcome, Settings, Subject};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs a session, of native functions or of methods of Java. `interrupted` is raised by whoever handles Ctrl-C.
///
/// # Errors
/// Everything in [`Error`] that concerns starting, the interval, or a session without any interval.
pub fn profile(
    settings: &Settings,
    interrupted: &Arc<AtomicBool>,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    match java::is_meant(settings) {
        true => java::profile(settings, interrupted, observer),
        false => profile::profile(settings, interrupted, observer),
    }
}
