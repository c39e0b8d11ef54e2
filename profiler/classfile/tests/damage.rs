//! Damaged class files give an error or a class file, and never a panic. `fixtures` are what JDK 17's `javac -g` makes of `java`.

use evenkeel_classfile::{Class, Helper, Limits, MethodProbes, Plan};
use proptest::prelude::*;

const FIXTURES: [&[u8]; 4] = [
    include_bytes!("fixtures/Annotated.class"),
    include_bytes!("fixtures/Old.class"),
    include_bytes!("fixtures/Planted.class"),
    include_bytes!("fixtures/Planted$Derived.class"),
];

/// Does all that can be done with a class file. True where something was rewritten.
fn use_all_of_it(bytes: &[u8]) -> bool {
    let Ok(class) = Class::read(bytes) else {
        return false;
    };
    assert_eq!(class.write(), bytes, "written as it was read");
    let mut plan = Plan::default();
    let mut damaged = Vec::new();
    for method in class.methods() {
        let _ = (method.name(), method.descriptor(), method.is_static());
        damaged.push(method.call_sites().is_err());
        let calls = method
            .call_sites()
            .unwrap_or_default()
            .iter()
            .map(|site| (site.pc, 70_000))
            .collect();
        plan.methods.insert(
            method.index(),
            MethodProbes {
                body: Some(1),
                calls,
                label: method.argument(0).unwrap_or_default(),
            },
        );
    }
    let rewritten = class.instrument(&plan, &Helper { class: "a/Helper" }, &Limits::default());
    for refusal in &rewritten.refused {
        assert!(refusal.to_string().contains("gets no probes"));
    }
    let Some(again) = rewritten.class else {
        return false;
    };
    let again = Class::read(&again).expect("what was rewritten can be read");
    for method in again.methods() {
        assert!(
            method.call_sites().is_ok() || damaged[method.index()],
            "and so can its code"
        );
    }
    true
}

#[test]
fn fixtures_are_rewritten() {
    for fixture in FIXTURES {
        assert!(use_all_of_it(fixture));
    }
}

#[test]
fn no_class_file_that_ends_early_is_read() {
    for fixture in FIXTURES {
        for length in 0..fixture.len() {
            assert!(Class::read(&fixture[..length]).is_err(), "{length}");
        }
        let longer = [fixture, &[0]].concat();
        assert!(Class::read(&longer).is_err());
    }
}

#[test]
fn every_byte_may_be_wrong() {
    // The largest would take most of the time.
    for fixture in FIXTURES.into_iter().filter(|fixture| fixture.len() < 4_000) {
        let mut damaged = fixture.to_vec();
        for at in 0..fixture.len() {
            for wrong in [0, 0xff, fixture[at] ^ 1, fixture[at].wrapping_add(1)] {
                damaged[at] = wrong;
                use_all_of_it(&damaged);
            }
            damaged[at] = fixture[at];
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_bytes_may_be_wrong(
        fixture in prop::sample::select(FIXTURES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut damaged = fixture.to_vec();
        for (at, wrong) in changes {
            let at = at.index(damaged.len());
            damaged[at] = wrong;
        }
        use_all_of_it(&damaged);
    }

    #[test]
    fn pieces_may_be_missing_or_doubled(
        fixture in prop::sample::select(FIXTURES.to_vec()),
        from in any::<prop::sample::Index>(),
        length in 1..64_usize,
        twice in any::<bool>(),
    ) {
        let begin = from.index(fixture.len());
        let end = (begin + length).min(fixture.len());
        let resumed = if twice { begin } else { end };
        use_all_of_it(&[&fixture[..if twice { end } else { begin }], &fixture[resumed..]].concat());
    }
}
