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

/// Names with a separator between them, in at most `width` columns. Parts are removed in this order until the names fit: modules and
/// libraries, traits, parameters, template arguments and return types, types, closures, call sites. The middle of the functions
/// themselves is cut last.
pub fn joined<S: AsRef<str>>(names: &[S], separator: &str, width: usize) -> String {
    within(names, separator, width).unwrap_or_else(|whole| fit::middle(&whole, width))
}

/// Without the last of these steps: what is left where it does not fit is the error.
fn within<S: AsRef<str>>(names: &[S], separator: &str, width: usize) -> Result<String, String> {
    let mut names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
    let mut whole = String::new();
    for shorten in COMPACTING.into_iter().chain(CUTTING) {
        names = names.iter().map(|name| shorten(name)).collect();
        whole = names.join(separator);
        if fit::columns(&whole) <= width {
            return Ok(whole);
        }
    }
    Err(whole)
}

/// A path of calls in at most `width` columns, as [`fit::path`]: names are made short before they are left out.
pub(crate) fn path<S: AsRef<str>>(names: &[S], width: usize) -> String {
    let whole: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
    if fit::columns(&whole.join(" > ")) <= width {
        return fit::path(&whole, width);
    }
    let mut short: Vec<String> = whole.iter().map(|name| compact(name)).collect();
    // The last is what a reader looks for.
    if let Some(last) = short.last_mut() {
        *last = shortened(last, width.saturating_sub(fit::columns("… > ")));
    }
    fit::middle(&fit::path(&short, width), width)
}

/// A text that was made of names, in at most `width` columns: a path of calls, or a function and who calls it.
pub fn written(text: &str, width: usize) -> String {
    const CALLED_BY: [&str; 2] = [": calls below it, called by ", " called by "];
    if fit::columns(text) <= width {
        return text.to_owned();
    }
    let mut splits = CALLED_BY.iter();
    let split = splits.find_map(|by| Some((text.split_once(by)?, by)));
    match split {
        Some(((function, caller), by)) => {
            // The caller gives way before the function does.
            let rest = format!("{by}…");
            let alone = || {
                let room = width.checked_sub(fit::columns(&rest))?;
                Some(within(&[function], "", room).ok()? + &rest)
            };
            let both = within(&[function, caller], by, width).ok().or_else(alone);
            both.unwrap_or_else(|| shortened(function, width))
        }
        None => path(&steps(text), width),
    }
}

/// The names of a path of calls: `a > b` as `a` and `b`.
fn steps(path: &str) -> Vec<&str> {
    const BELOW: &str = " > ";
    let (mut names, mut rest) = (Vec::new(), path);
    // What closes template arguments may look the same.
    while let Some(at) = outside(rest).find(|&at| rest[at..].starts_with(BELOW)) {
        names.push(&rest[..at]);
        rest = &rest[at + BELOW.len()..];
    }
    names.push(rest);
    names
}

/// A name without all that a function can do without: `Map::insert` remains, and where it is called.
pub(crate) fn compact(name: &str) -> String {
    let steps = COMPACTING.into_iter();
    steps.fold(name.to_owned(), |name, shorten| shorten(&name))
}

/// Each step takes the result of the previous one.
const COMPACTING: [fn(&str) -> String; 5] = [
    str::to_owned,
    |name| with_site(name, |name| without_modules(without_library(name))),
    |name| with_site(name, without_traits),
    |name| with_site(name, without_parameters),
    |name| {
        with_site(name, |name| {
            without_closures(&without_return_type(&without_arguments(name)))
        })
    },
];

/// After them: what costs the reader more.
const CUTTING: [fn(&str) -> String; 3] = [
    |name| with_site(name, without_type),
    |name| with_site(name, function_alone),
    |name| without_site(name).to_owned(),
];

/// `f` and `g+0x10` of `f [g+0x10]`.
fn split_site(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(']')?.rsplit_once(" [")
}

