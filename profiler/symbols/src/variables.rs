//! Variables and members of structures that point to something: what labels an interval may lie there.

use std::fmt;

use object::{Object, ObjectSymbol, elf};

use crate::demangle::demangle;
use crate::load::Elf;
use crate::symbols::unversioned;

/// Size of a pointer, bytes.
const POINTER_BYTES: u64 = 8;

/// A use of a member of a structure in a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberUse {
    /// Its offset in the structure, bytes.
    pub offset: u32,
    /// Bytes read or written.
    pub bytes: usize,
    /// Whether they are written.
    pub is_written: bool,
}

/// The size that a variable has to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSize {
    /// It is a pointer.
    Pointer,
    /// It has a pointer at this offset, bytes.
    Member(u16),
}

impl VariableSize {
    fn fits(self, bytes: u64) -> bool {
        match self {
            VariableSize::Pointer => bytes == POINTER_BYTES,
            VariableSize::Member(offset) => u64::from(offset) + POINTER_BYTES <= bytes,
        }
    }
}

impl fmt::Display for VariableSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableSize::Pointer => write!(f, "with the size of a pointer"),
            VariableSize::Member(offset) => write!(f, "with a pointer at offset {offset}"),
        }
    }
}

/// Address of the variable of this size that has this name, mangled or not.
pub fn find(file: &Elf<'_>, name: &str, size: VariableSize) -> Option<u64> {
    let all = file.dynamic_symbols().chain(file.symbols());
    let mut named = all
        .filter(|symbol| symbol.elf_symbol().st_type() == elf::STT_OBJECT)
        .filter(|symbol| size.fits(symbol.size()) && !symbol.is_undefined())
        .filter(|symbol| {
            let linked = unversioned(symbol.name().unwrap_or_default());
            linked == name || name.contains("::") && demangle(linked) == name
        });
    Some(named.next()?.address())
}

/// Address and bytes of the variable of a number's size that has this name.
pub fn number(file: &Elf<'_>, name: &str) -> Option<(u64, usize)> {
    let all = file.dynamic_symbols().chain(file.symbols());
    let mut named = all.filter(|symbol| {
        symbol.elf_symbol().st_type() == elf::STT_OBJECT
            && matches!(symbol.size(), 1 | 2 | 4 | 8)
            && !symbol.is_undefined()
            && symbol
                .name()
                .is_ok_and(|linked| unversioned(linked) == name)
    });
    let found = named.next()?;
    Some((found.address(), found.size() as usize))
}
