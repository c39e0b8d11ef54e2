//! Reasons why nothing was profiled, or not all. Advice rests on observation: the target's processes are examined at
//! times ([`super::target`]), and the reason at the end follows from that. So no user is told to put a busy server
//! under load.

use std::path::Path;
use std::sync::atomic::Ordering::*;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_symbols::{Callee, DebugSources, FindError, Module};
use evenkeel_wire::{Control, Frozen, Role};

use super::target::runs_without_agent;
use super::{Event, IntervalSelector, Observer, Session};
use crate::ending::Ending;
use crate::error::Error;
use crate::modules::Modules;
use crate::no_profile::{Hint, Reason};

/// Libraries whose symbols are read to find a name.
const LIBRARIES_MAX: usize = 64;
/// Libraries' names that are spelt alike and suggested, at most.
const ALIKE_MAX: usize = 3;

/// Intervals are rare below this part of the time for which processes work, ...
const RARE: f64 = 0.02;
/// ... if that is this part of a processor at least, for so long.
const BUSY_LEAST: f64 = 0.2;
const SECONDS_LEAST: f64 = 5.0;

/// The observed part of a target's work.
#[derive(Clone, Copy, Debug)]
struct Rare {
    seconds: f64,
    in_intervals_s: f64,
    /// Processors that its processes used.
    busy: f64,
}

impl Rare {
    /// The part of its work that is in intervals, if that is little.
    fn part_of_work(self) -> Option<f64> {
        let fraction = self.in_intervals_s / (self.busy * self.seconds).max(1e-9);
        let is_known = self.in_intervals_s > 0.0 && self.seconds >= SECONDS_LEAST;
        (is_known && self.busy >= BUSY_LEAST && fraction < RARE).then_some(fraction)
    }
}

