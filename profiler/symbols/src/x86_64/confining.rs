//! Code that may install a filter of system calls by an inline instruction.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// The instruction `syscall`.
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];
/// Numbers of `seccomp` and `prctl` (arch/x86/entry/syscalls/syscall_64.tbl).
const CONFINING: [u32; 2] = [317, 157];

/// Whether the bytes of a system call occur in `code`, be it as a part of something else.
pub(crate) fn has_system_call(code: &[u8]) -> bool {
    code.windows(2).any(|two| two == SYSTEM_CALL)
}

/// Whether `code` holds a system call that is, or may be, `seccomp` or `prctl`. The `functions` lie in it, ascending;
/// bytes outside of them are data. A call with an unknown number (from memory, or from a caller) may be one of the
/// two if the code loads such a number anywhere. Numbers that a library's caller passes are ignored. Otherwise every
/// server with liburing, which makes any call it is asked for, would be left alone.
pub(crate) fn may_confine(code: &[u8], base: u64, functions: &[Range<u64>]) -> bool {
    let end = base + code.len() as u64;
    let inside = functions
        .iter()
        .filter(|range| range.start >= base && range.start < end);
    let mut inside = inside.map(|range| {
        let to = (range.end.min(end) - base) as usize;
        (&code[(range.start - base) as usize..to], range.start)
    });
    let mut any_unknown = false;
    for (function, start) in inside.clone() {
        if has_system_call(function) {
            match calls_of(function, start) {
                Calls::Confining => return true,
                Calls::Unknown => any_unknown = true,
                Calls::Harmless => {}
            }
        }
    }
    any_unknown && inside.any(|(code, at)| loads_confining(code, at))
}

/// System calls of a function.
enum Calls {
    /// None, or others.
    Harmless,
    /// A call whose number is not known.
    Unknown,
    /// The function loads one of [`CONFINING`], and makes system calls.
    Confining,
}

/// Whether a function loads one of [`CONFINING`] as a constant.
fn loads_confining(code: &[u8], start: u64) -> bool {
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    decoder.iter().any(|instruction| loads(&instruction))
}

fn loads(instruction: &Instruction) -> bool {
    let is_load = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Push);
    let operands = 0..instruction.op_count();
    is_load
        && operands
            .filter_map(|operand| instruction.try_immediate(operand).ok())
            .any(|value| CONFINING.iter().any(|&number| u64::from(number) == value))
}

/// Follows constants through the registers in order of address, whatever branches do: compilers load a number once and copy it before
/// each call. A function that loads one of [`CONFINING`] anywhere may reach each of its system calls with it.
fn calls_of(code: &[u8], start: u64) -> Calls {
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut known = Constants::default();
    let (mut confining, mut calls, mut unknown) = (false, false, false);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.code() == Code::Syscall {
            calls = true;
            unknown |= known.of(Register::RAX).is_none();
        }
        known.step(&instruction);
        confining |= loads(&instruction);
    }
    match (calls && confining, unknown) {
        (true, _) => Calls::Confining,
        (false, true) => Calls::Unknown,
        (false, false) => Calls::Harmless,
    }
}

/// Whether a function gives its caller this register back as it was (System V ABI 3.2.1).
fn is_kept(register: Register) -> bool {
    use Register::{R12, R13, R14, R15, RBP, RBX};
    [RBX, RBP, R12, R13, R14, R15].contains(&register)
}

/// Constants in the general registers, by number.
#[derive(Default)]
struct Constants([Option<u32>; 16]);

impl Constants {
    fn of(&self, register: Register) -> Option<u32> {
        let register = register.full_register();
        register.is_gpr64().then(|| self.0[register.number()])?
    }

    fn set(&mut self, register: Register, value: Option<u32>) {
        let register = register.full_register();
        if register.is_gpr64() {
            self.0[register.number()] = value;
        }
    }

    fn forget(&mut self, registers: &[Register]) {
        registers
            .iter()
            .for_each(|&register| self.set(register, None));
    }

    fn step(&mut self, instruction: &Instruction) {
        use Register::{R8, R9, R10, R11, RAX, RBX, RCX, RDI, RDX, RSI};
        match instruction.mnemonic() {
            Mnemonic::Syscall => self.forget(&[RAX, RCX, R11]),
            Mnemonic::Call => self.forget(&[RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11]),
            Mnemonic::Cpuid => self.forget(&[RAX, RBX, RCX, RDX]),
            Mnemonic::Rdtsc | Mnemonic::Rdtscp | Mnemonic::Mul | Mnemonic::Div | Mnemonic::Idiv => {
                self.forget(&[RAX, RCX, RDX]);
            }
            Mnemonic::Imul | Mnemonic::Cdq | Mnemonic::Cqo | Mnemonic::Cmpxchg => {
                self.forget(&[RAX, RDX, instruction.op0_register()]);
            }
            Mnemonic::Xchg | Mnemonic::Xadd => {
                self.forget(&[instruction.op0_register(), instruction.op1_register()]);
            }
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push => {}
            // A function's end in the middle of it: what follows is reached from elsewhere.
            Mnemonic::Pop if is_kept(instruction.op0_register()) => {}
            _ if instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Register => {
                let value = self.value(instruction);
                self.set(instruction.op0_register(), value);
            }
            _ => {}
        }
    }

