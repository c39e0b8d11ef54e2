//! The names that Fedora, RHEL and their kin leave in a stripped file: `.gnu_debugdata`, an ELF file compressed by xz whose symbol table has
//! the functions that the dynamic one lacks (GDB's manual, "MiniDebugInfo").

use std::io::Read;

use lzma_rust2::XzReader;
use object::{Object, ObjectSection};

use crate::load::Elf;

const SECTION: &str = ".gnu_debugdata";

/// The largest of Fedora's have some ten megabytes; what is larger than this is no symbol table.
const BYTES_MAX: u64 = 1 << 30;
/// Bound of the decompressor's memory, in the unit of its library.
const KIB_MAX: u32 = (BYTES_MAX >> 10) as u32;

/// The ELF file within, where there is one; what is wrong with it otherwise.
pub(crate) fn read(elf: &Elf<'_>) -> Result<Option<Vec<u8>>, String> {
    let Some(section) = elf.section_by_name(SECTION) else {
        return Ok(None);
    };
    let compressed = section.data().map_err(|error| error.to_string())?;
    let mut file = Vec::new();
    let decompressed = XzReader::new_mem_limit(compressed, true, KIB_MAX);
    let mut reader = decompressed.take(BYTES_MAX + 1);
    reader
        .read_to_end(&mut file)
        .map_err(|error| error.to_string())?;
    if file.len() as u64 > BYTES_MAX {
        return Err(format!("it is larger than {BYTES_MAX} bytes"));
    }
    Ok(Some(file))
}
