//! What a session adds to its records: the facts of the run, for the report, and what explains them, for the recording.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::*;
use std::time::SystemTime;

use evenkeel_analysis::profile::{Machine, RunDetails, SamplingRule};
use evenkeel_analysis::sites::is_unnamed;
use evenkeel_analysis::{Options, RunFacts};
use evenkeel_intervals::spec::Shape;
use evenkeel_recording::Meta;
use evenkeel_symbols::INFERRED;

use super::{IntervalSelector, Session, Settings};
use crate::clock::{TickClock, unix_ns};
use crate::modules::Modules;

/// Files named that lack names, at most.
const FILES_MAX: usize = 3;

impl Session<'_> {
    pub(super) fn options(&self) -> Options {
        self.run.options(self.settings, &self.records)
    }

    /// What explains the records up to now.
    pub(super) fn meta(&mut self) -> Meta {
        let facts = RunFacts {
            // Long, and the same each time: a recording of sums has it at its end.
            unpatched: match self.settings.summary.is_some() {
                true => Vec::new(),
                false => self.refiner.plan.unpatched(&self.records.arena),
            },
            ..self.counts()
        };
        let (build, server) = (self.build(), self.server());
        let sites = &self.refiner.plan.sites;
        Meta {
            facts,
            build,
            server,
            ..self.run.meta(self.settings, &self.records, sites)
        }
    }

    /// What is known of the run beside its records.
    pub(super) fn facts(&mut self) -> RunFacts {
        let runs_nowhere = self.runs_nowhere();
        let (refiner, mut code) = self.refiner();
        let mut facts = RunFacts {
            unpatched: refiner.plan.unpatched(code.arena),
            unopened: Some(refiner.unopened(runs_nowhere, &mut code)),
            ..self.counts()
        };
        facts.details.names = self.names_elsewhere();
        facts
    }

    /// Of that what is counted, and what the user should know.
    fn counts(&self) -> RunFacts {
        RunFacts {
            sampling: Some(sampling(self.settings)),
            traps: self.records.arena.control().traps.load(Relaxed),
            stops: self.target.stops,
            details: RunDetails {
                names: Vec::new(),
                unnamed_threads: self.stacks.copied.unnamed.functions(),
                outside: self.run.outside.to_owned(),
                listen_queues: self.run.listening.seen(),
                settings: self.run.server_settings.seen(),
                failed: self.failed(),
                machine: Some(machine(&self.records.clock)),
            },
            warnings: self.all_warnings(),
            ..self.records.counts()
        }
    }

    /// Looks at the server's settings, if its preset knows any.
    pub(super) fn look_at_settings(&mut self) {
        let IntervalSelector::Preset(preset, _) = &self.settings.selector else {
            return;
        };
        let location = self.refiner.scope.first();
        if let Some(index) = location.map(|location| location.module)
            && self.run.server_settings.is_due()
            && let Ok(program) = self.modules.get(&self.records.arena, index)
        {
            let pid = self.target.pid();
            self.run
                .server_settings
                .look(&preset.settings(), pid, &program);
        }
    }

    /// Build id of the file that has the interval's functions, in hexadecimal.
    fn build(&mut self) -> String {
        let module = self.refiner.scope.first().map(|location| location.module);
        let module = module.and_then(|index| self.modules.get(&self.records.arena, index).ok());
        let id = module.iter().flat_map(|module| module.build_id());
        id.map(|byte| format!("{byte:02x}")).collect()
    }

    /// Version of the server, where a preset knows how to find it: looked for once.
    fn server(&mut self) -> String {
        let IntervalSelector::Preset(preset, _) = &self.settings.selector else {
            return String::new();
        };
        if self.run.interval.is_none() {
            return String::new();
        }
        let (arena, locations) = (&self.records.arena, &self.refiner.scope);
        let version = self.run.server.get_or_insert_with(|| {
            let module = locations.first().map(|location| location.module);
            let path = module.map(|index| Modules::path(arena, index));
            let version = path.and_then(|path| preset.version_of(&path));
            version.unwrap_or_default()
        });
        version.clone()
    }

    /// Whether the interval is what lies between two calls, and nobody knows in which functions.
    fn runs_nowhere(&self) -> bool {
        let IntervalSelector::Spec(spec) = &self.settings.selector else {
            return false; // a preset knows them
        };
        let is_call = matches!(spec.shape, Shape::Call(_));
        self.refiner.refines()
            && !is_call
            && spec.within.is_empty()
            && !self.stacks.copied.have_shown_around()
    }

    /// Where the names are that files lack whose functions the report shows by address or by an inferred name.
    fn names_elsewhere(&mut self) -> Vec<String> {
        let is_nameless = |name: &str| is_unnamed(name) || name.starts_with(INFERRED);
        let plan = &self.refiner.plan;
        let mut files = BTreeSet::new();
        for (planned, site) in plan.probes().iter().zip(&plan.sites.sites) {
            if is_nameless(&site.callee) {
                files.extend(planned.callees.iter().map(|callee| callee.module));
            }
            if is_nameless(&site.caller) {
                files.insert(planned.holder.module);
            }
        }
        let known = files.into_iter().filter_map(|index| {
            let module = self.modules.get(&self.records.arena, index).ok()?;
            module.names_elsewhere()
        });
        known.take(FILES_MAX).collect()
    }
}

/// The rule by which intervals are recorded.
pub fn sampling(settings: &Settings) -> SamplingRule {
    match settings.sampling {
        SamplingRule::All => SamplingRule::All,
        _ if settings.waits => SamplingRule::Windows,
        rule => rule,
    }
}

/// The machine, and how long the run has taken.
pub fn machine(clock: &TickClock) -> Machine {
    let now = unix_ns(SystemTime::now());
    let ns = now.saturating_sub(clock.started().unix_ns);
    // SAFETY: asks for a number.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    Machine {
        processors: u32::try_from(processors).unwrap_or(0),
        seconds: ns as f64 / 1e9,
    }
}
