//! Redis: an event loop, with threads that read and write for it if it is configured to (`io-threads`).

use evenkeel_symbols::Module;
use evenkeel_wire::Role;

use super::find::{at_function, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const REDIS: Preset = Preset {
    name: "redis",
    programs: &["redis-server", "redis-check-rdb", "valkey-server"],
    stop_signal: libc::SIGTERM,
    functions: "",
    version: None,
    intervals: &[KnownInterval {
        name: "command",
        help: "one command, from its parsed arguments to its reply in the client's buffer",
        keyed: false,
        find: command,
    }],
};

/// `processCommand` (server.c) is called with the client whose command has been read. Debian's `redis-server` is a link to
/// `redis-check-rdb`.
fn command(module: &Module) -> Result<Interval, String> {
    let process = function(module, "processCommand")?;
    Ok(Interval {
        name: "command".to_owned(),
        boundaries: at_function(module, process, Meaning::of(Role::Whole)),
        scope: vec![process],
        clients: Vec::new(),
        height: height(module, process) + 1,
    })
}
