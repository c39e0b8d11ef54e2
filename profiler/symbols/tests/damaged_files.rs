//! Whatever a file contains, reading it ends with a module or an error.

mod fixture;

use std::sync::OnceLock;

use evenkeel_symbols::{DebugSources, Module};
use fixture::Workshop;
use proptest::prelude::*;

fn program() -> &'static (Workshop, Vec<u8>) {
    static PROGRAM: OnceLock<(Workshop, Vec<u8>)> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let workshop = Workshop::new();
        let path = workshop.build("program", &["graph.c"], &["-O1", "-g"]);
        let bytes = std::fs::read(path).unwrap();
        (workshop, bytes)
    })
}

fn ask_everything(module: &Module) {
    for function in module.functions() {
        let _ = module.displaced(function.entry);
        let _ = module.call_sites(function.entry);
        let _ = module.name(function.entry);
    }
    let _ = module.find("one.c:top");
    let _ = module.call_sites_between("top", "nothing");
    let _ = module.line(0x1100);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(0xff)]), 1..40),
        run in 1..9_usize,
    ) {
        let (workshop, bytes) = program();
        let mut bytes = bytes.clone();
        for (index, value) in changes {
            let at = index.index(bytes.len() - run);
            bytes[at..at + run].fill(value);
        }
        let path = workshop.path("changed");
        std::fs::write(&path, bytes).unwrap();
        if let Ok(module) = Module::load(&path, &DebugSources::none()) {
            ask_everything(&module);
        }
    }

    #[test]
    fn changed_section_headers_do_no_harm(
        section in 0..30_usize,
        field in 0..8_usize,
        value in prop_oneof![any::<u64>(), 0..0x10_0000_u64, (0..16_u64).prop_map(|less| u64::MAX - less)],
    ) {
        // Section headers of 64 bytes each begin where the header says at offset 40.
        let (workshop, bytes) = program();
        let mut bytes = bytes.clone();
        let headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        let at = headers + section * 64 + field * 8;
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let path = workshop.path("headers");
        std::fs::write(&path, bytes).unwrap();
        if let Ok(module) = Module::load(&path, &DebugSources::none()) {
            ask_everything(&module);
        }
    }
}
