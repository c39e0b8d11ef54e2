//! What to do where no interval is named and none is known: which functions of the program may handle a request.

use std::path::Path;

use evenkeel_intervals::presets;
use evenkeel_symbols::{DebugSources, Module, launchable};

/// Functions named, at most.
const NAMED_MAX: usize = 6;

/// The message for a program.
pub fn message(program: &Path) -> String {
    format!(
        "no interval is named, and no preset fits the program. Name the function that handles a request: --interval FUNCTION.{} \
         In a program without symbols or in an interpreter, name two calls of the C library that enclose a request, \
         such as --interval 'libc.so.6!recv..send': strace -f shows them. Or name a preset: --preset NAME, of {}",
        of_program(program),
        presets::all_names()
    )
}

/// What the program's own names say, as further sentences.
fn of_program(program: &Path) -> String {
    let file = match launchable(program) {
        Ok(file) => file,
        Err(why) => return format!(" {why}."),
    };
    let module = match Module::load(&file, &DebugSources::from_environment()) {
        Ok(module) => module,
        Err(why) => return format!(" {why}."),
    };
    let handlers = module.handlers(NAMED_MAX);
    if handlers.is_empty() {
        let elsewhere = module.names_elsewhere();
        return elsewhere.map_or_else(String::new, |text| format!(" {text}."));
    }
    format!(
        " By their names, these functions of {} may: {}. See which of them runs once for each request: try one with --for 10s, \
         and the report counts its intervals.",
        program.display(),
        handlers.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_program_are_named() {
        // This program has a function of such a name.
        std::hint::black_box(process_request as fn(u64) -> String);
        let text = message(&std::env::current_exe().unwrap());
        assert!(text.contains("these functions of"), "{text}");
        let unknown = message(Path::new("/nonexistent/server"));
        assert!(unknown.contains("/nonexistent/server"), "{unknown}");
    }

    #[inline(never)]
    fn process_request(number: u64) -> String {
        format!("{number} {:?}", std::env::var_os("HOME"))
    }
}
