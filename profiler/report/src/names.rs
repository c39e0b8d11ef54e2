//! Long function names made short: what a name says last is kept whole, where it stands goes first.
//!
//! A mangled Rust name spells out the module of everything in it. In 40 columns the middle of
//! `<evenkeel_drive::target::Link as evenkeel_workloads::interface::transaction::Transaction>::query::{{closure}}` is cut
//! right where it distinguishes something; `<Link as Transaction>::query::{…}` is the same name without modules.

use crate::fit;

/// `name` in at most `width` columns.
pub fn shortened(name: &str, width: usize) -> String {
    joined(&[name], "", width)
}

/// Names with a separator between them, in at most `width` columns. If they do not fit, parts are removed in this
/// order: modules and libraries, traits of methods, parameters of C++ functions, arguments of templates and types of
/// results, types of methods. At last the middle is cut.
pub fn joined<S: AsRef<str>>(names: &[S], separator: &str, width: usize) -> String {
    // Each shortens the result of the one before.
    let attempts: [fn(&str) -> String; 6] = [
        str::to_owned,
        |name| without_modules(without_library(name)),
        without_traits,
        without_parameters,
        |name| without_return_type(&without_arguments(name)),
        without_type,
    ];
    let mut names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
    for shorten in attempts {
        names = names.iter().map(|name| shorten(name)).collect();
        let whole = names.join(separator);
        if fit::columns(&whole) <= width {
            return whole;
        }
    }
    fit::middle(&names.join(separator), width)
}

/// `function` of `library.so!function`.
fn without_library(name: &str) -> &str {
    match name.split_once('!') {
        Some((library, function)) if library.contains(".so") && !library.contains(' ') => function,
        _ => name,
    }
}

/// Every path in a name from its first type on, or, where it names no type, its last two segments: `Owner::wait`, `ready::complete`,
/// `<Link as Transaction>::query::{…}`. Modules, and namespaces of C++, are in small letters by convention; where they are not they
/// stay.
pub(crate) fn without_modules(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let path = leading_path(rest);
        if path.is_empty() {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        rest = &rest[path.len()..];
        match rest.strip_prefix("::<impl ") {
            // The module in which a type is extended.
            Some(_) => rest = &rest["::".len()..],
            None => out.push_str(&telling_end(path)),
        }
    }
    unwrapped(&out, inherent).replace("{{closure}}", "{…}")
}

/// The path `text` begins with: identifiers with `::` between them.
fn leading_path(text: &str) -> &str {
    let mut end = 0;
    loop {
        let segment = identifier_length(&text[end..]);
        if segment == 0 {
            return text[..end].trim_end_matches(':');
        }
        end += segment;
        match text[end..].strip_prefix("::") {
            Some(_) => end += "::".len(),
            None => return &text[..end],
        }
    }
}

fn identifier_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || "_$~".contains(c)))
        .unwrap_or(text.len())
}

fn telling_end(path: &str) -> String {
    let segments: Vec<&str> = path.split("::").collect();
    let last_two = segments.len().saturating_sub(2);
    let first = segments
        .iter()
        .position(|segment| segment.starts_with(char::is_uppercase));
    segments[first.map_or(last_two, |first| first.min(segments.len() - 1))..].join("::")
}

/// Without the traits of `<Type as Trait>::f` and `<impl Trait for Type>::f`: `Type::f`.
fn without_traits(name: &str) -> String {
    unwrapped(name, implementer)
}

/// A name in which `<..>::` is the type that `type_of` finds between the brackets, where it finds one.
fn unwrapped(name: &str, type_of: fn(&str) -> Option<&str>) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let bracket = &rest[at..];
        let found = bracketed(bracket).and_then(|inner| {
            let after = &bracket[inner.len() + "<>".len()..];
            let of = type_of(inner).filter(|_| after.starts_with("::"))?;
            Some((of, after))
        });
        match found {
            Some((of, after)) => {
                out.push_str(of);
                rest = after;
            }
            None => {
                out.push('<');
                rest = &bracket["<".len()..];
            }
        }
    }
    out + rest
}

/// `Type::f` of `Type::f(int) const`. The class distinguishes methods of the same name. A suffix after the
/// parameters, such as ` (not expanded)`, stays.
fn without_parameters(name: &str) -> String {
    let mut depth = 0;
    let mut open = None;
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        match c {
            '(' if depth == 0 && before != ' ' && !name[..at].ends_with("operator") => {
                open = Some(at);
            }
            ')' if depth == 1 && open.is_some() => {
                let (start, rest) = (open.take().unwrap_or(at), &name[at + 1..]);
                if rest.is_empty() || rest.starts_with(' ') {
                    let rest = rest.strip_prefix(" const").unwrap_or(rest);
                    return format!("{}{rest}", &name[..start]);
                }
            }
            _ => {}
        }
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    name.to_owned()
}

