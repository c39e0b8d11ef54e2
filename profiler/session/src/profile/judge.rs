//! The verdict on each file that an agent announces, and the interval planted in the one that has it.

use std::sync::atomic::Ordering::*;
use std::time::Instant;

use evenkeel_analysis::sites::Kind;
use evenkeel_wire::{ModuleState, Role};

use super::{Event, Observer, Session, Wish};
use crate::error::Error;
use crate::interval::{self, Interval};
use crate::modules::Modules;
use crate::plan::{Function, Plan};

impl Session<'_> {
    /// Gives every newly announced module its verdict; a process waits for that of its executable.
    pub(super) fn judge(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        while self.judged < self.arena.modules().len() {
            let index = self.judged;
            self.judged += 1;
            let executable = self.arena.modules()[index].executable.load(Acquire) != 0;
            let wanted = match self.interval_in(index, executable) {
                Ok(Some(interval)) => {
                    self.begin(index, &interval)?;
                    true
                }
                Ok(None) => executable && self.library().is_some(),
                Err(error) if executable && passing(&error) => {
                    observer.event(&Event::Passing(&error));
                    self.not_found = Some(error);
                    false
                }
                Err(error) => return Err(error),
            };
            let verdict = if wanted {
                ModuleState::Wanted
            } else {
                ModuleState::Ignored
            };
            self.arena.modules()[index]
                .state
                .store(verdict as u32, Release);
            if wanted && executable && self.hooked.is_none() {
                self.hooked = Some(Instant::now());
                observer.event(&Event::Hooked {
                    seconds: self.started.elapsed().as_secs_f64(),
                });
            }
        }
        Ok(())
    }

    /// The library that defines the interval, if it is not the executable.
    fn library(&self) -> Option<&str> {
        match &self.settings.wish {
            Wish::Spec(spec) => spec.library.as_deref(),
            Wish::Known(..) => None,
        }
    }

    /// The interval, if this module is one that may define it.
    fn interval_in(&mut self, index: usize, executable: bool) -> Result<Option<Interval>, Error> {
        let path = Modules::path(&self.arena, index);
        let concerned = match &self.settings.wish {
            Wish::Known(preset, _) => executable && preset.fits(&path),
            Wish::Spec(spec) => match &spec.library {
                None => executable,
                Some(library) => Modules::name(&self.arena, index).starts_with(library.as_str()),
            },
        };
        if !concerned {
            return Ok(None);
        }
        let module = match self.modules.get(&self.arena, index) {
            Ok(Some(module)) => module,
            Ok(None) => return Ok(None),
            Err(error) => return Err(Error::Launch(evenkeel_symbols::LaunchError::Load(error))),
        };
        let interval = match &self.settings.wish {
            Wish::Known(preset, known) => preset.resolve(known, &module)?,
            Wish::Spec(spec) => interval::resolve(spec, &module)?,
        };
        Ok(Some(interval))
    }

    /// Plants the interval's boundaries and its first probes.
    fn begin(&mut self, index: usize, interval: &Interval) -> Result<(), Error> {
        let Ok(Some(module)) = self.modules.get(&self.arena, index) else {
            return Ok(());
        };
        let scope: Vec<Function> = interval.scope.iter().map(|&entry| (index, entry)).collect();
        if self.interval.is_none() {
            self.plan = Plan::new(&interval.name, interval.height);
            self.interval = Some((interval.name.clone(), Vec::new()));
        }
        for boundary in &interval.boundaries {
            if !self
                .plan
                .add_boundary(&mut self.arena, index, &module, boundary)
            {
                let reason = "the plan is full".to_owned();
                return Err(Error::BoundaryRefused {
                    site: interval.name.clone(),
                    reason,
                });
            }
            if boundary.role == Role::Gate {
                self.arena.control().gated.store(1, Release);
            }
        }
        for client in &interval.clients {
            if self
                .plan
                .add_site(&mut self.arena, index, &module, client)
                .is_some()
            {
                self.plan.set_kind(index, client.address, Kind::Client);
            }
        }
        if let Some((_, all)) = &mut self.interval {
            all.extend(&scope);
        }
        self.plant_first(&scope, index);
        self.publish();
        Ok(())
    }
}

/// Errors that only say that this program is not the one: a child may be.
fn passing(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound {
            source: evenkeel_symbols::FindError::NoSuchFunction { .. },
            ..
        } | Error::Launch(_)
    )
}
