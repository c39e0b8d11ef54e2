//! Calls that are timed from the beginning: before anything is known, and where nothing is refined.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering::Release;

use evenkeel_analysis::sites::Kind;
use evenkeel_intervals::interval::{Boundary, Hooked, Interval, Place};
use evenkeel_symbols::Callee;
use evenkeel_wire::{Role, Wanted};

use super::trapping::is_discovered_only;
use super::{Code, Planting, Refiner};
use crate::error::Error;
use crate::location::Location;
use crate::plan::{NotHooked, qualified};

/// A place that cannot be hooked, though the profile cannot do without it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The function or call site.
    pub(crate) site: String,
    /// Why not.
    pub(crate) why: NotHooked,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        let Refused { site, why } = refused;
        let reason = why.to_string();
        evenkeel_intervals::Error::BoundaryRefused { site, reason }.into()
    }
}

/// The function that is called at a place, if the instruction names it.
fn function_at(place: &Place) -> Option<u64> {
    match place {
        Place::Entry(entry, _) => Some(*entry),
        Place::Site(site) => match site.callee {
            Callee::Function(entry) => Some(entry),
            Callee::Import(_) | Callee::Pointer => None,
        },
    }
}

impl Refiner {
    /// Plants an interval: its boundaries, what the user named, and what is timed before anything is known of it.
    ///
    /// # Errors
    /// A boundary, or what the user named, cannot be hooked.
    pub(crate) fn begin(
        &mut self,
        index: usize,
        interval: &Interval,
        named: &[Hooked],
        code: &mut Code<'_>,
    ) -> Result<(), Refused> {
        if self.plan.sites.root.is_empty() {
            self.plan.name_root(&interval.name, interval.height);
        }
        self.hook(index, &interval.boundaries, code)?;
        // Before calls are timed for the profile: one hook has one meaning, and what the user named goes first.
        for hooked in named {
            self.hook(index, &hooked.boundaries, code)?;
        }
        if let Ok(module) = code.module(index) {
            for client in &interval.clients {
                let planted = self.plan.add_site(code.arena, index, &module, client);
                if planted.is_some() {
                    self.plan.set_kind(index, client.address, Kind::Client);
                }
            }
        }
        let entries = interval.scope.iter();
        let scope: Vec<Location> = entries.map(|&entry| Location::new(index, entry)).collect();
        self.scope.extend(&scope);
        self.plant_first(&scope, index, code);
        self.plan.touch();
        Ok(())
    }

    /// Hooks places that the profile cannot do without.
    ///
    /// # Errors
    /// One cannot be hooked.
    pub(crate) fn hook(
        &mut self,
        index: usize,
        boundaries: &[Boundary],
        code: &mut Code<'_>,
    ) -> Result<(), Refused> {
        let Ok(module) = code.module(index) else {
            return Ok(()); // nothing was found in it
        };
        for boundary in boundaries {
            let planted = self.plan.add_boundary(code.arena, index, &module, boundary);
            planted.map_err(|why| Refused {
                site: match &boundary.place {
                    Place::Site(site) => qualified(code.arena, index, &module, site.address),
                    Place::Entry(entry, _) => module.name(*entry),
                },
                why,
            })?;
            match boundary.meaning.role {
                Role::Gate => code.arena.control().gated.store(1, Release),
                Role::BeginKeyed => self.is_keyed = true,
                Role::Work => {
                    let works = function_at(&boundary.place);
                    self.works
                        .extend(works.map(|entry| Location::new(index, entry)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Plants what is planted before anything is known.
    fn plant_first(&mut self, scope: &[Location], index: usize, code: &mut Code<'_>) {
        match self.planting {
            Planting::Refine | Planting::Manual => {
                for &function in scope {
                    self.open(function, code);
                }
            }
            Planting::First(limit) => self.open_breadth_first(scope, limit, code),
            Planting::Every => self.open_everything(index, code),
        }
    }

    fn open_breadth_first(&mut self, scope: &[Location], limit: usize, code: &mut Code<'_>) {
        let mut queue: VecDeque<Location> = scope.iter().copied().collect();
        let mut met: HashSet<Location> = scope.iter().copied().collect();
        let mut planted = 0;
        while let Some(function) = queue.pop_front() {
            let index = function.module;
            let Ok(module) = code.module(index) else {
                continue;
            };
            for site in module.call_sites(function.address) {
                if planted == limit {
                    return;
                }
                if site.unpatchable().is_some() {
                    continue;
                }
                if let Some(id) = self.plan.add_site(code.arena, index, &module, &site) {
                    self.plan.want(code.arena, id, Wanted::On);
                    planted += 1;
                }
                if let Callee::Function(callee) = site.callee
                    && met.insert(Location::new(index, callee))
                {
                    queue.push_back(Location::new(index, callee));
                }
            }
        }
    }

    fn open_everything(&mut self, index: usize, code: &mut Code<'_>) {
        let Ok(module) = code.module(index) else {
            return;
        };
        let entries: Vec<u64> = module
            .functions()
            .iter()
            .map(|function| function.entry)
            .collect();
        for entry in entries {
            for site in module.call_sites(entry) {
                if let Some(id) = self.plan.add_site(code.arena, index, &module, &site)
                    && !is_discovered_only(&site)
                {
                    self.plan.want(code.arena, id, Wanted::On);
                }
            }
        }
    }
}