    /// The value that an instruction puts into its first operand, a register.
    fn value(&self, instruction: &Instruction) -> Option<u32> {
        let same = instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register();
        match instruction.code() {
            Code::Mov_r32_imm32 | Code::Mov_rm32_imm32 => Some(instruction.immediate32()),
            Code::Mov_rm64_imm32 => u32::try_from(instruction.immediate32to64()).ok(),
            Code::Mov_r64_imm64 => u32::try_from(instruction.immediate64()).ok(),
            Code::Mov_rm32_r32 | Code::Mov_r32_rm32 | Code::Mov_rm64_r64 | Code::Mov_r64_rm64
                if instruction.op1_kind() == OpKind::Register =>
            {
                self.of(instruction.op1_register())
            }
            Code::Xor_r32_rm32 | Code::Xor_rm32_r32 if same => Some(0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `code` as a function somewhere, in a program that loads the number 317 elsewhere.
    fn confines(code: &[u8]) -> bool {
        program_confines(code, &[0xbf, 0x3d, 1, 0, 0, 0xc3])
    }

    /// `code`, followed by another function.
    fn program_confines(code: &[u8], other: &[u8]) -> bool {
        let (middle, end) = (code.len() as u64, (code.len() + other.len()) as u64);
        let functions = [0x1000..0x1000 + middle, 0x1000 + middle..0x1000 + end];
        may_confine(&[code, other].concat(), 0x1000, &functions)
    }

    /// mov rax, [rbp-8]; syscall; ret, as compilers write it without optimisation: the number may be any that the
    /// program loads. In the other function: mov edi, 317 or 24; ret.
    #[test]
    fn a_number_out_of_memory_may_be_any_that_the_program_loads() {
        let from_memory = [0x48, 0x8b, 0x45, 0xf8, 0x0f, 5, 0xc3];
        assert!(confines(&from_memory));
        assert!(program_confines(&from_memory, &[0xbf, 0x3d, 1, 0, 0, 0xc3]));
        assert!(!program_confines(&from_memory, &[0xbf, 24, 0, 0, 0, 0xc3]));
    }

    #[test]
    fn a_call_is_known_by_its_number() {
        // mov eax, 317; syscall; ret, and the same with 1, 0 and 157.
        assert!(confines(&[0xb8, 0x3d, 1, 0, 0, 0x0f, 5, 0xc3]));
        assert!(!confines(&[0xb8, 1, 0, 0, 0, 0x0f, 5, 0xc3]));
        assert!(!confines(&[0x31, 0xc0, 0x0f, 5, 0xc3]));
        assert!(confines(&[0xb8, 0x9d, 0, 0, 0, 0x0f, 5, 0xc3]));
    }

    #[test]
    fn a_number_that_is_not_known_may_be_any() {
        // mov rax, rdi; syscall; ret
        assert!(confines(&[0x48, 0x89, 0xf8, 0x0f, 5, 0xc3]));
        // mov eax, 1; syscall; syscall; ret: the second number is the first one's answer
        assert!(confines(&[0xb8, 1, 0, 0, 0, 0x0f, 5, 0x0f, 5, 0xc3]));
    }

    #[test]
    fn paths_that_meet_at_one_instruction_count_all() {
        // je 9; mov eax, 317; jmp 14; mov eax, 1; syscall; ret
        let code = [
            0x74, 7, 0xb8, 0x3d, 1, 0, 0, 0xeb, 5, 0xb8, 1, 0, 0, 0, 0x0f, 5, 0xc3,
        ];
        assert!(confines(&code));
    }

    /// gcc's code for a loop that yields: mov edx, 24; jmp 9; mov rax, rdx; syscall; ret.
    #[test]
    fn a_number_is_followed_through_registers() {
        let yields = |number: u8, high: u8| {
            [
                0xba, number, high, 0, 0, 0xeb, 2, 0x90, 0x90, 0x48, 0x89, 0xd0, 0x0f, 5, 0xc3,
            ]
        };
        assert!(!confines(&yields(24, 0)));
        assert!(confines(&yields(0x3d, 1)));
        // mov ebp, 24; pop rbp; ret; mov rax, rbp; syscall; ret: the loop lies after the function's end.
        assert!(!confines(&[
            0xbd, 24, 0, 0, 0, 0x5d, 0xc3, 0x48, 0x89, 0xe8, 0x0f, 5, 0xc3
        ]));
        // With rdtsc in the loop's way the number is not known.
        let mut counts = yields(24, 0);
        counts[7..9].copy_from_slice(&[0x0f, 0x31]);
        assert!(confines(&counts));
    }

    #[test]
    fn bytes_inside_of_an_instruction_and_outside_of_functions_are_none() {
        // mov ecx, 0x050f; ret
        assert!(!confines(&[0xb9, 0x0f, 5, 0, 0, 0xc3]));
        assert!(!may_confine(&[0x0f, 5], 0x1000, &[]));
    }
}
