//! A name of C++ or Rust as a path: namespaces or modules, types, and the function last. What a user types may be the end of
//! one, `LazyFrame::collect`, as for debuggers.

/// What a name has to end in. `<A as Trait>::f` ends in `A::f`, and in `Trait::f`.
#[derive(Debug)]
pub(crate) struct End<'n>(Vec<Vec<&'n str>>);

impl<'n> End<'n> {
    /// Reports shorten a name to `…::f`.
    pub(crate) fn new(name: &'n str) -> End<'n> {
        End(paths(name.strip_prefix("…::").unwrap_or(name)))
    }

    /// The function's name alone.
    pub(crate) fn function(&self) -> &'n str {
        let path = self.0.first().and_then(|path| path.last());
        without_arguments(path.copied().unwrap_or_default())
    }

    /// Whether `name` ends in it. Of type and trait, both have to fit where both were typed.
    pub(crate) fn fits(&self, name: &str) -> bool {
        let paths = paths(name);
        match &self.0[..] {
            [end] => paths.iter().any(|path| ends_in(path, end)),
            ends => {
                ends.len() == paths.len()
                    && paths.iter().zip(ends).all(|(path, end)| ends_in(path, end))
            }
        }
    }
}

/// Arguments count where they were typed. Reports shorten them to `<…>`.
fn ends_in(path: &[&str], end: &[&str]) -> bool {
    let fits = |(part, typed): (&&str, &&str)| {
        let typed = typed.strip_suffix("<…>").unwrap_or(typed);
        *part == typed || without_arguments(part) == typed
    };
    let ends = path.iter().rev().zip(end.iter().rev());
    end.len() <= path.len() && ends.into_iter().all(fits)
}

/// The path of a name, or those by its type and by its trait.
fn paths(name: &str) -> Vec<Vec<&str>> {
    let mut parts = split(name, "::").into_iter();
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let inside = first
        .strip_prefix('<')
        .and_then(|first| first.strip_suffix('>'));
    let types = inside.map_or_else(|| vec![first], |inside| split(inside, " as "));
    let path = |of| {
        let parts = split(of, "::").into_iter().chain(rest.iter().copied());
        parts
            .filter(|&part| part != "(anonymous namespace)")
            .collect()
    };
    types.into_iter().map(path).collect()
}

/// `f` of `f<T>` and of `f::<T>`.
fn without_arguments(part: &str) -> &str {
    let begin = outside(part).find(|&at| part[at..].starts_with('<'));
    begin.map_or(part, |at| part[..at].trim_end_matches("::"))
}

/// Splits `text` where a separator is in no brackets, and none follows.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for at in outside(text) {
        let rest = text[at..].strip_prefix(separator);
        if at >= begin && rest.is_some_and(|rest| !rest.starts_with('<')) {
            parts.push(&text[begin..at]);
            begin = at + separator.len();
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Places in `text` that are in no brackets, up to an operator's name, which may have some.
fn outside(text: &str) -> impl Iterator<Item = usize> {
    let (mut depth, mut before) = (0_usize, ' ');
    let end = text.find("operator").filter(|at| {
        let behind = text[at + "operator".len()..].chars().next();
        behind.is_some_and(|c| !c.is_alphanumeric() && c != '_')
    });
    let text = &text[..end.unwrap_or(text.len())];
    text.char_indices().filter_map(move |(at, c)| {
        let is_outside = depth == 0;
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
        is_outside.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_what_was_typed() {
        let of_rust = "<index::Weight<Score> as query::Weight>::each";
        for (name, ends) in [
            (
                "<polars_lazy::frame::LazyFrame>::collect",
                &[
                    "collect",
                    "LazyFrame::collect",
                    "frame::LazyFrame::collect",
                    "…::LazyFrame::collect",
                ][..],
            ),
            (
                of_rust,
                &[
                    "each",
                    "Weight::each",
                    "query::Weight::each",
                    "index::Weight::each",
                    "<Weight<Score> as Weight>::each",
                    "Weight<…>::each",
                ],
            ),
            ("a::run::<u64>", &["run", "a::run", "run::<u64>"]),
            ("core::num::<impl u64>::pow", &["pow", "num::pow"]),
            (
                "(anonymous namespace)::Cache<int, 2>::get",
                &[
                    "get",
                    "Cache::get",
                    "Cache<int, 2>::get",
                    "(anonymous namespace)::Cache::get",
                ],
            ),
            ("shop::Item::operator<", &["operator<", "Item::operator<"]),
            ("shop::Item::operator()", &["Item::operator()"]),
            (
                "f::<fn(u8) -> a::B>::{closure#0}",
                &["{closure#0}", "f::{closure#0}"],
            ),
        ] {
            for end in ends {
                assert!(End::new(end).fits(name), "{name} ends in {end}");
                assert_eq!(End::new(end).function(), End::new(name).function());
            }
        }
        for (name, other) in [
            ("a::collected", "collect"),
            ("a::b::f", "a::f"),
            ("f", "a::f"),
            ("Box<int>::get", "Box<double>::get"),
            ("shop::total", "total(double)"),
            ("a::run::{closure#0}", "run"),
            (of_rust, "<Other as Weight>::each"),
            ("index::Weight::each", "<Weight as Weight>::each"),
            ("shop::Item::operator<<", "operator<"),
        ] {
            assert!(
                !End::new(other).fits(name),
                "{name} does not end in {other}"
            );
        }
    }
}
