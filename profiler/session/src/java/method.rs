//! The methods of Java that a user names.

use evenkeel_intervals::spec::{IntervalSpec, LabelSource, Point, Shape};
use evenkeel_wire::{Label, Members};

use super::problem::Problem;

/// A method as named: all of this name that the class has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedMethod {
    /// Binary name, with slashes.
    pub(super) class: String,
    /// Name of the method.
    pub(super) method: String,
}

impl NamedMethod {
    /// The methods of a specification, if it may be one of methods of Java: all are `Class.method`, of no library.
    pub(super) fn all_of(spec: &IntervalSpec) -> Option<Vec<NamedMethod>> {
        let Shape::Call(points) = &spec.shape else {
            return None;
        };
        if spec.library.is_some() {
            return None;
        }
        let methods = points.iter().map(|point| match point {
            Point::Function(name) => NamedMethod::of(name),
            Point::CallSites(..) => None,
        });
        methods.collect()
    }

    /// `com.example.Checkout.handle`, `com.example.Checkout::handle`
    fn of(text: &str) -> Option<NamedMethod> {
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
        })
    }

    /// As reports name it.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", dotted(&self.class), self.method)
    }
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

/// Refuses what a specification has beside methods and their label.
pub(super) fn check(spec: &IntervalSpec) -> Result<(), Problem> {
    let is_elsewhere = spec.label.is_some() && label(spec).is_none();
    let options = [
        (is_elsewhere, "a label that is no argument of the method"),
        (!spec.within.is_empty(), "within="),
        (!spec.clients.is_empty(), "client="),
        (spec.key.is_some(), "key="),
    ];
    match options.into_iter().find(|&(is_there, _)| is_there) {
        Some((_, option)) => Err(Problem::Option {
            text: spec.text.clone(),
            option,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(text: &str) -> Option<Vec<String>> {
        let spec: IntervalSpec = text.parse().expect("a specification");
        let methods = NamedMethod::all_of(&spec)?;
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
            "a.B.c..a.B.d",
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
        for fine in ["a.B.c,name=checkout", "a.B.c,label=text:0"] {
            let spec: IntervalSpec = fine.parse().expect("a specification");
            assert_eq!(check(&spec), Ok(()));
        }
    }
}
