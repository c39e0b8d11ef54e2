//! Reasons why calls were not timed, and why time is not split further. `evenkeel-report` has the texts for the user.

use serde::{Deserialize, Serialize};

/// Why a call was not timed where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NotTimed {
    /// Not in all rounds that are taken together; this one shows it by itself.
    OnlyInRound(usize),
    /// Not in all recordings that are taken together.
    OnlyInSomeRecordings,
    /// Not all the time in the round that the profile rests on; this one has timed it.
    TimedInRound(usize),
    /// It made room for others.
    MadeRoom,
    /// Another call of its function is timed because slow intervals were seen in it.
    BesidePath,
    /// It is called too often for what it explains.
    CalledTooOften,
    /// It is called so often in some intervals that these lost records.
    LosesRecords,
    /// The function that it calls is timed at its entry.
    AtCalleesEntry,
    /// It lies under the hook at its function's entry.
    UnderEntry,
    /// The same, of a function that is no interval's.
    UnderInnerEntry,
    /// An entry: a call in its first instructions is timed.
    OverCall,
    /// A call through a pointer whose instruction is too short.
    ShortPointerCall,
    /// A jump through a pointer.
    PointerJump,
    /// A call through a pointer into code that lies in no file.
    IntoNoFile,
    /// It is timed neither where it is, for this reason, nor at the entry of this function.
    NeitherEnd(Box<NotTimed>, String),
    /// The code there, or the system, does not permit it: in the words of whoever found out, the reader of the code or
    /// the agent.
    Code(String),
    /// In words, from a recording or a profile that has no more.
    #[serde(untagged)]
    Said(String),
}

impl Default for NotTimed {
    fn default() -> NotTimed {
        NotTimed::Said(String::new())
    }
}

impl NotTimed {
    /// A call through a pointer that is timed at the entries of the functions that it calls, once these are known.
    pub fn is_through_pointer(&self) -> bool {
        matches!(self, NotTimed::ShortPointerCall | NotTimed::PointerJump)
    }
}

/// The reason why the time at a call is not split further.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NotSplit {
    /// The calls that it makes were not timed: it did not explain enough to be opened yet.
    NotOpened,
    /// Timing them would cost too much.
    TooCostly,
    /// Some of them had to make room for others.
    NoRoom,
    /// It calls through pointers whose callees are not all known.
    Pointers,
    /// It ends with a jump into another function.
    GoesOnElsewhere,
    /// It is in the C library or the loader.
    System,
    /// It is in the C library, and calls the program back.
    SystemCallingBack,
    /// The functions that the interval runs in are not known.
    Nowhere,
    /// Its callee is not known.
    NoCallee,
    /// It leads to code that is in no file.
    IntoNoFile,
    /// It lies in the bytes that the hook at a function's entry overwrites.
    UnderEntry,
    /// Calls in it cannot be timed.
    Refused {
        /// How many.
        calls: usize,
        /// Why the last of them cannot.
        reason: NotTimed,
        /// The function that holds them, where it is another than the one named.
        of: Option<String>,
    },
    /// What another thread did was in no timed call.
    InNoTimedCall,
    /// Records of it were dropped or lost.
    RecordsLost,
    /// No call announced what it waited for.
    Unannounced,
    /// In words, from a recording or a profile that has no more.
    #[serde(untagged)]
    Said(String),
}

impl Default for NotSplit {
    fn default() -> NotSplit {
        NotSplit::Said(String::new())
    }
}
