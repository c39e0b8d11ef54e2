//! A library's definitions for others, without reading its code.

use std::collections::HashSet;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, ReadCache};

/// Names that the ELF file at `path` defines for the loader, without versions. None of files that cannot be read.
pub fn exported(path: &Path) -> HashSet<String> {
    let Ok(file) = std::fs::File::open(path) else {
        return HashSet::new();
    };
    let cache = ReadCache::new(file);
    let Ok(elf) = ElfFile64::<LittleEndian, _>::parse(&cache) else {
        return HashSet::new();
    };
    elf.dynamic_symbols()
        .filter(|symbol| !symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect()
}
