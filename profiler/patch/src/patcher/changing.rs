//! Writing at a site, and making the code that it needs.

use core::sync::atomic::Ordering::*;

use evenkeel_wire::arch::SUPPORTED;
use evenkeel_wire::arch::code::JUMP_BYTES;
use evenkeel_wire::plan::UNDER_ENTRY;
use evenkeel_wire::{Displaced, Form, Refusal};

use super::{Patcher, pages_of};
use crate::arch::flip::{self, Change, SPAN_MAX};
use crate::arch::jump::redirect;
use crate::arch::trap;
use crate::code;
use crate::hook::{LoadedModule, form_of, hook_of, is_timed, make, rename};
use crate::old_trampolines::identity;
use crate::plan::{Plan, span_of};
use crate::region::Region;
use crate::site::{EntryCode, Goal, Made, Stands, Way};

impl Patcher {
    /// The change that brings one site to its goal, and how it stands then. What the goal needs is made first.
    pub(super) unsafe fn change(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
        goal: Goal,
        alone: bool,
    ) -> Result<(Change, Stands), Refusal> {
        if !SUPPORTED {
            return Err(Refusal::Architecture);
        }
        if !alone && !self.barrier {
            return Err(Refusal::NoBarrier);
        }
        let probe = &plan.probes[id as usize];
        let displaced =
            (probe.form == Form::Entry as u8).then(|| &plan.displaced[probe.displaced as usize]);
        // SAFETY: the module is mapped.
        unsafe { self.find_here(plan, id, module) }?;
        if goal == Goal::Hooked && self.site(id).made == Made::Nothing {
            self.build(plan, id, module, displaced)?;
        }
        let site = self.site(id);
        let place = site.place;
        let boundaries = match (displaced, site.made) {
            (Some(displaced), Made::Entry(code)) if code.way != Way::Breakpoint => {
                displaced.boundaries & ((1 << JUMP_BYTES) - 1)
            }
            _ => 1,
        };
        let (bytes, len, stands) = self.bytes_of(plan, id, goal)?;
        if probe.module == UNDER_ENTRY {
            // It lies in a region, which a flush seals: a separate batch.
            self.flush(alone);
        }
        // Page by page: between a module's segments of code there may be other segments.
        let pages = code::pages(place, place + u64::from(len));
        let last = self.batch[..self.batch_len].last().map(pages_of);
        // SAFETY: the span is code of the module, or of a private copy.
        if last != Some(pages) && !unsafe { code::set_writable(pages, true) } {
            return Err(Refusal::NotWritable);
        }
        if !self.index.insert(id, place, boundaries) {
            return Err(Refusal::NoNearMemory);
        }
        let change = Change {
            address: place as *mut u8,
            bytes,
            len,
            boundaries,
        };
        Ok((change, stands))
    }

    /// Notes where a site lies in this process, if it is not known yet and holds the file's bytes.
    unsafe fn find_here(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
    ) -> Result<(), Refusal> {
        if self.site(id).is_here() {
            return Ok(());
        }
        let probe = &plan.probes[id as usize];
        let address = probe.address + module.bias;
        let place = if probe.module == UNDER_ENTRY {
            self.copy_of(plan, id).ok_or(Refusal::NotOfForm)?.0
        } else {
            let span = span_of(probe);
            // SAFETY: the module is mapped.
            let code = unsafe { core::slice::from_raw_parts(address as *const u8, span) };
            if code != &probe.bytes[..span] {
                return Err(Refusal::BytesDiffer);
            }
            address
        };
        let site = self.site_mut(id);
        (site.bias, site.place) = (module.bias, place);
        site.address = address;
        Ok(())
    }

    /// Where the copy of a call lies whose entry's hook has it, and the first byte there.
    fn copy_of(&self, plan: &Plan<'_>, call: u32) -> Option<(u64, u8)> {
        let mut probes = (0..).zip(plan.probes);
        let (id, entry) = probes.find(|(_, probe)| plan.call_under(probe) == Some(call))?;
        let Made::Entry(code) = self.site(id).made else {
            return None;
        };
        let displaced = plan.displaced.get(entry.displaced as usize)?;
        let offset = (plan.probes[call as usize].address - entry.address) as u8;
        let pieces = &displaced.pieces[..displaced.count as usize];
        let first = pieces.iter().find(|piece| piece.origin >= offset)?;
        let place = trap::displaced_address(displaced, code.body, offset);
        Some((place, first.bytes[0]))
    }

