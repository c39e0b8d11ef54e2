//! The call sites of one function.

use std::ops::Range;

use evenkeel_wire::Form;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};

use super::operand::operand;
use super::tail_jumps::{WINDOW, follows_leave, takes_pointer};
use crate::functions::Function;
use crate::module::Module;
use crate::sites::{Callee, Site};
use crate::unpatchable::Unpatchable;

/// Length of `call rel32` and `jmp rel32`.
const DIRECT_LEN: usize = 5;
/// Shortest and longest indirect call that an agent redirects.
const INDIRECT_LEN: std::ops::RangeInclusive<usize> = 5..=8;

/// All call sites of `function`, ascending by address.
pub(crate) fn call_sites(module: &Module, function: &Function) -> Vec<Site> {
    let mut sites = Vec::new();
    for part in &function.parts {
        Sweep {
            module,
            function,
            part,
            code: module.code(part),
            before: Vec::new(),
        }
        .run(&mut sites);
    }
    sites.sort_by_key(|site| site.address);
    sites
}

/// A pass over one part of a function.
struct Sweep<'m> {
    module: &'m Module,
    function: &'m Function,
    part: &'m Range<u64>,
    code: &'m [u8],
    /// The last instructions, for [`takes_pointer`].
    before: Vec<Instruction>,
}

impl Sweep<'_> {
    fn run(mut self, sites: &mut Vec<Site>) {
        let mut decoder = Decoder::with_ip(64, self.code, self.part.start, DecoderOptions::NONE);
        while decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                sites.push(self.site(&instruction, Callee::Pointer, Err(Unpatchable::Undecodable)));
                return;
            }
            sites.extend(match instruction.flow_control() {
                FlowControl::Call => self.direct_call(&instruction),
                FlowControl::IndirectCall => Some(self.indirect_call(&instruction)),
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    self.jump(&instruction)
                }
                FlowControl::IndirectBranch => self.indirect_jump(&instruction),
                _ => None,
            });
            if self.before.len() == WINDOW {
                self.before.remove(0);
            }
            self.before.push(instruction);
        }
    }

    fn direct_call(&self, call: &Instruction) -> Option<Site> {
        if matches!(
            call.code(),
            Code::Call_ptr1616 | Code::Call_ptr1632 | Code::Call_rel16
        ) {
            return Some(self.site(call, Callee::Pointer, Err(Unpatchable::UnusualForm)));
        }
        // The decoder counts system calls among the calls.
        if call.code() != Code::Call_rel32_64 {
            return None;
        }
        let target = call.near_branch_target();
        let callee = self
            .module
            .callee_at(target)
            .unwrap_or(Callee::Function(target));
        let form = if target == call.next_ip() {
            Err(Unpatchable::ReadsInstructionPointer)
        } else {
            self.module.callee_rule(&callee).map_or(Ok(Form::Call), Err)
        };
        Some(Site {
            target,
            ..self.direct_site(call, callee, form)
        })
    }

    fn indirect_call(&self, call: &Instruction) -> Site {
        let Some(operand) = operand(call) else {
            return self.site(call, Callee::Pointer, Err(Unpatchable::UnusualForm));
        };
        let callee = self.callee_through(call);
        let form = match self.module.callee_rule(&callee) {
            Some(reason) => Err(reason),
            None if INDIRECT_LEN.contains(&call.len()) => Ok(Form::IndirectCall),
            None if call.len() < DIRECT_LEN => Ok(Form::ShortIndirectCall),
            None => Err(Unpatchable::UnusualForm),
        };
        Site {
            operand: form.is_ok().then_some(operand),
            ..self.site(call, callee, form)
        }
    }

    /// The callee of an indirect call through a slot at a constant place.
    fn callee_through(&self, call: &Instruction) -> Callee {
        if call.is_ip_rel_memory_operand() {
            self.module.callee_in(call.ip_rel_memory_address())
        } else {
            Callee::Pointer
        }
    }

    /// A jump is a tail call if it leads to the beginning of another function.
    fn jump(&self, jump: &Instruction) -> Option<Site> {
        if !(jump.is_jmp_short_or_near() || jump.is_jcc_short_or_near()) {
            return None;
        }
        let target = jump.near_branch_target();
        if self.function.contains(target) {
            return None;
        }
        let callee = self.module.callee_at(target)?;
        let rule = self.module.callee_rule(&callee);
        let form = match (rule, jump.code()) {
            (Some(reason), _) => Err(reason),
            (None, Code::Jmp_rel32_64) => Ok(Form::TailJump),
            (None, Code::Jmp_rel8_64) => Err(Unpatchable::ShortTailJump),
            (None, _) if jump.is_jcc_short_or_near() => Err(Unpatchable::ConditionalTailJump),
            (None, _) => Err(Unpatchable::UnusualForm),
        };
        Some(Site {
            target,
            ..self.direct_site(jump, callee, form)
        })
    }

    /// Lists only jumps that surely leave the function: its frame is gone, by the frame description or by a `leave`
    /// just before the jump (compilers older than GCC 4.5 describe no epilogues).
    fn indirect_jump(&self, jump: &Instruction) -> Option<Site> {
        let callee = self.callee_through(jump);
        let leaves = callee != Callee::Pointer
            || (takes_pointer(jump, &self.before)
                && (follows_leave(&self.before) || self.module.stack_is_as_called(jump.ip())));
        let operand = operand(jump).filter(|_| callee == Callee::Pointer);
        let form = match (self.module.callee_rule(&callee), operand) {
            (Some(reason), _) => Err(reason),
            (None, Some(_)) => Ok(Form::IndirectJump),
            (None, None) => Err(Unpatchable::IndirectTailJump),
        };
        leaves.then(|| Site {
            operand,
            ..self.site(jump, callee, form)
        })
    }

    /// A site of `call rel32` or `jmp rel32`, without prefixes.
    fn direct_site(
        &self,
        instruction: &Instruction,
        callee: Callee,
        form: Result<Form, Unpatchable>,
    ) -> Site {
        let mut site = self.site(instruction, callee, form);
        let prefixes = usize::from(site.len).saturating_sub(DIRECT_LEN);
        if form.is_ok() && prefixes > 0 {
            site.address += prefixes as u64;
            site.len = DIRECT_LEN as u8;
            site.bytes.copy_within(prefixes.., 0);
            site.bytes[DIRECT_LEN..].fill(0);
        }
        site
    }

    fn site(
        &self,
        instruction: &Instruction,
        callee: Callee,
        form: Result<Form, Unpatchable>,
    ) -> Site {
        let at = (instruction.ip() - self.part.start) as usize;
        let original = &self.code[at..at + instruction.len()];
        let mut bytes = [0; 16];
        bytes[..original.len()].copy_from_slice(original);
        let (address, len) = (instruction.ip(), instruction.len() as u8);
        Site {
            address,
            len,
            bytes,
            callee,
            target: 0,
            operand: None,
            form,
        }
    }
}
