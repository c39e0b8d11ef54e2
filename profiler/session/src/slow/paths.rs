//! Derives the path of functions from the calls on a stack.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use evenkeel_analysis::sites::{IN_FILE, shown};
use evenkeel_attach::{Calls, CodeAddress, CodeFile, is_agent};
use evenkeel_symbols::{Callee, Site, demangle, unversioned};

use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;

/// Files whose place in the table of modules is remembered.
const FILES_MAX: usize = 1024;

/// A function on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name, or [`IN_FILE`] and that of its file if no other is known.
    pub name: String,
    /// The function, if its calls may be timed.
    pub function: Option<Location>,
    /// Place of the next call in its file, or of the present instruction: an address inside of the instruction.
    pub at: u64,
    /// It has continued in generated code, or by a jump in another function, which makes the next call: `at` is nothing.
    pub goes_on_elsewhere: bool,
}

/// The files that stacks lead into, by where they were met first.
#[derive(Default)]
pub struct Files {
    /// By the address of the record, which is kept with it.
    modules: HashMap<*const CodeFile, (Rc<CodeFile>, usize)>,
}

impl Files {
    /// The path, outermost first. It begins with the interval's function, if that is among the calls, and ends with the
    /// first function of the system. The agent's own functions are left out. A function that continues in generated code is
    /// on the path by the name by which it was called. The interval's function, if it has continued in another by a jump, is
    /// where the outermost hook is.
    pub fn path(
        &mut self,
        calls: &Calls,
        scope: &[Location],
        arena: &Arena,
        modules: &mut Modules,
    ) -> Vec<Step> {
        let is_targets = |call: &CodeAddress| {
            let path = &call.file.loaded.path;
            path.is_absolute() && !is_agent(&path.to_string_lossy())
        };
        let mut path: Vec<Step> = Vec::new();
        let mut in_hook = None;
        for (index, call) in calls.calls.iter().enumerate().rev() {
            if is_targets(call) {
                let step = self.step(call, path.last(), arena, modules);
                path.push(step);
            }
            if calls.into_unknown.contains(&index)
                && let Some(caller) = path.last()
            {
                path.push(generated(caller, arena, modules));
            }
            if calls.into_hook == Some(index) {
                in_hook = Some(path.len());
            }
        }
        if let (Some(begins), &[function]) = (in_hook, scope)
            && path.iter().all(|step| step.function != Some(function))
        {
            let file = modules.get(arena, function.module).ok();
            path.insert(
                begins,
                Step {
                    name: file
                        .map(|file| file.name(function.address))
                        .unwrap_or_default(),
                    function: Some(function),
                    at: 0,
                    goes_on_elsewhere: true,
                },
            );
        }
        of_interval(path, scope)
    }

    /// The function of a call that another has led to.
    fn step(
        &mut self,
        call: &CodeAddress,
        caller: Option<&Step>,
        arena: &Arena,
        modules: &mut Modules,
    ) -> Step {
        let function = self.function(call, arena, modules);
        let named = function.and_then(|function| {
            let module = modules.get(arena, function.module).ok()?;
            let name = module.name(function.address);
            let library = Modules::library(arena, function.module);
            Some(shown(&name, Some(&library)))
        });
        // Of several names at an address, the one that is called, and timed: a library's function whose name only its
        // callers know.
        let import = |(name, place): (String, Option<Location>)| place.is_none().then_some(name);
        let name = named.or_else(|| called(caller?, arena, modules).and_then(import));
        let exported = || {
            Some(
                demangle(call.exported()?)
                    .trim_start_matches('_')
                    .to_owned(),
            )
        };
        let name = name.or_else(exported);
        Step {
            name: name.unwrap_or_else(|| format!("({IN_FILE}{})", file_name(&call.file))),
            function,
            at: call.address,
            goes_on_elsewhere: false,
        }
    }

