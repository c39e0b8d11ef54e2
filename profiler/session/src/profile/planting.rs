//! What is timed from the beginning: before anything is known, and where nothing is refined.

use std::collections::{HashSet, VecDeque};

use evenkeel_symbols::Callee;
use evenkeel_wire::Wanted;

use super::trapping::is_discovered_only;
use super::{Planting, Session};
use crate::location::Location;

impl Session<'_> {
    /// Plants what is planted before anything is known.
    pub(super) fn plant_first(&mut self, scope: &[Location], index: usize) {
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

    fn open_breadth_first(&mut self, scope: &[Location], limit: usize) {
        let mut queue: VecDeque<Location> = scope.iter().copied().collect();
        let mut met: HashSet<Location> = scope.iter().copied().collect();
        let mut planted = 0;
        while let Some(function) = queue.pop_front() {
            let index = function.module;
            let Ok(module) = self.modules.get(&self.arena, index) else {
                continue;
            };
            for site in module.call_sites(function.address) {
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
                    && met.insert(Location::new(index, callee))
                {
                    queue.push_back(Location::new(index, callee));
                }
            }
        }
    }

    fn open_everything(&mut self, index: usize) {
        let Ok(module) = self.modules.get(&self.arena, index) else {
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
