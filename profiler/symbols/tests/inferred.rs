//! Names of functions that have none: only where exactly one fits.

mod fixture;

use evenkeel_symbols::{FindError, Fingerprint, Module};
use fixture::{Workshop, load};

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The program with its symbols, and without.
fn nameless(workshop: &Workshop) -> (Module, Module) {
    let options = ["-O1", "-rdynamic", "-fvisibility=hidden"];
    let program = workshop.build("nameless", &["nameless.c"], &options);
    (load(&program), load(&workshop.strip(&program)))
}

fn named(name: &str) -> Fingerprint {
    Fingerprint {
        name: name.to_owned(),
        ..Fingerprint::default()
    }
}

#[test]
fn by_calls_callers_addresses_and_strings() {
    let workshop = Workshop::new();
    let (full, mut bare) = nameless(&workshop);
    assert!(bare.find("commit").is_err());
    let fingerprints = [
        Fingerprint {
            calls: list(&["flush", "insert"]),
            ..named("commit")
        },
        Fingerprint {
            called_by: list(&["begin"]),
            strings: list(&["flushing"]),
            ..named("only_flush")
        },
        Fingerprint {
            address_in: list(&["begin"]),
            calls: list(&["insert"]),
            ..named("through_a_pointer")
        },
        // By a name inferred above.
        Fingerprint {
            calls: list(&["commit"]),
            ..named("above")
        },
        Fingerprint {
            called_by: list(&["begin"]),
            calls: list(&["flush", "puts"]),
            ..named("twin")
        },
    ];
    bare.infer_names(&fingerprints);
    for fingerprint in &fingerprints {
        let real = full.find(&fingerprint.name).unwrap();
        let shown = format!("~{}", fingerprint.name);
        assert_eq!(bare.name(real), shown);
        assert_eq!(bare.find(&shown), Ok(real));
        assert_eq!(
            bare.find(&fingerprint.name),
            Err(FindError::NoSuchFunction {
                name: fingerprint.name.clone(),
                closest: vec![shown],
            })
        );
    }
}

#[test]
fn never_two_candidates() {
    let workshop = Workshop::new();
    let (full, mut bare) = nameless(&workshop);
    let twin = full.find("twin").unwrap();
    let by_flush = Fingerprint {
        called_by: list(&["begin"]),
        calls: list(&["flush"]),
        ..named("twin")
    };
    let nothing = |module: &mut Module, fingerprint: Fingerprint| {
        module.infer_names(&[fingerprint]);
        for function in module.functions() {
            assert!(!module.name(function.entry).starts_with('~'));
        }
    };
    // Both `only_flush` and `twin` fit.
    nothing(&mut bare, by_flush.clone());
    // It says nothing of calls; a function that it mentions is not there; no function is that.
    nothing(&mut bare, named("twin"));
    let unknown = Fingerprint {
        calls: list(&["flush", "no_such_function"]),
        ..named("twin")
    };
    nothing(&mut bare, unknown);
    let none = Fingerprint {
        calls_none_of: list(&["flush"]),
        ..by_flush.clone()
    };
    nothing(&mut bare, none);
    // Distinguished by what the other says.
    let other = Fingerprint {
        strings: list(&["flushing the log"]),
        ..by_flush.clone()
    };
    bare.infer_names(&[
        Fingerprint {
            name: "only_flush".into(),
            ..other
        },
        by_flush.clone(),
    ]);
    assert_eq!(bare.name(twin), "~twin");
    // A function that has a name keeps it.
    let (mut full, _) = nameless(&workshop);
    full.infer_names(&[by_flush]);
    assert_eq!(full.name(twin), "twin");
}

#[test]
fn names_of_a_package_are_known() {
    let workshop = Workshop::new();
    let (full, bare) = nameless(&workshop);
    assert_eq!(full.names_elsewhere(), None);
    let said = bare.names_elsewhere().unwrap();
    assert!(said.starts_with("nameless.stripped: "), "{said}");
    let build: String = bare
        .build_id()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let asked = if build.is_empty() {
        "no build id"
    } else {
        &*build
    };
    assert!(said.contains(asked), "{said}");
}
