//! Carrying out what refinement decides, round by round.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use evenkeel_analysis::Analysis;
use evenkeel_symbols::{Callee, Site};
use evenkeel_wire::{Form, Wanted};

use super::{Event, Observer, Planting, Session};
use crate::arena::Arena;
use crate::modules::Modules;
use crate::plan::Function;
use crate::refine::{self, Candidate, State, Step};

/// A round is judged when it has so many intervals and is so old ...
const INTERVALS_ENOUGH: u64 = 300;
const ROUND_AT_LEAST: Duration = Duration::from_millis(400);
/// ... or, where intervals are rare, so many after so long.
const INTERVALS_FEW: u64 = 40;
const ROUND_LONG: Duration = Duration::from_secs(4);
/// Once nothing is left to do, how often to look again.
const SETTLED_PERIOD: Duration = Duration::from_secs(5);
/// How many times the threshold it takes to begin again.
const SETTLED_FACTOR: f64 = 3.0;
/// How long calls through pointers are trapped: a trap costs microseconds.
const DISCOVERY: Duration = Duration::from_millis(100);
/// Probes trapped at a time.
const DISCOVERED_AT_ONCE: usize = 24;

/// Where refinement stands.
#[derive(Debug)]
pub struct Steps {
    opened: HashSet<Function>,
    /// Opened functions with calls for which there was no room yet.
    partly: HashSet<Function>,
    /// Probes that were planted at some time.
    tried: HashSet<u32>,
    barren: HashSet<Function>,
    pointers: HashSet<Function>,
    discovered: HashSet<u32>,
    closed_imports: HashSet<u32>,
    /// Probes uprooted for their cost: never planted again.
    dear: HashSet<u32>,
    round_began: Instant,
    round_base: u64,
    first_interval: Option<Instant>,
    /// Probes being discovered, with what is wanted of them afterwards.
    discovering: HashMap<u32, Wanted>,
    /// Functions that a person may be asked about.
    offered: Vec<Candidate>,
    settled: bool,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps {
            opened: HashSet::new(),
            partly: HashSet::new(),
            tried: HashSet::new(),
            barren: HashSet::new(),
            pointers: HashSet::new(),
            discovered: HashSet::new(),
            closed_imports: HashSet::new(),
            dear: HashSet::new(),
            round_began: Instant::now(),
            round_base: 0,
            first_interval: None,
            discovering: HashMap::new(),
            offered: Vec::new(),
            settled: false,
        }
    }
}

impl Steps {
    /// A new plan was published.
    pub fn round_began(&mut self, intervals_seen: u64) {
        self.round_began = Instant::now();
        self.round_base = intervals_seen;
    }

    /// Whether the present round says enough.
    fn is_ripe(&self, intervals_seen: u64) -> bool {
        let (intervals, age) = (intervals_seen - self.round_base, self.round_began.elapsed());
        let ripe = (intervals >= INTERVALS_ENOUGH && age >= ROUND_AT_LEAST)
            || (intervals >= INTERVALS_FEW && age >= ROUND_LONG);
        ripe && (!self.settled || age >= SETTLED_PERIOD)
    }
}