/// `f` of `f [g+0x10]`.
pub(crate) fn without_site(name: &str) -> &str {
    split_site(name).map_or(name, |(name, _)| name)
}

/// What `shorten` leaves of a function, and of the function that its call site is in.
fn with_site(name: &str, shorten: fn(&str) -> String) -> String {
    match split_site(name) {
        Some((function, site)) => format!("{} [{}]", shorten(function), shorten(site)),
        None => shorten(name),
    }
}

/// `function` of `library.so!function`. An address says nothing without its library.
fn without_library(name: &str) -> &str {
    match name.split_once('!') {
        Some((_, function)) if function.starts_with("0x") => name,
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
        let is_applied = is_applied(&name[..name.len() - bracket.len()]);
        let found = bracketed(bracket).and_then(|inner| {
            let after = &bracket[inner.len() + "<>".len()..];
            let of = type_of(inner).filter(|_| !is_applied && after.starts_with("::"))?;
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

/// `Type::f` of `Type::f(int) const`. The class stays: it distinguishes methods of one name. So does a suffix
/// such as ` (not expanded)` or `+0x1c`.
fn without_parameters(name: &str) -> String {
    let mut open = None;
    for at in outside(name) {
        let (before, from_here) = name.split_at(at);
        if from_here.starts_with('(') && !before.is_empty() {
            let is_none = before.ends_with(' ') || before.ends_with("operator");
            open = Some(at).filter(|_| !is_none);
        } else if let (Some(rest), Some(start)) = (from_here.strip_prefix(')'), open)
            && (rest.is_empty() || rest.starts_with([' ', '+']))
        {
            let rest = rest.strip_prefix(" const").unwrap_or(rest);
            return format!("{}{rest}", &name[..start]);
        }
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
        let is_applied = is_applied(&name[..name.len() - bracket.len()]);
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
    let (label, path) = split_label(name);
    if path.contains("operator") {
        return name.to_owned();
    }
    let end = path.find(" (").unwrap_or(path.len());
    let begin = outside(&path[..end]).filter(|&at| path[at..].starts_with(' '));
    let begin = begin.last().map_or(0, |at| at + 1);
    // Only of templates' instances the type is written; other names with spaces are words, as `off the processor` is.
    match path[begin..end].contains('<') {
        true => format!("{label}{}", &path[begin..]),
        false => name.to_owned(),
    }
}

/// What stands before the function: `body of `, and a label in words as `waits: `.
fn split_label(name: &str) -> (&str, &str) {
    let label = match name.strip_prefix("body of ") {
        Some(path) => name.len() - path.len(),
        None => name.find(": ").map_or(0, |at| at + ": ".len()),
    };
    name.split_at(label)
}

/// The places in `text` outside of brackets, and those of the outer brackets. Signs as in `operator<<` are no brackets.
fn outside(text: &str) -> impl Iterator<Item = usize> {
    const SIGNS: &str = "<>=-*+/%&|^!~,";
    let (mut depth, mut before, mut signs_until) = (0, ' ', 0);
    text.char_indices().filter_map(move |(at, c)| {
        if let Some(signs) = text[at..].strip_prefix("operator") {
            // `operator()(int)` takes an int.
            let signs = match signs.starts_with("()") || signs.starts_with("[]") {
                true => "()".len(),
                false => signs.find(|c| !SIGNS.contains(c)).unwrap_or(signs.len()),
            };
            signs_until = at + "operator".len() + signs;
        }
        let is_sign = at < signs_until || c == '>' && before == '-';
        before = c;
        if !is_sign && ">)]}".contains(c) {
            depth -= 1;
        }
        let is_outside = depth <= 0;
        if !is_sign && "<([{".contains(c) {
            depth += 1;
        }
        is_outside.then_some(at)
    })
}

/// Where the segments of a path begin: those of `a::f` at 0 and 3.
fn segments(path: &str) -> Vec<usize> {
    let mut begins = vec![0];
    for at in outside(path).filter(|&at| path[at..].starts_with("::")) {
        // Of three colons two separate.
        if begins.last().is_none_or(|&begin| begin <= at) {
            begins.push(at + "::".len());
        }
    }
    begins
}

/// Whether a segment that is not the first belongs to the function before it: a closure, or arguments.
fn is_inside_function(segment: &str) -> bool {
    segment.starts_with(['{', '<'])
}

/// `f::{…}` of `f::{closure#0}::{closure#2}` and of `f::{lambda(int)#1}::operator()`.
fn without_closures(name: &str) -> String {
    let (label, path) = split_label(name);
    let begins = segments(path);
    let ends = begins[1..].iter().map(|at| at - 2).chain([path.len()]);
    let mut out = label.to_owned();
    let mut is_closure = false;
    for (at, (&begin, end)) in begins.iter().zip(ends).enumerate() {
        let segment = &path[begin..end];
        let (what, rest) = match segment.starts_with('{') {
            true => segment.split_at(segment.rfind('}').map_or(segment.len(), |at| at + 1)),
            false => match segment.strip_prefix("operator()").filter(|_| is_closure) {
                Some(rest) => ("{", rest),
                None => (segment, ""),
            },
        };
        if !what.starts_with('{') || !is_closure {
            out.push_str(if at > 0 { "::" } else { "" });
            out.push_str(if what.starts_with('{') { "{…}" } else { what });
        }
        is_closure = what.starts_with('{');
        out.push_str(rest);
    }
    out
}

/// Where the function begins in a path.
fn function_in(path: &str) -> usize {
    let begins = segments(path);
    let mut functions = begins.iter().rev();
    let is_function = |at: &&usize| **at == 0 || !is_inside_function(&path[**at..]);
    functions.find(is_function).copied().unwrap_or_default()
}

/// The function alone, `…::f`, with the closure in it.
fn without_type(name: &str) -> String {
    let (label, path) = split_label(name);
    match function_in(path) {
        0 => name.to_owned(),
        at => format!("{label}…::{}", &path[at..]),
    }
}

/// The same without closure and arguments. A suffix such as ` (not expanded)` or `+0x1c` stays.
fn function_alone(name: &str) -> String {
    let (label, path) = split_label(name);
    let begin = function_in(path);
    let function = &path[begin..];
    if function.starts_with("operator") {
        return name.to_owned();
    }
    let ends = |&at: &usize| at > 0 && function[at..].starts_with(['<', '(', ':', ' ', '+']);
    let behind = |&at: &usize| function[at..].starts_with([' ', '+']);
    let end = outside(function).find(ends).unwrap_or(function.len());
    let behind = outside(function).find(behind).unwrap_or(function.len());
    format!(
        "{label}{}{}{}",
        &path[..begin],
        &function[..end],
        &function[behind..]
    )
}

/// Whether a bracket behind this is what a template, or a generic, is made with.
fn is_applied(before: &str) -> bool {
    before
        .trim_end_matches("::")
        .ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && !before.ends_with("operator")
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

/// The type of `impl Type`, which Rust writes where a type is extended outside of its module, and of `Type` alone (mangling v0, RFC
/// 2603).
fn inherent(inner: &str) -> Option<&str> {
    match inner.strip_prefix("impl ") {
        Some(of) => Some(of).filter(|of| !of.contains(" for ")),
        None => Some(inner).filter(|of| !of.contains(' ')),
    }
}

/// The type of `Type as Trait` or `impl Trait for Type`.
fn implementer(inner: &str) -> Option<&str> {
    match inner.strip_prefix("impl ") {
        Some(of) => of.rsplit_once(" for ").map(|(_, of)| of),
        None => inner.rsplit_once(" as ").map(|(of, _)| of),
    }
}

#[cfg(test)]
mod tests;
