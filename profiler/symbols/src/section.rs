//! A section's contents, without the rest of the file.

use std::fs::File;
use std::io;
use std::path::Path;

use object::read::{ReadCache, elf::ElfFile64};
use object::{Endianness, Object, ObjectSection};

/// The contents of a section of a 64-bit ELF file; `None` if the file has no section of that name.
///
/// Only the file's headers and the section are read.
///
/// # Errors
/// The file cannot be read, or is no such file.
pub fn section(path: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let cache = ReadCache::new(File::open(path)?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).map_err(io::Error::other)?;
    let Some(section) = elf.section_by_name(name) else {
        return Ok(None);
    };
    let data = section.data().map_err(io::Error::other)?;
    Ok(Some(data.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_this_program() {
        let own = std::env::current_exe().unwrap();
        let interpreter = section(&own, ".interp")
            .unwrap()
            .expect("a dynamic program");
        assert!(interpreter.starts_with(b"/"), "{interpreter:?}");
        assert_eq!(section(&own, ".no-such-section").unwrap(), None);
        assert!(section(Path::new("Cargo.toml"), ".interp").is_err());
    }
}
