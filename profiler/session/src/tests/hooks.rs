//! One hook has one meaning.

use evenkeel_intervals::interval::{Boundary, Meaning, Place, resolve, resolve_named};
use evenkeel_intervals::spec::{IntervalSpec, NamedCall};
use evenkeel_symbols::Site;
use evenkeel_wire::Role;

use super::program::Announced;
use crate::plan::{NotHooked, Plan};
use crate::profile::Planting;
use crate::profile::refiner::{Code, Refiner};
use crate::tests::example::LIMITS;

fn at(site: &Site, role: Role) -> Boundary {
    Boundary {
        place: Place::Site(site.clone()),
        meaning: Meaning::of(role),
    }
}

#[test]
fn a_place_that_has_another_meaning_is_refused() {
    let mut program = Announced::new();
    let (module, arena) = (&program.module, &mut program.arena);
    let mut plan = Plan::new("caller", 2);
    let sites = module.call_sites_between("caller", "callee").unwrap();
    let index = program.index;
    let id = plan.add_site(arena, index, module, &sites[0]).unwrap();
    let acquires = at(&sites[0], Role::Acquire);
    let refused = plan.add_boundary(arena, index, module, &acquires);
    assert_eq!(refused, Err(NotHooked::HookedAs(Role::Inner)));
    assert_eq!(plan.probes()[id as usize].role, Role::Inner);
}

/// A function that is hooked as a boundary needs no separate probe where its caller's calls are timed.
#[test]
fn a_boundary_is_hooked_once() {
    let mut program = Announced::new();
    let (module, arena) = (&program.module, &mut program.arena);
    let mut plan = Plan::new("caller", 2);
    let index = program.index;
    let sites = module.call_sites_between("caller", "callee").unwrap();
    let acquires = at(&sites[0], Role::Acquire);
    for _ in 0..2 {
        let planted = plan.add_boundary(arena, index, module, &acquires);
        assert_eq!(planted, Ok(()));
    }
    assert_eq!(plan.add_site(arena, index, module, &sites[0]), Some(0));
    assert_eq!(plan.probes().len(), 1);
    let entry = module.find("callee").unwrap();
    let displaced = module.displaced(entry).unwrap();
    let means = |role| Boundary {
        place: Place::Entry(entry, Box::new(displaced)),
        meaning: Meaning::of(role),
    };
    let begun = plan.add_boundary(arena, index, module, &means(Role::Begin));
    assert_eq!(begun, Ok(()));
    let ended = plan.add_boundary(arena, index, module, &means(Role::End));
    assert_eq!(ended, Err(NotHooked::HookedAs(Role::Begin)));
}

/// `--interval 'main>caller' --acquire 'caller>callee'`: the interval's calls are timed, and the named one among them
/// acquires.
#[test]
fn a_named_call_in_the_interval_has_the_meaning_that_the_user_gave_it() {
    let mut program = Announced::new();
    let spec: IntervalSpec = "main>caller".parse().unwrap();
    let interval = resolve(&spec, &program.module).unwrap();
    let named = NamedCall::parse(Role::Acquire, "caller>callee").unwrap();
    let named = resolve_named(&named, &program.module).unwrap();
    let mut refiner = Refiner::new(Planting::Refine, LIMITS);
    let mut code = Code {
        arena: &mut program.arena,
        modules: &mut program.modules,
    };
    let index = program.index;
    let begun = refiner.begin(index, &interval, &[named], &mut code);
    assert_eq!(begun, Ok(()));
    let roles = refiner.plan.probes().iter().map(|planned| planned.role);
    assert_eq!(roles.collect::<Vec<_>>(), [Role::Whole, Role::Acquire]);
}

/// The reason names the obstacle, which is seldom a full plan.
#[test]
fn a_refused_boundary_names_its_place_and_the_reason() {
    let mut program = Announced::new();
    let index = program.index;
    let mut refiner = Refiner::new(Planting::Refine, LIMITS);
    let mut code = Code {
        arena: &mut program.arena,
        modules: &mut program.modules,
    };
    let sites = program.module.call_sites_between("caller", "callee");
    let sites = sites.unwrap();
    let twice = [Role::Acquire, Role::Release].map(|role| at(&sites[0], role));
    let refused = refiner.hook(index, &twice, &mut code).unwrap_err();
    assert!(refused.site.starts_with("caller+0x"), "{}", refused.site);
    assert_eq!(refused.why, NotHooked::HookedAs(Role::Acquire));
}
