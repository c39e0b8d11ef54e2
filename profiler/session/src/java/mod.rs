//! Methods of Java: a session in a Java virtual machine.
//!
//! ```text
//! starting   the command or process, and the JVM in it
//! session    the loop: drain, look, open
//! awaited      the classes of the intervals, until they are loaded
//! opening      what is opened: the intervals, and methods in which they spend their time
//! loading      classes are loaded again with probes
//! compilers    the time until the JVM has compiled its code again
//! ending       classes as they were, and the report
//! search     which methods are opened next (stacks: where intervals spend their time)
//! plan       probes: ids, what reports call them, class files rewritten with them (kinds: what JDK methods block for)
//! waits      what threads wait for: probes of no code, and their names
//! talk       the conversation with the agent (evenkeel_attach::jvm brings it together)
//! method     methods as a user names them     problem   what stands against it
//! ```
//!
//! Refinement is another than that of native code. Each time that classes are loaded again the JVM stands still, and
//! compiled code is thrown away. So it is done at most `BATCHES_MAX` times a run, for all levels of calls at once, and
//! stacks say which methods are worth it. Those of a running JVM are looked at before the first time. Intervals are not
//! recorded until the JVM's compilers are idle again; probes that cost too much are turned off by a byte each.
//!
//! Native functions below Java methods are not timed, and neither are intervals on virtual threads: reports say both.

mod awaited;
mod compilers;
mod ending;
mod kinds;
mod loading;
mod method;
mod opening;
mod plan;
mod problem;
mod search;
mod session;
mod stacks;
mod starting;
mod talk;
mod waits;

use std::sync::atomic::AtomicBool;

pub use problem::Problem;

use crate::error::Error;
use crate::profile::{Observer, Outcome, Settings};

/// Whether a session is one of methods of Java: its interval is written as one, and the process is a JVM, or the
/// command runs one.
pub fn is_meant(settings: &Settings) -> bool {
    starting::is_meant(settings)
}

/// Runs a session in a JVM. `interrupted` is raised by whoever handles Ctrl-C.
///
/// # Errors
/// What stands against it, or a session without any interval.
pub fn profile(
    settings: &Settings,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let mut session = starting::start(settings, interrupted, observer)?;
    let ran = session.run(interrupted, observer);
    match ran {
        Ok(()) => session.finish(interrupted),
        Err(error) => {
            let error = session.ended_first(error);
            session.leave();
            session.stop();
            Err(error)
        }
    }
}
