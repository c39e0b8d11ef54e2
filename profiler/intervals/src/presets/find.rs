//! Finds functions in a stripped binary without guessing: by their exported names, and by their callees.

use std::collections::BTreeSet;

use evenkeel_symbols::{Callee, Module, Site, unversioned};

use crate::interval::{Boundary, Meaning, Place, sites_of_callers};

/// An exported function.
pub fn function(module: &Module, name: &str) -> Result<u64, String> {
    module
        .find(name)
        .map_err(|_| format!("it has no function {name}"))
}

/// Height of a function in the static call graph.
pub fn height(module: &Module, entry: u64) -> u32 {
    module.height(entry).unwrap_or(0)
}

/// Calls and tail calls of `callee` in `caller`.
pub fn sites_in(module: &Module, caller: u64, callee: u64) -> Vec<Site> {
    let calls = |site: &Site| site.callee == Callee::Function(callee);
    module
        .call_sites(caller)
        .into_iter()
        .filter(calls)
        .collect()
}

/// Functions of the module that `caller` calls directly.
pub fn callees(module: &Module, caller: u64) -> BTreeSet<u64> {
    module
        .call_sites(caller)
        .into_iter()
        .filter_map(|site| match site.callee {
            Callee::Function(entry) => Some(entry),
            _ => None,
        })
        .collect()
}

/// The one callee of `caller` that calls all of `called`.
pub fn only_one(module: &Module, caller: &str, called: &[&str]) -> Result<u64, String> {
    let wanted: Vec<u64> = called
        .iter()
        .map(|name| function(module, name))
        .collect::<Result<_, _>>()?;
    let found: Vec<u64> = callees(module, function(module, caller)?)
        .into_iter()
        .filter(|&entry| {
            wanted
                .iter()
                .all(|&callee| !sites_in(module, entry, callee).is_empty())
        })
        .collect();
    match found[..] {
        [entry] => Ok(entry),
        _ => Err(format!(
            "{} functions called by {caller} call {}, not one",
            found.len(),
            called.join(" and ")
        )),
    }
}

/// The one function that calls all of these functions of other libraries.
pub fn only_caller_of_imports(module: &Module, imports: &[&str]) -> Result<u64, String> {
    let calls = |site: &Site, import: &str| match &site.callee {
        Callee::Import(name) => unversioned(name) == import,
        _ => false,
    };
    let found: Vec<u64> = module
        .functions()
        .iter()
        .map(|function| function.entry)
        .filter(|&entry| {
            let sites = module.call_sites(entry);
            imports
                .iter()
                .all(|import| sites.iter().any(|site| calls(site, import)))
        })
        .collect();
    match found[..] {
        [entry] => Ok(entry),
        _ => Err(format!(
            "{} functions call {}, not one",
            found.len(),
            imports.join(" and ")
        )),
    }
}

/// A function is hooked at its entry, or where that is impossible at every direct call of it.
pub fn at_function(module: &Module, entry: u64, meaning: Meaning) -> Vec<Boundary> {
    match module.displaced(entry) {
        Ok(displaced) => vec![Boundary {
            place: Place::Entry(entry, Box::new(displaced)),
            meaning,
        }],
        Err(_) => at_sites(sites_of_callers(module, entry), meaning),
    }
}

/// Call sites that all mean the same.
pub fn at_sites(sites: Vec<Site>, meaning: Meaning) -> Vec<Boundary> {
    sites
        .into_iter()
        .map(|site| Boundary {
            place: Place::Site(site),
            meaning,
        })
        .collect()
}
