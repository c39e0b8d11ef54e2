//! Programs of seccomp filters: classic BPF, as far as the kernel takes it for that (`seccomp_check_filter` of kernel/seccomp.c,
//! `bpf_check_classic` of net/core/filter.c).

/// An instruction (`struct sock_filter` of include/uapi/linux/filter.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// Instructions to skip if a comparison holds.
    pub jump_true: u8,
    /// Jump if the condition does not hold.
    pub jump_false: u8,
    /// Its constant.
    pub k: u32,
}

/// A filter's input (`struct seccomp_data`), as 32-bit words: the number, the architecture, the instruction pointer,
/// six arguments.
pub type Data = [u32; 16];

const MEMORY_WORDS: usize = 16;
/// `BPF_MAXINSNS`: no program is longer.
pub const INSTRUCTIONS_MAX: usize = 4096;
const DATA_BYTES: u32 = 64;

/// Runs a program. `None` if the kernel would have refused it.
pub fn run(program: &[Instruction], data: &Data) -> Option<u32> {
    let mut memory = [0_u32; MEMORY_WORDS];
    let (mut a, mut x) = (0_u32, 0_u32);
    let mut at = 0;
    // Jumps lead forwards alone, so the loop ends.
    loop {
        let Instruction {
            code,
            jump_true,
            jump_false,
            k,
        } = *program.get(at)?;
        at += 1;
        let operand = if code & 0x08 == 0 { k } else { x };
        match code {
            // BPF_LD | BPF_W | BPF_ABS
            0x20 => a = *data.get(word(k)?)?,
            // BPF_LD and BPF_LDX | BPF_W | BPF_LEN
            0x80 => a = DATA_BYTES,
            0x81 => x = DATA_BYTES,
            // BPF_LD and BPF_LDX | BPF_IMM, then BPF_MEM
            0x00 => a = k,
            0x01 => x = k,
            0x60 => a = *memory.get(k as usize)?,
            0x61 => x = *memory.get(k as usize)?,
            // BPF_ST, BPF_STX
            0x02 => *memory.get_mut(k as usize)? = a,
            0x03 => *memory.get_mut(k as usize)? = x,
            // BPF_MISC: BPF_TAX, BPF_TXA
            0x07 => x = a,
            0x87 => a = x,
            // BPF_RET: a constant, or the accumulator
            0x06 => return Some(k),
            0x16 => return Some(a),
            // BPF_JMP: always, or by a comparison
            0x05 => at = at.checked_add(k as usize)?,
            0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0x45 | 0x4d => {
                let holds = match code & 0xf0 {
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    _ => a & operand != 0,
                };
                at += usize::from(if holds { jump_true } else { jump_false });
            }
            // BPF_ALU
            0x84 => a = a.wrapping_neg(),
            _ if code & 0x07 == 0x04 && code <= 0xff => match calculate(code, a, operand)? {
                Some(result) => a = result,
                // A division by zero ends the program (bpf(4)).
                None => return Some(0),
            },
            _ => return None,
        }
    }
}

fn word(offset: u32) -> Option<usize> {
    (offset.is_multiple_of(4)).then_some(offset as usize / 4)
}

/// `None` outside: no such operation. Inside: divided by zero.
#[allow(clippy::option_option)]
fn calculate(code: u16, a: u32, operand: u32) -> Option<Option<u32>> {
    Some(match code & 0xf0 {
        0x00 => Some(a.wrapping_add(operand)),
        0x10 => Some(a.wrapping_sub(operand)),
        0x20 => Some(a.wrapping_mul(operand)),
        0x30 => a.checked_div(operand),
        0x40 => Some(a | operand),
        0x50 => Some(a & operand),
        0x60 => Some(a.wrapping_shl(operand)),
        0x70 => Some(a.wrapping_shr(operand)),
        0xa0 => Some(a ^ operand),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn instruction(code: u16, jump_true: u8, jump_false: u8, k: u32) -> Instruction {
        Instruction {
            code,
            jump_true,
            jump_false,
            k,
        }
    }

    #[test]
    fn a_filter_by_number_and_argument() {
        // What libseccomp makes of "mprotect with PROT_EXEC: EPERM".
        let program = [
            instruction(0x20, 0, 0, 0),
            instruction(0x15, 0, 3, 10),
            instruction(0x20, 0, 0, 32),
            instruction(0x54, 0, 0, 4),
            instruction(0x15, 1, 0, 4),
            instruction(0x06, 0, 0, 0x7fff_0000),
            instruction(0x06, 0, 0, 0x0005_0001),
        ];
        let answer = |number, protection| {
            let mut data = [0; 16];
            (data[0], data[8]) = (number, protection);
            run(&program, &data)
        };
        assert_eq!(answer(10, 5), Some(0x0005_0001));
        assert_eq!(answer(10, 3), Some(0x7fff_0000));
        assert_eq!(answer(9, 5), Some(0x7fff_0000));
    }

    #[test]
    fn programs_that_the_kernel_refuses_are_no_programs() {
        // No end, a jump out of it, a load of half a word and of what is not there, an unknown instruction.
        for program in [
            vec![],
            vec![instruction(0x05, 0, 0, 7)],
            vec![instruction(0x20, 0, 0, 2), instruction(0x16, 0, 0, 0)],
            vec![instruction(0x20, 0, 0, 64), instruction(0x16, 0, 0, 0)],
            vec![instruction(0x28, 0, 0, 0), instruction(0x16, 0, 0, 0)],
            vec![instruction(0x02, 0, 0, 16), instruction(0x16, 0, 0, 0)],
        ] {
            assert_eq!(run(&program, &[0; 16]), None, "{program:?}");
        }
        // Divided by zero: ended with 0, which kills.
        let division = [instruction(0x3c, 0, 0, 0), instruction(0x06, 0, 0, 1)];
        assert_eq!(run(&division, &[0; 16]), Some(0));
    }

    proptest! {
        /// Whatever is in it, it is run to an end.
        #[test]
        fn every_program_ends(words in proptest::collection::vec(any::<(u16, u8, u8, u32)>(), 0..200), data: [u32; 16]) {
            let program: Vec<Instruction> = words
                .into_iter()
                .map(|(code, yes, no, k)| instruction(code & 0xff, yes, no, k % 80))
                .collect();
            let _ = run(&program, &data);
        }
    }
}
