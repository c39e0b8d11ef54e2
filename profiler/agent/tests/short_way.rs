//! The short way through a boundary calls nothing that may use registers which it does not save. This holds for the
//! test's build and for the users' build, because the compiler generates different calls in each.

use std::collections::HashSet;
use std::path::Path;

use evenkeel_symbols::{Callee, DebugSources, Module};

mod harness;

/// Everything that is called from the functions of these names, by entry, and what is called that is not in the module.
fn reached(module: &Module, from: [&str; 2]) -> (HashSet<u64>, Vec<String>) {
    let named = |name: &str| {
        let found = module
            .functions()
            .iter()
            .find(|function| module.name(function.entry).ends_with(name));
        found.unwrap_or_else(|| panic!("no {name}")).entry
    };
    let mut left: Vec<u64> = from.into_iter().map(named).collect();
    let (mut met, mut outside) = (HashSet::new(), Vec::new());
    while let Some(entry) = left.pop() {
        // Nobody comes back from a panic: the process is aborted.
        if module.name(entry).contains("panic") || !met.insert(entry) {
            continue;
        }
        for site in module.call_sites(entry) {
            match site.callee {
                Callee::Function(callee) => left.push(callee),
                other => outside.push(format!(
                    "{} in {}",
                    module.callee_name(&other),
                    module.name(entry)
                )),
            }
        }
    }
    (met, outside)
}

#[track_caller]
fn assert_stays_inside(agent: &Path) {
    let module = Module::load(agent, &DebugSources::none()).unwrap();
    let short = ["boundaries::enter_short", "boundaries::leave_short"];
    let (met, outside) = reached(&module, short);
    assert!(outside.is_empty(), "{outside:#?}");
    // The long ways do leave, or this would see nothing.
    let long = ["boundaries::enter", "boundaries::leave"];
    assert!(!reached(&module, long).1.is_empty());
    assert!(met.len() > 2);
}

#[test]
fn the_short_way_stays_inside() {
    assert_stays_inside(harness::build::agent());
}

#[test]
fn the_short_way_stays_inside_as_released() {
    assert_stays_inside(&harness::build::agent_of("release", "release"));
}
