//! nginx: an event loop a process, each with many requests at once.

use evenkeel_symbols::Module;
use evenkeel_wire::Role;
use evenkeel_wire::plan::KEY_RETURNED;

use super::find::{at_function, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const NGINX: Preset = Preset {
    name: "nginx",
    programs: &["nginx"],
    stop_signal: libc::SIGTERM,
    functions: "",
    version: Some("nginx/"),
    intervals: &[KnownInterval {
        name: "request",
        help: "one request, from its creation to its end, however many others the event loop serves in between",
        keyed: true,
        find: request,
    }],
};

/// A request is the `ngx_http_request_t` that `ngx_http_create_request` returns and `ngx_http_free_request` is given
/// (http/ngx_http_request.c). Every function with it as the first argument works on the request.
fn request(module: &Module) -> Result<Interval, String> {
    let at = |name: &str, role, key| -> Result<_, String> {
        let meaning = Meaning::of(role).keyed(key);
        Ok(at_function(module, function(module, name)?, meaning))
    };
    let mut boundaries = at("ngx_http_create_request", Role::BeginKeyed, KEY_RETURNED)?;
    boundaries.extend(at("ngx_http_free_request", Role::EndKeyed, 0)?);
    for name in [
        "ngx_http_process_request_header",
        "ngx_http_core_run_phases",
        "ngx_http_output_filter",
        "ngx_http_upstream_init",
    ] {
        boundaries.extend(at(name, Role::Work, 0)?);
    }
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
