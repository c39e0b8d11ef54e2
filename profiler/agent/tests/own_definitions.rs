//! The agent's definitions are its own wherever it is loaded: no reference to them is left to the loader. The loader
//! would bind it to the C library's function of the same name where that was loaded earlier (`evenkeel attach`).

use std::path::Path;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

mod harness;

#[track_caller]
fn assert_refers_to_its_own(agent: &Path) {
    let bytes = std::fs::read(agent).unwrap();
    let elf = ElfFile64::<LittleEndian>::parse(&*bytes).unwrap();
    let symbols = elf.dynamic_symbol_table().expect("it exports functions");
    let relocations = elf.dynamic_relocations().expect("it is relocated");
    let (mut own, mut others) = (Vec::new(), 0);
    for (_, relocation) in relocations {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        let symbol = symbols.symbol_by_index(index).unwrap();
        if symbol.is_undefined() {
            others += 1;
        } else {
            own.push(symbol.name().unwrap());
        }
    }
    assert!(own.is_empty(), "{own:#?}");
    // The C library's are left to the loader, or this would see nothing.
    assert!(others > 10);
    let defined = |name| {
        symbols
            .symbols()
            .any(|symbol| symbol.is_definition() && symbol.name() == Ok(name))
    };
    assert!(defined("pthread_cond_signal") && defined("sigaction"));
}

#[test]
fn the_agent_refers_to_its_own_definitions() {
    assert_refers_to_its_own(harness::build::agent());
}

#[test]
fn the_agent_refers_to_its_own_definitions_as_released() {
    assert_refers_to_its_own(&harness::build::agent_of("release", "release"));
}
