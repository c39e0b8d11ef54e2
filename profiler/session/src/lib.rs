//! A profiling session: the process that starts the target, plans its probes, drains its rings and refines.
//!
//! ```text
//! profile      the loop: everything below, a few hundred times a second
//! target         what is profiled
//! launch           a command, with the agent preloaded
//! attached         processes that run already, into which the agent is brought (evenkeel-attach does the work)
//! agent          where the agent is: beside this program or carried in it (carried)
//! arena          the shared memory
//! lease          until when the target takes the session for alive
//! modules        ELF files that agents announce, and the verdict on them
//! spec, presets    which interval: what the user typed, resolved in a file (interval)
//! plan           probes: planting, taking out, ids, the table of sites
//! drain          records out of the rings
//! keys           which ring a thread of the system's numbers has
//! refine         what to open and close next: a pure decision over a profile
//! recording      the file: chunks of records and what explains them; replay
//! ```

pub mod agent;
pub mod arena;
mod attached;
mod calling_back;
pub mod carried;
pub mod clock;
pub mod drain;
mod error;
pub mod interval;
mod keys;
mod kinds;
pub mod launch;
pub mod lease;
mod location;
pub mod modules;
pub mod plan;
pub mod presets;
pub mod profile;
pub mod recording;
pub mod refine;
pub mod spec;
mod target;

pub use error::Error;
pub use location::Location;
pub use profile::{Event, Observer, Outcome, Settings, Subject, profile};
pub use spec::IntervalSpec;
