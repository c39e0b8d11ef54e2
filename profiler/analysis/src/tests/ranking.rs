//! Which factors are reported, and in which order.

use super::trace::*;
use crate::findings::warnings::Warning;
use crate::profile::Profile;
use crate::sites::SiteTable;
use crate::{Options, ProbeCost};

const A: u32 = 0;
const B: u32 = 1;

fn names(profile: &Profile) -> Vec<String> {
    profile
        .factors
        .iter()
        .map(|factor| factor.functions.join("+"))
        .collect()
}

/// a is 10 or 30, b is 100 or 104, independent: contributions 400/416 = 0.96 and 16/416 = 0.04 (as
/// `independent_stages`).
fn two_independent(table: &SiteTable, options: &Options) -> Profile {
    let steps = |a, b| vec![leaf(A, a), leaf(B, b)];
    analysed(&[
        steps(10, 100),
        steps(30, 104),
        steps(10, 104),
        steps(30, 100),
    ])
    .profile(table, options)
}

/// a at height 4, b at height 0, root at 5. Scores 1 * 0.96 and 5^e * 0.04: 0.19 for e = 1, 0.96 for e = 2 and 4.8 for
/// e = 3.
#[test]
fn the_exponent_weighs_specificity() {
    let table = sites(&[("a", "root+0x1", 4), ("b", "root+0x2", 0)]);
    let scores = |specificity| {
        let profile = two_independent(
            &table,
            &Options {
                specificity,
                threshold: 0.001,
                ..options()
            },
        );
        profile
            .factors
            .iter()
            .map(|factor| (factor.functions[0].clone(), factor.score))
            .collect::<Vec<_>>()
    };
    let (linear, cubic) = (scores(1), scores(3));
    assert_eq!([&*linear[0].0, &*cubic[0].0], ["a", "b"]);
    near(linear[0].1, 400.0 / 416.0);
    near(linear[1].1, 5.0 * 16.0 / 416.0);
    near(cubic[0].1, 125.0 * 16.0 / 416.0);
}

/// As in stripped libraries: the function at one address of liba.so calls that at the same address of libb.so, which
/// takes 0 or 20.
#[test]
fn functions_without_names_are_told_apart_by_their_files() {
    let mut table = sites(&[("0x1a30", "root+0x1", 1), ("0x1a30", "0x1a30+0x2", 0)]);
    for (site, file) in table.sites.iter_mut().zip(["liba.so", "libb.so"]) {
        site.callee_file = Some(file.to_owned());
    }
    let steps = |own, inner| vec![call(A, [work(own), leaf(B, inner)])];
    let analysis = analysed(&[steps(5, 0), steps(5, 20), steps(5, 0), steps(5, 20)]);
    let profile = analysis.profile(&table, &options());
    let found = names(&profile);
    assert!(found.contains(&"liba.so!0x1a30".to_owned()), "{found:?}");
    let inner = "libb.so!0x1a30".to_owned();
    let inner = found.iter().position(|name| *name == inner);
    near(profile.factors[inner.expect("a factor")].contribution, 1.0);
}

/// wrapper, of static height 1, calls deep, of height 4, through a pointer. So wrapper is raised to 5, and the root, at
/// 5, to 6. wrapper scores 1^2 and deep 2^2 times the same contribution.
#[test]
fn a_wrapper_of_pointers_is_above_what_it_calls() {
    let table = sites(&[("wrapper", "root+0x1", 1), ("deep", "wrapper+0x2", 4)]);
    let steps = |ticks| vec![call(A, [leaf(B, ticks)])];
    let profile =
        analysed(&[steps(10), steps(30), steps(10), steps(30)]).profile(&table, &options());
    assert_eq!(names(&profile)[..2], ["deep", "wrapper"]);
}

#[test]
fn k_and_threshold_select() {
    let table = sites(&[("a", "root+0x1", 0), ("b", "root+0x2", 0)]);
    let of = |k, threshold| {
        names(&two_independent(
            &table,
            &Options {
                k,
                threshold,
                ..options()
            },
        ))
    };
    assert_eq!(of(10, 0.01), ["a", "b"]);
    assert_eq!(of(10, 0.05), ["a"]);
    assert_eq!(of(1, 0.01), ["a"]);
    assert_eq!(of(0, 0.01), [""; 0]);
}

