//! The verdict on each file that an agent announces, and the interval planted in the one that has it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::*;

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_attach::process;
use evenkeel_symbols::{Copies, Module};
use evenkeel_wire::{Fixed, ModuleState};

use super::{Event, IntervalSelector, Observer, Session};
use crate::arena::Arena;
use crate::error::Error;
use crate::modules::Modules;
use evenkeel_intervals::interval::{self, Hooked, Interval, Place, Unhooked};

impl Session<'_> {
    /// Gives every newly announced module its verdict; a process waits for that of its executable.
    pub(super) fn give_verdicts(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        while let Some(index) = self.modules.next_to_judge(&self.records.arena) {
            let module = &self.records.arena.modules()[index];
            let executable = module.executable.load(Acquire) != 0;
            let fixed = fixed(&self.records.arena, index, executable);
            module.fixed.store(fixed as u32, Release);
            let wanted = match self.interval_in(index, executable) {
                Ok(Some(interval)) => {
                    self.begin(index, executable, &interval)?;
                    true
                }
                Ok(None) => {
                    let of_a_library = executable && self.settings.selector.library().is_some();
                    let named =
                        (of_a_library || !executable) && self.plant_named(index, executable)?;
                    self.refiner.publish(&mut self.records);
                    of_a_library || named
                }
                Err(error) if executable && passing(&error) => {
                    self.pass_by(index, error, observer);
                    false
                }
                Err(error) => return Err(error),
            };
            let verdict = match wanted {
                true => ModuleState::Wanted,
                false => ModuleState::Ignored,
            };
            let module = &self.records.arena.modules()[index];
            module.state.store(verdict as u32, Release);
            if wanted && executable && self.run.hooked.is_none() {
                self.run.note_hooked(observer);
            }
        }
        Ok(())
    }

    /// Notes a program that does not have the interval's functions.
    fn pass_by(&mut self, index: usize, error: Error, observer: &mut dyn Observer) {
        if self.run.interval.is_some() {
            return; // a tool that the program starts
        }
        observer.event(&Event::Passing(&error));
        let program = Modules::path(&self.records.arena, index);
        let command = std::fs::read_link(process::program(self.target.pid()));
        let is_command = command.is_ok_and(|command| command == program);
        self.target.passed.add(error, program, is_command);
    }

    /// The interval, if this module is one that may define it.
    fn interval_in(&mut self, index: usize, executable: bool) -> Result<Option<Interval>, Error> {
        let arena = &self.records.arena;
        let concerned = match &self.settings.selector {
            IntervalSelector::Preset(preset, _) => {
                executable && preset.fits(&Modules::path(arena, index))
            }
            IntervalSelector::Spec(spec) => {
                is_meant(arena, index, executable, spec.library.as_deref())
            }
        };
        if !concerned {
            return Ok(None);
        }
        let module = self.modules.get(arena, index);
        let module = module.map_err(Error::Unreadable)?;
        let interval = match &self.settings.selector {
            IntervalSelector::Preset(preset, known) => {
                preset.resolve(known, &module, self.settings.waits)?
            }
            IntervalSelector::Spec(spec) => interval::resolve(spec, &module)?,
        };
        Ok(Some(interval))
    }

    /// Plants the interval's boundaries, what the user named, and the first probes.
    fn begin(&mut self, index: usize, executable: bool, interval: &Interval) -> Result<(), Error> {
        if self.run.interval.is_none() {
            self.run.interval = Some(interval.name.clone());
            self.run.outside = interval.outside;
        }
        self.run.warnings.extend(cautions(&interval.unhooked));
        let named = self.named_in(index, executable)?;
        let (refiner, mut code) = self.refiner();
        refiner.begin(index, interval, &named, &mut code)?;
        if let Ok(module) = self.modules.get(&self.records.arena, index) {
            self.run.warnings.extend(copies(&module, interval));
        }
        self.refiner.publish(&mut self.records);
        Ok(())
    }

    /// Hooks the functions that the user named, if this module has them. Returns whether it has any.
    fn plant_named(&mut self, index: usize, executable: bool) -> Result<bool, Error> {
        let named = self.named_in(index, executable)?;
        let (refiner, mut code) = self.refiner();
        for hooked in &named {
            refiner.hook(index, &hooked.boundaries, &mut code)?;
        }
        Ok(!named.is_empty())
    }

    /// Functions that the user named for their role with locks, tasks and intervals, if this module has them.
    fn named_in(&mut self, index: usize, executable: bool) -> Result<Vec<Hooked>, Error> {
        let arena = &self.records.arena;
        let mut all = Vec::new();
        for named in &self.settings.named {
            if is_meant(arena, index, executable, named.library.as_deref())
                && let Ok(module) = self.modules.get(arena, index)
            {
                let hooked = interval::resolve_named(named, &module)?;
                self.run.warnings.extend(cautions(&hooked.unhooked));
                all.push(hooked);
            }
        }
        Ok(all)
    }
}

/// Whether code of processes with this file may be changed at any time.
fn fixed(arena: &Arena, index: usize, executable: bool) -> Fixed {
    let path = Modules::path(arena, index);
    if executable && evenkeel_symbols::is_go(&path) {
        Fixed::Runtime
    } else if Modules::may_open(arena, index) && evenkeel_symbols::may_confine_itself(&path) {
        Fixed::Unseen
    } else {
        Fixed::No
    }
}

/// Whether a file is the one that is meant: the library that is named, or else the executable.
fn is_meant(arena: &Arena, index: usize, executable: bool, library: Option<&str>) -> bool {
    library.map_or(executable, |library| {
        Modules::name(arena, index).starts_with(library)
    })
}

/// Warnings about call sites that are left out.
fn cautions(unhooked: &[Unhooked]) -> impl Iterator<Item = Warning> {
    unhooked.iter().map(|left| {
        let refused = left.refused.iter();
        Warning::BoundaryPartlyHooked {
            point: left.point.clone(),
            hooked: left.hooked,
            refused: refused
                .map(|(site, reason)| format!("{site}: {reason}"))
                .collect(),
        }
    })
}

/// Warnings about where else the code of functions is at whose entries intervals begin or end.
fn copies(module: &Module, interval: &Interval) -> Vec<Warning> {
    let boundaries = interval.boundaries.iter();
    let entries = boundaries.filter_map(|boundary| match boundary.place {
        Place::Entry(entry, _) => Some(entry),
        Place::Site(_) => None,
    });
    let mut warnings = Vec::new();
    for entry in entries.collect::<BTreeSet<u64>>() {
        let Copies {
            inlined_into,
            specialised,
        } = module.copies_of(entry);
        let function = module.name(entry);
        if !inlined_into.is_empty() {
            let holders: Vec<String> = inlined_into.into_iter().map(|at| module.name(at)).collect();
            warnings.push(Warning::InlinedElsewhere {
                function: function.clone(),
                holders: listed(&holders),
            });
        }
        if !specialised.is_empty() {
            let copies = listed(&specialised);
            warnings.push(Warning::SpecialisedCopies { function, copies });
        }
    }
    warnings
}

/// Copies named, at most.
const COPIES_NAMED: usize = 5;

/// Names in words, not too many.
fn listed(names: &[String]) -> String {
    match names.split_at_checked(COPIES_NAMED) {
        Some((named, more)) if !more.is_empty() => {
            format!("{} and {} others", named.join(", "), more.len())
        }
        _ => names.join(", "),
    }
}

/// Errors that only say that this program is not the one: a child may be.
fn passing(error: &Error) -> bool {
    error.missing_function().is_some() || matches!(error, Error::Unreadable(_))
}
