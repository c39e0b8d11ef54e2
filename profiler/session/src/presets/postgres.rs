//! PostgreSQL: a process a connection.

use evenkeel_symbols::Module;
use evenkeel_wire::{Label, Role};

use super::find::{at_sites, function, height, only_one, sites_in};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning, sites_of_callers};

/// The preset.
pub const POSTGRES: Preset = Preset {
    name: "postgres",
    programs: &["postgres", "postmaster"],
    // Fast shutdown (PostgreSQL manual, 19.5).
    stop_signal: libc::SIGINT,
    functions: include_str!("postgres.toml"),
    version: Some("postgres (PostgreSQL) "),
    intervals: &[
        KnownInterval {
            name: "statement",
            help: "one SQL statement: a simple query, or the execution of a portal (extended protocol)",
            keyed: false,
            find: statement,
        },
        KnownInterval {
            name: "transaction",
            help: "from begin to commit or rollback, with the client's think time as a node of its own",
            keyed: false,
            find: transaction,
        },
    ],
};

/// `exec_simple_query` (tcop/postgres.c) is static: the function that PostgresMain calls and that calls pg_parse_query
/// and PortalRun. With the extended protocol PostgresMain, into which exec_execute_message is inlined, calls PortalRun; it has
/// set `debug_query_string` to the portal's source text before, in every version.
fn statement(module: &Module) -> Result<Interval, String> {
    let simple = only_one(module, "PostgresMain", &["pg_parse_query", "PortalRun"])?;
    let portal = function(module, "PortalRun")?;
    let main = function(module, "PostgresMain")?;
    let whole = Meaning::of(Role::Whole);
    let mut boundaries = at_sites(
        sites_in(module, main, simple),
        whole.labelled(Label::Text, 0),
    );
    let of_portals = match module.variable("debug_query_string") {
        Some(text) => whole.labelled_by(text),
        None => whole,
    };
    boundaries.extend(at_sites(sites_in(module, main, portal), of_portals));
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
fn transaction(module: &Module) -> Result<Interval, String> {
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
    let of_callers = |entry, role| at_sites(sites_of_callers(module, entry), Meaning::of(role));
    let mut boundaries = of_callers(start, Role::Begin);
    boundaries.extend(of_callers(commit, Role::End));
    boundaries.extend(of_callers(abort, Role::End));
    boundaries.extend(at_sites(think.clone(), Meaning::of(Role::Gate)));
    Ok(Interval {
        name: "transaction".to_owned(),
        boundaries,
        scope: vec![main],
        clients: think,
        height: height(module, main),
    })
}
