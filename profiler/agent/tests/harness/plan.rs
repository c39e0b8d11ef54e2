//! A plan: calls of named functions of the program, in roles.

use std::path::Path;
use std::sync::atomic::Ordering::*;

use evenkeel_symbols::{DebugSources, Module};
use evenkeel_wire as wire;
use wire::{Label, Members, Probe, Role, Wanted};

use super::arena::Arena;

/// A function whose call sites are hooked.
#[derive(Clone, Copy)]
pub struct Hook<'a> {
    pub callee: &'a str,
    pub role: Role,
    pub key_argument: u8,
    pub label: Label,
    pub label_argument: u8,
    pub label_members: Members,
}

impl<'a> Hook<'a> {
    pub const fn new(callee: &'a str, role: Role) -> Hook<'a> {
        Hook {
            callee,
            role,
            key_argument: 0,
            label: Label::None,
            label_argument: 0,
            label_members: Members::NONE,
        }
    }
}

/// Everything that is hooked.
#[derive(Clone, Copy, Default)]
pub struct Hooks<'a>(pub &'a [Hook<'a>]);

impl Hooks<'_> {
    /// Writes the plan: a probe's id is its index among all call sites, hook by hook.
    pub fn plan(&self, arena: &Arena, program: &Path, index: u32) {
        if self.0.is_empty() {
            return;
        }
        let module = Module::load(program, &DebugSources::none()).unwrap();
        let entries: Vec<u64> = module
            .functions()
            .iter()
            .map(|function| function.entry)
            .collect();
        let mut id = 0;
        for hook in self.0 {
            let named = |&&entry: &&u64| module.name(entry) == hook.callee;
            let callee = *entries.iter().find(named).expect(hook.callee);
            for &entry in &entries {
                for site in module.call_sites(entry) {
                    let Ok(form) = site.form else { continue };
                    if site.target != callee {
                        continue;
                    }
                    // SAFETY: nobody looks at entries beyond the count; zero is a valid probe.
                    let probe =
                        unsafe { &mut *arena.base.add(wire::PROBES_AT).cast::<Probe>().add(id) };
                    probe.wanted.store(Wanted::On as u32, Relaxed);
                    probe.module = index;
                    probe.address = site.address;
                    probe.target = site.target;
                    probe.form = form as u8;
                    probe.len = site.len;
                    probe.role = hook.role as u8;
                    probe.key_argument = hook.key_argument;
                    probe.label = hook.label as u8;
                    probe.label_argument = hook.label_argument;
                    probe.label_members = hook.label_members;
                    probe.bytes = site.bytes;
                    probe.operand = site.operand.unwrap_or_default();
                    id += 1;
                }
            }
        }
        assert!(id > 0);
        arena.control().probes.store(id as u32, Release);
        arena.control().generation.fetch_add(1, Release);
    }
}
