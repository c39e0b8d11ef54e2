//! Apache: processes with threads, or an event loop that hands connections to threads.

use evenkeel_symbols::Module;
use evenkeel_wire::Role;

use super::find::{at_function, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const APACHE: Preset = Preset {
    name: "apache",
    programs: &["apache2", "httpd"],
    stop_signal: libc::SIGTERM,
    functions: "",
    version: Some("Apache/"),
    intervals: &[KnownInterval {
        name: "request",
        help: "one request, from its header to its last byte handed to the system",
        keyed: false,
        find: request,
    }],
};

/// Both `ap_process_request` (worker, prefork) and the event MPM go through `ap_process_async_request`
/// (modules/http/http_request.c).
fn request(module: &Module) -> Result<Interval, String> {
    let process = function(module, "ap_process_async_request")?;
    Ok(Interval {
        name: "request".to_owned(),
        boundaries: at_function(module, process, Meaning::of(Role::Whole)),
        unhooked: Vec::new(),
        scope: vec![process],
        outside: "the TLS handshake of a connection, and its wait for a worker, which come before its request",
        clients: Vec::new(),
        height: height(module, process) + 1,
    })
}
