//! Finds an interval in a module.

use std::path::Path;

use evenkeel_symbols::{Callee, FindError, Module, Site, Unpatchable};
use evenkeel_wire::Role;

use super::{Boundary, Hooked, Interval, Meaning, Place, Unhooked};
use crate::error::Error;
use crate::spec::{IntervalSpec, LabelSource, NamedCall, Point, Shape};

/// Finds the interval of `spec` in `module`.
///
/// # Errors
/// A function or call is not there, is ambiguous, or cannot be hooked.
pub fn resolve(spec: &IntervalSpec, module: &Module) -> Result<Interval, Error> {
    let mut hooked = Hooked::default();
    let mut scope = bounds(spec, module, &mut hooked)?;
    if let Some(label) = spec.label.as_deref()
        && let LabelSource::Inside(function, argument) = &label.source
    {
        let meaning = Meaning::of(Role::Label).labelled(label.kind, *argument);
        hook(
            function,
            meaning.through(label.members),
            module,
            &mut hooked,
        )?;
    }
    for name in &spec.within {
        scope.push(module.find(name).map_err(not_found(module))?);
    }
    let heights = scope.iter().filter_map(|&entry| module.height(entry));
    let height = heights.max().unwrap_or(0) + 1;
    Ok(Interval {
        name: name(spec, module),
        outside: "",
        clients: clients(spec, module)?,
        boundaries: hooked.boundaries,
        unhooked: hooked.unhooked,
        scope,
        height,
    })
}

/// Hooks what begins and ends the interval, and returns the functions whose calls are timed first as far as they follow from it.
fn bounds(spec: &IntervalSpec, module: &Module, hooked: &mut Hooked) -> Result<Vec<u64>, Error> {
    let mut hook_all = |points: &[Point], meaning: Meaning| {
        let functions = points
            .iter()
            .map(|point| hook(point, meaning, module, hooked));
        let functions: Result<Vec<Option<u64>>, Error> = functions.collect();
        functions.map(|all| all.into_iter().flatten().collect::<Vec<u64>>())
    };
    match &spec.shape {
        Shape::Call(points) => {
            let whole = labelled(Meaning::of(Role::Whole), spec, module)?;
            hook_all(points, whole)
        }
        Shape::Pair { begin, end } => {
            let (first, last) = match spec.key {
                None => (Meaning::of(Role::Begin), Meaning::of(Role::End)),
                Some((first, last)) => (
                    Meaning::of(Role::BeginKeyed).keyed(first),
                    Meaning::of(Role::EndKeyed).keyed(last),
                ),
            };
            let begins = hook_all(begin, labelled(first, spec, module)?)?;
            let ends = hook_all(end, last)?;
            if spec.within.is_empty() {
                return Ok(common_callers(module, &begins, &ends));
            }
            Ok(Vec::new())
        }
        Shape::Annotated => Ok(Vec::new()),
    }
}

/// The meaning of what begins the interval, with its label where that can be read there.
fn labelled(meaning: Meaning, spec: &IntervalSpec, module: &Module) -> Result<Meaning, Error> {
    let Some(label) = spec.label.as_deref() else {
        return Ok(meaning);
    };
    let meaning = match &label.source {
        LabelSource::Argument(argument) => meaning.labelled(label.kind, *argument),
        LabelSource::Variable { name, size } => match module.variable(name, *size) {
            Some(address) => meaning.labelled_by(label.kind, address),
            None => {
                return Err(Error::BadSpec {
                    text: spec.text.clone(),
                    what: format!(
                        "{} has no variable {name} {size}; name a variable that it exports, or give it its symbols",
                        short_path(module.path())
                    ),
                });
            }
        },
        LabelSource::Inside(..) => return Ok(meaning),
    };
    Ok(meaning.through(label.members))
}

/// The call sites in which the interval's time is the client's.
fn clients(spec: &IntervalSpec, module: &Module) -> Result<Vec<Site>, Error> {
    let mut clients = Vec::new();
    for client in &spec.clients {
        let Point::CallSites(caller, callee) = client else {
            return Err(Error::BadSpec {
                text: spec.text.clone(),
                what: "client= takes CALLER>FUNCTION".to_owned(),
            });
        };
        let sites = module.call_sites_between(caller, callee);
        clients.extend(sites.map_err(not_found(module))?);
    }
    Ok(clients)
}

/// The name that was given, or else what was typed, without the label. Where the end of a name was typed, the whole name.
fn name(spec: &IntervalSpec, module: &Module) -> String {
    if let Some(given) = &spec.name {
        return given.clone();
    }
    if let Shape::Call(points) = &spec.shape
        && let [Point::Function(function)] = &points[..]
        && let Some(name) = module.whole_name(function)
    {
        return name;
    }
    let typed = spec.text.split(",label=").next();
    typed.unwrap_or_default().to_owned()
}

