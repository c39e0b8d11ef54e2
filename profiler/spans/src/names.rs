//! Names of operations and clocks, numbered.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Operations told apart, at most. Beyond it an operation is "other operations" of its service.
pub const OPERATIONS_MAX: usize = 1 << 12;
/// Clocks told apart, at most; any further are taken for one.
pub const CLOCKS_MAX: usize = 1 << 16;
/// Bytes of a name, at most.
const NAME_MAX: usize = 160;
/// What a service without a name is called.
pub const NO_SERVICE: &str = "(no service name)";

/// Operations and clocks by number.
#[derive(Debug, Default)]
pub struct Names {
    operations: Table,
    clocks: Table,
    /// By service and raw name: the number. Making a name costs more than looking it up.
    known: HashMap<(Box<str>, Box<str>), u32, RandomState>,
    /// Spans of operations beyond [`OPERATIONS_MAX`].
    pub beyond: u64,
}

#[derive(Debug, Default)]
struct Table {
    names: Vec<String>,
    numbers: HashMap<String, u32, RandomState>,
}

impl Table {
    fn number(&mut self, name: String) -> u32 {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

impl Names {
    /// The number of an operation of a service.
    pub fn operation(&mut self, service: &str, name: &str) -> u32 {
        let key = (Box::from(service), Box::from(name));
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let service = if service.is_empty() {
            NO_SERVICE
        } else {
            service
        };
        let whole = cut(format!("{service}: {}", general(name)));
        let Some(number) = self.bounded(whole) else {
            return self.other(service);
        };
        if self.known.len() < 4 * OPERATIONS_MAX {
            self.known.insert(key, number);
        }
        number
    }

    /// The number of a function of the process that an operation's service is; `is_call`: it is none of the states that the time of a process is in
    /// where it is no function's.
    pub fn function(&mut self, operation: u32, name: &str, is_call: bool) -> u32 {
        let service = self.of_operation(operation).split(": ").next();
        let service = service.unwrap_or_default().to_owned();
        let call = if is_call && !name.contains('(') {
            "()"
        } else {
            ""
        };
        let whole = cut(format!("{service}: {name}{call}"));
        let number = self.bounded(whole);
        number.unwrap_or_else(|| self.other(&service))
    }

    /// The number of an operation or function by its whole name; nothing where there are too many.
    fn bounded(&mut self, whole: String) -> Option<u32> {
        let is_known = self.operations.numbers.contains_key(&whole);
        let has_room = is_known || self.operations.names.len() < OPERATIONS_MAX;
        has_room.then(|| self.operations.number(whole))
    }

    /// The number of what is beyond the bound in a service.
    fn other(&mut self, service: &str) -> u32 {
        self.beyond += 1;
        let other = cut(format!("{service}: other operations"));
        self.operations.number(other)
    }

    /// The number of a clock: of a service's instance, or of a host.
    pub fn clock(&mut self, name: &str) -> u32 {
        if self.clocks.names.len() < CLOCKS_MAX || self.clocks.numbers.contains_key(name) {
            self.clocks.number(cut(name.to_owned()))
        } else {
            0
        }
    }

    /// Name of an operation.
    pub fn of_operation(&self, number: u32) -> &str {
        &self.operations.names[number as usize]
    }

    /// Name of a clock.
    pub fn of_clock(&self, number: u32) -> &str {
        &self.clocks.names[number as usize]
    }
}

fn cut(mut name: String) -> String {
    if name.len() > NAME_MAX {
        let end = (0..=NAME_MAX).rev().find(|&at| name.is_char_boundary(at));
        name.truncate(end.unwrap_or(0));
    }
    name
}

/// An operation without what differs from request to request: the query of an address, and parts of its path that are numbers or
/// identifiers, which a careless instrumentation leaves in.
fn general(name: &str) -> String {
    let words = name.split_whitespace().map(|word| {
        let word = match word.find(['?', '#']) {
            Some(query) if word[..query].contains('/') => &word[..query],
            _ => word,
        };
        if !word.contains('/') {
            return word.to_owned();
        }
        let parts = word.split('/');
        let parts = parts.map(|part| if is_identifier(part) { "?" } else { part });
        parts.collect::<Vec<_>>().join("/")
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_identifier(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let hex = part
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits > 0 && (digits == part.len() || (hex && part.len() >= 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_general() {
        let cases = [
            ("GET /user/1234/cart?item=77", "GET /user/?/cart"),
            (
                "/v1/items/6fa459ea-ee8a-3ca4-894e-db77e160355e",
                "/v1/items/?",
            ),
            ("HTTP GET", "HTTP GET"),
            ("s3.GetObject", "s3.GetObject"),
            ("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b = ?"),
            ("/facade/beef", "/facade/beef"),
        ];
        for (name, expected) in cases {
            assert_eq!(general(name), expected);
        }
    }

    #[test]
    fn names_are_bounded() {
        let mut names = Names::default();
        for n in 0..2 * OPERATIONS_MAX {
            let number = names.operation("a", &format!("x{n}"));
            assert!((number as usize) <= OPERATIONS_MAX);
        }
        assert_eq!(names.beyond as usize, OPERATIONS_MAX);
        let other = names.operation("a", "one more");
        assert_eq!(names.of_operation(other), "a: other operations");
        let long = names.operation("", &"é".repeat(500));
        assert!(names.of_operation(long).len() <= NAME_MAX);
    }
}
