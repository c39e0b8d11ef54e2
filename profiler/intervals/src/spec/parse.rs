//! Reads the user's text, by the grammar of [`super`].

use evenkeel_symbols::VariableSize;
use evenkeel_wire::plan::{KEY_RETURNED, KEY_THIS};
use evenkeel_wire::{Label, Members};

use super::{IntervalSpec, LabelSource, LabelSpec, NamedCall, Point, Role, Shape};
use crate::error::Error;

const OPTIONS: [&str; 5] = ["label=", "within=", "client=", "key=", "name="];
/// The shape of intervals that the target marks itself.
const ANNOTATED: &str = "annotated";
const GRAMMAR: &str = "write FUNCTION, CALLER>FUNCTION, BEGIN..END or annotated, then options: ,label=text:0 ,within=FUNCTION ,client=CALLER>FUNCTION ,key=0 ,name=TEXT (evenkeel profile --help shows examples)";

impl std::str::FromStr for IntervalSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<IntervalSpec, Error> {
        let bad = |what: &str| Error::BadSpec {
            text: text.to_owned(),
            what: format!("{what}; {GRAMMAR}"),
        };
        let mut parts = split_options(text).into_iter();
        let shape_text = parts.next().unwrap_or_default().trim();
        if shape_text.is_empty() {
            return Err(bad("it names no function"));
        }
        let mut libraries = Vec::new();
        let shape = match shape_text.split_once("..") {
            None if shape_text == ANNOTATED => Shape::Annotated,
            None => Shape::Call(points(shape_text, &mut libraries)),
            Some((begin, end)) => Shape::Pair {
                begin: points(begin, &mut libraries),
                end: points(end, &mut libraries),
            },
        };
        let library = one_library(libraries).map_err(|several| bad(&several))?;
        let all: Vec<&Point> = match &shape {
            Shape::Call(points) => points.iter().collect(),
            Shape::Pair { begin, end } => begin.iter().chain(end).collect(),
            Shape::Annotated => Vec::new(),
        };
        if all.iter().any(|point| point.is_blank()) {
            return Err(bad("a function's name is missing"));
        }
        let mut spec = IntervalSpec {
            text: text.to_owned(),
            library,
            shape,
            label: None,
            within: Vec::new(),
            clients: Vec::new(),
            key: None,
            name: None,
        };
        for option in parts {
            let (key, value) = option.split_once('=').unwrap_or_default();
            match key {
                "label" => {
                    let label = label(value).ok_or_else(|| {
                        bad("a label is KIND:N, KIND:FUNCTION:N or KIND:VARIABLE, with .OFFSET for each pointer to follow; KIND is text, word, request, integer or int")
                    })?;
                    spec.label = Some(Box::new(label));
                }
                "within" => spec.within.push(value.to_owned()),
                "client" => spec.clients.push(point(value)),
                "key" => {
                    spec.key = Some(keys(value).ok_or_else(|| bad("a key is N or N:N"))?);
                }
                _ => spec.name = Some(value.to_owned()),
            }
        }
        if spec.key.is_some() && !matches!(spec.shape, Shape::Pair { .. }) {
            return Err(bad("key= belongs to BEGIN..END"));
        }
        if spec.is_keyed() && matches!(spec.label_source(), Some(LabelSource::Inside(..))) {
            return Err(bad(
                "a label from inside belongs to intervals that stay on their thread, those without key=",
            ));
        }
        Ok(spec)
    }
}

impl NamedCall {
    /// Reads `text` as a CALL of this role.
    ///
    /// # Errors
    /// The text is no function for this role.
    pub fn parse(role: Role, text: &str) -> Result<NamedCall, Error> {
        let bad = |what: &str| Error::BadSpec {
            text: text.to_owned(),
            what: format!(
                "{what}; write FUNCTION,key=N (N-th argument, 0 for the first) or FUNCTION,key=returned"
            ),
        };
        let mut parts = split_options(text).into_iter();
        let mut libraries = Vec::new();
        let points = points(parts.next().unwrap_or_default().trim(), &mut libraries);
        let library = one_library(libraries).map_err(|several| bad(&several))?;
        if points.iter().any(Point::is_blank) {
            return Err(bad("it names no function"));
        }
        let mut named = NamedCall {
            role,
            library,
            points,
            key: 0,
        };
        for option in parts {
            match option.split_once('=') {
                Some(("key", value)) => {
                    named.key = key(value).ok_or_else(|| bad("there is no such argument"))?;
                }
                _ => return Err(bad("it takes no option but key=")),
            }
        }
        Ok(named)
    }
}

impl Point {
    fn is_blank(&self) -> bool {
        match self {
            Point::Function(name) => name.is_empty(),
            Point::CallSites(caller, callee) => caller.is_empty() || callee.is_empty(),
        }
    }
}

