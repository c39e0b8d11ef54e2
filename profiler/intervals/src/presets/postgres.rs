//! PostgreSQL: a process a connection.

use std::collections::BTreeSet;

use evenkeel_symbols::{Module, Site, VariableSize};
use evenkeel_wire::{Label, Members, Role};

use super::find::{at_sites, callees, function, height, only_one, sites_in};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Boundary, Interval, Meaning, sites_of_callers};

/// The preset.
pub const POSTGRES: Preset = Preset {
    name: "postgres",
    programs: &["postgres", "postmaster"],
    // Fast shutdown (PostgreSQL manual, 19.5).
    stop_signal: libc::SIGINT,
    known: include_str!("postgres.toml"),
    version: Some("postgres (PostgreSQL) "),
    intervals: &[
        KnownInterval {
            name: "statement",
            help: "one SQL statement: a simple query, or from its first message to the client's next turn (extended protocol)",
            keyed: false,
            find: statement,
        },
        KnownInterval {
            name: "transaction",
            help: "from begin to commit or rollback, with the client's think time as a separate node",
            keyed: false,
            find: transaction,
        },
    ],
};

const CONNECTION: &str = "making a connection: a process, and authentication";
const MESSAGES: &str = "making a connection, and of the extended protocol all but the execution: this build does not show where its messages \
     begin, so that parsing, planning and the commit outside of a transaction are not timed";

/// `exec_simple_query` (tcop/postgres.c) is static: the function that PostgresMain calls and that calls pg_parse_query
/// and PortalRun. With the extended protocol a statement is several messages.
fn statement(module: &Module) -> Result<Interval, String> {
    let simple = only_one(module, "PostgresMain", &["pg_parse_query", "PortalRun"])?;
    let main = function(module, "PostgresMain")?;
    let text = Meaning::of(Role::Whole).labelled(Label::Text, 0);
    let mut boundaries = at_sites(sites_in(module, main, simple), text);
    let (of_messages, timed_first, outside) = match extended(module, main, simple) {
        Some(boundaries) => (boundaries, main, CONNECTION),
        None => {
            let portal = function(module, "PortalRun")?;
            (executions(module, main, simple, portal), portal, MESSAGES)
        }
    };
    boundaries.extend(of_messages);
    Ok(Interval {
        name: "statement".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![simple, timed_first],
        outside,
        clients: sites_in(module, main, function(module, "pq_getbyte")?),
        height: height(module, main),
    })
}

/// A statement of the extended protocol begins with the first of Parse, Bind and Execute. Each of these begins with
/// start_xact_command, the function that both exec_simple_query and PostgresMain call and that calls
/// StartTransactionCommand. PortalRun executes the statement. Outside of a transaction, the following Sync commits
/// it, and ReadyForQuery passes the turn to the client. The next statement of a pipeline begins without that.
///
/// The functions of the messages are static, and called by PostgresMain alone, into which most compilers put them. Nothing where they have
/// put start_xact_command into its callers, too.
fn extended(module: &Module, main: u64, simple: u64) -> Option<Vec<Boundary>> {
    let of_simple = callees(module, simple);
    let begin = function(module, "StartTransactionCommand").ok()?;
    let starts =
        |entry: &u64| of_simple.contains(entry) && !sites_in(module, *entry, begin).is_empty();
    let messages = messages(module, main, simple);
    let of_messages = messages
        .iter()
        .flat_map(|&message| callees(module, message));
    let candidates: BTreeSet<u64> = of_messages.filter(starts).collect();
    let [start] = Vec::from_iter(candidates)[..] else {
        return None;
    };
    let sites_of = |callee| sites_among(module, &messages, callee);
    let ready = sites_in(module, main, function(module, "ReadyForQuery").ok()?);
    if ready.is_empty() {
        return None;
    }
    let mut boundaries = at_sites(sites_of(start), Meaning::of(Role::Step));
    let portal = function(module, "PortalRun").ok()?;
    boundaries.extend(at_sites(sites_of(portal), executed(module, Role::Label)));
    boundaries.extend(at_sites(ready, Meaning::of(Role::End)));
    Some(boundaries)
}

/// Executions of the extended protocol alone: PortalRun, called for a message.
fn executions(module: &Module, main: u64, simple: u64, portal: u64) -> Vec<Boundary> {
    let sites = sites_among(module, &messages(module, main, simple), portal);
    at_sites(sites, executed(module, Role::Whole))
}

/// PostgresMain and the functions of messages that it has not within itself: those that it alone calls, but for simple queries.
fn messages(module: &Module, main: u64, simple: u64) -> Vec<u64> {
    let is_own = |&entry: &u64| {
        let callers = module.callers_of(entry);
        entry != simple && callers.iter().all(|caller| caller.function == main)
    };
    let mut messages: Vec<u64> = callees(module, main).into_iter().filter(is_own).collect();
    messages.push(main);
    messages
}

fn sites_among(module: &Module, callers: &[u64], callee: u64) -> Vec<Site> {
    let sites = callers
        .iter()
        .flat_map(|&caller| sites_in(module, caller, callee));
    sites.collect()
}

/// To where a pointer variable points.
const POINTER: Members = Members::through(&[0]).unwrap();

/// The meaning of PortalRun where it is called for a message: `debug_query_string` has been set to the portal's
/// source text, in every version.
fn executed(module: &Module, role: Role) -> Meaning {
    match module.variable("debug_query_string", VariableSize::Pointer) {
        Some(text) => Meaning::of(role)
            .labelled_by(Label::Text, text)
            .through(POINTER),
        None => Meaning::of(role),
    }
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
        unhooked: Vec::new(),
        scope: vec![main],
        outside: CONNECTION,
        clients: think,
        height: height(module, main),
    })
}
