//! memcached: worker threads, each with an event loop.

use evenkeel_symbols::Module;
use evenkeel_wire::{Label, Role};

use super::find::{at_function, height, only_caller_of_imports};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const MEMCACHED: Preset = Preset {
    name: "memcached",
    programs: &["memcached"],
    stop_signal: libc::SIGTERM,
    known: include_str!("memcached.toml"),
    version: Some("memcached "),
    intervals: &[KnownInterval {
        name: "event",
        help: "what a worker does for a connection that became ready: usually one request",
        keyed: false,
        find: event,
    }],
};

/// `drive_machine` (memcached.c) is static: the one function that calls `accept4`. A worker's event loop calls it for each
/// connection that is ready, and it returns when that has nothing more to read.
fn event(module: &Module) -> Result<Interval, String> {
    let drive = only_caller_of_imports(module, &["accept4"])?;
    let mut boundaries = at_function(module, drive, Meaning::of(Role::Whole));
    if let Some(command) = command(module) {
        let meaning = Meaning::of(Role::Label).labelled(Label::Word, 1);
        boundaries.extend(at_function(module, command, meaning));
    }
    Ok(Interval {
        name: "event".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![drive],
        outside: "the wait for a worker that serves another connection, and for what is read from a disk (extstore): the answer that follows is the next event",
        clients: Vec::new(),
        height: height(module, drive) + 1,
    })
}

/// The function that is given a connection and the line of a command: `process_command_ascii` (proto_text.c), or `process_command`
/// (memcached.c) until version 1.6. The event's first command labels it.
fn command(module: &Module) -> Option<u64> {
    let names = [
        "process_command_ascii",
        "process_command",
        "~process_command_ascii",
    ];
    names.iter().find_map(|name| module.find(name).ok())
}
