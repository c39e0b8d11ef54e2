//! What reports call a probe.

use std::rc::Rc;

use evenkeel_analysis::sites::{INDIRECT, Kind, Site as Described};
use evenkeel_intervals::interval::site_name;
use evenkeel_intervals::kinds;
use evenkeel_symbols::{Callee, Module};

use super::Plan;
use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;

impl Plan {
    pub(super) fn describe(
        &mut self,
        arena: &Arena,
        id: u32,
        holder: Location,
        address: u64,
        module: &Rc<Module>,
        callee: Option<&Callee>,
    ) {
        let name = match callee {
            Some(Callee::Pointer) => INDIRECT.to_owned(),
            Some(callee) => module.callee_name(callee),
            None => module.name(address),
        };
        let height = match callee {
            Some(Callee::Function(entry)) => module.height(*entry).unwrap_or(0),
            // It may call anything its caller does not call itself: as high as the caller's other callees can be.
            Some(Callee::Pointer) => module.height(holder.address).unwrap_or(0).saturating_sub(1),
            Some(Callee::Import(_)) => 0,
            None => module.height(address).unwrap_or(0),
        };
        let line = module.line(address);
        let file = Modules::library(arena, holder.module);
        debug_assert_eq!(id as usize, self.sites.sites.len());
        self.sites.sites.push(Described {
            kind: kinds::of(&name),
            callee: name,
            caller: if callee.is_some() {
                module.name(holder.address)
            } else {
                String::new()
            },
            callee_file: match callee {
                // The loader decides which library it belongs to.
                Some(Callee::Import(_) | Callee::Pointer) => None,
                Some(Callee::Function(_)) | None => Some(file.clone()),
            },
            caller_file: callee.is_some().then_some(file),
            address: callee.is_some().then_some(address),
            site: if callee.is_some() {
                qualified(arena, holder.module, module, address)
            } else {
                String::new()
            },
            file: line.as_ref().map(|line| line.file.clone()),
            line: line.map(|line| line.line),
            height,
        });
    }

    /// Marks a call whose time is the client's.
    pub(crate) fn set_kind(&mut self, index: usize, address: u64, kind: Kind) {
        if let Some(&id) = self.by_place.get(&Location::new(index, address)) {
            self.sites.sites[id as usize].kind = kind;
        }
    }
}

/// A site's name, with its file where it is not the executable's.
pub(crate) fn qualified(arena: &Arena, index: usize, module: &Module, address: u64) -> String {
    let name = site_name(module, address);
    match Modules::library(arena, index) {
        file if file.is_empty() => name,
        file => format!("{file}!{name}"),
    }
}
