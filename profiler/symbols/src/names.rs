//! Functions by their names: those that symbols give, in each spelling, and those that were inferred.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::demangle::{demangle, demangle_without_parameters, without_clone_suffix};
use crate::functions::cold_parent;
use crate::paths::End;
use crate::spelling;
use crate::symbols::{SymbolKind, Symbols};

/// In front of an inferred name.
pub const INFERRED: char = '~';

/// Addresses by each spelling of their names.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    by_name: HashMap<Box<str>, Vec<u64>>,
    /// Spellings that leave something out; looked at when no full name fits.
    by_short_name: HashMap<Box<str>, Vec<u64>>,
    /// Short names by the function's own name. Made when it is needed.
    by_function: OnceLock<HashMap<Box<str>, Vec<Box<str>>>>,
}

impl NameIndex {
    pub(crate) fn new(symbols: &Symbols) -> NameIndex {
        let mut index = NameIndex::default();
        let functions = symbols
            .all()
            .iter()
            .filter(|symbol| symbol.kind != SymbolKind::Label);
        for symbol in functions.filter(|symbol| cold_parent(&symbol.name).is_none()) {
            let name = &*symbol.name;
            add(&mut index.by_name, name, symbol.address);
            let written = demangle(name);
            if written != name {
                add(&mut index.by_name, &written, symbol.address);
                add(
                    &mut index.by_short_name,
                    &demangle_without_parameters(name),
                    symbol.address,
                );
            }
            let source_name = without_clone_suffix(name);
            if source_name != name {
                add(&mut index.by_short_name, source_name, symbol.address);
                add(
                    &mut index.by_short_name,
                    &demangle_without_parameters(source_name),
                    symbol.address,
                );
            }
        }
        index
    }

    pub(crate) fn get(&self, name: &str) -> &[u64] {
        let found = self
            .by_name
            .get(name)
            .or_else(|| self.by_short_name.get(name));
        found.map_or(&[], Vec::as_slice)
    }

    /// The functions of this name. Without any, the functions whose names end in it.
    pub(crate) fn meant(&self, name: &str) -> Vec<u64> {
        let found = self.get(name);
        if !found.is_empty() {
            return found.to_vec();
        }
        let end = End::new(name);
        let names = self.by_function().get(end.function());
        let fit = names.into_iter().flatten().filter(|name| end.fits(name));
        let mut addresses: Vec<u64> = fit
            .flat_map(|name| &self.by_short_name[name])
            .copied()
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    fn by_function(&self) -> &HashMap<Box<str>, Vec<Box<str>>> {
        self.by_function.get_or_init(|| {
            let mut names: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
            for name in self.by_short_name.keys() {
                let of_function = names.entry(End::new(name).function().into());
                of_function.or_default().push(name.clone());
            }
            names
        })
    }

    pub(crate) fn closest(&self, name: &str) -> Vec<String> {
        let all = || self.by_name.keys().chain(self.by_short_name.keys());
        let closest = spelling::closest(name, all().map(|name| &**name));
        if !closest.is_empty() {
            return closest;
        }
        spelling::containing(name, self.by_name.keys().map(|name| &**name))
    }
}

fn add(index: &mut HashMap<Box<str>, Vec<u64>>, name: &str, address: u64) {
    let addresses = index.entry(name.into()).or_default();
    if !addresses.contains(&address) {
        addresses.push(address);
    }
}

/// Names by the entry of their function.
#[derive(Debug, Default)]
pub(crate) struct Inferred {
    pub(crate) by_entry: HashMap<u64, Box<str>>,
}

impl Inferred {
    /// The name with its mark.
    pub(crate) fn name(&self, entry: u64) -> Option<String> {
        let name = self.by_entry.get(&entry)?;
        Some(format!("{INFERRED}{name}"))
    }

    /// The function of a name without its mark.
    pub(crate) fn entry(&self, name: &str) -> Option<u64> {
        let mut found = self.by_entry.iter().filter(|(_, known)| ***known == *name);
        found.next().map(|(&entry, _)| entry)
    }
}