/// b stands higher in the call graph than the root is known to: it was reached by an indirect call. The graph's height
/// is then one more than b's, 8: specificities 8^2 for a and 1 for b. Without any heights all specificities are 1.
#[test]
fn the_root_is_above_what_it_reaches() {
    let table = sites(&[("a", "root+0x1", 0), ("b", "root+0x2", 7)]);
    let profile = two_independent(
        &table,
        &Options {
            threshold: 0.01,
            ..options()
        },
    );
    near(profile.factors[0].score, 64.0 * 400.0 / 416.0);
    near(profile.factors[1].score, 16.0 / 416.0);
    let flat = SiteTable {
        root_height: 0,
        ..sites(&[("a", "root+0x1", 0), ("b", "root+0x2", 0)])
    };
    near(
        two_independent(&flat, &options()).factors[0].score,
        400.0 / 416.0,
    );
}

/// Two functions with the same pattern, one interval apart: their order means nothing. A third that varies ten times as
/// much is first beyond doubt. Contributions differ by 0 between a and b.
#[test]
fn ties_are_reported() {
    let table = sites(&[
        ("a", "root+0x1", 0),
        ("b", "root+0x2", 0),
        ("c", "root+0x3", 0),
    ]);
    let steps = |at: u64| {
        vec![
            leaf(A, 10 + at % 2 * 10),
            leaf(B, 10 + (at / 2) % 2 * 10),
            leaf(2, 10 + (at / 4) % 2 * 100),
        ]
    };
    let intervals: Vec<_> = (0..512).map(steps).collect();
    let profile = analysed(&intervals).profile(
        &table,
        &Options {
            threshold: 0.001,
            ..options()
        },
    );
    assert_eq!(names(&profile), ["c", "a", "b"]);
    let tied: Vec<_> = profile
        .factors
        .iter()
        .map(|factor| factor.tied_with_next)
        .collect();
    assert_eq!(tied, [false, true, false]);
    near(profile.factors[0].contribution, 10_000.0 / 10_200.0);
}

/// Two indirect calls are not one function, but two calls of a named one are.
#[test]
fn indirect_calls_stay_apart() {
    let table = sites(&[("(indirect)", "root+0x1", 0), ("(indirect)", "root+0x2", 0)]);
    let profile = two_independent(
        &table,
        &Options {
            threshold: 0.01,
            ..options()
        },
    );
    assert_eq!(
        names(&profile),
        ["(indirect) at root+0x1", "(indirect) at root+0x2"]
    );
    assert_eq!(profile.factors[0].paths, ["root > (indirect) [root+0x1]"]);
}

/// 1 to 4 calls of 10 ticks; each costs 5 outside. Cost and calls vary together, but probes are no factor.
#[test]
fn probes_are_no_factor() {
    let mut analysis = started(ProbeCost {
        outer_256: 5 * 256,
        inner_256: 0,
    });
    for n in 1..=4 {
        analysis.push(
            1,
            &interval(1000 * n, &vec![call(A, [work(10)]); n as usize]),
        );
        analysis.push(1, &interval(1000 * n + 500, &[work(7)]));
    }
    let profile = analysis.profile(&sites(&[("a", "root+0x1", 0)]), &options());
    assert!(child(&profile.tree, "probes").share > 0.0);
    assert!(
        profile
            .factors
            .iter()
            .all(|factor| factor.functions.iter().all(|name| name != "probes"))
    );
    assert!(
        profile
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::ProbeShare(_)))
    );
}

/// f is called from two sites of root: n at one, 2 n at the other, n = 10, 20, 30. It is one function there: Var(3 n),
/// all of Var(L) (each site by itself would be 1/9 and 4/9), and never a pair with itself.
#[test]
fn two_sites_of_one_caller_are_one_function() {
    let intervals: Vec<_> = [10, 20, 30]
        .map(|n| vec![leaf(A, n), work(5), leaf(B, 2 * n)])
        .into();
    let table = sites(&[("f", "root+0x1", 0), ("f", "root+0x2", 0)]);
    let profile = analysed(&intervals).profile(&table, &options());
    assert_eq!(names(&profile), ["f"]);
    let f = &profile.factors[0];
    near(f.contribution, 1.0);
    near(f.score, 25.0);
    assert_eq!(f.paths, ["root > f [root+0x2]", "root > f [root+0x1]"]);
}

/// The sites compensate one another (n and 40 - n), and g varies alone: f contributes nothing.
#[test]
fn sites_that_make_up_for_one_another_contribute_nothing() {
    let interval = |n, other| vec![leaf(A, n), leaf(B, 40 - n), leaf(2, other)];
    let intervals = [
        interval(10, 1),
        interval(30, 1),
        interval(10, 3),
        interval(30, 3),
    ];
    let table = sites(&[
        ("f", "root+0x1", 0),
        ("f", "root+0x2", 0),
        ("g", "root+0x3", 0),
    ]);
    let profile = analysed(&intervals).profile(&table, &options());
    assert_eq!(names(&profile), ["g"]);
    near(profile.factors[0].contribution, 1.0);
}
