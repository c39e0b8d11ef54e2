//! PostgreSQL: a process a connection.

use std::collections::BTreeSet;

use evenkeel_symbols::{Module, Site};
use evenkeel_wire::{Label, Role};

use super::find::{at_sites, callees, function, height, only_one, sites_in};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Boundary, Interval, Meaning, sites_of_callers};

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
            help: "one SQL statement: a simple query, or from its first message to the client's next turn (extended protocol)",
            keyed: false,
            outside: "making a connection: a process, and authentication",
            find: statement,
        },
        KnownInterval {
            name: "transaction",
            help: "from begin to commit or rollback, with the client's think time as a node of its own",
            keyed: false,
            outside: "making a connection: a process, and authentication",
            find: transaction,
        },
    ],
};

/// `exec_simple_query` (tcop/postgres.c) is static: the function that PostgresMain calls and that calls pg_parse_query
/// and PortalRun. With the extended protocol a statement is several messages.
fn statement(module: &Module) -> Result<Interval, String> {
    let simple = only_one(module, "PostgresMain", &["pg_parse_query", "PortalRun"])?;
    let main = function(module, "PostgresMain")?;
    let text = Meaning::of(Role::Whole).labelled(Label::Text, 0);
    let mut boundaries = at_sites(sites_in(module, main, simple), text);
    boundaries.extend(extended(module, main, simple)?);
    Ok(Interval {
        name: "statement".to_owned(),
        boundaries,
        scope: vec![simple, main],
        clients: sites_in(module, main, function(module, "pq_getbyte")?),
        height: height(module, main),
    })
}

/// A statement of the extended protocol begins with the first of Parse, Bind and Execute: each begins with start_xact_command, the
/// function that both exec_simple_query and PostgresMain call and that calls StartTransactionCommand. It is what PortalRun
/// executes, which is called with `debug_query_string` set to the portal's source text, in every version. What it did is committed, outside of
/// a transaction, with the Sync that follows, after which ReadyForQuery tells the client that it is its turn; the next statement of a
/// pipeline begins without.
///
/// The functions of the messages are static, and called by PostgresMain alone, into which most compilers put them.
fn extended(module: &Module, main: u64, simple: u64) -> Result<Vec<Boundary>, String> {
    let of_main = callees(module, main);
    let of_simple = callees(module, simple);
    let begin = function(module, "StartTransactionCommand")?;
    let starts =
        |entry: &u64| of_simple.contains(entry) && !sites_in(module, *entry, begin).is_empty();
    let mut messages: Vec<u64> = of_main
        .iter()
        .copied()
        .filter(|&entry| {
            let callers = module.callers_of(entry);
            entry != simple && callers.iter().all(|caller| caller.function == main)
        })
        .collect();
    messages.push(main);
    let sites_of = |callee: u64| -> Vec<Site> {
        let of_messages = messages.iter();
        of_messages
            .flat_map(|&message| sites_in(module, message, callee))
            .collect()
    };
    let executed = Meaning::of(Role::Label);
    let executed = match module.variable("debug_query_string") {
        Some(text) => executed.labelled_by(text),
        None => executed,
    };
    let candidates: BTreeSet<u64> = messages
        .iter()
        .flat_map(|&message| callees(module, message))
        .filter(starts)
        .collect();
    let [start] = Vec::from_iter(candidates)[..] else {
        return Err("no single function begins a message's transaction".to_owned());
    };
    let mut boundaries = at_sites(sites_of(start), Meaning::of(Role::Step));
    boundaries.extend(at_sites(sites_of(function(module, "PortalRun")?), executed));
    let ready = sites_in(module, main, function(module, "ReadyForQuery")?);
    if ready.is_empty() {
        return Err("PostgresMain does not call ReadyForQuery".to_owned());
    }
    boundaries.extend(at_sites(ready, Meaning::of(Role::End)));
    Ok(boundaries)
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
