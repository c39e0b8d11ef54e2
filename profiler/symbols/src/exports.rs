//! Whether a library defines a function, without reading its code.

use std::path::Path;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, ReadCache};

/// Whether the loader would find the function `name` in the ELF file at `path`. False also for files that cannot be read.
pub fn exports(path: &Path, name: &str) -> bool {
    let Ok(file) = std::fs::File::open(path) else {
        return false;
    };
    let cache = ReadCache::new(file);
    let Ok(elf) = ElfFile64::<LittleEndian, _>::parse(&cache) else {
        return false;
    };
    elf.dynamic_symbols()
        .any(|symbol| !symbol.is_undefined() && symbol.name() == Ok(name))
}
