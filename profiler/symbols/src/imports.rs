//! Calls that leave the module, by the linker's stubs or directly through the loader's slots.

use std::collections::HashMap;
use std::sync::Arc;

use object::{Object, ObjectSymbol};

use crate::arch::plt;
use crate::functions::Functions;
use crate::graph::Target;
use crate::load::{Elf, Image};
use crate::relocations::Slot;
use crate::sites::Callee;
use crate::symbols::Symbols;

/// The function in a slot.
pub(crate) fn slot_callee(slot: &Slot, symbols: &Symbols) -> Callee {
    match slot {
        Slot::Import(name) => Callee::Import(name.clone()),
        Slot::Local(address) => Callee::Function(*address),
        // The name of an indirect function is that of its resolver.
        Slot::Resolved(resolver) => match symbols.at(*resolver).first() {
            Some(symbol) => Callee::Import(Arc::from(&*symbol.name)),
            None => Callee::Pointer,
        },
    }
}

/// Targets of the linker's stubs, by the address of the stub.
pub(crate) fn stubs(
    image: &Image,
    slots: &HashMap<u64, Slot>,
    symbols: &Symbols,
) -> HashMap<u64, Callee> {
    let mut found = HashMap::new();
    for text in image.text.iter().filter(|text| text.stubs) {
        for (stub, slot) in plt::stubs(image.code(&text.addresses), text.addresses.start) {
            if let Some(slot) = slots.get(&slot) {
                found.insert(stub, slot_callee(slot, symbols));
            }
        }
    }
    found
}

/// Symbols that this module offers to the loader: its imports lead to them unless another module comes first.
pub(crate) fn definitions<'data>(elf: &Elf<'data>) -> HashMap<&'data str, u64> {
    let own = elf
        .dynamic_symbols()
        .filter(|symbol| !symbol.is_undefined());
    own.filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
        .collect()
}

/// Where a call of `address` leads: a stub of an import that this module itself defines leads back into it.
pub(crate) fn target(
    address: u64,
    stubs: &HashMap<u64, Callee>,
    definitions: &HashMap<&str, u64>,
    functions: &Functions,
) -> Target {
    let address = match stubs.get(&address) {
        Some(Callee::Import(name)) => definitions.get(&**name).copied(),
        Some(Callee::Function(address)) => Some(*address),
        Some(Callee::Pointer) => None,
        None => {
            return functions
                .index_at(address)
                .map_or(Target::Nowhere, Target::Function);
        }
    };
    let index = address.and_then(|address| functions.index_at(address));
    index.map_or(Target::Outside, Target::Function)
}
