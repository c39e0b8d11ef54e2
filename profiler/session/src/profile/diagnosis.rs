//! Why nothing was profiled. No user is advised to put a server under load that was not looked at: while no interval ends, the target's
//! processes are looked at now and then ([`watch`]), and at the end the reason is drawn from what was seen.

mod processes;
mod reason;
mod watch;

use std::sync::atomic::Ordering::*;

use evenkeel_analysis::Analysis;
use evenkeel_symbols::{Callee, FindError};
use evenkeel_wire::{Frozen, Role};

use super::{IntervalSelector, Session};
use crate::error::Error;
use crate::launch::Ending;
use crate::modules::Modules;
use crate::target::Target;
use reason::Reason;
pub use watch::Watch;

/// Libraries whose symbols are read to find a name.
const LIBRARIES_MAX: usize = 64;

impl Session<'_> {
    /// Looks at the target's processes, as long as no interval has ended.
    pub(super) fn watch_processes(&mut self) {
        let analysis = self.sink.analysis.as_ref();
        if analysis.is_none_or(|analysis| analysis.intervals_seen() == 0) {
            let library = match &self.settings.selector {
                IntervalSelector::Spec(spec) => spec.library.as_deref(),
                IntervalSelector::Preset(..) => None,
            };
            self.watch.look(self.target.pid(), library);
            // Later its thread may be gone.
            self.watch.in_flight = analysis.map_or(0, Analysis::in_flight);
        }
    }

    /// What is said where the interval's function is in no program that the agent was loaded into.
    pub(super) fn explain(&mut self, not_found: Error) -> Error {
        let reason = self
            .in_a_library(&not_found)
            .or_else(|| self.without_agent());
        match reason {
            Some(reason) => Error::NothingProfiled(format!("{not_found}; {reason}")),
            None => not_found,
        }
    }

    /// Why no interval has ended.
    pub(super) fn nothing_profiled(&mut self, ending: Ending) -> Error {
        if let Some(error) = self.not_found.take() {
            return self.explain(error);
        }
        let reason = self.reason();
        Error::NothingProfiled(match ending {
            Ending::Exited(code) if code != 0 => {
                format!("the command failed with exit code {code}; {reason}")
            }
            Ending::Killed(signal) => {
                format!("the command was killed by signal {signal}; {reason}")
            }
            _ => reason.to_string(),
        })
    }

    fn reason(&mut self) -> Reason {
        let control = self.arena.control();
        let launched = matches!(self.target, Target::Launched(_));
        if launched && control.processes.load(Relaxed) == 0 {
            return self.without_agent().unwrap_or(Reason::NeverLoaded);
        }
        let Some((name, _)) = self.interval.clone() else {
            return self.no_module();
        };
        if self.watch.in_flight > 0 {
            return Reason::NeverEnded {
                name,
                in_flight: self.watch.in_flight,
                recursive: self.calls_itself(),
            };
        }
        if let Some(reason) = self.boundary_refused(&name) {
            return reason;
        }
        Reason::NotCalled {
            name,
            processes: self.arena.control().processes_hooked.load(Relaxed),
            busy: self.watch.busy(),
            elsewhere: self.without_agent().map(Box::new),
        }
    }

    /// Nothing that was loaded is what the interval is to lie in.
    fn no_module(&self) -> Reason {
        if self.is_sealed() {
            let name = match &self.settings.selector {
                IntervalSelector::Spec(spec) => spec.text.clone(),
                IntervalSelector::Preset(_, interval) => interval.name.to_owned(),
            };
            return Reason::NoWriteExecute { name };
        }
        let processes = self.arena.control().processes.load(Relaxed);
        match &self.settings.selector {
            IntervalSelector::Preset(preset, _) => Reason::NoProgram {
                programs: preset.programs.join(" or "),
            },
            IntervalSelector::Spec(spec) => {
                let library = spec.library.clone().unwrap_or_default();
                match self.watch.unannounced(&library) {
                    Some(path) => Reason::RelativePath { path },
                    None => Reason::NoLibrary { library, processes },
                }
            }
        }
    }

    /// The interval's function is in a library, where it was not looked for.
    fn in_a_library(&mut self, error: &Error) -> Option<Reason> {
        let Error::NotFound {
            source: FindError::NoSuchFunction { name, .. },
            ..
        } = error
        else {
            return None;
        };
        for index in 0..self.arena.modules().len().min(LIBRARIES_MAX) {
            let is_library = self.arena.modules()[index].executable.load(Relaxed) == 0;
            if !is_library || !Modules::may_open(&self.arena, index) {
                continue;
            }
            let Ok(module) = self.modules.get(&self.arena, index) else {
                continue;
            };
            if module.find(name).is_ok() {
                return Some(Reason::InLibrary {
                    name: name.clone(),
                    library: Modules::name(&self.arena, index),
                });
            }
        }
        None
    }

    /// A program of the target runs without the agent.
    fn without_agent(&self) -> Option<Reason> {
        // Where it was brought into running processes, what was left out was said.
        if let Target::Attached(_) = self.target {
            return None;
        }
        let (program, is_named) = self.watch.stranger()?;
        Some(if is_named {
            Reason::AgentRefused { program }
        } else {
            Reason::EnvironmentCleared { program }
        })
    }

    /// No process could hook the interval's boundaries.
    fn boundary_refused(&self, name: &str) -> Option<Reason> {
        let probes = self.arena.probes().iter().zip(self.plan.probes());
        let mut boundaries =
            probes.filter(|(_, planned)| !matches!(planned.role, Role::Inner | Role::Label));
        if boundaries.any(|(probe, _)| probe.planted.load(Relaxed) > 0) {
            return None;
        }
        let name = name.to_owned();
        if self.is_sealed() {
            return Some(Reason::NoWriteExecute { name });
        }
        let mut refused = self.plan.refused_boundaries(&self.arena);
        let why = refused.next()?;
        Some(Reason::Refused { name, why })
    }

    /// A process gave up the right to change its code.
    fn is_sealed(&self) -> bool {
        self.arena.control().frozen[Frozen::WriteExecute as usize].load(Relaxed) > 0
    }

    /// Whether one of the interval's functions calls itself.
    fn calls_itself(&mut self) -> bool {
        let Some((_, scope)) = self.interval.clone() else {
            return false;
        };
        scope.into_iter().any(|function| {
            let module = self.modules.get(&self.arena, function.module);
            module.is_ok_and(|module| {
                let sites = module.call_sites(function.address);
                let itself = Callee::Function(function.address);
                sites.iter().any(|site| site.callee == itself)
            })
        })
    }
}
