//! Everything that is known about an ELF file without running it: names, function bounds, call sites, the static call
//! graph, and source lines.
//!
//! [`Module::load`] reads a program or library, stripped or not, finds its debug file, and scans its code once. The
//! module then answers for each function what can be redirected, as values of `evenkeel_wire` that an agent applies
//! without decoding anything: [`Module::call_sites`] and [`Module::displaced`].
//!
//! What decodes instructions is in one directory per architecture; there is `x86_64`.

mod callee_rules;
mod calls;
mod debug_files;
mod debuginfod;
mod demangle;
mod exports;
mod find;
mod frames;
mod functions;
mod graph;
mod imports;
mod launch;
mod lines;
mod load;
mod module;
mod relocations;
mod sites;
mod spelling;
mod symbols;
mod unpatchable;
mod x86_64;

pub use calls::split_call;
pub use debug_files::{DebugNote, DebugSources, Debuginfod};
pub use demangle::demangle;
pub use exports::exports;
pub use find::{Candidate, FindError};
pub use functions::{Function, FunctionKind};
pub use launch::{LaunchError, launchable};
pub use lines::SourceLine;
pub use load::LoadError;
pub use module::Module;
pub use sites::{Callee, Caller, Site};
pub use unpatchable::Unpatchable;
