//! PHP: a script a request, in a process of its own (FPM), in its own web server (`php -S`) or on the command line.

use evenkeel_symbols::{Module, VariableSize};
use evenkeel_wire::{Label, Members, Role};

use super::find::{at_function, function, height};
use super::preset::{KnownInterval, Preset};
use crate::interval::{Interval, Meaning};

/// The preset.
pub const PHP: Preset = Preset {
    name: "php",
    programs: &[
        "php",
        "php-fpm",
        "php8.1",
        "php8.2",
        "php8.3",
        "php8.4",
        "php-fpm8.1",
        "php-fpm8.2",
        "php-fpm8.3",
        "php-fpm8.4",
    ],
    stop_signal: libc::SIGINT,
    known: "",
    version: None,
    intervals: &[KnownInterval {
        name: "script",
        help: "one script, from its compilation to its last statement",
        keyed: false,
        find: script,
    }],
};

/// Offset of `request_info.path_translated` in `sapi_globals` (main/SAPI.h): the script's file, since PHP 5.
const SCRIPT: u16 = 40;

/// Every server interface of PHP runs a request's script by `php_execute_script` (main/main.c).
fn script(module: &Module) -> Result<Interval, String> {
    let execute = function(module, "php_execute_script")?;
    let whole = Meaning::of(Role::Whole);
    // A build with threads has no such variable.
    let globals = module.variable("sapi_globals", VariableSize::Member(SCRIPT));
    let meaning = match globals {
        Some(globals) => whole
            .labelled_by(Label::Text, globals)
            .through(Members::through(&[SCRIPT]).unwrap_or_default()),
        None => whole,
    };
    Ok(Interval {
        name: "script".to_owned(),
        boundaries: at_function(module, execute, meaning),
        unhooked: Vec::new(),
        scope: vec![execute],
        outside: "reading the request, sending what is buffered at its end, and its wait for a free process",
        clients: Vec::new(),
        height: height(module, execute) + 1,
    })
}