    /// The bytes of a site in its goal, their number, and their meaning.
    fn bytes_of(
        &self,
        plan: &Plan<'_>,
        id: u32,
        goal: Goal,
    ) -> Result<([u8; SPAN_MAX], u8, Stands), Refusal> {
        let (probe, site) = (&plan.probes[id as usize], self.site(id));
        let mut bytes = [0; SPAN_MAX];
        if probe.module == UNDER_ENTRY {
            let (_, first) = self.copy_of(plan, id).ok_or(Refusal::NotOfForm)?;
            bytes[0] = first;
            if goal == Goal::Trapped {
                flip::put_breakpoint(&mut bytes);
                return Ok((bytes, 1, Stands::Trapped));
            }
            return Ok((bytes, 1, Stands::Original));
        }
        let span = span_of(probe);
        bytes[..span].copy_from_slice(&probe.bytes[..span]);
        let span = span as u8;
        let to = match (goal, site.made) {
            (Goal::Original, _) => return Ok((bytes, span, Stands::Original)),
            (Goal::Trapped, _) => {
                flip::put_breakpoint(&mut bytes);
                return Ok((bytes, span, Stands::Trapped));
            }
            (Goal::Hooked, Made::Call(trampoline)) => trampoline,
            (Goal::Hooked, Made::Entry(EntryCode { way, .. })) => match way {
                Way::Pad(pad) => pad,
                Way::Breakpoint if self.for_good => return Err(Refusal::NoSafeJump),
                Way::Breakpoint => {
                    flip::put_breakpoint(&mut bytes);
                    return Ok((bytes, span, Stands::Entered));
                }
            },
            (Goal::Hooked, Made::Nothing) => return Err(Refusal::NotOfForm),
        };
        let redirected = redirect(form_of(probe), site.address, span, to);
        let (bytes, _) = redirected.ok_or(Refusal::NoNearMemory)?;
        Ok((bytes, span, Stands::Redirected))
    }

    /// Makes what a probe needs, or takes it from an earlier session.
    fn build(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
        displaced: Option<&Displaced>,
    ) -> Result<(), Refusal> {
        let boundaries = self.boundaries.expect("prepared");
        let region = self.region(module).ok_or(Refusal::NoNearMemory)?;
        // SAFETY: regions are never freed, and this patcher is the only user.
        let region = unsafe { &mut *region };
        let probe = &plan.probes[id as usize];
        let address = probe.address + module.bias;
        let call = plan.call_under(probe);
        let call = call.map(|call| hook_of(call, &plan.probes[call as usize], module.bias, 0));
        let call = call.filter(|call| is_timed(call.form));
        let known = displaced.map(|displaced| {
            let call = call.map(|call| &plan.probes[call.id as usize]);
            (displaced, call)
        });
        let identity = identity(probe, module.bias, known);
        let is_renamed = |region: &mut Region, made: &Made| match *made {
            Made::Nothing => false,
            Made::Call(trampoline) => {
                rename(region, &hook_of(id, probe, module.bias, 0), trampoline)
            }
            Made::Entry(code) => {
                let own = hook_of(id, probe, module.bias, code.body);
                rename(region, &own, code.trampoline)
                    && call.is_none_or(|call| rename(region, &call, code.call))
            }
        };
        let again = self.kept.find(address, identity);
        let made = match again.filter(|made| is_renamed(region, made)) {
            Some(made) => made,
            None => {
                let made = make(region, &boundaries, (id, probe), module, displaced, call)?;
                self.kept.remember(address, identity, made);
                made
            }
        };
        if let Some(call) = call {
            plan.probes[call.id as usize].planted.fetch_add(1, Relaxed);
        }
        self.site_mut(id).made = made;
        Ok(())
    }

    pub(super) fn region(&mut self, module: &LoadedModule) -> Option<*mut Region> {
        let known = self.regions[..self.regions_len].iter().copied();
        // SAFETY: regions are never freed.
        if let Some(region) = known
            .into_iter()
            .find(|r| unsafe { (**r).low == module.low && (**r).high == module.high })
        {
            return Some(region);
        }
        if self.regions_len == super::REGIONS_MAX {
            return None;
        }
        let region = Region::create(module.low, module.high);
        if region.is_null() {
            return None;
        }
        self.regions[self.regions_len] = region;
        self.regions_len += 1;
        Some(region)
    }
}