/// `Map<…>::insert<…>` of `Map<int, std::vector<long>>::insert<false>`: removes the arguments of templates and
/// generics. Brackets with another meaning stay, as those of `<Type as Trait>` and `operator<`.
fn without_arguments(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('<') {
        let (before, bracket) = rest.split_at(at);
        out.push_str(before);
        let is_applied = before
            .trim_end_matches("::")
            .ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && !before.ends_with("operator");
        match bracketed(bracket).filter(|_| is_applied) {
            Some(inner) => {
                out.push_str("<…>");
                rest = &bracket[inner.len() + "<>".len()..];
            }
            None => {
                out.push('<');
                rest = &bracket["<".len()..];
            }
        }
    }
    out + rest
}

/// `f<…>` of `std::vector<…> f<…>`: C++ tells what instances of templates return.
fn without_return_type(name: &str) -> String {
    let (body, path) = split_body(name);
    if path.contains("operator") {
        return name.to_owned();
    }
    let end = path.find(" (").unwrap_or(path.len());
    let mut depth = 0;
    let mut begin = 0;
    for (at, c) in path[..end].char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ' ' if depth == 0 => begin = at + 1,
            _ => {}
        }
    }
    // Of a label in words, as `waits: semaphore`, nothing goes.
    match path[..begin].contains(':') && !path[..begin].contains("::") {
        true => name.to_owned(),
        false => format!("{body}{}", &path[begin..]),
    }
}

fn split_body(name: &str) -> (&'static str, &str) {
    match name.strip_prefix("body of ") {
        Some(path) => ("body of ", path),
        None => ("", name),
    }
}

/// The function alone, `…::f`, with the closure in it.
fn without_type(name: &str) -> String {
    let (body, path) = split_body(name);
    let mut depth = 0;
    let mut segments = Vec::new();
    for (at, c) in path.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ':' if depth == 0 && path[at..].starts_with("::") => segments.push(at),
            _ => {}
        }
    }
    if segments
        .last()
        .is_some_and(|&at| path[at..].starts_with("::{"))
    {
        segments.pop();
    }
    match segments.last() {
        Some(&at) => format!("{body}…{}", &path[at..]),
        None => name.to_owned(),
    }
}

/// What is between the `<` that `text` begins with and its `>`.
fn bracketed(text: &str) -> Option<&str> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text["<".len()..at]);
        }
        before = c;
    }
    None
}

/// The type of `impl Type`, which Rust writes where a type is extended outside of its module.
fn inherent(inner: &str) -> Option<&str> {
    inner
        .strip_prefix("impl ")
        .filter(|of| !of.contains(" for "))
}

