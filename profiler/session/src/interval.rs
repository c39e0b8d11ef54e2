//! An interval, resolved in a module: which instructions begin and end it.

use std::path::Path;

use evenkeel_symbols::FindError;
use evenkeel_symbols::Module;
use evenkeel_symbols::{Callee, Site};
use evenkeel_wire::{Displaced, Label, Role};

use crate::error::Error;
use crate::spec::{IntervalSpec, LabelSource, NamedCall, Point, Shape};

/// Where a boundary is hooked.
#[derive(Clone, Debug)]
pub enum Place {
    /// At a call site.
    Site(Site),
    /// At a function's entry.
    Entry(u64, Box<Displaced>),
}

/// What passing a hooked place means.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// What happens there.
    pub role: Role,
    /// Kind and index of the argument that labels the interval.
    pub label: (Label, u8),
    /// Address in the module's file of the variable that points to the label, for `Label::Variable`.
    pub label_variable: u64,
    /// Index of the argument that is the key of an interval, task or lock, or `KEY_RETURNED`.
    pub key: u8,
}

impl Meaning {
    /// Of a place without label and key.
    pub const fn of(role: Role) -> Meaning {
        Meaning {
            role,
            label: (Label::None, 0),
            label_variable: 0,
            key: 0,
        }
    }

    /// With a label.
    pub const fn labelled(mut self, kind: Label, argument: u8) -> Meaning {
        self.label = (kind, argument);
        self
    }

    /// With the text to which the pointer variable at this address points as label.
    pub(crate) const fn labelled_by(mut self, variable: u64) -> Meaning {
        self.label = (Label::Variable, 0);
        self.label_variable = variable;
        self
    }

    /// With a key.
    pub const fn keyed(mut self, argument: u8) -> Meaning {
        self.key = argument;
        self
    }
}

/// One hooked boundary.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// Where.
    pub place: Place,
    /// What it means.
    pub meaning: Meaning,
}

/// An interval in a module.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Name for reports.
    pub name: String,
    /// Everything to hook before the first interval.
    pub boundaries: Vec<Boundary>,
    /// Functions whose calls are timed first.
    pub scope: Vec<u64>,
    /// Call sites whose time is the client's.
    pub clients: Vec<Site>,
    /// Height of the root in the static call graph.
    pub height: u32,
}

impl Interval {
    /// The interval as it is hooked where threads are followed, with waits, and where they are not.
    ///
    /// One whose workers are announced may move: followed, it begins and ends by its key, on whichever threads that is.
    /// Otherwise it is what lies between its beginning and its end on one thread.
    pub fn hooked(mut self, waits: bool) -> Interval {
        let works = |boundary: &Boundary| boundary.meaning.role == Role::Work;
        if !waits {
            self.boundaries.retain(|boundary| !works(boundary));
        } else if self.boundaries.iter().any(works) {
            for boundary in &mut self.boundaries {
                boundary.meaning.role = match boundary.meaning.role {
                    Role::Begin => Role::BeginKeyed,
                    Role::End => Role::EndKeyed,
                    role => role,
                };
            }
        }
        self
    }
}

