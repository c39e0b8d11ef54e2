//! Addresses that the loader writes into the module: of imports, and of its own functions.

use std::collections::HashMap;
use std::sync::Arc;

use object::read::elf::{FileHeader, SectionHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags,
    RelocationTarget, elf,
};

use crate::arch::elf::meaning;
use crate::load::Elf;
use crate::meaning::Meaning;

/// The value of a global offset table's slot once the module is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The address of a symbol, found by name.
    Import(Arc<str>),
    /// The result of the resolver at this address: an indirect function of this module.
    Resolved(u64),
    /// An address in this module.
    Local(u64),
}

/// The dynamic relocations of a module, as far as they concern code.
#[derive(Debug, Default)]
pub(crate) struct Relocations {
    /// By address of the slot.
    pub(crate) slots: HashMap<u64, Slot>,
    /// Addresses in this module that the loader stores somewhere, in no order.
    pub(crate) stored: Vec<u64>,
}

impl Relocations {
    pub(crate) fn of(elf: &Elf<'_>) -> Relocations {
        let mut relocations = Relocations::default();
        let table = elf
            .section_by_name(".got")
            .into_iter()
            .chain(elf.section_by_name(".got.plt"));
        let table: Vec<_> = table
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        let symbols = elf.dynamic_symbol_table();
        for (at, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type, .. } = relocation.flags() else {
                continue;
            };
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(index) => symbols
                    .as_ref()
                    .and_then(|symbols| symbols.symbol_by_index(index).ok()),
                _ => None,
            };
            match (meaning(r_type), symbol) {
                (Some(Meaning::Slot), Some(symbol)) => {
                    let name = symbol.name().unwrap_or_default();
                    relocations.slots.insert(at, Slot::Import(name.into()));
                }
                (Some(Meaning::Address), Some(symbol)) if !symbol.is_undefined() => {
                    relocations.stored.push(symbol.address());
                }
                (Some(Meaning::Resolver), _) => {
                    relocations
                        .slots
                        .insert(at, Slot::Resolved(relocation.addend() as u64));
                }
                (Some(Meaning::Relative), _) => {
                    let target = relocation.addend() as u64;
                    relocations.stored.push(target);
                    if table.iter().any(|table| table.contains(&at)) {
                        relocations.slots.insert(at, Slot::Local(target));
                    }
                }
                _ => {}
            }
        }
        relocations.stored.extend(packed(elf));
        relocations
    }
}

/// Relative relocations in the packed form (`SHT_RELR`): the addends are in place.
fn packed(elf: &Elf<'_>) -> Vec<u64> {
    let data = elf.data();
    let mut stored = Vec::new();
    for section in elf.elf_section_table().iter() {
        let Ok(Some(places)) = section.relr(LittleEndian, data) else {
            continue;
        };
        for at in places {
            let holder = elf.sections().find(|section| {
                at >= section.address()
                    && at - section.address() < section.size()
                    && section.address() != 0
            });
            let bytes = holder.and_then(|section| section.data_range(at, 8).ok().flatten());
            stored.extend(
                bytes
                    .and_then(|bytes| bytes.try_into().ok())
                    .map(u64::from_le_bytes),
            );
        }
    }
    stored
}

/// Addresses that a module at a fixed address holds in its data without any relocation: every aligned word of its
/// data that could be one. Empty for position-independent modules.
pub(crate) fn fixed_words(elf: &Elf<'_>) -> Vec<u64> {
    if elf.elf_header().e_type(LittleEndian) != elf::ET_EXEC {
        return Vec::new();
    }
    const DATA: [&str; 5] = [
        ".rodata",
        ".data",
        ".data.rel.ro",
        ".init_array",
        ".fini_array",
    ];
    let sections = DATA
        .iter()
        .filter_map(|name| elf.section_by_name(name)?.data().ok());
    sections
        .flat_map(|data| {
            data.as_chunks::<8>()
                .0
                .iter()
                .map(|word| u64::from_le_bytes(*word))
        })
        .collect()
}
