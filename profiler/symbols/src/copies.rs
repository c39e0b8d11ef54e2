//! Where else the code of a function is: copies that the compiler inlined into others, and specialised ones.

use std::collections::BTreeSet;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_low_pc, DW_AT_ranges, DebuggingInformationEntry,
    Dwarf, EntriesCursor, Reader, UnitRef,
};

use crate::demangle::without_clone_suffix;
use crate::module::Module;

/// More debug information than this is not searched as a whole: a gigabyte takes many seconds.
const SEARCHED_BYTES_MAX: usize = 128 << 20;

/// Code of a function beside that at its entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Entries of functions that it is inlined into, ascending; only where there is debug information.
    pub inlined_into: Vec<u64>,
    /// Names of copies that the compiler made for some of its callers or of a part of it (`f.constprop.0`, `f.isra.0`, `f.part.0`).
    pub specialised: Vec<String>,
}

impl Copies {
    /// Whether no copy is known.
    pub fn is_empty(&self) -> bool {
        self.inlined_into.is_empty() && self.specialised.is_empty()
    }
}

impl Module {
    /// Where else the code of the function at `entry` is.
    pub fn copies_of(&self, entry: u64) -> Copies {
        let lines = self.lines();
        let holders = lines.map(|lines| lines.with_unit(entry, |unit| holders(unit, entry)));
        let entries = holders.into_iter().flatten().flatten();
        let entries = entries.filter_map(|at| Some(self.function_at(at)?.entry));
        let inlined_into: BTreeSet<u64> = entries.filter(|&holder| holder != entry).collect();
        Copies {
            inlined_into: inlined_into.into_iter().collect(),
            specialised: self.specialised(entry),
        }
    }

    fn specialised(&self, entry: u64) -> Vec<String> {
        let Some(name) = self.symbol(entry).map(without_clone_suffix) else {
            return Vec::new();
        };
        let symbols = self.symbols.all().iter();
        let others = symbols.filter(|symbol| symbol.address != entry);
        let copies = others.filter(|symbol| {
            symbol.name.len() > name.len() && without_clone_suffix(&symbol.name) == name
        });
        copies.map(|symbol| symbol.name.to_string()).collect()
    }
}

/// Where an abstract instance of a function lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// In the same unit.
    Here(usize),
    /// In any unit of the file.
    Anywhere(usize),
    /// In the file that `dwz` made for a package.
    Shared(usize),
}

impl Origin {
    fn of<R: Reader<Offset = usize>>(die: &DebuggingInformationEntry<R>) -> Option<Origin> {
        match die.attr_value(DW_AT_abstract_origin)? {
            AttributeValue::UnitRef(offset) => Some(Origin::Here(offset.0)),
            AttributeValue::DebugInfoRef(offset) => Some(Origin::Anywhere(offset.0)),
            AttributeValue::DebugInfoRefSup(offset) => Some(Origin::Shared(offset.0)),
            _ => None,
        }
    }
}

/// Addresses in functions that hold an inlined copy of the function at `entry`, which lies in this unit. A function that other units
/// refer to was optimised with them, at link time.
fn holders<R: Reader<Offset = usize>>(unit: UnitRef<'_, R>, entry: u64) -> Option<Vec<u64>> {
    let origin = origin_of(unit, entry)?;
    let mut found = Vec::new();
    match origin {
        Origin::Anywhere(_) if size(unit.dwarf) <= SEARCHED_BYTES_MAX => {
            each_unit(unit.dwarf, |unit| search(unit, origin, &mut found));
        }
        _ => search(unit, origin, &mut found),
    }
    Some(found)
}

/// Bytes of all units.
fn size<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>) -> usize {
    let mut headers = dwarf.units();
    let mut bytes = 0;
    while let Ok(Some(header)) = headers.next() {
        bytes += header.length_including_self();
    }
    bytes
}

fn each_unit<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>, mut each: impl FnMut(UnitRef<'_, R>)) {
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if let Ok(unit) = dwarf.unit(header) {
            each(unit.unit_ref(dwarf));
        }
    }
}

/// The abstract instance that the inlined copies of the function at `entry` refer to, as does its own code (DWARF 5,
/// section 3.3.8). `None` without one: then it is inlined nowhere.
fn origin_of<R: Reader<Offset = usize>>(unit: UnitRef<'_, R>, entry: u64) -> Option<Origin> {
    let mut cursor = unit.entries();
    loop {
        let die = cursor.next_dfs().ok()??;
        if die.tag() == gimli::DW_TAG_subprogram {
            let low = die.attr_value(DW_AT_low_pc);
            let low = low.and_then(|low| unit.attr_address(low).ok().flatten());
            if low == Some(entry) {
                return Origin::of(die);
            }
        }
    }
}

/// Adds an address in each function of the unit that holds a copy of `origin`.
fn search<R: Reader<Offset = usize>>(unit: UnitRef<'_, R>, origin: Origin, found: &mut Vec<u64>) {
    let mut cursor: EntriesCursor<'_, R> = unit.entries();
    // Functions around the entry at hand, with their depths and addresses; those of abstract instances have none.
    let mut around: Vec<(isize, Option<u64>)> = Vec::new();
    while let Ok(Some(die)) = cursor.next_dfs() {
        around.retain(|&(depth, _)| depth < die.depth());
        match die.tag() {
            gimli::DW_TAG_subprogram => {
                let has_code = die.has_attr(DW_AT_low_pc) || die.has_attr(DW_AT_ranges);
                let ranges = has_code.then(|| unit.die_ranges(die).ok()).flatten();
                let first = ranges.and_then(|mut ranges| ranges.next().ok().flatten());
                around.push((die.depth(), first.map(|range| range.begin)));
            }
            gimli::DW_TAG_inlined_subroutine => {
                let is_copy = Origin::of(die) == Some(origin);
                if let (Some((_, Some(at))), true) = (around.last(), is_copy) {
                    found.push(*at);
                }
            }
            _ => {}
        }
    }
}