/// Commas belong to C++ names, too: only one before a known option separates.
fn split_options(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(',') {
        if OPTIONS
            .iter()
            .any(|option| text[at + 1..].starts_with(option))
        {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The library of all functions; an error in words where they are of several.
fn one_library(mut libraries: Vec<String>) -> Result<Option<String>, String> {
    libraries.dedup();
    match &libraries[..] {
        [] | [_] => Ok(libraries.pop()),
        several => Err(format!(
            "all of its functions have to be in one library, and {} are named",
            several.join(" and ")
        )),
    }
}

fn points(text: &str, libraries: &mut Vec<String>) -> Vec<Point> {
    text.split('|')
        .map(|text| {
            let (from, rest) = match text.split_once('!') {
                Some((from, rest)) if !from.contains(['(', '<', '>']) => (Some(from), rest),
                _ => (None, text),
            };
            if let Some(from) = from {
                libraries.push(from.trim().to_owned());
            }
            point(rest)
        })
        .collect()
}

fn point(text: &str) -> Point {
    match evenkeel_symbols::split_call(text) {
        Some((caller, callee)) => {
            Point::CallSites(caller.trim().to_owned(), callee.trim().to_owned())
        }
        None => Point::Function(text.trim().to_owned()),
    }
}

fn label(text: &str) -> Option<LabelSpec> {
    let (kind, place) = text.split_once(':')?;
    let kind = match kind {
        "text" => Label::Text,
        "word" => Label::Word,
        "request" => Label::Request,
        "integer" => Label::Integer,
        "int" => Label::Int,
        _ => return None,
    };
    let (place, offsets) = members(place)?;
    let argument = |text: &str| text.parse().ok().filter(|&index: &u8| index < 32);
    let through = |source, offsets: &[u16]| {
        let members = Members::through(offsets)?;
        Some(LabelSpec {
            kind,
            source,
            members,
        })
    };
    if let Some(index) = argument(place) {
        return through(LabelSource::Argument(index), &offsets);
    }
    // Names of C++ have colons, too.
    if let Some((function, index)) = place.rsplit_once(':')
        && let Some(index) = argument(index)
    {
        let function = point(function);
        return (!function.is_blank())
            .then(|| through(LabelSource::Inside(function, index), &offsets))?;
    }
    let may_begin = |first: char| first.is_alphabetic() || first == '_';
    let is_name = place.starts_with(may_begin) && !place.contains([',', '>', ' ']);
    let is_text = !matches!(kind, Label::Integer | Label::Int);
    let name = (is_name && is_text).then(|| place.to_owned())?;
    let size = match offsets.first() {
        None => VariableSize::Pointer,
        Some(&offset) => VariableSize::Member(offset),
    };
    // A variable without members is the pointer itself.
    let offsets = if offsets.is_empty() { vec![0] } else { offsets };
    through(LabelSource::Variable { name, size }, &offsets)
}

/// The place before the first member, and the members' offsets.
fn members(place: &str) -> Option<(&str, Vec<u16>)> {
    // Functions may have points in their names, too.
    let name = place.rfind(':').map_or(0, |colon| colon + 1);
    let Some(at) = place[name..].find('.') else {
        return Some((place, Vec::new()));
    };
    let (before, offsets) = place.split_at(name + at);
    let offsets = offsets[1..].split('.').map(str::parse);
    Some((before, offsets.collect::<Result<_, _>>().ok()?))
}

fn keys(text: &str) -> Option<(u8, u8)> {
    match text.split_once(':') {
        None => Some((key(text)?, key(text)?)),
        Some((first, last)) => Some((key(first)?, key(last)?)),
    }
}

/// Where a key is: an argument's index, the result, or the object whose method is called.
fn key(text: &str) -> Option<u8> {
    match text {
        "returned" => Some(KEY_RETURNED),
        "this" => Some(KEY_THIS),
        _ => text.parse().ok().filter(|&index: &u8| index < 32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> IntervalSpec {
        text.parse().unwrap()
    }

    #[test]
    fn functions_of_two_libraries_are_refused() {
        for text in ["libm.so.6!sin..libc.so.6!write", "liba.so!f|libb.so!f"] {
            let refused = text.parse::<IntervalSpec>().unwrap_err().to_string();
            assert!(refused.contains("have to be in one library"), "{refused}");
        }
        for text in ["libc.so.6!read..write", "libc.so.6!read..libc.so.6!write"] {
            assert_eq!(parse(text).library.as_deref(), Some("libc.so.6"));
        }
    }

    #[test]
    fn a_function() {
        assert_eq!(
            parse("work").shape,
            Shape::Call(vec![Point::Function("work".into())])
        );
        assert_eq!(
            parse("file.c:work").shape,
            Shape::Call(vec![Point::Function("file.c:work".into())])
        );
    }

    #[test]
    fn an_edge_with_a_label() {
        let spec = parse("main>handle(int, char const*),label=text:1,name=request");
        let site = Point::CallSites("main".into(), "handle(int, char const*)".into());
        assert_eq!(spec.shape, Shape::Call(vec![site]));
        assert_eq!(
            (spec.label.as_deref(), spec.name.as_deref()),
            (
                Some(&read(Label::Text, LabelSource::Argument(1), &[])),
                Some("request")
            )
        );
    }

    fn read(kind: Label, source: LabelSource, offsets: &[u16]) -> LabelSpec {
        let members = Members::through(offsets).unwrap();
        LabelSpec {
            kind,
            source,
            members,
        }
    }

    #[test]
    fn labels_from_inside_and_from_variables() {
        let label = |text: &str| *parse(&format!("work,label={text}")).label.unwrap();
        let inside = |kind, name: &str, argument| {
            let source = LabelSource::Inside(Point::Function(name.into()), argument);
            read(kind, source, &[])
        };
        assert_eq!(label("text:run:1"), inside(Label::Text, "run", 1));
        assert_eq!(
            label("integer:Cache::get(A*, int):2"),
            inside(Label::Integer, "Cache::get(A*, int)", 2)
        );
        let site = Point::CallSites("main".into(), "run".into());
        assert_eq!(
            label("text:main>run:0"),
            read(Label::Text, LabelSource::Inside(site, 0), &[])
        );
        let variable = |name: &str, size, offsets: &[u16]| {
            let name = name.to_owned();
            read(Label::Text, LabelSource::Variable { name, size }, offsets)
        };
        assert_eq!(
            label("text:Server::current_query"),
            variable("Server::current_query", VariableSize::Pointer, &[0])
        );
        assert_eq!(
            label("text:request_globals.40.8"),
            variable("request_globals", VariableSize::Member(40), &[40, 8])
        );
    }

    #[test]
    fn labels_behind_members() {
        let label = |text: &str| parse(&format!("work,label={text}")).label;
        assert_eq!(
            label("word:0.80.0.8").as_deref(),
            Some(&read(Label::Word, LabelSource::Argument(0), &[80, 0, 8]))
        );
        let inside = LabelSource::Inside(Point::Function("run.part".into()), 1);
        assert_eq!(
            label("int:run.part:1.104").as_deref(),
            Some(&read(Label::Int, inside, &[104]))
        );
        for refused in ["text:0.x", "text:0.1.2.3.4.5", "text:0.-1", "text:0.70000"] {
            let text = format!("work,label={refused}");
            assert!(text.parse::<IntervalSpec>().is_err(), "{refused}");
        }
    }

    #[test]
    fn a_pair_in_a_library() {
        let spec = parse("libx.so.1!begin..commit|rollback,within=loop");
        let function = |name: &str| Point::Function(name.into());
        assert_eq!(spec.library.as_deref(), Some("libx.so.1"));
        assert_eq!(
            spec.shape,
            Shape::Pair {
                begin: vec![function("begin")],
                end: vec![function("commit"), function("rollback")]
            }
        );
        assert_eq!(spec.within, ["loop"]);
    }

    #[test]
    fn annotated_intervals_need_no_function() {
        let spec = parse("annotated,within=handle,name=request");
        assert_eq!(spec.shape, Shape::Annotated);
        assert!(spec.is_keyed() && !parse("handle").is_keyed());
        assert_eq!(spec.within, ["handle"]);
    }

    #[test]
    fn keys_of_pairs_and_of_named_calls() {
        assert_eq!(
            parse("new..free,key=returned:0").key,
            Some((KEY_RETURNED, 0))
        );
        assert_eq!(parse("begin..end,key=1").key, Some((1, 1)));
        assert_eq!(parse("a.B.c..d.E.f,key=0:this").key, Some((0, KEY_THIS)));
        let named = NamedCall::parse(Role::Acquire, "libx.so!take|try_take,key=2").unwrap();
        assert_eq!(
            (named.role, named.points.len(), named.key),
            (Role::Acquire, 2, 2)
        );
        assert_eq!(named.library.as_deref(), Some("libx.so"));
        assert_eq!(NamedCall::parse(Role::Work, "f").unwrap().key, 0);
        for text in ["", "f,key=x", "f,label=text:0"] {
            let error = NamedCall::parse(Role::Work, text).unwrap_err().to_string();
            assert!(error.contains("key=N"), "{text}: {error}");
        }
    }

    #[test]
    fn nonsense_says_what_to_write() {
        for text in [
            "",
            "a..",
            ">b",
            "a,label=text",
            "a,label=colour:1",
            "a,label=text:",
            "a,label=text::1",
            "a,label=text:32",
            "a,label=integer:variable",
            "a..b,key=0,label=text:run:0",
            "a,key=0",
            "a..b,key=x",
        ] {
            let error = text.parse::<IntervalSpec>().unwrap_err().to_string();
            assert!(error.contains("CALLER>FUNCTION"), "{text}: {error}");
        }
    }
}
