//! Relocations by which a module gets the address of a function of another (x86-64 psABI, table 4.10).

/// `R_X86_64_64`, `R_X86_64_GLOB_DAT`, `R_X86_64_JUMP_SLOT`.
pub const FUNCTIONS: [u32; 3] = [1, 6, 7];
