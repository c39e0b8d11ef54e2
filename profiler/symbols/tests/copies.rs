//! Where else the code of a function is.

mod fixture;

use evenkeel_symbols::Module;
use fixture::{Workshop, load};

fn holders(module: &Module, name: &str) -> Vec<String> {
    let copies = module.copies_of(module.find(name).unwrap());
    let holders = copies.inlined_into.into_iter();
    holders.map(|entry| module.name(entry)).collect()
}

#[test]
fn inlined_copies_are_known_by_debug_information() {
    let workshop = Workshop::new();
    for options in [&["-O2", "-g"][..], &["-O2", "-g", "-flto"]] {
        let module = load(&workshop.build("copies", &["copies.c"], options));
        assert_eq!(holders(&module, "step"), ["now"], "{options:?}");
        assert!(holders(&module, "alone").is_empty(), "{options:?}");
    }
    let module = load(&workshop.build("copies", &["copies.c"], &["-O2"]));
    assert!(holders(&module, "step").is_empty());
}

#[test]
fn specialised_copies_are_known_by_their_names() {
    let workshop = Workshop::new();
    let options = ["-O2", "-Wl,--defsym=step.constprop.0=later"];
    let module = load(&workshop.build("copies", &["copies.c"], &options));
    let copies = module.copies_of(module.find("step").unwrap());
    assert!(!copies.is_empty());
    assert_eq!(copies.specialised, ["step.constprop.0"]);
    assert!(module.copies_of(module.find("now").unwrap()).is_empty());
}
