//! Finds settings that make a server's latency better, by measuring.
//!
//! ```text
//! tune         settings in, result out: surveys the server, profiles it, races, confirms, puts it back
//!  ├─ race        pure: candidates in, runs asked for, winner out
//!  │   └─ objective   what is to be made smaller, and what one run says of it
//!  ├─ knobs       what can be tried on a server, as data; `machine`: what its values are a part of
//!  ├─ server      a server's settings: changed, put back; `journal`: written down before
//!  ├─ runner     the target under its load; `command`: a load that is a command of the user's
//!  ├─ profiled    the profiler on the server meanwhile
//!  ├─ restore     puts back what a run that was cut short has left
//!  └─ result      the result as table, JSON and page
//! ```

mod command;
mod error;
mod journal;
pub mod knobs;
mod machine;
mod objective;
pub mod profiled;
mod race;
mod restore;
pub mod result;
mod runner;
mod server;
mod tune;

pub use error::Error;
pub use knobs::kind_of;
pub use machine::Machine;
pub use objective::{Objective, Run};
pub use restore::{Restored, restore};
pub use runner::LoadSource;
pub use tune::{Skipped, TuneSettings, Tuned, list, tune};
