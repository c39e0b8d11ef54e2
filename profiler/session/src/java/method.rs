//! The methods of Java that a user names.

use evenkeel_intervals::spec::{IntervalSpec, LabelSource, NamedCall, Point, Shape};
use evenkeel_wire::plan::{KEY_RETURNED, KEY_THIS};
use evenkeel_wire::{Label, Members, Role};

use super::problem::Problem;

/// What a method is to the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    /// Each call is one.
    Interval,
    /// They begin with its calls; the argument of this number is their key.
    Begin(u8),
    /// The thread works on them from its calls on.
    Work(u8),
    /// They end when it returns, and the thread works on them until then.
    End(u8),
    /// It works for any of them, or for several at once.
    Within,
    /// It runs as long as its thread, and calls what works on them.
    Loop,
}

impl Purpose {
    /// The argument that is the key of an interval.
    pub(super) fn key(self) -> Option<u8> {
        match self {
            Purpose::Begin(key) | Purpose::Work(key) | Purpose::End(key) => Some(key),
            Purpose::Interval | Purpose::Within | Purpose::Loop => None,
        }
    }

    /// The role of a probe of its body; nothing where it needs none.
    pub(super) fn role(self) -> Option<Role> {
        match self {
            Purpose::Interval => Some(Role::Whole),
            Purpose::Begin(_) => Some(Role::BeginKeyed),
            Purpose::Work(_) => Some(Role::Work),
            Purpose::End(_) => Some(Role::EndKeyed),
            Purpose::Within => Some(Role::Inner),
            Purpose::Loop => None,
        }
    }

    /// Whether intervals spend time in it, so that its calls are timed from the beginning.
    pub(super) fn is_opened(self) -> bool {
        !matches!(self, Purpose::Begin(_) | Purpose::Loop)
    }

    /// Whether there are no intervals without it.
    pub(super) fn is_needed(self) -> bool {
        !matches!(self, Purpose::Within | Purpose::Loop)
    }
}

/// A method as named: all of this name that the class has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedMethod {
    /// Binary name, with slashes.
    pub(super) class: String,
    /// Name of the method.
    pub(super) method: String,
    /// What it is to the intervals.
    pub(super) purpose: Purpose,
}

impl NamedMethod {
    /// The methods of a specification and of the calls named with it, if these may be of methods of Java: all are
    /// `Class.method`, of no library.
    pub(super) fn all_of(spec: &IntervalSpec, named: &[NamedCall]) -> Option<Vec<NamedMethod>> {
        if spec.library.is_some() {
            return None;
        }
        let (first, last) = spec.key.unwrap_or_default();
        let mut points: Vec<(&Point, Purpose)> = Vec::new();
        match &spec.shape {
            Shape::Call(calls) => points.extend(calls.iter().map(|call| (call, Purpose::Interval))),
            Shape::Pair { begin, end } => {
                points.extend(begin.iter().map(|point| (point, Purpose::Begin(first))));
                points.extend(end.iter().map(|point| (point, Purpose::End(last))));
            }
            Shape::Annotated => return None,
        }
        let works = named.iter().filter(|call| call.role == Role::Work);
        let works = works.flat_map(|call| call.points.iter().map(|point| (point, call.key)));
        points.extend(works.map(|(point, key)| (point, Purpose::Work(key))));
        let has_work = named.iter().any(|call| call.role == Role::Work);
        let within = if has_work {
            Purpose::Loop
        } else {
            Purpose::Within
        };
        let within = spec.within.iter().map(|name| NamedMethod::of(name, within));
        let methods = points.iter().map(|(point, purpose)| match point {
            Point::Function(name) => NamedMethod::of(name, *purpose),
            Point::CallSites(..) => None,
        });
        methods.chain(within).collect()
    }

    /// `com.example.Checkout.handle`, `com.example.Checkout::handle`
    fn of(text: &str, purpose: Purpose) -> Option<NamedMethod> {
        let (class, method) = text.rsplit_once("::").or_else(|| text.rsplit_once('.'))?;
        let is_word = |word: &str| {
            let mut letters = word.chars();
            let is_first = |c: char| c.is_alphabetic() || matches!(c, '_' | '$');
            letters.next().is_some_and(is_first)
                && letters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-'))
        };
        let is_name = class.split(['.', '/']).all(is_word) && is_word(method);
        is_name.then(|| NamedMethod {
            class: class.replace('.', "/"),
            method: method.to_owned(),
            purpose,
        })
    }

    /// As reports name it.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", dotted(&self.class), self.method)
    }
}

/// The interval of these methods, as reports name it.
pub(super) fn interval_name(methods: &[NamedMethod]) -> String {
    let names = |wanted: fn(Purpose) -> bool| {
        let methods = methods.iter().filter(|method| wanted(method.purpose));
        let names: Vec<String> = methods.map(NamedMethod::name).collect();
        names.join("|")
    };
    let whole = names(|purpose| purpose == Purpose::Interval);
    if !whole.is_empty() {
        return whole;
    }
    let begins = names(|purpose| matches!(purpose, Purpose::Begin(_)));
    let ends = names(|purpose| matches!(purpose, Purpose::End(_)));
    format!("{begins}..{ends}")
}

