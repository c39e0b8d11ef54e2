//! Intervals that are known by the program: how to find them in a stripped binary without guessing.
//!
//! A static function of a stripped program has no name. A preset describes it by exported functions that it alone calls
//! and is called by, and demands that exactly one function fits; it is shown by its address all the same.

use std::path::Path;

use evenkeel_symbols::Module;
use evenkeel_symbols::{Callee, Site};
use evenkeel_wire::{Label, Role};

use crate::error::Error;
use crate::interval::{Boundary, Interval, Place, sites_of_callers};

/// A program whose intervals are known.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// As typed.
    pub name: &'static str,
    /// File names of the program.
    pub programs: &'static [&'static str],
    /// Signal that ends the program the fastest clean way.
    pub stop_signal: i32,
    /// Intervals it knows, the default first, each with what it is.
    pub intervals: &'static [KnownInterval],
}

/// An interval of a preset.
#[derive(Clone, Copy, Debug)]
pub struct KnownInterval {
    /// As typed.
    pub name: &'static str,
    /// For `--help`.
    pub help: &'static str,
    find: fn(&Module) -> Result<Interval, String>,
}

/// All presets.
pub const PRESETS: &[Preset] = &[Preset {
    name: "postgres",
    programs: &["postgres", "postmaster"],
    // Fast shutdown (PostgreSQL manual, 19.5).
    stop_signal: libc::SIGINT,
    intervals: &[
        KnownInterval {
            name: "statement",
            help: "one SQL statement: a simple query, or the execution of a portal (extended protocol)",
            find: postgres_statement,
        },
        KnownInterval {
            name: "transaction",
            help: "from begin to commit or rollback, with the client's think time as a node of its own",
            find: postgres_transaction,
        },
    ],
}];

impl Preset {
    /// The preset of this name.
    ///
    /// # Errors
    /// There is none; the error lists them.
    pub fn named(name: &str) -> Result<&'static Preset, Error> {
        PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .ok_or_else(|| {
                let known = PRESETS
                    .iter()
                    .map(|preset| preset.name)
                    .collect::<Vec<_>>()
                    .join(", ");
                Error::NoPreset {
                    name: name.to_owned(),
                    known,
                }
            })
    }

    /// Whether this is its program.
    pub fn fits(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| self.programs.iter().any(|program| name == *program))
    }

    /// The interval of this name, the default one for `None`; `None` if the preset has none of the name.
    pub fn interval(&self, name: Option<&str>) -> Option<&'static KnownInterval> {
        match name {
            None => self.intervals.first(),
            Some(name) => self.intervals.iter().find(|interval| interval.name == name),
        }
    }

    /// Finds `interval` in the program.
    ///
    /// # Errors
    /// The program is not what the preset knows.
    pub fn resolve(&self, interval: &KnownInterval, module: &Module) -> Result<Interval, Error> {
        (interval.find)(module).map_err(|what| Error::PresetMismatch {
            path: module.path().to_owned(),
            preset: self.name,
            what,
        })
    }
}

/// `exec_simple_query` (tcop/postgres.c) is static: the function that PostgresMain calls and that calls pg_parse_query
/// and PortalRun. With the extended protocol PostgresMain, into which exec_execute_message is inlined, calls PortalRun.
fn postgres_statement(module: &Module) -> Result<Interval, String> {
    let simple = only_one(module, "PostgresMain", &["pg_parse_query", "PortalRun"])?;
    let portal = function(module, "PortalRun")?;
    let main = function(module, "PostgresMain")?;
    let mut boundaries = boundaries(
        sites_in(module, main, simple),
        Role::Whole,
        (Label::Text, 0),
    );
    boundaries.extend(self::boundaries(
        sites_in(module, main, portal),
        Role::Whole,
        (Label::None, 0),
    ));
    Ok(Interval {
        name: "statement".to_owned(),
        boundaries,
        scope: vec![simple, portal],
        clients: Vec::new(),
        height: height(module, main),
    })
}

/// StartTransaction, CommitTransaction and AbortTransaction (access/transam/xact.c) are static: called from
/// StartTransactionCommand, CommitTransactionCommand and AbortCurrentTransaction, and recognised by what they call. A
/// session's think time passes in PostgresMain's call of pq_getbyte, which background workers never make: it is the
/// gate that keeps their transactions out.
fn postgres_transaction(module: &Module) -> Result<Interval, String> {
    let start = only_one(
        module,
        "StartTransactionCommand",
        &["VirtualXactLockTableInsert"],
    )?;
    let commit = only_one(
        module,
        "CommitTransactionCommand",
        &["ProcArrayEndTransaction", "PreCommit_Portals"],
    )?;
    let abort = only_one(
        module,
        "AbortCurrentTransaction",
        &["ProcArrayEndTransaction", "AtAbort_Portals"],
    )?;
    let main = function(module, "PostgresMain")?;
    let think = sites_in(module, main, function(module, "pq_getbyte")?);
    if think.is_empty() {
        return Err("PostgresMain does not call pq_getbyte".to_owned());
    }
    let none = (Label::None, 0);
    let mut all = boundaries(sites_of_callers(module, start), Role::Begin, none);
    all.extend(boundaries(
        sites_of_callers(module, commit),
        Role::End,
        none,
    ));
    all.extend(boundaries(sites_of_callers(module, abort), Role::End, none));
    all.extend(boundaries(think.clone(), Role::Gate, none));
    Ok(Interval {
        name: "transaction".to_owned(),
        boundaries: all,
        scope: vec![main],
        clients: think,
        height: height(module, main),
    })
}

fn function(module: &Module, name: &str) -> Result<u64, String> {
    module
        .find(name)
        .map_err(|_| format!("it has no function {name}"))
}

fn height(module: &Module, entry: u64) -> u32 {
    module.height(entry).unwrap_or(0)
}

/// Calls and tail calls of `callee` in `caller`.
fn sites_in(module: &Module, caller: u64, callee: u64) -> Vec<Site> {
    let calls = |site: &Site| site.callee == Callee::Function(callee);
    module
        .call_sites(caller)
        .into_iter()
        .filter(calls)
        .collect()
}

/// The one callee of `caller` that calls all of `callees`.
fn only_one(module: &Module, caller: &str, callees: &[&str]) -> Result<u64, String> {
    let wanted: Vec<u64> = callees
        .iter()
        .map(|name| function(module, name))
        .collect::<Result<_, _>>()?;
    let mut found: Vec<u64> = module
        .call_sites(function(module, caller)?)
        .into_iter()
        .filter_map(|site| match site.callee {
            Callee::Function(entry) => Some(entry),
            _ => None,
        })
        .filter(|&entry| {
            wanted
                .iter()
                .all(|&callee| !sites_in(module, entry, callee).is_empty())
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [entry] => Ok(entry),
        _ => Err(format!(
            "{} functions called by {caller} call {}, not one",
            found.len(),
            callees.join(" and ")
        )),
    }
}

fn boundaries(sites: Vec<Site>, role: Role, label: (Label, u8)) -> Vec<Boundary> {
    sites
        .into_iter()
        .map(|site| Boundary {
            place: Place::Site(site),
            role,
            label,
        })
        .collect()
}
