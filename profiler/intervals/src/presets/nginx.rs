//! nginx: an event loop a process, each with many requests at once.

use std::collections::BTreeSet;

use evenkeel_symbols::Module;
use evenkeel_wire::plan::KEY_RETURNED;
use evenkeel_wire::{Label, Members, Role};

use super::find::{at_function, callees, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const NGINX: Preset = Preset {
    name: "nginx",
    programs: &["nginx"],
    stop_signal: libc::SIGTERM,
    known: include_str!("nginx.toml"),
    version: Some("nginx/"),
    intervals: &[KnownInterval {
        name: "request",
        help: "one request, from its creation to its end, however many others the event loop serves in between",
        keyed: true,
        find: request,
    }],
};

/// Bytes of a text, its length and its address (`ngx_str_t`).
const TEXT_BYTES: u32 = 16;

/// A request is the `ngx_http_request_t` that `ngx_http_create_request` returns and `ngx_http_free_request` is given
/// (http/ngx_http_request.c). Every function with it as the first argument works on the request.
fn request(module: &Module) -> Result<Interval, String> {
    let at = |name: &str, meaning| -> Result<_, String> {
        Ok(at_function(module, function(module, name)?, meaning))
    };
    let begin = Meaning::of(Role::BeginKeyed).keyed(KEY_RETURNED);
    let mut boundaries = at("ngx_http_create_request", begin)?;
    for name in [
        "ngx_http_process_request_header",
        "ngx_http_core_run_phases",
        "ngx_http_output_filter",
        "ngx_http_upstream_init",
    ] {
        boundaries.extend(at(name, Meaning::of(Role::Work))?);
    }
    for connect in connects_upstream(module) {
        boundaries.extend(at_function(module, connect, Meaning::of(Role::Work)));
    }
    // Called once a request, when its header has been read.
    let header_read = labelled(Role::Work, Label::Request, request_line(module));
    boundaries.extend(at("ngx_http_process_request", header_read)?);
    let end = labelled(Role::EndKeyed, Label::Integer, status(module));
    boundaries.extend(at("ngx_http_free_request", end)?);
    let process = function(module, "ngx_http_process_request")?;
    let phases = function(module, "ngx_http_core_run_phases")?;
    Ok(Interval {
        name: "request".to_owned(),
        boundaries,
        unhooked: Vec::new(),
        scope: vec![process, phases],
        outside: "a connection's TLS handshake (SSL_do_handshake), and its wait for a busy worker, which precede its request; traffic of the stream and mail modules is no request",
        clients: Vec::new(),
        height: height(module, process) + 1,
    })
}

/// `ngx_http_upstream_connect` (http/ngx_http_upstream.c), which is static. It is called for the first server, and again for the next one after
/// a time limit. The mail and stream modules and OCSP have functions that connect, too; `ngx_http_upstream_init` does not lead to them.
fn connects_upstream(module: &Module) -> Vec<u64> {
    let known = ["ngx_http_upstream_init", "ngx_event_connect_peer"];
    let [Ok(init), Ok(peer)] = known.map(|name| function(module, name)) else {
        return Vec::new();
    };
    let mut near = callees(module, init);
    for one in near.clone() {
        near.extend(callees(module, one));
    }
    let callers = module.callers_of(peer).into_iter();
    let functions: BTreeSet<u64> = callers.map(|caller| caller.function).collect();
    functions.intersection(&near).copied().collect()
}

/// A role of functions that are given a request, with the label that the request has at this offset, if one is known.
fn labelled(role: Role, kind: Label, offset: Option<u16>) -> Meaning {
    let members = offset.and_then(|offset| Members::through(&[offset]));
    match members {
        Some(members) => Meaning::of(role).labelled(kind, 0).through(members),
        None => Meaning::of(role),
    }
}

/// Offset in a request of the pointer to its first line (`request_line.data`). The order of its texts is the same in all versions: the
/// line, the path (`uri`), its arguments, its extension. `ngx_http_set_exten` reads the length of the path first, and empties the
/// extension (http/ngx_http_core_module.c, ngx_http_request.h).
fn request_line(module: &Module) -> Option<u16> {
    let uses = module.members_used(function(module, "ngx_http_set_exten").ok()?);
    let words = |is_written: bool| {
        let words = uses
            .iter()
            .filter(move |a| a.bytes == 8 && a.is_written == is_written);
        words.map(|word| word.offset)
    };
    let path = words(false).next()?;
    let extension = path + 2 * TEXT_BYTES;
    let is_emptied = [extension, extension + 8]
        .into_iter()
        .all(|at| words(true).any(|word| word == at));
    let line = path.checked_sub(TEXT_BYTES)? + 8;
    is_emptied.then(|| u16::try_from(line).ok())?
}

/// Offset in a request of its answer's status: `ngx_http_send_header` writes the status of an error there, and clears the length of the
/// line that follows. It writes nothing else of eight bytes.
fn status(module: &Module) -> Option<u16> {
    let uses = module.members_used(function(module, "ngx_http_send_header").ok()?);
    let written = uses
        .iter()
        .filter(|word| word.is_written && word.bytes == 8);
    match written.map(|word| word.offset).collect::<Vec<_>>()[..] {
        [status, line] if line == status + 8 => u16::try_from(status).ok(),
        _ => None,
    }
}
