//! Redis: an event loop, with threads that read and write for it if it is configured to (`io-threads`).

use evenkeel_symbols::Module;
use evenkeel_wire::{Label, Members, Role};

use super::find::{at_function, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const REDIS: Preset = Preset {
    name: "redis",
    programs: &["redis-server", "redis-check-rdb", "valkey-server"],
    stop_signal: libc::SIGTERM,
    known: "",
    version: None,
    intervals: &[
        KnownInterval {
            name: "command",
            help: "one command, from its parsed arguments to its reply in the client's buffer",
            keyed: false,
            find: command,
        },
        KnownInterval {
            name: "turn",
            help: "one turn of the event loop: commands of all clients that are ready, the append only file, replies",
            keyed: false,
            find: turn,
        },
    ],
};

/// `processCommand` (server.c) is called with the client whose command has been read. Debian's `redis-server` is a link to
/// `redis-check-rdb`.
fn command(module: &Module) -> Result<Interval, String> {
    let process = function(module, "processCommand")?;
    let whole = Meaning::of(Role::Whole);
    let meaning = match name(module) {
        Some(members) => whole.labelled(Label::Word, 0).through(members),
        None => whole,
    };
    Ok(Interval {
        name: "command".to_owned(),
        boundaries: at_function(module, process, meaning),
        unhooked: Vec::new(),
        scope: vec![process],
        outside: "the command's wait for its turn, the append only file's write and fsync, and sending the reply: --interval turn has them",
        clients: Vec::new(),
        height: height(module, process) + 1,
    })
}

/// The way from a client to its command's name, `argv[0]->ptr`. A client's members move from version to version; all that
/// `echoCommand` does with one is to read its `argv` (server.c). In an object, `ptr` follows eight bytes (`robj`, server.h).
fn name(module: &Module) -> Option<Members> {
    let echo = function(module, "echoCommand").ok()?;
    let argv = *module.members_used(echo).first()?;
    let is_pointer = !argv.is_written && argv.bytes == 8;
    let offset = u16::try_from(argv.offset).ok().filter(|_| is_pointer)?;
    Members::through(&[offset, 0, 8])
}

/// The event loop calls `afterSleep` when it has waited for its clients, and `beforeSleep` before it waits again. The
/// latter writes and syncs the append only file and sends replies (server.c, ae.c). `aeProcessEvents` calls both
/// through pointers.
fn turn(module: &Module) -> Result<Interval, String> {
    let at = |name: &str, role| -> Result<_, String> {
        let meaning = Meaning::of(role);
        Ok(at_function(module, function(module, name)?, meaning))
    };
    let mut boundaries = at("afterSleep", Role::Begin)?;
    boundaries.extend(at("beforeSleep", Role::End)?);
    let process = function(module, "aeProcessEvents")?;
    Ok(Interval {
        name: "turn".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![process],
        outside: "a command's wait for the turn before its own",
        clients: Vec::new(),
        height: height(module, process) + 1,
    })
}