/// The type of `Type as Trait` or `impl Trait for Type`.
fn implementer(inner: &str) -> Option<&str> {
    match inner.strip_prefix("impl ") {
        Some(of) => of.rsplit_once(" for ").map(|(_, of)| of),
        None => inner.rsplit_once(" as ").map(|(of, _)| of),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn modules_give_way() {
        for (name, expected) in [
            ("evenkeel_locks::owner::Owner::wait", "Owner::wait"),
            (
                "evenkeel_workloads::interface::ready::complete",
                "ready::complete",
            ),
            (
                "evenkeel_locks::transaction::Transaction<K>::lock_within",
                "Transaction<K>::lock_within",
            ),
            (
                "<evenkeel_drive::target::Link as evenkeel_workloads::interface::transaction::Transaction>::query::{{closure}}",
                "<Link as Transaction>::query::{…}",
            ),
            (
                "body of parking_lot::condvar::Condvar::wait_until_internal",
                "body of Condvar::wait_until_internal",
            ),
            (
                "evenkeel_log::commit::<impl evenkeel_log::log::Log>::advance",
                "Log::advance",
            ),
            (
                "core::ptr::drop_in_place<alloc::string::String>",
                "ptr::drop_in_place<String>",
            ),
            ("foo::Bar::~Bar()", "Bar::~Bar()"),
            ("operator new(unsigned long)", "operator new(unsigned long)"),
            ("trans_commit(THD*)", "trans_commit(THD*)"),
            ("waits: semaphore", "waits: semaphore"),
            ("0x1e4360", "0x1e4360"),
            ("a::b::", "a::b::"),
        ] {
            assert_eq!(without_modules(name), expected);
        }
    }

    #[test]
    fn then_traits_do_and_the_middle_last() {
        let name = "<drive::target::Link as workloads::Transaction>::query::{{closure}}";
        assert_eq!(shortened(name, 100), name);
        assert_eq!(shortened(name, 33), "<Link as Transaction>::query::{…}");
        assert_eq!(shortened(name, 32), "Link::query::{…}");
        assert_eq!(shortened(name, 13), "…::query::{…}");
        assert_eq!(shortened(name, 8), "…::…:{…}");
        let own = "body of condvar::Condvar::wait_until_internal";
        assert_eq!(shortened(own, 30), "body of …::wait_until_internal");
        let of_a_trait = "<impl core::fmt::Display for store::Key<T>>::fmt";
        assert_eq!(shortened(of_a_trait, 15), "Key<T>::fmt");
        let argument = "f<int>::g(std::vector<A as B>)";
        assert_eq!(without_traits(argument), argument);
    }

    /// As Squid's names are: without their classes both would be `…::match(ACLChecklist*)`.
    #[test]
    fn parameters_give_way_before_classes_do() {
        let names = [
            "ACLStrategised<char const*>::match(ACLChecklist*)",
            "Acl::InnerNode::match(ACLChecklist*)",
        ];
        assert_eq!(
            joined(&names, " called by ", 68),
            "ACLStrategised<char const*>::match called by Acl::InnerNode::match"
        );
        for (name, expected) in [
            (
                "Store::get(int) const (not expanded)",
                "Store::get (not expanded)",
            ),
            ("body of Store::get()", "body of Store::get"),
            (
                "f(int)::{lambda(int)#1}::operator()(int) const",
                "f(int)::{lambda(int)#1}::operator()",
            ),
            ("Call::operator()", "Call::operator()"),
            (
                "(anonymous namespace)::f(void (*)(int))",
                "(anonymous namespace)::f",
            ),
            ("(indirect) at f()+0x12", "(indirect) at f()+0x12"),
            ("0x1e4360 (not expanded)", "0x1e4360 (not expanded)"),
            ("Smart::operator->(int)", "Smart::operator->"),
        ] {
            assert_eq!(without_parameters(name), expected);
        }
    }

    /// As DuckDB's and polars' names are: in the middle stands what tells one from another.
    #[test]
    fn arguments_give_way_before_types_do() {
        let name = "void duckdb::UnaryExecutor::ExecuteFlat<long, double, duckdb::GenericUnaryWrapper, duckdb::VectorTryCastOperator<duckdb::NumericTryCast> >(long const*, double*, unsigned long)";
        assert_eq!(shortened(name, 60), "UnaryExecutor::ExecuteFlat<…>");
        assert_eq!(shortened(name, 20), "…::ExecuteFlat<…>");
        let rust = "<rayon_core::job::StackJob<rayon_core::latch::LatchRef<L>, F, R> as rayon_core::job::Job>::execute";
        assert_eq!(shortened(rust, 30), "StackJob<…>::execute");
        for (name, expected) in [
            (
                "Map<int, std::vector<long> >::insert<false>",
                "Map<…>::insert<…>",
            ),
            ("drop_in_place::<String>", "drop_in_place::<…>"),
            (
                "<Link as Transaction>::query",
                "<Link as Transaction>::query",
            ),
            ("Key::operator<", "Key::operator<"),
            ("f<g(int)->int>", "f<…>"),
        ] {
            assert_eq!(without_arguments(name), expected);
        }
        for (name, expected) in [
            ("body of std::vector<…> ns::f<…>", "body of ns::f<…>"),
            ("int f<…> (not expanded)", "f<…> (not expanded)"),
            ("waits: semaphore", "waits: semaphore"),
            ("Key::operator new", "Key::operator new"),
        ] {
            assert_eq!(without_return_type(name), expected);
        }
    }

    #[test]
    fn libraries_give_way() {
        let name = "ngx_http_lua_module.so!ngx_http_lua_content_handler";
        assert_eq!(shortened(name, 51), name);
        assert_eq!(shortened(name, 50), "ngx_http_lua_content_handler");
        assert_eq!(
            without_library("ACL::operator!(int)"),
            "ACL::operator!(int)"
        );
    }

    #[test]
    fn joined_names_are_shortened_together() {
        let names = [
            "locks::owner::Owner::wait",
            "parking_lot::condvar::Condvar::wait_until",
        ];
        assert_eq!(
            joined(&names, " > ", 35),
            "Owner::wait > Condvar::wait_until"
        );
    }

    proptest! {
        #[test]
        fn nothing_exceeds_its_width(name in "[a-cA-C:<> {}\\-]{0,40}|\\PC{0,40}", width in 0usize..50) {
            prop_assert!(fit::columns(&shortened(&name, width)) <= width);
        }
    }
}
