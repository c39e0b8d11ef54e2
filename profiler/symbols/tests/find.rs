//! Forms of names that a user may type, and the errors.

mod fixture;

use evenkeel_symbols::{FindError, Module};
use fixture::{Workshop, load};

/// Two files with a static function `helper` each.
fn namesakes(workshop: &Workshop, options: &[&str]) -> Module {
    load(&workshop.build(
        "namesakes",
        &["one.c", "two.c"],
        &[options, &["-O1"]].concat(),
    ))
}

#[test]
fn functions_of_one_name_are_told_apart_by_file() {
    let workshop = Workshop::new();
    // With line tables, and with nothing but the symbol table.
    for options in [&["-g"][..], &[]] {
        let module = namesakes(&workshop, options);
        let one = module.find("one.c:helper").unwrap();
        let two = module.find("two.c:helper").unwrap();
        assert_ne!(one, two);
        let Err(FindError::Ambiguous { name, candidates }) = module.find("helper") else {
            panic!("ambiguous")
        };
        assert_eq!(name, "helper");
        let mut found: Vec<u64> = candidates
            .iter()
            .map(|candidate| candidate.address)
            .collect();
        found.sort();
        let mut expected = [one, two];
        expected.sort();
        assert_eq!(found, expected);
        assert!(candidates.iter().all(|candidate| candidate.file.is_some()));
        let Err(FindError::NoSuchFunction { closest, .. }) = module.find("three.c:helper") else {
            panic!("none")
        };
        assert_eq!(closest.len(), 2);
        assert!(
            closest.iter().all(|name| name.ends_with(".c:helper")),
            "{closest:?}"
        );
    }
    // The symbol table has no files of global functions.
    let error = namesakes(&workshop, &[]).find("one.c:main").unwrap_err();
    assert_eq!(
        error,
        FindError::NoDebugInfo {
            name: "one.c:main".to_owned()
        }
    );
    assert!(
        error
            .to_string()
            .contains("install the program's debug symbols")
    );
}

#[test]
fn addresses_must_be_entries() {
    let workshop = Workshop::new();
    let module = namesakes(&workshop, &[]);
    let entry = module.find("two").unwrap();
    assert_eq!(module.find(&format!("{entry:#x}")), Ok(entry));
    let name = "two".to_owned();
    let inside = FindError::NotAnEntry {
        address: entry + 1,
        entry,
        name,
    };
    assert_eq!(module.find(&format!("{:#x}", entry + 1)), Err(inside));
    assert_eq!(
        module.find("0x1"),
        Err(FindError::NotInFunction { address: 1 })
    );
    assert_eq!(
        module.find("0xfg"),
        Err(FindError::BadAddress {
            text: "0xfg".to_owned()
        })
    );
}

#[test]
fn misspelt_names_get_suggestions() {
    let workshop = Workshop::new();
    let module = namesakes(&workshop, &[]);
    let error = module.find("helpre").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no function is named helpre; did you mean helper?"
    );
}

#[test]
fn cpp_names_with_and_without_parameters() {
    let workshop = Workshop::new();
    let module = load(&workshop.build("names", &["names.cc"], &["-O1"]));
    let price = module.find("shop::price(int)").unwrap();
    assert_eq!(module.find("_ZN4shop5priceEi"), Ok(price));
    assert_eq!(module.name(price), "shop::price(int)");
    assert!(
        matches!(module.find("shop::price"), Err(FindError::Ambiguous { candidates, .. }) if candidates.len() == 2)
    );
    assert_eq!(module.find("shop::total"), module.find("shop::total(int)"));
    assert!(module.find("shop::Box<int>::get").is_ok());
    // The end of a name is enough, where only one has it.
    assert_eq!(
        module.find("total"),
        Ok(module.find("shop::total").unwrap())
    );
    assert_eq!(
        module.whole_name("total").as_deref(),
        Some("shop::total(int)")
    );
    assert_eq!(module.whole_name("shop::total"), None);
    assert_eq!(module.find("Box::get"), module.find("shop::Box<int>::get"));
    assert!(
        matches!(module.find("price"), Err(FindError::Ambiguous { candidates, .. }) if candidates.len() == 2)
    );
    let calls = |caller, callee| module.call_sites_between(caller, callee).unwrap().len();
    assert_eq!(calls("total", "price"), 3);
    assert!(matches!(
        module.find("total(double)"),
        Err(FindError::NoSuchFunction { .. })
    ));
    let never = module
        .call_sites_between("shop::refuse", "__cxa_throw")
        .unwrap();
    assert_eq!(
        never[0].form,
        Err(evenkeel_symbols::Unpatchable::NeverReturns)
    );
}

#[test]
fn sites_by_caller_and_callee() {
    let workshop = Workshop::new();
    let module = load(&workshop.build("names", &["names.cc"], &["-O1"]));
    let total = module.find("shop::total").unwrap();
    let both = module
        .call_sites_between("shop::total", "shop::price(int)")
        .unwrap();
    assert_eq!(both.len(), 2);
    assert_eq!(
        module
            .call_sites_between("shop::total", "shop::price")
            .unwrap()
            .len(),
        3
    );
    let callee = format!("{:#x}", module.find("shop::price(int)").unwrap());
    assert_eq!(
        module
            .call_sites_between(&format!("{total:#x}"), &callee)
            .unwrap(),
        both
    );
    let offset = both[1].address - total;
    let second = module
        .call_sites_between(&format!("shop::total+{offset:#x}"), "shop::price(int)")
        .unwrap();
    assert_eq!(second, [both[1].clone()]);

    let error = module
        .call_sites_between("shop::total+0x1", "shop::price(int)")
        .unwrap_err();
    let offsets = both
        .iter()
        .map(|site| format!("+{:#x}", site.address - total))
        .collect::<Vec<_>>()
        .join(", ");
    let expected =
        format!("shop::total(int) does not call shop::price(int) at +0x1; it does at {offsets}");
    assert_eq!(error.to_string(), expected);
    let error = module
        .call_sites_between("shop::total", "main")
        .unwrap_err();
    let expected =
        "shop::total(int) does not call main; it calls shop::price(double), shop::price(int)";
    assert_eq!(error.to_string(), expected);
}
