//! The user's text for an interval.
//!
//! ```text
//! SPEC    = SHAPE ["," OPTION]...
//! SHAPE   = POINTS                    the interval is one call of any of them
//!         | POINTS ".." POINTS        it begins with a call of the first, ends with the return of a second
//!         | "annotated"               the target says itself where it begins and ends (include/evenkeel.h)
//! POINTS  = POINT ["|" POINT]...
//! POINT   = [LIBRARY "!"] FUNCTION    by symbol, name of C++ or Rust or the end of one, 0xADDRESS or file.c:function
//!         | [LIBRARY "!"] CALLER ">" FUNCTION
//! OPTION  = "label=" LABEL
//!         | "within=" FUNCTION        whose calls to time first, for a pair
//!         | "client=" CALLER ">" FUNCTION                 a call that waits for the client
//!         | "key=" KEY [":" KEY]      of a pair that may begin and end on different threads: what distinguishes its intervals
//!         | "name=" TEXT
//! LABEL   = KIND ":" ARGUMENT MEMBERS             of the beginning, 0 for the first
//!         | KIND ":" POINT ":" ARGUMENT MEMBERS   of the first call of a function inside the interval
//!         | TEXT ":" VARIABLE MEMBERS             a variable of the beginning's module, as the interval begins
//! KIND    = TEXT
//!         | "integer" | "int"         of eight bytes, of four
//! TEXT    = "text" | "word"           up to its zero; its first word in lower case
//!         | "request"                 an HTTP request line, up to the query string
//! MEMBERS = ["." OFFSET]...           pointers to follow: each lies at this many bytes from where the last one points to
//! KEY     = ARGUMENT | "returned" | "this"
//!
//! CALL    = POINTS ["," "key=" KEY]   a function that takes or releases a lock, queues a task, or starts work on an interval
//! ```

mod parse;

use std::fmt;

use evenkeel_symbols::VariableSize;
pub use evenkeel_wire::Role;
use evenkeel_wire::{Label, Members};

/// A function or call site, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// A function.
    Function(String),
    /// The call sites in the first of the second.
    CallSites(String, String),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Function(function) => write!(f, "{function}"),
            Point::CallSites(caller, callee) => write!(f, "{caller}>{callee}"),
        }
    }
}

/// The shape of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A call.
    Call(Vec<Point>),
    /// From a call to the return of another.
    Pair {
        /// The interval begins when one of these is called.
        begin: Vec<Point>,
        /// The interval ends when one of these returns.
        end: Vec<Point>,
    },
    /// The target's own annotations.
    Annotated,
}

/// The label of intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSpec {
    /// How it is read.
    pub kind: Label,
    /// Where the way to it begins.
    pub source: LabelSource,
    /// The way.
    pub members: Members,
}

/// Where the way to the label of intervals begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelSource {
    /// At an argument of the call that begins them.
    Argument(u8),
    /// At an argument of the first call of this function inside of them.
    Inside(Point, u8),
    /// At this variable when they begin.
    Variable {
        /// Its name.
        name: String,
        /// Bytes that it has at least, or exactly a pointer's if it is one.
        size: VariableSize,
    },
}

/// An interval as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalSpec {
    /// The whole text.
    pub text: String,
    /// Shared library that defines it; the executable otherwise.
    pub library: Option<String>,
    /// Its shape.
    pub shape: Shape,
    /// Its label.
    pub label: Option<Box<LabelSpec>>,
    /// Functions whose calls are timed first.
    pub within: Vec<String>,
    /// Calls that wait for the client.
    pub clients: Vec<Point>,
    /// Where the keys of beginning and end are, for a pair that may move between threads.
    pub key: Option<(u8, u8)>,
    /// Name for reports.
    pub name: Option<String>,
}

/// Functions named for what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCall {
    /// Their role.
    pub role: Role,
    /// Shared library that defines them; the executable otherwise.
    pub library: Option<String>,
    /// The functions.
    pub points: Vec<Point>,
    /// The argument that is the lock, task or interval, or `KEY_RETURNED`.
    pub key: u8,
}

impl IntervalSpec {
    /// Where the way to its label begins.
    pub fn label_source(&self) -> Option<&LabelSource> {
        self.label.as_deref().map(|label| &label.source)
    }

    /// Whether its intervals may move between threads.
    pub fn is_keyed(&self) -> bool {
        self.key.is_some() || self.shape == Shape::Annotated
    }
}
