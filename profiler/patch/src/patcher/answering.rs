//! Continuations of a thread that has met a breakpoint, or whose instruction has failed in the agent's code.

use evenkeel_wire::Probe;

use super::Patcher;
use crate::arch::fault;
use crate::arch::trampoline::Hook;
use crate::arch::trap::{self, Carried};
use crate::hook::{form_of, hook_of};
use crate::plan::Plan;
use crate::site::{Made, Met};

impl Patcher {
    /// A thread has executed a breakpoint. If it is one of the plan's, the thread continues as if the original
    /// instruction had been executed. The callee of a call is reported with its probe. A foreign breakpoint is left
    /// alone.
    ///
    /// # Safety
    /// Called from the handler of SIGTRAP with its context.
    pub unsafe fn on_trap<'a>(
        &self,
        plan: &Plan<'a>,
        context: &mut libc::ucontext_t,
    ) -> Option<(&'a Probe, Carried)> {
        let at = trap::breakpoint_address(context);
        let id = self.index.find(at, |id| self.site(id).place)?;
        let probe = plan.probes.get(id as usize)?;
        let site = *self.site(id);
        let carried = match site.met(probe, form_of(probe), at)? {
            Met::Entered(trampoline) => trap::go_on_at(context, trampoline),
            Met::Displaced { body, offset } => {
                let displaced = plan.displaced.get(probe.displaced as usize)?;
                let address = trap::displaced_address(displaced, body, offset);
                trap::go_on_at(context, address)
            }
            // SAFETY: the caller's contract.
            Met::Branch(branch) => unsafe { trap::carry_out(context, &branch) },
        };
        Some((probe, carried))
    }

    /// A thread's instruction has failed in the agent's code: the thread leaves the hook that it is in, as if the
    /// call were not hooked. Returns the probe. `None` if it is in no hook, or cannot continue.
    ///
    /// # Safety
    /// Called from the handler of a fault with its context; `in_agent`: the program counter is in the agent's own code.
    pub unsafe fn on_fault(
        &self,
        plan: &Plan<'_>,
        context: &mut libc::ucontext_t,
        in_agent: bool,
    ) -> Option<u32> {
        // SAFETY: the caller's contract.
        unsafe {
            if in_agent {
                return fault::leave_boundary(context);
            }
            let at = fault::program_counter(context);
            let (hook, start) = self.hook_at(plan, at)?;
            fault::leave_trampoline(context, &hook, start).then_some(hook.id)
        }
    }

    /// The hook in whose trampoline an address lies, and where that begins. Looks at every site.
    fn hook_at(&self, plan: &Plan<'_>, address: u64) -> Option<(Hook, u64)> {
        if self.sites.is_null() {
            return None;
        }
        (0..).zip(plan.probes).find_map(|(id, probe)| {
            let site = self.site(id);
            let hook = hook_of(id, probe, site.bias, 0);
            let start = match site.made {
                Made::Nothing => return None,
                Made::Call(trampoline) => trampoline,
                Made::Entry(code) => {
                    let call = plan.call_under(probe).filter(|_| code.call != 0);
                    let under = call.map(|call| {
                        let probe = &plan.probes[call as usize];
                        (hook_of(call, probe, site.bias, 0), code.call)
                    });
                    if let Some((hook, start)) = under
                        && (start..start + hook.code_bytes() as u64).contains(&address)
                    {
                        return Some((hook, start));
                    }
                    code.trampoline
                }
            };
            let is_it = (start..start + hook.code_bytes() as u64).contains(&address);
            is_it.then_some((hook, start))
        })
    }

    /// Whether a thread has executed a breakpoint that is gone, in code that has hooks or had them. The session that
    /// set it has ended while the thread was on its way to the handler.
    ///
    /// # Safety
    /// Called from the handler of SIGTRAP with its context.
    pub unsafe fn is_withdrawn(&self, context: &libc::ucontext_t) -> bool {
        let at = trap::breakpoint_address(context);
        let regions = &self.regions[..self.regions_len];
        // SAFETY: regions are never freed.
        let mut spans = regions
            .iter()
            .map(|region| unsafe { (**region).low..(**region).high });
        // SAFETY: the thread has executed an instruction that ends there.
        spans.any(|span| span.contains(&at)) && unsafe { trap::is_no_breakpoint(at) }
    }
}
