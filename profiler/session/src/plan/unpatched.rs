//! Parts of the plan that could not be done, and the reasons.

use std::collections::HashSet;
use std::sync::atomic::Ordering::*;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::profile::Unpatched;
use evenkeel_analysis::sites::Function;
use evenkeel_symbols::{Module, Unpatchable};
use evenkeel_wire::{Form, Refusal, Role, Wanted};

use super::{Plan, qualified};
use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;

/// A call that could not be timed, as it was noted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Noted {
    at: Spot,
    unpatched: Unpatched,
}

/// The place that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spot {
    /// The call at this instruction.
    Call(Location),
    /// The function that begins here.
    Entry(Location),
}

/// A call that could not be timed, or a function's entry; the reason comes later.
#[derive(Clone, Debug)]
pub struct Untimed {
    at: Spot,
    /// Its name in reports.
    site: String,
    probe: Option<u32>,
    within: Option<Function>,
}

impl Untimed {
    /// The call at an instruction.
    pub(crate) fn call(arena: &Arena, index: usize, module: &Module, address: u64) -> Untimed {
        let holder = module.function_at(address);
        Untimed {
            at: Spot::Call(Location::new(index, address)),
            site: qualified(arena, index, module, address),
            probe: None,
            within: holder.map(|holder| Function {
                name: module.name(holder.entry),
                file: Some(Modules::library(arena, index)),
            }),
        }
    }

    /// A function's entry.
    pub(crate) fn entry(function: Location, module: &Module) -> Untimed {
        Untimed {
            at: Spot::Entry(function),
            site: format!("entry of {}", module.name(function.address)),
            probe: None,
            within: None,
        }
    }
}

impl Plan {
    /// Everything that could not be planted, with the agents' refusals.
    pub fn unpatched(&self, arena: &Arena) -> Vec<Unpatched> {
        let probes = || self.probes.iter().zip(0u32..);
        let on: HashSet<Spot> = probes()
            .filter(|(planned, _)| planned.wanted != Wanted::Off && planned.form != Form::Entry)
            .map(|(planned, _)| Spot::Call(planned.place))
            .collect();
        let is_back = |noted: &&Noted| noted.unpatched.hides_time && on.contains(&noted.at);
        let still: Vec<&Noted> = self.noted.iter().filter(|it| !is_back(it)).collect();
        let is_noted: HashSet<Spot> = still.iter().map(|noted| noted.at).collect();
        let made_room = probes().filter(|(planned, _)| {
            let was_call = planned.was_taken_out && planned.form != Form::Entry;
            was_call && !is_noted.contains(&Spot::Call(planned.place))
        });
        let made_room = made_room.map(|(_, id)| self.probe(id).because(NotTimed::MadeRoom, true));
        let noted = still.iter().map(|noted| noted.unpatched.clone());
        let refused = probes().filter_map(|(planned, id)| {
            let reason = refusal(arena.probes()[id as usize].refused.load(Relaxed))?;
            let is_call = planned.form != Form::Entry;
            Some(
                self.probe(id)
                    .because(NotTimed::Code(reason.to_owned()), is_call),
            )
        });
        noted.chain(made_room).chain(refused).collect()
    }

    /// The call of a probe, or the entry that it is at.
    pub(crate) fn probe(&self, id: u32) -> Untimed {
        let (planned, site) = (&self.probes[id as usize], &self.sites.sites[id as usize]);
        let (at, name) = match planned.form {
            Form::Entry => (
                Spot::Entry(planned.place),
                format!("entry of {}", site.callee_shown()),
            ),
            _ => (Spot::Call(planned.place), site.site.clone()),
        };
        Untimed {
            at,
            site: name,
            probe: Some(id),
            within: site.holder(),
        }
    }

    /// Why agents could not hook the interval's boundaries.
    pub fn refused_boundaries(&self, arena: &Arena) -> impl Iterator<Item = String> {
        let probes = arena.probes().iter().zip(&self.probes);
        let boundaries = probes.filter(|(_, planned)| planned.role != Role::Inner);
        boundaries.filter_map(|(probe, _)| Some(refusal(probe.refused.load(Relaxed))?.to_owned()))
    }

    /// Notes a call that cannot be timed, with the reason. `hides_time`: its time is its caller's own.
    pub fn note_unpatched(&mut self, what: Untimed, reason: NotTimed, hides_time: bool) {
        let noted = Noted {
            at: what.at,
            unpatched: what.because(reason, hides_time),
        };
        if self.is_noted.insert(noted.clone()) {
            self.noted.push(noted);
        }
    }

    /// Marks the call as timed at its callee's entry: its time is no longer hidden.
    pub(crate) fn note_at_entry(&mut self, site: Location) {
        let at = Spot::Call(site);
        for noted in self.noted.iter_mut().filter(|noted| noted.at == at) {
            noted.unpatched.hides_time = false;
            noted.unpatched.reason = NotTimed::AtCalleesEntry;
        }
    }

    /// Marks the call as hiding time: its callee is not timed at its entry, either.
    pub(crate) fn note_hidden(&mut self, call: Untimed, reason: NotTimed) {
        self.noted
            .retain(|noted| noted.unpatched.hides_time || noted.at != call.at);
        self.note_unpatched(call, reason, true);
    }
}

impl Untimed {
    fn because(self, reason: NotTimed, hides_time: bool) -> Unpatched {
        Unpatched {
            site: self.site,
            reason,
            hides_time,
            probe: self.probe,
            within: self.within,
        }
    }

    /// Puts the callee's name before the site.
    pub(crate) fn of_callee(self, callee: &str) -> Untimed {
        Untimed {
            site: format!("{callee} at {}", self.site),
            ..self
        }
    }
}

/// Why the code does not permit to time a call.
pub(crate) fn by_code(reason: Unpatchable) -> NotTimed {
    match reason {
        Unpatchable::ShortIndirectCall => NotTimed::ShortPointerCall,
        Unpatchable::IndirectTailJump => NotTimed::PointerJump,
        other => NotTimed::Code(other.to_string()),
    }
}

/// Why an agent refused a probe, by the number that it left there.
fn refusal(code: u32) -> Option<&'static str> {
    Some(match code {
        code if code == Refusal::None as u32 => return None,
        code if code == Refusal::BytesDiffer as u32 => {
            "the code in memory is not the file's (changed by another tool?)"
        }
        code if code == Refusal::NoNearMemory as u32 => "no free memory within two gigabytes of it",
        code if code == Refusal::NotWritable as u32 => "the system does not let code be changed",
        code if code == Refusal::NoBarrier as u32 => {
            "other threads run, and the kernel offers no membarrier"
        }
        code if code == Refusal::Architecture as u32 => "not supported on this architecture",
        code if code == Refusal::NotOfForm as u32 => {
            "an instruction of this kind cannot be changed in this way; please report this"
        }
        _ => "no place for a jump that other threads can safely meet",
    })
}
