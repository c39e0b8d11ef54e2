//! Apache: processes with threads, or an event loop that hands connections to threads.

use evenkeel_symbols::Module;
use evenkeel_wire::{Label, Members, Role};

use super::find::{at_function, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const APACHE: Preset = Preset {
    name: "apache",
    programs: &["apache2", "httpd"],
    stop_signal: libc::SIGTERM,
    known: "",
    version: Some("Apache/"),
    intervals: &[KnownInterval {
        name: "request",
        help: "one request, from its header to its last byte handed to the system",
        keyed: false,
        find: request,
    }],
};

/// Offsets of `the_request` and `status` in a `request_rec` (include/httpd.h): modules rely on them in all of version 2.4.
const REQUEST_LINE: Members = Members::through(&[48]).unwrap();
const STATUS: Members = Members::through(&[104]).unwrap();

/// Both `ap_process_request` (worker, prefork) and the event MPM go through `ap_process_async_request`
/// (modules/http/http_request.c). Its answer's status is known when `ap_finalize_request_protocol` is called
/// (server/protocol.c), for errors, too.
fn request(module: &Module) -> Result<Interval, String> {
    let process = function(module, "ap_process_async_request")?;
    let whole = Meaning::of(Role::Whole).labelled(Label::Request, 0);
    let mut boundaries = at_function(module, process, whole.through(REQUEST_LINE));
    if let Ok(finalize) = function(module, "ap_finalize_request_protocol") {
        let status = Meaning::of(Role::Label).labelled(Label::Int, 0);
        boundaries.extend(at_function(module, finalize, status.through(STATUS)));
    }
    Ok(Interval {
        name: "request".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![process],
        outside: "the TLS handshake of a connection, and its wait for a worker, which come before its request",
        clients: Vec::new(),
        height: height(module, process) + 1,
    })
}
