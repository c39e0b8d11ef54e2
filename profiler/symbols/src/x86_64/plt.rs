//! The linker's stubs that jump to imports (`.plt`, `.plt.sec`, `.plt.got`).

use iced_x86::{Code, Decoder, DecoderOptions, Instruction};

/// The stubs in a section at `address`: their addresses, and the slot that each jumps through.
///
/// ```text
/// ff 25 rel32                  jmp *slot(%rip)              .plt, .plt.got
/// f3 0f 1e fa  f2 ff 25 rel32  endbr64; bnd jmp *slot(%rip)  .plt.sec
/// ```
/// What else is in these sections (the jump into the loader) has other slots, which no symbol relocates.
pub(crate) fn stubs(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut stubs = Vec::new();
    let mut before = Instruction::default();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.code() == Code::Jmp_rm64 && instruction.is_ip_rel_memory_operand() {
            let marked = before.code() == Code::Endbr64 && before.next_ip() == instruction.ip();
            let start = if marked {
                before.ip()
            } else {
                instruction.ip()
            };
            stubs.push((start, instruction.ip_rel_memory_address()));
        }
        before = instruction;
    }
    stubs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_stub() {
        let mut code = vec![0xff, 0x25, 0x10, 0, 0, 0, 0x66, 0x90];
        code.extend([0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x20, 0, 0, 0]);
        // The first ends at 0x1006, the second at 0x1013.
        assert_eq!(stubs(&code, 0x1000), [(0x1000, 0x1016), (0x1008, 0x1033)]);
    }
}
