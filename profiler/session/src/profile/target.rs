//! The target: the process that was started or named, what descends from it, and what is observed of them all.
//!
//! ```text
//! watch      examines processes, to explain missing intervals (processes: what the system knows of each)
//! filters    filters of system calls that processes install
//! passed     programs without the interval's functions
//! left_out   processes that could not be attached to, or not be left
//! ```

mod filters;
mod left_out;
mod passed;
mod processes;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::Stops;
use evenkeel_attach::Refused;

use super::records::Records;
use super::settings::{Event, Observer};
use crate::arena::Arena;
use crate::attached::Attached;
use crate::ending::Ending;
use crate::error::Error;
use crate::launch;
use crate::no_profile::Reason;
use filters::Filters;
use left_out::{LeftOut, LeftOutOf};
use passed::Passed;
use processes::Absence;
use watch::Watch;

/// How the session came to the target.
pub enum Origin {
    /// It started this command.
    Launched(launch::Target),
    /// Somebody else's processes, which ran already.
    Attached(Box<Attached>),
}

/// See the module's head.
pub struct Target {
    pub origin: Origin,
    pub watch: Watch,
    pub filters: Filters,
    pub passed: Passed,
    left_out: LeftOut,
    /// Why the processes were not attached to that are tried again.
    tried_again: BTreeMap<i32, String>,
    /// Running processes that the agent was brought into.
    pub stops: Stops,
}

impl Target {
    /// Nothing was observed yet.
    pub fn new(origin: Origin) -> Target {
        Target {
            origin,
            watch: Watch::default(),
            filters: Filters::default(),
            passed: Passed::default(),
            left_out: LeftOut::default(),
            tried_again: BTreeMap::new(),
            stops: Stops::default(),
        }
    }

    /// Process id of the command, or of the process that was named.
    pub fn pid(&self) -> i32 {
        match &self.origin {
            Origin::Launched(target) => target.pid(),
            Origin::Attached(attached) => attached.pid(),
        }
    }

    /// The processes that are no descendants of others in the target.
    pub fn roots(&self) -> Vec<i32> {
        match &self.origin {
            Origin::Launched(target) => target.roots(),
            Origin::Attached(attached) => vec![attached.pid()],
        }
    }

    /// Whether the session started it.
    pub fn is_launched(&self) -> bool {
        matches!(self.origin, Origin::Launched(_))
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        match &mut self.origin {
            Origin::Launched(target) => target.is_running(),
            Origin::Attached(attached) => attached.is_running(),
        }
    }

    /// The end of the command, if it ended by itself.
    pub fn ending(&self) -> Option<Ending> {
        match &self.origin {
            Origin::Launched(target) => target.ending(),
            Origin::Attached(attached) => attached.ending(),
        }
    }

    /// Ends a command that the session started. Attached processes continue.
    pub fn stop(&mut self, signal: i32, meanwhile: impl FnMut()) {
        if let Origin::Launched(target) = &mut self.origin {
            target.stop(signal, meanwhile);
        }
    }

    /// A running process to attach to that was not looked at yet. `drained`: this thread's time for draining records so
    /// far.
    pub fn next(&mut self, arena: &Arena, drained: Duration) -> Option<i32> {
        match &mut self.origin {
            Origin::Launched(_) => None,
            Origin::Attached(attached) => attached.next(arena, drained),
        }
    }

    /// Announces the files of a running process. The index of its program; `None` when there is none, or no room.
    ///
    /// # Errors
    /// Says why not.
    pub fn announce(&mut self, pid: i32, arena: &mut Arena) -> Result<Option<usize>, Refused> {
        match &mut self.origin {
            Origin::Launched(_) => Ok(None),
            Origin::Attached(attached) => attached.announce(arena, pid),
        }
    }

    /// Processes that started while the session ran and were left alone, to keep within the permitted overhead.
    pub fn unseen(&self) -> Option<Warning> {
        let Origin::Attached(attached) = &self.origin else {
            return None;
        };
        let (unseen, attached) = (attached.unseen(), self.stops.processes);
        (unseen > 0).then_some(Warning::StartedUnseen { unseen, attached })
    }

    /// Brings the agent into a running process.
    ///
    /// # Errors
    /// Says why not.
    pub fn attach(
        &mut self,
        pid: i32,
        arena: &Arena,
        observer: &mut dyn Observer,
    ) -> Result<(), Refused> {
        let Origin::Attached(attached) = &mut self.origin else {
            return Ok(());
        };
        self.filters.before(pid);
        let injected = attached.attach(pid, arena)?;
        self.tried_again.remove(&pid);
        let still_ns = injected.stood_still.as_nanos() as f64;
        self.stops.add(Stops {
            processes: 1,
            sum_ns: still_ns,
            max_ns: still_ns,
        });
        // A server that starts processes all the while would fill the screen.
        if self.stops.processes.is_power_of_two() {
            observer.event(&Event::Attached {
                pid,
                processes: self.stops.processes,
                stood_still: injected.stood_still,
            });
        }
        Ok(())
    }

    /// Notes a process that could not be attached to. It may have ended or executed another program; otherwise the
    /// report must have a warning.
    ///
    /// # Errors
    /// It is the process that was named, and no later attempt would succeed: there is no report.
    pub fn not_attached(
        &mut self,
        pid: i32,
        why: Refused,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        if pid == self.pid() && !why.may_pass() {
            return Err(why.into());
        }
        // A process that has executed a program in between is examined again, as that program.
        let Origin::Attached(attached) = &mut self.origin else {
            return Ok(());
        };
        if !attached.is_unchanged(pid) {
            return Ok(());
        }
        let mut text = why.to_string();
        let is_first = if why.may_pass() {
            attached.postpone(pid);
            let is_first = self.tried_again.insert(pid, text.clone()).is_none();
            text += ". This session tries it again by itself";
            is_first
        } else {
            self.left_out.add(LeftOutOf::NotAttached, text.clone())
        };
        if is_first {
            observer.event(&Event::LeftOut { why: &text });
        }
        Ok(())
    }

    /// Why the process that was named was not attached to up to now.
    pub fn not_yet(&self) -> Option<String> {
        self.tried_again.get(&self.pid()).cloned()
    }

    /// A warning for each reason for which processes were left out up to now.
    pub fn left_out(&self) -> Vec<Warning> {
        let mut all = self.left_out.clone();
        for why in self.tried_again.values() {
            all.add(LeftOutOf::NotAttached, why.clone());
        }
        all.warnings().collect()
    }

    /// Sees to it that the hooks are out of all processes that are attached to.
    pub fn leave(&mut self, records: &mut Records) {
        let Origin::Attached(attached) = &self.origin else {
            return;
        };
        let (arena, drain, sink) = (&records.arena, &mut records.drain, &mut records.sink);
        let left = attached.leave(arena, || {
            drain.run(arena, sink, true);
            sink.pass_ended();
        });
        for why in left {
            self.left_out.add(LeftOutOf::HooksLeft, why.to_string());
        }
    }

    /// A program that runs without the agent. For running processes, omissions were reported at the attach.
    pub fn without_agent(&self) -> Option<Reason> {
        let (program, absence) = self.watch.stranger().filter(|_| self.is_launched())?;
        Some(runs_without_agent(program, absence))
    }
}

/// Why a program runs without the agent.
pub fn runs_without_agent(program: PathBuf, absence: Absence) -> Reason {
    match absence {
        Absence::NotNamed => Reason::EnvironmentCleared { program },
        Absence::NotInRoot(agent) => Reason::AgentNotInRoot { program, agent },
        Absence::Refused => Reason::AgentRefused { program },
    }
}