impl Session<'_> {
    /// Examines the target's processes, if it is time, and reports those whose intervals are missing. Omissions of
    /// processes that ran before were reported at the attach.
    pub(super) fn watch_processes(&mut self, observer: &mut dyn Observer) {
        let analysis = self.records.sink.analysis.as_ref();
        let none_ended = analysis.is_none_or(|analysis| analysis.intervals_seen() == 0);
        if none_ended {
            // Later its thread may be gone.
            let read = analysis.map_or(0, Analysis::in_flight);
            // Records of one that is not over are not read.
            let open = self.records.arena.open_intervals().count() as u64;
            self.target.watch.in_flight = read.max(open);
        }
        if !self.target.watch.is_due() {
            return;
        }
        let library = self.settings.selector.library();
        let is_launched = self.target.is_launched();
        let file = self.interval_file().filter(|_| is_launched);
        let (roots, watch) = (self.target.roots(), &mut self.target.watch);
        let found = watch.look(roots, none_ended, library, file.as_deref());
        for (program, absence) in found {
            let why = runs_without_agent(program, absence).to_string();
            observer.event(&Event::LeftOut { why: &why });
            self.run.warnings.push(Warning::Unprofiled(why));
        }
    }

    /// Where intervals take little of the target's processor time, warns that its load may not consist of them:
    /// without debug information nothing else shows copies of their function.
    pub(super) fn note_rare_intervals(&mut self) {
        self.target.watch.look_at_last(self.target.roots());
        let is_explained = |warning: &Warning| {
            matches!(
                warning,
                Warning::InlinedElsewhere { .. } | Warning::Unprofiled(_)
            )
        };
        let (Some(analysis), Some(hooked)) = (&self.records.sink.analysis, self.run.hooked) else {
            return;
        };
        if self.run.interval.is_none() || self.run.warnings.iter().any(is_explained) {
            return;
        }
        let rare = Rare {
            seconds: hooked.elapsed().as_secs_f64(),
            in_intervals_s: analysis.intervals_seen() as f64 * self.target.watch.mean_ns * 1e-9,
            busy: self.target.watch.busy().unwrap_or(0.0),
        };
        if let Some(fraction) = rare.part_of_work() {
            self.run.warnings.push(Warning::IntervalsRare { fraction });
        }
    }

    /// The file that has the interval's functions, as its processes have it mapped.
    fn interval_file(&self) -> Option<String> {
        self.run.interval.as_ref()?;
        let boundary = self.refiner.plan.probes().first();
        let boundary = boundary.map(|probe| probe.holder.module);
        let within = self.refiner.scope.first().map(|location| location.module);
        let file = &self.records.arena.modules()[within.or(boundary)?];
        Some(String::from_utf8_lossy(file.path()).into_owned())
    }

    /// The error where the interval's function is in no program that the agent was loaded into.
    pub(super) fn explain_not_found(&mut self) -> Option<Error> {
        let (error, program, others) = self.target.passed.take()?;
        let reason = self
            .in_a_library(&error)
            .or_else(|| self.in_an_opened_library(&error))
            .or_else(|| self.target.without_agent())
            .map(Hint::Reason)
            .or_else(|| self.without_names(&error, &program).map(Hint::Names));
        Some(match (reason, others.as_str()) {
            (None, "") => error,
            (hint, _) => Error::NotInPrograms {
                error: Box::new(error),
                others,
                hint,
            },
        })
    }

    /// Why no interval has ended.
    pub(super) fn nothing_profiled(&mut self, ending: Ending) -> Error {
        // What the program starts, and does not have the function, is no reason where the program has it.
        if self.run.interval.is_none()
            && let Some(error) = self.explain_not_found()
        {
            return error;
        }
        let failed = self.failed();
        if !failed.is_empty() {
            return Error::NothingProfiled(Reason::AgentFailed { failed });
        }
        let reason = self.reason();
        match ending {
            Ending::Exited(code) if code != 0 => Error::Failed { code, reason },
            Ending::Killed(signal) => Error::Killed { signal, reason },
            _ => Error::NothingProfiled(reason),
        }
    }

    /// Where the names are that a stripped program lacks.
    fn without_names(&mut self, error: &Error, program: &Path) -> Option<String> {
        let missing = error.missing_function();
        let is_bare = missing.is_some_and(|(_, closest)| closest.is_empty());
        let count = self.records.arena.modules().len();
        let mut programs =
            (0..count).filter(|&at| Modules::path(&self.records.arena, at) == program);
        let index = programs.next().filter(|_| is_bare)?;
        let module = self.modules.get(&self.records.arena, index).ok()?;
        module.names_elsewhere()
    }

    /// The reason why this many intervals were left: their ends may have been met on other threads.
    pub(super) fn ends_elsewhere(&self, left: u64) -> Option<Reason> {
        let ends = self.records.arena.control().ends_elsewhere.load(Relaxed);
        let name = self.run.interval.clone()?;
        let enough = (left / 2).clamp(1, Control::ENDS_ELSEWHERE_MAX);
        (ends >= enough).then_some(Reason::EndsElsewhere { name, ends })
    }

    fn reason(&mut self) -> Reason {
        let control = self.records.arena.control();
        if self.run.interval.is_none() && self.target.watch.lacks_room {
            return Reason::NoAddressSpace;
        }
        if self.target.is_launched() && control.processes.load(Relaxed) == 0 {
            return self.target.without_agent().unwrap_or(Reason::NeverLoaded);
        }
        let Some(name) = self.run.interval.clone() else {
            return self.no_module();
        };
        let ends = self.records.arena.control().ends_elsewhere.load(Relaxed);
        if ends > 2 * self.target.watch.in_flight {
            return Reason::EndsElsewhere { name, ends };
        }
        if self.target.watch.in_flight > 0 {
            return Reason::NeverEnded {
                name,
                in_flight: self.target.watch.in_flight,
                recursive: self.calls_itself(),
            };
        }
        if let Some(reason) = self.boundary_refused(&name) {
            return reason;
        }
        if let Some(why) = self.target.not_yet() {
            return Reason::NotAttached { name, why };
        }
        let pid = self.target.pid();
        let state = evenkeel_attach::process::status(pid, "State").unwrap_or_default();
        if state.starts_with('T') {
            return Reason::Stopped { name, pid };
        }
        let processes = self.records.arena.control().processes_hooked.load(Relaxed);
        let elsewhere = self.target.without_agent();
        if processes == 0 && elsewhere.is_none() {
            return Reason::NotExamined;
        }
        Reason::NotCalled {
            name,
            processes,
            busy: self.target.watch.busy(),
            elsewhere: elsewhere.map(Box::new),
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
        let processes = self.records.arena.control().processes.load(Relaxed);
        match &self.settings.selector {
            IntervalSelector::Preset(preset, _) => Reason::NoProgram {
                programs: preset.programs.join(" or "),
            },
            IntervalSelector::Spec(spec) => {
                let Some(library) = spec.library.clone() else {
                    return Reason::NotExamined;
                };
                match self.target.watch.unannounced(&library) {
                    Some(path) => Reason::RelativePath { path },
                    None => Reason::NoLibrary { library, processes },
                }
            }
        }
    }

    /// The interval's function is in a library, where it was not looked for, or one that is spelt alike.
    fn in_a_library(&mut self, error: &Error) -> Option<Reason> {
        let (name, closest) = error.missing_function()?;
        let mut alike = Vec::new();
        for index in 0..self.records.arena.modules().len().min(LIBRARIES_MAX) {
            let library = Modules::name(&self.records.arena, index);
            let is_library = self.records.arena.modules()[index].executable.load(Relaxed) == 0;
            if !is_library || evenkeel_attach::is_agent(&library) {
                continue;
            }
            let may_open = Modules::may_open(&self.records.arena, index);
            let Ok(module) = self.modules.get(&self.records.arena, index) else {
                continue;
            };
            match module.find(name) {
                Ok(_) | Err(FindError::Ambiguous { .. }) => {
                    let name = name.to_owned();
                    return Some(Reason::InLibrary { name, library });
                }
                // The C library has a name that is like any.
                Err(FindError::NoSuchFunction { closest, .. }) if may_open => {
                    alike.extend(closest.first().map(|name| format!("{library}!{name}")));
                }
                Err(_) => {}
            }
        }
        alike.truncate(ALIKE_MAX);
        (closest.is_empty() && !alike.is_empty()).then_some(Reason::AlikeInLibrary { names: alike })
    }

    /// The interval's function is in a library that the program opened at run time. By then its agent had left,
    /// because the program does not have the function, and announced nothing more.
    fn in_an_opened_library(&self, error: &Error) -> Option<Reason> {
        let (name, _) = error.missing_function()?;
        let count = self.records.arena.modules().len();
        let announced: Vec<_> = (0..count)
            .map(|at| Modules::path(&self.records.arena, at))
            .collect();
        let mapped = self.target.watch.mapped.iter().map(Path::new);
        let mut opened = mapped
            .filter(|path| !announced.iter().any(|known| known == path))
            .take(LIBRARIES_MAX);
        let library = opened.find(|path| {
            Module::load(path, &DebugSources::none()).is_ok_and(|module| module.find(name).is_ok())
        })?;
        Some(Reason::InLibrary {
            name: name.to_owned(),
            library: library.file_name()?.to_string_lossy().into_owned(),
        })
    }

    /// No process could hook the interval's boundaries.
    fn boundary_refused(&self, name: &str) -> Option<Reason> {
        let probes = self
            .records
            .arena
            .probes()
            .iter()
            .zip(self.refiner.plan.probes());
        let mut boundaries =
            probes.filter(|(_, planned)| !matches!(planned.role, Role::Inner | Role::Label));
        if boundaries.any(|(probe, _)| probe.planted.load(Relaxed) > 0) {
            return None;
        }
        let name = name.to_owned();
        if self.is_sealed() {
            return Some(Reason::NoWriteExecute { name });
        }
        let mut refused = self.refiner.plan.refused_boundaries(&self.records.arena);
        let why = refused.next()?;
        Some(Reason::Refused { name, why })
    }

    /// A process gave up the right to change its code.
    fn is_sealed(&self) -> bool {
        self.records.arena.control().frozen[Frozen::WriteExecute as usize].load(Relaxed) > 0
    }

    /// Whether one of the interval's functions calls itself.
    fn calls_itself(&mut self) -> bool {
        let scope = self.refiner.scope.clone();
        scope.into_iter().any(|function| {
            let module = self.modules.get(&self.records.arena, function.module);
            module.is_ok_and(|module| {
                let sites = module.call_sites(function.address);
                let itself = Callee::Function(function.address);
                sites.iter().any(|site| site.callee == itself)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a processor for ten seconds. Intervals of 50 ms in all are 1 % of it, those of 500 ms a tenth. A target
    /// that waits for work, or was seen for a moment only, shows nothing.
    #[test]
    fn intervals_are_rare_beside_much_other_work() {
        let part = |seconds, in_intervals_s, busy| {
            let rare = Rare {
                seconds,
                in_intervals_s,
                busy,
            };
            rare.part_of_work()
        };
        assert!(part(10.0, 0.05, 0.5).is_some_and(|part| (part - 0.01).abs() < 1e-9));
        assert_eq!(part(10.0, 0.5, 0.5), None);
        assert_eq!(part(10.0, 0.05, 0.1), None);
        assert_eq!(part(2.0, 0.01, 0.5), None);
        assert_eq!(part(10.0, 0.0, 0.5), None);
    }
}