/// The places of functions that the user named for what they do with locks, tasks and intervals.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_named(named: &NamedCall, module: &Module) -> Result<Hooked, Error> {
    let mut hooked = Hooked::default();
    let meaning = Meaning::of(named.role).keyed(named.key);
    for point in &named.points {
        hook(point, meaning, module, &mut hooked)?;
    }
    Ok(hooked)
}

/// Adds the hooked places of a point, and returns the function that is called there.
fn hook(
    point: &Point,
    meaning: Meaning,
    module: &Module,
    hooked: &mut Hooked,
) -> Result<Option<u64>, Error> {
    let (places, function) = places(point, module).map_err(not_found(module))?;
    let (places, refused) = hookable(places, module)?;
    if !refused.is_empty() {
        hooked.unhooked.push(Unhooked {
            point: point.to_string(),
            hooked: places.len(),
            refused,
        });
    }
    let boundaries = places.into_iter().map(|place| Boundary { place, meaning });
    hooked.boundaries.extend(boundaries);
    Ok(function)
}

fn not_found(module: &Module) -> impl Fn(FindError) -> Error {
    |source| Error::NotFound {
        path: module.path().to_owned(),
        source,
    }
}

/// All call sites in one function of another, or the entry of a function (else its direct callers); and the function itself.
fn places(point: &Point, module: &Module) -> Result<(Vec<Place>, Option<u64>), FindError> {
    match point {
        Point::CallSites(caller, callee) => {
            let sites = module.call_sites_between(caller, callee)?;
            let function = sites.iter().find_map(|site| match site.callee {
                Callee::Function(entry) => Some(entry),
                _ => None,
            });
            Ok((sites.into_iter().map(Place::Site).collect(), function))
        }
        Point::Function(name) => {
            let entry = module.find(name)?;
            let places = match module.displaced(entry) {
                Ok(displaced) => vec![Place::Entry(entry, Box::new(displaced))],
                Err(_) => sites_of_callers(module, entry)
                    .into_iter()
                    .map(Place::Site)
                    .collect(),
            };
            Ok((places, Some(entry)))
        }
    }
}

/// Every direct call of `entry` in its module.
pub fn sites_of_callers(module: &Module, entry: u64) -> Vec<Site> {
    let mut sites = Vec::new();
    for caller in module.callers_of(entry) {
        sites.extend(
            module
                .call_sites(caller.function)
                .into_iter()
                .filter(|site| site.address == caller.site),
        );
    }
    sites
}

/// Call sites that cannot be hooked, by name, with the reason.
type Refused = Vec<(String, Unpatchable)>;

/// The places that can be hooked, and those that cannot; an error if none can.
fn hookable(places: Vec<Place>, module: &Module) -> Result<(Vec<Place>, Refused), Error> {
    let mut refused = Refused::new();
    let mut hooked = Vec::new();
    for place in places {
        let refusal = match &place {
            Place::Entry(..) => None,
            Place::Site(site) => site.unpatchable().map(|reason| (site.address, reason)),
        };
        match refusal {
            None => hooked.push(place),
            Some((address, reason)) => refused.push((site_name(module, address), reason)),
        }
    }
    if hooked.is_empty() {
        let (site, reason) = match refused.pop() {
            Some((site, reason)) => (site, reason.to_string()),
            None => (
                short_path(module.path()),
                "nobody calls it directly and its entry cannot be hooked".to_owned(),
            ),
        };
        return Err(Error::BoundaryRefused { site, reason });
    }
    Ok((hooked, refused))
}

/// Functions that call both a beginning and an end; without any, all callers of either.
fn common_callers(module: &Module, begins: &[u64], ends: &[u64]) -> Vec<u64> {
    let callers = |entries: &[u64]| -> Vec<u64> {
        let mut all: Vec<u64> = entries
            .iter()
            .flat_map(|&entry| module.callers_of(entry))
            .map(|caller| caller.function)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (first, second) = (callers(begins), callers(ends));
    let both: Vec<u64> = first
        .iter()
        .copied()
        .filter(|entry| second.contains(entry))
        .collect();
    if !both.is_empty() {
        return both;
    }
    let mut either: Vec<u64> = first
        .into_iter()
        .chain(second)
        .chain(begins.iter().copied())
        .collect();
    either.sort_unstable();
    either.dedup();
    either
}

/// `function+0x1f`, as reports name a call site.
pub fn site_name(module: &Module, address: u64) -> String {
    match module.function_at(address) {
        Some(function) => {
            let name = module.name(function.entry);
            if address >= function.entry {
                format!("{name}+{:#x}", address - function.entry)
            } else {
                format!("{name}-{:#x}", function.entry - address)
            }
        }
        None => format!("{address:#x}"),
    }
}

fn short_path(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
