//! Function bounds, cold parts and heights, of programs with and without symbols.

mod fixture;

use std::process::Command;

use evenkeel_symbols::{Callee, FindError, FunctionKind, Module, Unpatchable};
use fixture::{Workshop, load, run};

#[test]
fn heights_match_those_worked_out_by_hand() {
    let workshop = Workshop::new();
    let module = load(&workshop.build("graph", &["graph.c"], &["-O1"]));
    let height = |name: &str| module.height(module.find(name).unwrap()).unwrap();
    let heights = [
        "leaf",
        "middle",
        "ping",
        "pong",
        "top",
        "printer",
        "caller",
        "narcissus",
    ]
    .map(height);
    assert_eq!(heights, [0, 1, 2, 2, 3, 1, 1, 0]);
    let taken = |name: &str| module.address_taken().contains(&module.find(name).unwrap());
    assert!(taken("top") && taken("printer") && !taken("middle"));
}

/// The linker has several ways to lead a call to an import, and to store relocations.
#[test]
fn imports_and_stored_addresses_in_every_layout() {
    let workshop = Workshop::new();
    let layouts: [&[&str]; 6] = [
        &["-Wl,-z,lazy"],
        &["-Wl,-z,now"],
        &["-fcf-protection=full", "-Wl,-z,ibtplt"],
        &["-fno-plt"],
        &["-no-pie"],
        &["-Wl,-z,pack-relative-relocs"],
    ];
    for layout in layouts {
        let module = load(&workshop.build("graph", &["graph.c"], &[layout, &["-O1"]].concat()));
        let printer = module.find("printer").unwrap();
        let sites = module.call_sites(printer);
        assert_eq!(sites.len(), 1, "{layout:?}");
        assert_eq!(sites[0].callee, Callee::Import("puts".into()), "{layout:?}");
        assert!(module.address_taken().contains(&printer), "{layout:?}");
        assert_eq!(module.call_sites_between("printer", "puts").unwrap(), sites);
    }
}

#[test]
fn branches_into_an_entry_keep_it_in_place() {
    let workshop = Workshop::new();
    let module = load(&workshop.build("entries", &["entries.s", "empty_main.c"], &[]));
    let displaced = |name: &str| module.displaced(module.find(name).unwrap());
    let looping = displaced("loops_to_entry").unwrap();
    // dec edi; jne; ret
    assert_eq!(
        (looping.len, looping.resume, looping.boundaries),
        (5, 0, 0b1_0101)
    );
    assert_eq!(
        looping.pieces[1].target,
        module.find("loops_to_entry").unwrap()
    );
    assert_eq!(displaced("loops_inside"), Err(Unpatchable::BranchInside));
    assert_eq!(
        displaced("entered_from_outside"),
        Err(Unpatchable::BranchInside)
    );
    assert_eq!(
        displaced("tiny").map(|displaced| (displaced.len, displaced.count)),
        Ok((5, 1))
    );
    assert_eq!(displaced("cramped"), Err(Unpatchable::TooShort));
}

fn callees(module: &Module, entry: u64) -> Vec<String> {
    module
        .call_sites(entry)
        .iter()
        .map(|site| module.callee_name(&site.callee))
        .collect()
}

#[test]
fn cold_parts_belong_to_their_function() {
    let workshop = Workshop::new();
    let program = workshop.build("cold", &["cold.c"], &["-O2"]);
    let module = load(&program);
    let parent = module.find("parent").unwrap();
    let function = module.function(parent).unwrap();
    assert_eq!(
        function.parts.len(),
        2,
        "the compiler was expected to split it: {function:x?}"
    );
    let cold = function.parts[1].clone();
    assert_eq!(module.function_at(cold.start).unwrap().entry, parent);
    assert_eq!(module.displaced(cold.start), Err(Unpatchable::NoEntry));
    let mut called = callees(&module, parent);
    called.sort();
    assert_eq!(called, ["puts", "report", "report"]);
    let expected = module.call_sites(parent);

    // Without symbols the same is found by address, and the function's name is its address.
    let module = load(&workshop.strip(&program));
    assert_eq!(module.find(&format!("{parent:#x}")), Ok(parent));
    assert_eq!(module.name(parent), format!("{parent:#x}"));
    assert_eq!(module.function(parent).unwrap().parts[1], cold);
    let bare = |sites: &[evenkeel_symbols::Site]| -> Vec<_> {
        sites
            .iter()
            .map(|site| (site.address, site.callee.clone(), site.form))
            .collect()
    };
    assert_eq!(bare(&module.call_sites(parent)), bare(&expected));
    let fragments = module
        .functions()
        .iter()
        .filter(|function| function.kind == FunctionKind::Fragment);
    assert_eq!(fragments.count(), 0);
}

#[test]
fn stripping_loses_names_but_no_function() {
    let workshop = Workshop::new();
    let program = workshop.build("graph", &["graph.c"], &["-O1", "-rdynamic"]);
    let (full, bare) = (load(&program), load(&workshop.strip(&program)));
    let leaf = full.find("leaf").unwrap();
    // Exported by -rdynamic; `leaf` is static.
    assert_eq!(bare.find("middle"), full.find("middle"));
    assert!(bare.find("leaf").is_err());
    assert_eq!(bare.symbol(leaf), None);
    assert_eq!(bare.name(leaf), format!("{leaf:#x}"));
    assert_eq!(bare.function(leaf), full.function(leaf));
    let callers = bare.callers_of(leaf);
    let names: Vec<_> = callers
        .iter()
        .map(|caller| bare.name(caller.function))
        .collect();
    assert_eq!(names, ["middle", "top"]);
    let middle = bare.find("middle").unwrap();
    assert_eq!(bare.call_sites(middle)[0].callee, Callee::Function(leaf));
    assert_eq!(bare.name(middle + 1), "middle+0x1");
}

#[test]
fn the_start_of_a_program_is_not_displaced() {
    let workshop = Workshop::new();
    let module = load(&workshop.build("graph", &["graph.c"], &[]));
    let start = module.find("_start").unwrap();
    assert_eq!(module.displaced(start), Err(Unpatchable::ProgramStart));
    assert_eq!(module.displaced(start + 1), Err(Unpatchable::NoEntry));
}

/// GHC's code has no return address at its entry, and is not changed. In a program without GHC's code, names with the
/// same ending are ordinary functions.
#[test]
fn haskell_is_refused_by_name() {
    let workshop = Workshop::new();
    let program = workshop.build("haskell", &["haskell.s", "empty_main.c"], &[]);
    let module = load(&program);
    let named = || FindError::Haskell {
        name: "Main_work_info".into(),
    };
    assert_eq!(module.find("Main_work_info"), Err(named()));
    let all = module.functions().iter();
    let of_haskell: Vec<_> = all
        .filter(|function| function.kind == FunctionKind::Haskell)
        .collect();
    assert_eq!(of_haskell.len(), 2);
    for function in of_haskell {
        assert_eq!(module.displaced(function.entry), Err(Unpatchable::Haskell));
        assert_eq!(module.call_sites(function.entry), []);
        assert!(module.find(&format!("{:#x}", function.entry)).is_err());
    }
    assert!(module.find("main").is_ok());

    let without = workshop.path("without");
    let mut remove = Command::new("objcopy");
    run(remove
        .args(["--remove-section", ".comment"])
        .args([&program, &without]));
    assert!(load(&without).find("Main_work_info").is_ok());
}