/// A class's name as in a source file.
pub(super) fn dotted(class: &str) -> String {
    class.replace('/', ".")
}

/// Where the label of an interval is: in the argument of this number, an integer or a text.
pub(super) type LabelArgument = (Label, u8);

/// The label that a specification wants, if it may be one of methods of Java.
pub(super) fn label(spec: &IntervalSpec) -> Option<LabelArgument> {
    let label = spec.label.as_deref()?;
    let is_plain =
        label.members == Members::NONE && matches!(label.kind, Label::Text | Label::Integer);
    match label.source {
        LabelSource::Argument(argument) if is_plain => Some((label.kind, argument)),
        _ => None,
    }
}

/// Refuses what a specification has beside methods, their label and their keys.
pub(super) fn check(spec: &IntervalSpec) -> Result<(), Problem> {
    let is_elsewhere = spec.label.is_some() && label(spec).is_none();
    let is_pair = matches!(spec.shape, Shape::Pair { .. });
    let is_returned = spec
        .key
        .is_some_and(|(first, last)| [first, last].contains(&KEY_RETURNED));
    let options = [
        (is_elsewhere, "a label that is no argument of the method"),
        (is_pair && spec.key.is_none(), "BEGIN..END without key="),
        (is_pair && spec.label.is_some(), "label= of BEGIN..END"),
        (is_returned, "key=returned"),
        (
            !is_pair && !spec.within.is_empty(),
            "within= without BEGIN..END",
        ),
        (!spec.clients.is_empty(), "client="),
    ];
    match options.into_iter().find(|&(is_there, _)| is_there) {
        Some((_, option)) => Err(Problem::Option {
            text: spec.text.clone(),
            option,
        }),
        None => Ok(()),
    }
}

/// A key as typed.
pub(super) fn key_text(key: u8) -> String {
    match key {
        KEY_THIS => "key=this".to_owned(),
        key => format!("key={key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(text: &str) -> Option<Vec<String>> {
        let spec: IntervalSpec = text.parse().expect("a specification");
        let methods = NamedMethod::all_of(&spec, &[])?;
        Some(methods.iter().map(NamedMethod::name).collect())
    }

    #[test]
    fn methods_of_java_are_told_from_functions() {
        let one = |name: &str| Some(vec![name.to_owned()]);
        assert_eq!(
            methods("com.example.Checkout.handle"),
            one("com.example.Checkout.handle")
        );
        assert_eq!(methods("Main$Inner::run"), one("Main$Inner.run"));
        assert_eq!(
            methods("a.B.c|a.B.d"),
            Some(vec!["a.B.c".to_owned(), "a.B.d".to_owned()])
        );
        for native in [
            "handle_request",
            "libjvm.so!Unsafe_Park",
            "0x1234",
            "a.B.c>d",
            "annotated",
        ] {
            assert_eq!(methods(native), None, "{native}");
        }
    }

    #[test]
    fn options_of_native_functions_are_refused_by_name() {
        let spec: IntervalSpec = "a.B.c,label=text:a.B.d:0".parse().expect("a specification");
        let problem = check(&spec).expect_err("a label").to_string();
        assert!(problem.contains("label"), "{problem}");
        for refused in [
            "a.B.c..a.B.d",
            "a.B.c..a.B.d,key=returned:0",
            "a.B.c,within=a.B.d",
        ] {
            let spec: IntervalSpec = refused.parse().expect("a specification");
            assert!(check(&spec).is_err(), "{refused}");
        }
        for fine in [
            "a.B.c,name=checkout",
            "a.B.c,label=text:0",
            "a.B.c..a.B.d,key=0:this",
        ] {
            let spec: IntervalSpec = fine.parse().expect("a specification");
            assert_eq!(check(&spec), Ok(()));
        }
    }

    #[test]
    fn methods_of_pairs_have_their_purpose() {
        let spec: IntervalSpec = "a.Q.put..a.T.run,key=0:this,within=a.W.loop"
            .parse()
            .expect("a specification");
        let work = NamedCall::parse(Role::Work, "a.T.begin,key=1").expect("a call");
        let purposes = |named: &[NamedCall]| {
            let methods = NamedMethod::all_of(&spec, named).expect("methods of Java");
            let purposes = methods.iter().map(|method| method.purpose);
            (interval_name(&methods), purposes.collect::<Vec<_>>())
        };
        let (begin, end) = (Purpose::Begin(0), Purpose::End(KEY_THIS));
        let (name, without_work) = purposes(&[]);
        assert_eq!(name, "a.Q.put..a.T.run");
        assert_eq!(without_work, [begin, end, Purpose::Within]);
        assert_eq!(
            purposes(&[work]).1,
            [begin, end, Purpose::Work(1), Purpose::Loop]
        );
    }
}