    /// The function that an address lies in, if its calls may be timed.
    pub fn function(
        &mut self,
        call: &CodeAddress,
        arena: &Arena,
        modules: &mut Modules,
    ) -> Option<Location> {
        let index = self.module(&call.file, arena)?;
        if !Modules::may_open(arena, index) {
            return None;
        }
        let module = modules.get(arena, index).ok()?;
        let function = module.function_at(call.address)?;
        Some(Location::new(index, function.entry))
    }

    /// Index of a file in the arena's table.
    fn module(&mut self, file: &Rc<CodeFile>, arena: &Arena) -> Option<usize> {
        if let Some((_, index)) = self.modules.get(&Rc::as_ptr(file)) {
            return Some(*index);
        }
        let loaded = &file.loaded;
        let mut present = arena.modules().iter();
        let index = present.position(|module| match (&loaded.build_id, module.build_id()) {
            (Some(wanted), Some(present)) => wanted == present,
            _ => module.path() == loaded.path.as_os_str().as_bytes(),
        })?;
        if self.modules.len() >= FILES_MAX {
            self.modules.clear();
        }
        self.modules.insert(Rc::as_ptr(file), (file.clone(), index));
        Some(index)
    }
}

/// The function that another calls where it stands: its name, and its place unless it is an import.
fn called(
    caller: &Step,
    arena: &Arena,
    modules: &mut Modules,
) -> Option<(String, Option<Location>)> {
    let function = caller.function?;
    let module = modules.get(arena, function.module).ok()?;
    let sites = module.call_sites(function.address);
    let is_it =
        |site: &&Site| (site.address..site.address + u64::from(site.len)).contains(&caller.at);
    match &sites.iter().find(is_it)?.callee {
        Callee::Import(name) => Some((demangle(unversioned(name)), None)),
        Callee::Function(address) => {
            let place = Location::new(function.module, *address);
            Some((module.name(*address), Some(place)))
        }
        Callee::Pointer => None,
    }
}

/// The function that this one calls where it stands, and that continues in generated code.
fn generated(caller: &Step, arena: &Arena, modules: &mut Modules) -> Step {
    let (name, function) = called(caller, arena, modules).unzip();
    Step {
        name: name.unwrap_or_else(|| "(generated code)".to_owned()),
        function: function.flatten(),
        at: 0,
        goes_on_elsewhere: true,
    }
}

fn file_name(file: &CodeFile) -> String {
    let path = &file.loaded.path;
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The path from the outermost of these functions on, all of it if none is on it, and of the system's functions at its
/// end the first.
fn of_interval(mut path: Vec<Step>, scope: &[Location]) -> Vec<Step> {
    let is_in_scope = |step: &Step| {
        step.function
            .is_some_and(|function| scope.contains(&function))
    };
    let begins = path.iter().position(is_in_scope);
    path.drain(..begins.unwrap_or(0));
    let last = path.iter().rposition(|step| step.function.is_some());
    path.truncate(last.map_or(1, |last| last + 2));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(address: u64) -> Step {
        Step {
            name: address.to_string(),
            function: Some(Location::new(0, address)),
            at: address,
            goes_on_elsewhere: false,
        }
    }

    /// In a recursion the outermost call is the interval.
    #[test]
    fn a_path_begins_with_the_intervals_function() {
        let path = || vec![step(1), step(2), step(3), step(2), step(4)];
        let scope = [Location::new(0, 2)];
        assert_eq!(of_interval(path(), &scope), path()[1..]);
        assert_eq!(of_interval(path(), &[]), path());
    }
    /// Of the C library's functions below the last of the program's, the one that it calls.
    #[test]
    fn a_path_ends_with_the_first_function_of_the_system() {
        let system = |name: &str| Step {
            name: name.to_owned(),
            function: None,
            at: 0,
            goes_on_elsewhere: false,
        };
        let path = [
            step(2),
            system("qsort"),
            step(3),
            system("read"),
            system("syscall"),
        ];
        let found = of_interval(path.to_vec(), &[Location::new(0, 2)]);
        assert_eq!(found, path[..4]);
    }
}
