//! Functions that may handle a request, by their names. They are listed where no interval is named.

use std::collections::HashMap;

use crate::functions::FunctionKind;
use crate::module::Module;
use crate::names::INFERRED;

/// Words for what a server does with a request.
const DOES: &[&str] = &[
    "dispatch", "do", "exec", "execute", "handle", "handler", "on", "process", "perform",
    "receive", "run", "serve", "service",
];
/// Words for the request.
const REQUEST: &[&str] = &[
    "call",
    "cmd",
    "command",
    "event",
    "job",
    "message",
    "msg",
    "operation",
    "packet",
    "publish",
    "query",
    "req",
    "request",
    "statement",
    "stmt",
    "task",
    "transaction",
];
/// A function that calls no other handles nothing.
const HEIGHT_MIN: u32 = 1;

impl Module {
    /// Names of functions that may handle a request, at most `count`, the likeliest first. Those that call no others, and all that have no
    /// name, are left out.
    pub fn handlers(&self, count: usize) -> Vec<String> {
        let functions = self.functions().iter();
        let functions = functions.filter(|function| function.kind == FunctionKind::Ordinary);
        let mut found: HashMap<String, u32> = HashMap::new();
        for function in functions {
            let Some(height) = self
                .height(function.entry)
                .filter(|&height| height >= HEIGHT_MIN)
            else {
                continue;
            };
            let name = self.name(function.entry);
            let is_real = !name.starts_with("0x") && !name.starts_with(INFERRED);
            if is_real && handles_requests(&name) {
                let highest = found.entry(typed(&name).to_owned()).or_default();
                *highest = height.max(*highest);
            }
        }
        let mut found: Vec<(String, u32)> = found.into_iter().collect();
        // A handler calls much. Of long names, most are of one kind of request.
        found.sort_by(|(a, above), (b, below)| {
            (words(a).len(), std::cmp::Reverse(above), a).cmp(&(
                words(b).len(),
                std::cmp::Reverse(below),
                b,
            ))
        });
        found
            .into_iter()
            .take(count)
            .map(|(name, _)| name)
            .collect()
    }
}

/// Whether the name's last part has a word of each kind.
fn handles_requests(name: &str) -> bool {
    let words = words(typed(name));
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(DOES) && has(REQUEST)
}

/// A name as a user may type it: without parameters.
fn typed(name: &str) -> &str {
    name.split_once('(').map_or(name, |(before, _)| before)
}

/// The words of a function's own name, without its class: `processCommand`, `process_command`, `HTTPRequest`.
fn words(name: &str) -> Vec<String> {
    let own = name.rsplit("::").next().unwrap_or(name);
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for letter in own.chars() {
        let begins = letter.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if !letter.is_ascii_alphanumeric() || begins || words.is_empty() {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_so() {
        for name in [
            "processCommand",
            "ngx_http_process_request",
            "ClientHttpRequest::processRequest()",
            "exec_simple_query",
            "handle__publish",
            "dispatch_command(THD*, char*)",
            "onMessage",
        ] {
            assert!(handles_requests(name), "{name}");
        }
        for name in [
            "processor_init",
            "command_table",
            "Request::parse(Command)",
            "sqlite3_step",
            "main",
        ] {
            assert!(!handles_requests(name), "{name}");
        }
        assert_eq!(
            words("Http::onNewRequest_v2"),
            ["on", "new", "request", "v2"]
        );
    }
}
