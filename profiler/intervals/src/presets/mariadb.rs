//! MariaDB: a thread a connection, or a pool of threads.

use evenkeel_symbols::{Callee, Module, Site};
use evenkeel_wire::{Label, Role};

use super::find::{at_function, at_sites, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning, sites_of_callers};

/// The preset.
pub const MARIADB: Preset = Preset {
    name: "mariadb",
    programs: &["mariadbd", "mysqld"],
    stop_signal: libc::SIGTERM,
    known: include_str!("mariadb.toml"),
    version: Some("-MariaDB"),
    intervals: &[
        KnownInterval {
            name: "statement",
            help: "one command of a client: a query, or the execution of a prepared statement",
            keyed: false,
            find: statement,
        },
        KnownInterval {
            name: "transaction",
            help: "from BEGIN to COMMIT or ROLLBACK, with the client's think time as a separate node",
            keyed: false,
            find: transaction,
        },
    ],
};

/// `dispatch_command(command, thd, packet, length, ..)` (sql/sql_parse.cc) runs one command, on any thread of the
/// pool. A query's packet is its text, terminated by a zero; the packet of a prepared statement's execution is
/// binary. Both texts are an argument of `Query_cache::send_result_to_client(thd, sql, length)`, even without a cache
/// (sql/sql_cache.h).
fn statement(module: &Module) -> Result<Interval, String> {
    let dispatch = function(module, "dispatch_command")?;
    let whole = Meaning::of(Role::Whole);
    let boundaries = match function(module, "Query_cache::send_result_to_client") {
        Ok(cache) => {
            let text = Meaning::of(Role::Label).labelled(Label::Text, 2);
            let mut boundaries = at_function(module, dispatch, whole);
            boundaries.extend(at_function(module, cache, text));
            boundaries
        }
        // MySQL has no such cache any more.
        Err(_) => at_function(module, dispatch, whole.labelled(Label::Text, 2)),
    };
    Ok(Interval {
        name: "statement".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![dispatch],
        outside: "making a connection; in a pool of threads, the wait for one",
        clients: Vec::new(),
        height: height(module, dispatch) + 1,
    })
}

/// `trans_begin`, `trans_commit` and `trans_rollback` (sql/transaction.cc) carry out the statements of these names. In
/// between, the connection's thread waits for its client where `do_command` reads a packet.
///
/// In a pool of threads each statement may run on another thread. The connection's `THD` moves along: it is the first
/// argument of these three functions and the second of `dispatch_command`.
fn transaction(module: &Module) -> Result<Interval, String> {
    let command = function(module, "do_command")?;
    let at = |name: &str, role| -> Result<_, String> {
        Ok(at_function(
            module,
            function(module, name)?,
            Meaning::of(role).keyed(0),
        ))
    };
    let mut boundaries = at("trans_begin", Role::Begin)?;
    for end in ["trans_commit", "trans_rollback"] {
        boundaries.extend(at(end, Role::End)?);
    }
    let dispatch = function(module, "dispatch_command")?;
    boundaries.extend(at_sites(
        sites_of_callers(module, dispatch),
        Meaning::of(Role::Work).keyed(1),
    ));
    let reads = |site: &Site| match &site.callee {
        Callee::Function(entry) => module.name(*entry).contains("my_net_read_packet"),
        _ => false,
    };
    Ok(Interval {
        name: "transaction".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![command],
        outside: "making a connection, and statements that are a transaction of their own",
        clients: module
            .call_sites(command)
            .into_iter()
            .filter(reads)
            .collect(),
        height: height(module, command) + 1,
    })
}
