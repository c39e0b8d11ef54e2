//! Names of operations and clocks, numbered.
//!
//! Careless instrumentations write identifiers of a single request into names. An operation with many names is only
//! found if the names are unified, and it must not crowd out other services. So text that looks like an identifier in
//! an address is always removed, and numbers elsewhere where a service has many names ([`NUMBERED_MAX`]). Beyond a
//! bound all operations of a service are one.

use std::collections::{BTreeSet, HashMap};

use evenkeel_analysis::findings::warnings::SpansWarning;
use foldhash::fast::RandomState;

/// Operations told apart, at most. Beyond it an operation is "other operations" of its service.
pub const OPERATIONS_MAX: usize = 1 << 12;
/// Operations of one service told apart, at most: the tree has room for the pairs of some 500 calls of one caller.
pub const OF_SERVICE_MAX: usize = 1 << 8;
/// Operations of one service until numbers in their names are left out.
const NUMBERED_MAX: usize = 1 << 6;
/// Services that have "other operations", at most; any further have them together.
const OTHERS_MAX: usize = 1 << 12;
/// Clocks told apart, at most; any further are taken for one.
pub const CLOCKS_MAX: usize = 1 << 16;
/// Bytes of a name, at most.
const NAME_MAX: usize = 160;
/// Name of a service without a name.
pub const NO_SERVICE: &str = "(no service name)";

/// Operations and clocks by number.
#[derive(Debug, Default)]
pub struct Names {
    operations: Table,
    clocks: Table,
    /// By service and raw name: the number. Making a name costs more than looking it up.
    known: HashMap<(Box<str>, Box<str>), u32, RandomState>,
    /// By service: how many operations are told apart.
    of_service: HashMap<Box<str>, usize, RandomState>,
    /// Spans of operations beyond [`OPERATIONS_MAX`] or [`OF_SERVICE_MAX`].
    pub beyond: u64,
    /// Services that have "other operations".
    others: BTreeSet<String>,
    /// Services in whose names numbers are left out.
    without_numbers: BTreeSet<String>,
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
        let Some(number) = self.named(service, &general(name)) else {
            return self.other(service);
        };
        if self.known.len() < 4 * OPERATIONS_MAX {
            self.known.insert(key, number);
        }
        number
    }

    /// The number of an operation by its general name; nothing where there are too many.
    fn named(&mut self, service: &str, name: &str) -> Option<u32> {
        let mut whole = cut(format!("{service}: {name}"));
        if let Some(&number) = self.operations.numbers.get(&whole) {
            return Some(number);
        }
        let count = self.of_service.get(service).copied().unwrap_or(0);
        if count >= NUMBERED_MAX {
            let without = without_numbers(name);
            if without != name {
                note(&mut self.without_numbers, service);
                whole = cut(format!("{service}: {without}"));
            }
        }
        if count >= OF_SERVICE_MAX {
            return self.operations.numbers.get(&whole).copied();
        }
        let before = self.operations.names.len();
        let number = self.bounded(whole);
        if self.operations.names.len() > before {
            self.of_service.insert(Box::from(service), count + 1);
        }
        number
    }

    /// The number of a function in the process of an operation's service. `is_call` is false for a state of the process
    /// without a function.
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
        let service = match note(&mut self.others, service) {
            true => service,
            false => "other services",
        };
        let other = cut(format!("{service}: other operations"));
        self.operations.number(other)
    }

    /// Warnings about names for the user.
    pub fn warnings(&self) -> Vec<SpansWarning> {
        let mut warnings = Vec::new();
        if !self.without_numbers.is_empty() {
            let (services, more) = some(&self.without_numbers);
            warnings.push(SpansWarning::NumbersLeftOut {
                services,
                more,
                names_max: NUMBERED_MAX,
            });
        }
        if self.beyond > 0 {
            let (services, more) = some(&self.others);
            warnings.push(SpansWarning::OtherOperations {
                spans: self.beyond,
                services,
                more,
            });
        }
        warnings
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

/// Remembers a service, unless there are too many.
fn note(services: &mut BTreeSet<String>, service: &str) -> bool {
    if services.contains(service) {
        return true;
    }
    services.len() < OTHERS_MAX && services.insert(service.to_owned())
}

/// Some of these, and how many more there are.
fn some(services: &BTreeSet<String>) -> (Vec<String>, usize) {
    const NAMED: usize = 4;
    let named = services.iter().take(NAMED).cloned().collect();
    (named, services.len().saturating_sub(NAMED))
}

fn cut(mut name: String) -> String {
    if name.len() > NAME_MAX {
        let end = (0..=NAME_MAX).rev().find(|&at| name.is_char_boundary(at));
        name.truncate(end.unwrap_or(0));
    }
    name
}

/// An operation without parts that differ from request to request: the query of an address, and numbers or
/// identifiers in its path, which a careless instrumentation leaves in.
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

/// A name with each part that holds a digit left out: what numbers and identifiers are made of, wherever they stand.
fn without_numbers(name: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric();
    let mut without = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let part = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(part);
        without.push_str(if part.bytes().any(|byte| byte.is_ascii_digit()) {
            "?"
        } else {
            part
        });
        let next = behind.find(is_part).unwrap_or(behind.len());
        without.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    without
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

    /// A service with as many names as requests takes the room of no other, and its names are brought together.
    #[test]
    fn names_are_bounded() {
        let mut names = Names::default();
        for n in 0..2 * OPERATIONS_MAX {
            names.operation("users", &format!("load user-{n} of {n}"));
        }
        let user = names.operation("users", "load user-x7 of 9");
        assert_eq!(names.of_operation(user), "users: load user-? of ?");
        assert_eq!(
            (names.operations.names.len(), names.beyond),
            (NUMBERED_MAX + 1, 0)
        );
        let known = names.operation("users", "load user-3 of 3");
        assert_eq!(names.of_operation(known), "users: load user-3 of 3");

        // Letters alone: nothing tells them from names.
        let word = |n: usize| -> String {
            let digits = format!("{n}");
            digits
                .bytes()
                .map(|digit| char::from(digit - b'0' + b'a'))
                .collect()
        };
        for n in 0..2 * OPERATIONS_MAX {
            names.operation("words", &word(n));
        }
        let other = names.operation("words", "one more");
        assert_eq!(names.of_operation(other), "words: other operations");
        assert_eq!(
            names.beyond as usize,
            2 * OPERATIONS_MAX - OF_SERVICE_MAX + 1
        );
        let lookup = names.operation("payment", "lookup 1");
        assert_eq!(names.of_operation(lookup), "payment: lookup 1");
        let warnings = names.warnings();
        assert!(
            matches!(&warnings[..], [
                SpansWarning::NumbersLeftOut { services: numbered, .. },
                SpansWarning::OtherOperations { services: others, .. },
            ] if numbered.contains(&"users".to_owned()) && others[..] == ["words"]),
            "{warnings:?}"
        );

        // As many services as requests.
        for n in 0..3 * OPERATIONS_MAX {
            names.operation(&format!("pod-{n}"), "x");
        }
        assert!(names.operations.names.len() <= OPERATIONS_MAX + OTHERS_MAX + 1);
        let last = names.operation("one more", "x");
        assert_eq!(names.of_operation(last), "other services: other operations");
    }

    #[test]
    fn names_are_cut() {
        let mut names = Names::default();
        let long = names.operation("", &"é".repeat(500));
        assert!(names.of_operation(long).len() <= NAME_MAX);
    }
}
