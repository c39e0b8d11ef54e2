//! Variables that point to something: what labels an interval may lie there.

use object::{Object, ObjectSymbol, elf};

use crate::demangle::demangle;
use crate::load::Elf;
use crate::symbols::unversioned;

/// Size of a pointer, bytes.
const POINTER_BYTES: u64 = 8;

/// Address of the variable of a pointer's size that has this name, mangled or not.
pub fn find(file: &Elf<'_>, name: &str) -> Option<u64> {
    let all = file.dynamic_symbols().chain(file.symbols());
    let mut named = all
        .filter(|symbol| symbol.elf_symbol().st_type() == elf::STT_OBJECT)
        .filter(|symbol| symbol.size() == POINTER_BYTES && !symbol.is_undefined())
        .filter(|symbol| {
            let linked = unversioned(symbol.name().unwrap_or_default());
            linked == name || name.contains("::") && demangle(linked) == name
        });
    Some(named.next()?.address())
}
