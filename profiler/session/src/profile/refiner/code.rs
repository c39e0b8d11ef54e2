//! The target's code: its files, and the table of probes in the shared memory.

use std::rc::Rc;
use std::sync::Arc as Shared;

use evenkeel_analysis::sites::Function;
use evenkeel_symbols::{LoadError, Module};

use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;

/// Where the target's code is read and its probes are planted.
pub(crate) struct Code<'a> {
    pub(crate) arena: &'a mut Arena,
    pub(crate) modules: &'a mut Modules,
}

impl Code<'_> {
    pub(super) fn module(&mut self, index: usize) -> Result<Rc<Module>, Shared<LoadError>> {
        self.modules.get(self.arena, index)
    }

    pub(in crate::profile) fn named(&mut self, function: Location) -> Option<Function> {
        let module = self.module(function.module).ok()?;
        Some(Function {
            name: module.name(function.address),
            file: Some(Modules::library(self.arena, function.module)),
        })
    }

    /// Where the loader finds an import's definition, of the functions that may be opened.
    pub(super) fn definition(&mut self, name: &str) -> Option<Location> {
        self.modules.definition(self.arena, name)
    }
}
