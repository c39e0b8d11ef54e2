//! Facts about an ELF file that need no run of it: names, function bounds, call sites, the static call graph, and
//! source lines.
//!
//! [`Module::load`] reads a program or library, stripped or not, finds its debug file, and scans its code once. The
//! module then answers for each function what can be redirected, as values of `evenkeel_wire` that an agent applies
//! without decoding anything: [`Module::call_sites`] and [`Module::displaced`].
//!
//! ```no_run
//! use std::path::Path;
//! use evenkeel_symbols::{DebugSources, Module};
//!
//! let module = Module::load(Path::new("/usr/sbin/mariadbd"), &DebugSources::none())?;
//! for function in module.functions() {
//!     let sites = module.call_sites(function.entry);
//!     println!("{}: {} calls, height {:?}", module.name(function.entry), sites.len(), module.height(function.entry));
//! }
//! # Ok::<(), evenkeel_symbols::LoadError>(())
//! ```
//!
//! A file may hold any bytes: reading it ends with a module or with a [`LoadError`] that names a remedy. Names that a
//! stripped file lacks come from its debug file (found as debuggers find it, see [`DebugSources`]), or from the
//! symbols that Fedora and its relatives leave in it (`.gnu_debugdata`). For functions without any such name there is
//! a [`Fingerprint`].
//!
//! What knows instructions, relocations or the layout of a frame is in `arch`, a directory for each architecture with the same
//! files and the same interface.

// Where instructions are not decoded, much of what is asked about them is unused.
#![cfg_attr(target_arch = "aarch64", allow(dead_code))]

#[cfg_attr(target_arch = "x86_64", path = "x86_64/mod.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
mod arch;
mod callee_rules;
mod calls;
mod copies;
mod debug_files;
mod debuginfod;
mod demangle;
mod find;
mod flow;
mod frames;
mod functions;
mod graph;
mod handlers;
mod imports;
mod inferred;
mod launch;
mod lines;
mod load;
mod meaning;
mod mini_debug;
mod module;
mod names;
mod paths;
mod real_names;
mod relocations;
mod runtimes;
mod section;
mod sites;
mod spelling;
mod symbols;
mod unpatchable;
mod variables;

pub use calls::split_call;
pub use copies::Copies;
pub use debug_files::{DebugNote, DebugSources};
pub use debuginfod::Debuginfod;
pub use demangle::demangle;
pub use find::{Candidate, FindError};
pub use functions::{Function, FunctionKind};
pub use inferred::Fingerprint;
pub use launch::{LaunchError, launchable};
pub use lines::SourceLine;
pub use load::{LoadError, exported};
pub use module::Module;
pub use names::INFERRED;
pub use runtimes::{is_go, may_confine_itself, sanitizer_runtimes};
pub use section::section;
pub use sites::{Callee, Caller, Site};
pub use symbols::unversioned;
pub use unpatchable::Unpatchable;
pub use variables::{MemberUse, VariableSize};
