//! The analysis' knowledge about each probe: the call that it times, not its address.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kinds of the time below a probe, as far as its name tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An ordinary call.
    #[default]
    Call,
    /// A call that waits for a lock, latch, semaphore or condition.
    Lock,
    /// A call that reads, writes or flushes a device.
    Io,
    /// A call that waits for the client: think time, not the server's.
    Client,
    /// A call that waits for a timer or sleeps.
    Timer,
    /// A call that waits for an event of any kind: whose, its callers show.
    Event,
    /// A wait for bytes: from another thread or process, from outside, or for room to send some.
    Socket,
    /// A wait for work to do: idle by design.
    Idle,
    /// Work of other threads while the thread above was blocked: another interval's, or nobody's.
    Others,
    /// Work of another thread for the same interval.
    Helper,
    /// The awaited event has come, and the thread does not run yet.
    Woken,
    /// Handed over and not yet taken up.
    Queued,
    /// The interval's thread worked for others.
    Turn,
    /// Runnable, but not on a processor.
    Preempted,
    /// Blocked for a reason that only the kernel knows.
    Asleep,
    /// Blocked until a page was read from a device.
    Fault,
    /// Not recorded, or dropped: where nothing is known.
    Unseen,
    /// Cost of the probes themselves, by calibration.
    Probe,
    /// Time of a function outside all of its timed calls.
    Body,
    /// Own code with executed calls that are not timed ([`crate::findings::not_opened`]).
    NotOpened,
}

impl Kind {
    /// Whether it is a call that waits.
    pub fn is_wait(self) -> bool {
        matches!(
            self,
            Kind::Lock | Kind::Io | Kind::Client | Kind::Timer | Kind::Event | Kind::Socket
        )
    }
}

/// Name of a callee that is not known before the call.
pub const INDIRECT: &str = "(indirect)";

/// Name of a function without a symbol in a file whose functions are not opened: in parentheses, and the file's name
/// follows.
pub const IN_FILE: &str = "a function of ";

/// Whether a function has no name but its address (`0x41f0`, `library.so!0x41f0`), or that of its file.
pub fn is_unnamed(name: &str) -> bool {
    let of_file = name.strip_prefix('(').map(|name| name.starts_with(IN_FILE));
    let own = name.split_once('!').map_or(name, |(_, own)| own);
    own.starts_with("0x") || of_file == Some(true)
}

/// A function's name for people: where it is an address, its library says more.
pub fn shown(name: &str, file: Option<&str>) -> String {
    match file {
        Some(file) if !file.is_empty() && name.starts_with("0x") => format!("{file}!{name}"),
        _ => name.to_owned(),
    }
}

/// A function of the target. Names repeat where files are stripped: the file tells their functions apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Its name, without that of its file.
    pub name: String,
    /// Name of its file, empty for the program's own; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.as_deref() {
            None | Some("") => f.write_str(&self.name),
            Some(file) => write!(f, "{file}!{}", self.name),
        }
    }
}

impl Function {
    /// The function of a text, `f` or `library.so!f`. Its file is not taken from there: a library may be named by the
    /// beginning of its name.
    pub fn named(text: &str) -> Function {
        let name = match text.split_once('!') {
            Some((library, rest)) if library.contains(".so") => rest,
            _ => text,
        };
        Function {
            name: name.to_owned(),
            file: None,
        }
    }

    /// Whether the two are one function, as far as their files are known.
    pub fn may_be(&self, other: &Function) -> bool {
        let is_one_file = match (&self.file, &other.file) {
            (Some(mine), Some(other)) => mine == other,
            _ => true,
        };
        is_one_file && self.name == other.name
    }
}

/// A probe of the plan, described. Index in the table = probe id in the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Name of the function that is called, or `0x1a2b3c` where it has none; for an indirect call `(indirect)`.
    pub callee: String,
    /// Name of the function that contains the call; empty for a hook at a function's entry.
    pub caller: String,
    /// File of the callee, as [`Function::file`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callee_file: Option<String>,
    /// File of the caller, as [`Function::file`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller_file: Option<String>,
    /// Address of the call in its file; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The call site, unique in the target: `caller+0x1f` (module-qualified outside the executable).
    pub site: String,
    /// Source file of the call, where debug information has it.
    pub file: Option<String>,
    /// Line of the call.
    pub line: Option<u32>,
    /// The kind of the call.
    pub kind: Kind,
    /// Longest call chain below the callee in the static call graph, recursion collapsed; 0 for a leaf.
    pub height: u32,
}

impl Site {
    /// The function that is called.
    pub fn called(&self) -> Function {
        Function {
            file: self.callee_file.clone(),
            ..Function::named(&self.callee)
        }
    }

    /// Name of the function that is called, for people.
    pub fn callee_shown(&self) -> String {
        shown(&self.callee, self.callee_file.as_deref())
    }

    /// The function that contains the call; nothing for a hook at a function's entry.
    pub fn holder(&self) -> Option<Function> {
        (!self.caller.is_empty()).then(|| Function {
            file: self.caller_file.clone(),
            ..Function::named(&self.caller)
        })
    }
}

/// All sites of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTable {
    /// Name of the interval's root: the function, or `begin..end`.
    pub root: String,
    /// Height of the root in the static call graph.
    pub root_height: u32,
    /// By probe id.
    pub sites: Vec<Site>,
}

impl SiteTable {
    /// The interval's own function, as far as its name says.
    pub fn root_function(&self) -> Function {
        Function::named(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_with_its_library() {
        let site = |callee: &str, file: Option<&str>| Site {
            callee: callee.into(),
            callee_file: file.map(str::to_owned),
            ..Site::default()
        };
        for (name, file, shown) in [
            ("0x41f0", Some("mod_a.so"), "mod_a.so!0x41f0"),
            ("0x41f0", Some(""), "0x41f0"),
            ("0x41f0", None, "0x41f0"),
            ("handle", Some("mod_a.so"), "handle"),
        ] {
            assert_eq!(site(name, file).callee_shown(), shown);
            assert_eq!(is_unnamed(shown), name != "handle", "{shown}");
        }
        assert!(!is_unnamed("operator!=(A, A)"));
    }
}
