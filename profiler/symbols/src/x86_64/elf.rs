//! Properties of ELF files for x86-64 (System V psABI, 4.4).

use object::elf;

use crate::meaning::Meaning;

/// The number of the machine.
pub(crate) const MACHINE: u16 = 62;
/// Numbers of machines whose 32-bit programs the processor also runs.
pub(crate) const MACHINES_32: &[u16] = &[62, 3];

/// The loader's action for a relocation.
pub(crate) fn meaning(relocation: elf::RelocationType) -> Option<Meaning> {
    Some(match relocation {
        elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT => Meaning::Slot,
        elf::R_X86_64_64 => Meaning::Address,
        elf::R_X86_64_IRELATIVE => Meaning::Resolver,
        elf::R_X86_64_RELATIVE => Meaning::Relative,
        _ => return None,
    })
}
