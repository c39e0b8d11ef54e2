//! Java class files: read, and rewritten with probes around calls and at methods' entries and exits.
//!
//! ```
//! use evenkeel_classfile::{Class, Helper, Limits, MethodProbes, Plan};
//!
//! # fn rewritten(bytes: &[u8]) -> Result<Option<Vec<u8>>, evenkeel_classfile::Error> {
//! let class = Class::read(bytes)?;
//! let mut plan = Plan::default();
//! for method in class.methods() {
//!     let calls = method.call_sites()?;
//!     let probes = MethodProbes { calls: calls.iter().map(|site| (site.pc, 7)).collect(), ..MethodProbes::default() };
//!     plan.methods.insert(method.index(), probes);
//! }
//! let rewritten = class.instrument(&plan, &Helper { class: "java/lang/EvenkeelProbe" }, &Limits::default());
//! for refusal in &rewritten.refused {
//!     eprintln!("{refusal}");
//! }
//! # Ok(rewritten.class)
//! # }
//! # assert!(rewritten(b"no class").is_err());
//! ```
//!
//! # What a probe is
//!
//! `token = enter(id)` before, `exit(token)` after, both static methods of a [`Helper`]. Where the call throws, `exit` runs in the
//! handler that catches, or else in one that is added around the whole method and throws on. Times of exceptions are exact; a
//! method's behaviour and its stack traces are as they were.
//!
//! # What is guaranteed
//!
//! - Bytes that are no class file, or a damaged one, give an [`Error`]; no input panics.
//! - A class that verifies does so after rewriting, by frames or by inference, whichever it had. `scripts/jvm` shows it for
//!   all classes of large Java programs.
//! - What cannot be rewritten stays as it is, byte for byte, and a [`Refusal`] names method, line and [`Reason`].
//! - The crate does no I/O, reads no clock, and has no unsafe code.
//!
//! # What is not done
//!
//! Types are not inferred: frames are moved and widened. Classes are not linked, so what a call really calls is not known here.
//! Time a `synchronized` method waits for its lock lies before its body's probe: calls of it include that time.
//!
//! # Why none of the crates that read class files
//!
//! `cafebabe`, `jclassfile` and `classfile-parser` read, and do not write. `noak` and `ristretto_classfile` write as well. Neither moves what
//! holds offsets when code grows: targets, frames, handlers, lines, variables and annotations of types. That is nearly all of this
//! crate. Only the cursor and the constant pool could be shared, some 250 lines.

#![forbid(unsafe_code)]

mod annotations;
mod class;
mod code;
mod constants;
mod constructor;
mod descriptor;
mod error;
mod frames;
mod instructions;
mod layout;
mod method;
mod method_code;
mod opcodes;
mod pool;
mod probes;
mod reader;
mod refusal;
mod rewrite;
mod snippets;
mod tables;
mod utf8;

pub use class::Class;
pub use error::Error;
pub use method::{Argument, CallKind, CallSite, Method};
pub use probes::{Helper, Limits, MethodProbes, Plan, ProbeId};
pub use refusal::{Reason, Refusal};
pub use rewrite::{Grown, Rewritten};
