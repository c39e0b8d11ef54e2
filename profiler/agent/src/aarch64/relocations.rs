//! Relocations by which a module gets the address of a function of another (ELF for the Arm 64-bit Architecture, 5.7).

/// `R_AARCH64_ABS64`, `R_AARCH64_GLOB_DAT`, `R_AARCH64_JUMP_SLOT`.
pub const FUNCTIONS: [u32; 3] = [257, 1025, 1026];
