//! Properties of ELF files for 64-bit ARM (ELF for the Arm 64-bit Architecture, 5.7).

use object::elf;

use crate::meaning::Meaning;

/// The number of the machine.
pub(crate) const MACHINE: u16 = 183;
/// Numbers of machines whose 32-bit programs the processor also runs.
pub(crate) const MACHINES_32: &[u16] = &[40];

/// The loader's action for a relocation.
pub(crate) fn meaning(relocation: elf::RelocationType) -> Option<Meaning> {
    Some(match relocation {
        elf::R_AARCH64_JUMP_SLOT | elf::R_AARCH64_GLOB_DAT => Meaning::Slot,
        elf::R_AARCH64_ABS64 => Meaning::Address,
        elf::R_AARCH64_IRELATIVE => Meaning::Resolver,
        elf::R_AARCH64_RELATIVE => Meaning::Relative,
        _ => return None,
    })
}