/// Finds the interval of `spec` in `module`.
///
/// # Errors
/// A function or call is not there, is ambiguous, or cannot be hooked.
pub fn resolve(spec: &IntervalSpec, module: &Module) -> Result<Interval, Error> {
    let not_found = |source| Error::NotFound {
        path: module.path().to_owned(),
        source,
    };
    let mut boundaries = Vec::new();
    let mut scope = Vec::new();
    let labelled = |meaning: Meaning| match spec.label.as_deref() {
        Some(LabelSource::Argument(kind, argument)) => Ok(meaning.labelled(*kind, *argument)),
        Some(LabelSource::Variable(name)) => match module.variable(name) {
            Some(address) => Ok(meaning.labelled_by(address)),
            None => Err(Error::BadSpec {
                text: spec.text.clone(),
                what: format!(
                    "{} has no variable {name} with the size of a pointer; name a variable that it exports, or give it its symbols",
                    short_path(module.path())
                ),
            }),
        },
        Some(LabelSource::Inside(..)) | None => Ok(meaning),
    };
    let mut add = |points: &[Point], meaning: Meaning| -> Result<Vec<u64>, Error> {
        let mut functions = Vec::new();
        for point in points {
            let (places, function) = places(point, module).map_err(not_found)?;
            functions.extend(function);
            for place in hookable(places, module)? {
                boundaries.push(Boundary { place, meaning });
            }
        }
        Ok(functions)
    };
    match &spec.shape {
        Shape::Call(points) => {
            scope = add(points, labelled(Meaning::of(Role::Whole))?)?;
        }
        Shape::Pair { begin, end } => {
            let (first, last) = match spec.key {
                None => (Meaning::of(Role::Begin), Meaning::of(Role::End)),
                Some((first, last)) => (
                    Meaning::of(Role::BeginKeyed).keyed(first),
                    Meaning::of(Role::EndKeyed).keyed(last),
                ),
            };
            let begins = add(begin, labelled(first)?)?;
            let ends = add(end, last)?;
            if spec.within.is_empty() {
                scope = common_callers(module, &begins, &ends);
            }
        }
        Shape::Annotated => {}
    }
    if let Some(LabelSource::Inside(kind, function, argument)) = spec.label.as_deref() {
        let meaning = Meaning::of(Role::Label).labelled(*kind, *argument);
        add(std::slice::from_ref(function), meaning)?;
    }
    for name in &spec.within {
        scope.push(module.find(name).map_err(not_found)?);
    }
    let mut clients = Vec::new();
    for client in &spec.clients {
        let Point::CallSites(caller, callee) = client else {
            let what = "client= takes CALLER>FUNCTION".to_owned();
            return Err(Error::BadSpec {
                text: spec.text.clone(),
                what,
            });
        };
        clients.extend(
            module
                .call_sites_between(caller, callee)
                .map_err(not_found)?,
        );
    }
    let height = scope
        .iter()
        .filter_map(|&entry| module.height(entry))
        .max()
        .unwrap_or(0)
        + 1;
    let name = spec.name.clone().unwrap_or_else(|| {
        spec.text
            .split(",label=")
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    Ok(Interval {
        name,
        boundaries,
        scope,
        clients,
        height,
    })
}

/// The places of functions that the user named for what they do with locks, tasks and intervals.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn resolve_named(named: &NamedCall, module: &Module) -> Result<Vec<Boundary>, Error> {
    let mut boundaries = Vec::new();
    for point in &named.points {
        let (places, _) = places(point, module).map_err(|source| Error::NotFound {
            path: module.path().to_owned(),
            source,
        })?;
        let meaning = Meaning::of(named.role).keyed(named.key);
        let hooked = hookable(places, module)?;
        boundaries.extend(hooked.into_iter().map(|place| Boundary { place, meaning }));
    }
    Ok(boundaries)
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
pub(crate) fn sites_of_callers(module: &Module, entry: u64) -> Vec<Site> {
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

/// The places that can be hooked; an error if none can.
fn hookable(places: Vec<Place>, module: &Module) -> Result<Vec<Place>, Error> {
    let mut refused = None;
    let kept: Vec<Place> = places
        .into_iter()
        .filter(|place| match place {
            Place::Entry(..) => true,
            Place::Site(site) => match site.unpatchable() {
                None => true,
                Some(reason) => {
                    refused = Some((site.address, reason));
                    false
                }
            },
        })
        .collect();
    if kept.is_empty() {
        let (site, reason) = match refused {
            Some((address, reason)) => (site_name(module, address), reason.to_string()),
            None => (
                short_path(module.path()),
                "nobody calls it directly and its entry cannot be hooked".to_owned(),
            ),
        };
        return Err(Error::BoundaryRefused { site, reason });
    }
    Ok(kept)
}

/// Functions that call both a beginning and an end; all callers of either if there is none.
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
pub(crate) fn site_name(module: &Module, address: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(of: &[Role], waits: bool) -> Vec<Role> {
        let boundary = |&role: &Role| Boundary {
            place: Place::Entry(0, Box::default()),
            meaning: Meaning::of(role),
        };
        let interval = Interval {
            name: String::new(),
            boundaries: of.iter().map(boundary).collect(),
            scope: Vec::new(),
            clients: Vec::new(),
            height: 0,
        };
        let hooked = interval.hooked(waits).boundaries.into_iter();
        hooked.map(|boundary| boundary.meaning.role).collect()
    }

    #[test]
    fn what_may_move_is_followed_by_its_key() {
        let moves = [Role::Begin, Role::End, Role::Work];
        let keyed = [Role::BeginKeyed, Role::EndKeyed, Role::Work];
        assert_eq!(roles(&moves, true), keyed);
        assert_eq!(roles(&moves, false), [Role::Begin, Role::End]);
        let stays = [Role::Begin, Role::End, Role::Gate];
        assert_eq!(roles(&stays, true), stays);
        assert_eq!(roles(&[Role::Whole], true), [Role::Whole]);
    }
}