impl Session<'_> {
    /// Plants what is planted before anything is known.
    pub(super) fn plant_first(&mut self, scope: &[Function], index: usize) {
        match self.settings.planting {
            Planting::Refine | Planting::Manual => {
                for &function in scope {
                    self.open(function);
                }
            }
            Planting::First(limit) => self.open_breadth_first(scope, limit),
            Planting::Every => self.open_everything(index),
        }
    }

    /// Called often; acts when the present round is ripe.
    pub(super) fn refine(&mut self, observer: &mut dyn Observer) {
        let seen = self
            .store
            .analysis
            .as_ref()
            .map_or(0, Analysis::intervals_seen);
        if seen > 0 && self.steps.first_interval.is_none() {
            self.steps.first_interval = Some(Instant::now());
        }
        if !self.steps.discovering.is_empty() {
            if self.steps.round_began.elapsed() >= DISCOVERY {
                self.end_discovery();
                self.publish();
            }
            return;
        }
        if !self.steps.offered.is_empty() {
            if let Some(chosen) = observer.choice() {
                let offered = std::mem::take(&mut self.steps.offered);
                let picked: Vec<Candidate> = chosen
                    .iter()
                    .filter_map(|&i| offered.get(i).cloned())
                    .collect();
                self.steps.settled = picked.is_empty();
                self.take(&picked);
                self.publish();
            }
            return;
        }
        if self.steps.is_ripe(seen) {
            self.judge_round(observer);
        }
    }

    fn judge_round(&mut self, observer: &mut dyn Observer) {
        let options = self.options();
        let Some(analysis) = &self.store.analysis else {
            return;
        };
        let profile = analysis.newest_profile(&self.plan.sites, &options);
        let limits = &self.settings.limits;
        let scope = self
            .interval
            .as_ref()
            .map(|(_, scope)| scope.as_slice())
            .unwrap_or_default();
        let steps = &self.steps;
        let state = State {
            probes: self.plan.probes(),
            scope,
            opened: &steps.opened,
            partly: &steps.partly,
            barren: &steps.barren,
            pointers: &steps.pointers,
            discovered: &steps.discovered,
            closed_imports: &steps.closed_imports,
        };
        let mut next = match self.settings.planting {
            Planting::Refine | Planting::Manual => {
                refine::candidates(&profile, self.plan.sites.root_height, limits, &state)
            }
            _ => Vec::new(),
        };
        if self.steps.settled {
            // A new round throws away a long one: only for something that is clearly above the threshold.
            next.retain(|candidate| candidate.contribution >= SETTLED_FACTOR * limits.threshold);
        }
        let manual = self.settings.planting == Planting::Manual;
        if !manual {
            next.truncate(limits.opened_at_once);
        }
        let seconds = self
            .steps
            .first_interval
            .map_or(0.0, |first| first.elapsed().as_secs_f64());
        if !self.steps.settled || !next.is_empty() {
            observer.event(&Event::Ranking {
                profile: &profile,
                next: &next,
                seconds,
            });
        }
        if matches!(self.settings.planting, Planting::First(_) | Planting::Every) {
            self.steps.settled = true;
            self.steps.round_began = Instant::now();
            return;
        }
        let wanted: usize = next
            .iter()
            .map(|candidate| sites_of(&mut self.modules, &self.arena, candidate.step))
            .sum();
        let planted: Vec<u32> = self.plan.planted().collect();
        let best = next.first().map_or(0.0, |candidate| candidate.contribution);
        for closing in refine::to_close(&profile, limits, &state, &planted, wanted, best) {
            let id = closing.id;
            self.plan.want(&self.arena, id, Wanted::Off);
            if closing.too_dear {
                self.steps.dear.insert(id);
                let site = &self.plan.sites.sites[id as usize];
                let (site, callee) = (site.site.clone(), site.callee.clone());
                let reason =
                    format!("{callee} is called too often to be timed within --max-overhead");
                self.plan.note_unpatched(site, reason);
            }
        }
        if manual && !next.is_empty() {
            self.steps.offered = next;
        } else {
            // Where there is no room for anything better, what is planted is the end of it.
            self.steps.settled = !self.take(&next);
        }
        self.publish();
        if self.steps.settled {
            self.steps.round_began = Instant::now();
        }
    }

    /// Takes the steps. False if none led anywhere.
    fn take(&mut self, candidates: &[Candidate]) -> bool {
        let mut progress = false;
        for candidate in candidates {
            progress |= !matches!(candidate.step, Step::Open(_));
            match candidate.step {
                Step::Open(function) => progress |= self.open(function),
                Step::Follow(id) => self.follow(id),
                Step::Discover(id) => self.discover(&[id]),
                Step::DiscoverIn(function) => {
                    let ids = self.pointer_probes(function);
                    self.steps.pointers.remove(&function);
                    self.discover(&ids);
                }
            }
        }
        progress
    }

    /// Times the calls that a function makes, as far as the limit on probes allows; the others when there is room again.
    /// Where it allows none, the function stays a candidate: false.
    fn open(&mut self, function: Function) -> bool {
        let (index, entry) = function;
        let Ok(Some(module)) = self.modules.get(&self.arena, index) else {
            self.steps.barren.insert(function);
            return true;
        };
        let (mut any, mut crowded) = (false, false);
        for site in module.call_sites(entry) {
            if is_discovered_only(&site) {
                self.steps.pointers.insert(function);
                any = true;
                if let Some(reason) = site.unpatchable() {
                    self.plan.note_unpatched(
                        crate::interval::site_name(&module, site.address),
                        reason.to_string(),
                    );
                }
                continue;
            }
            let room = self.plan.planted().count() < self.settings.limits.probes_max;
            if let Some(id) = self.plan.add_site(&mut self.arena, index, &module, &site)
                && !self.steps.dear.contains(&id)
                && !self.steps.tried.contains(&id)
            {
                any |= room;
                crowded |= !room;
                if room {
                    self.steps.tried.insert(id);
                    self.plan.want(&self.arena, id, Wanted::On);
                }
            }
        }
        if any {
            self.steps.opened.insert(function);
        }
        let opened = self.steps.opened.contains(&function);
        if crowded && opened {
            self.steps.partly.insert(function);
        } else {
            self.steps.partly.remove(&function);
        }
        if !crowded && !opened {
            self.steps.barren.insert(function);
        }
        any || !crowded
    }

    /// Finds where an import leads.
    fn follow(&mut self, id: u32) {
        self.steps.closed_imports.insert(id);
        let (from, name) = (
            self.plan.probes()[id as usize].holder.0,
            self.plan.sites.sites[id as usize].callee.clone(),
        );
        let name = name.split('@').next().unwrap_or(&name).to_owned();
        if let Some(callee) = self.modules.definition(&self.arena, from, &name) {
            let height = match self.modules.get(&self.arena, callee.0) {
                Ok(Some(module)) => module.height(callee.1).unwrap_or(0),
                _ => 0,
            };
            self.plan.set_callee(id, callee, height);
            self.open(callee);
        }
    }

    /// Probes at the short pointer calls of a function.
    fn pointer_probes(&mut self, (index, entry): Function) -> Vec<u32> {
        let Ok(Some(module)) = self.modules.get(&self.arena, index) else {
            return Vec::new();
        };
        let sites: Vec<_> = module
            .call_sites(entry)
            .into_iter()
            .filter(is_discovered_only)
            .take(DISCOVERED_AT_ONCE)
            .collect();
        sites
            .iter()
            .filter_map(|site| self.plan.add_site(&mut self.arena, index, &module, site))
            .collect()
    }

    /// Begins to trap calls through pointers.
    fn discover(&mut self, ids: &[u32]) {
        for &id in ids {
            self.steps.discovered.insert(id);
            self.steps
                .discovering
                .insert(id, self.plan.probes()[id as usize].wanted);
            self.plan.want(&self.arena, id, Wanted::Discover);
        }
    }

    /// Ends trapping, and times what was found to be called, at its entry.
    fn end_discovery(&mut self) {
        for (id, before) in std::mem::take(&mut self.steps.discovering) {
            self.plan.want(&self.arena, id, before);
            for callee in self.plan.seen(&self.arena, id) {
                if !Modules::may_open(&self.arena, callee.0) {
                    continue;
                }
                let Ok(Some(module)) = self.modules.get(&self.arena, callee.0) else {
                    continue;
                };
                if let Some(entry) = self.plan.add_entry(&mut self.arena, callee, &module) {
                    self.plan.want(&self.arena, entry, Wanted::On);
                }
            }
        }
    }

    fn open_breadth_first(&mut self, scope: &[Function], limit: usize) {
        let mut queue: std::collections::VecDeque<Function> = scope.iter().copied().collect();
        let mut met: HashSet<Function> = scope.iter().copied().collect();
        let mut planted = 0;
        while let Some((index, entry)) = queue.pop_front() {
            let Ok(Some(module)) = self.modules.get(&self.arena, index) else {
                continue;
            };
            for site in module.call_sites(entry) {
                if planted == limit {
                    return;
                }
                if site.unpatchable().is_some() {
                    continue;
                }
                if let Some(id) = self.plan.add_site(&mut self.arena, index, &module, &site) {
                    self.plan.want(&self.arena, id, Wanted::On);
                    planted += 1;
                }
                if let Callee::Function(callee) = site.callee
                    && met.insert((index, callee))
                {
                    queue.push_back((index, callee));
                }
            }
        }
    }

    fn open_everything(&mut self, index: usize) {
        let Ok(Some(module)) = self.modules.get(&self.arena, index) else {
            return;
        };
        let entries: Vec<u64> = module
            .functions()
            .iter()
            .map(|function| function.entry)
            .collect();
        for entry in entries {
            for site in module.call_sites(entry) {
                if let Some(id) = self.plan.add_site(&mut self.arena, index, &module, &site)
                    && !is_discovered_only(&site)
                {
                    self.plan.want(&self.arena, id, Wanted::On);
                }
            }
        }
    }
}

/// Whether a call through a pointer can be discovered but not timed where it is.
fn is_discovered_only(site: &Site) -> bool {
    matches!(site.form, Ok(Form::ShortIndirectCall | Form::IndirectJump))
        && site.callee == Callee::Pointer
}

/// Probes that a step needs.
fn sites_of(modules: &mut Modules, arena: &Arena, step: Step) -> usize {
    match step {
        Step::Open((index, entry)) => match modules.get(arena, index) {
            Ok(Some(module)) => module
                .call_sites(entry)
                .iter()
                .filter(|site| site.unpatchable().is_none())
                .count(),
            _ => 0,
        },
        Step::DiscoverIn(_) | Step::Discover(_) | Step::Follow(_) => 2,
    }
}
