//! Texts of reasons why calls are not timed, and time is not split further.

use evenkeel_analysis::findings::reasons::{NotSplit, NotTimed};

/// Why a call was not timed.
pub fn not_timed(reason: &NotTimed) -> String {
    let text = match reason {
        NotTimed::Code(text) | NotTimed::Said(text) => text.as_str(),
        NotTimed::OnlyInRound(round) => {
            return format!(
                "not timed in all of the rounds taken together; round {round} by itself shows it (FOUND IN OTHER ROUNDS)"
            );
        }
        NotTimed::TimedInRound(round) => {
            return format!(
                "not timed all the time in the round that the profile rests on; round {round} timed it"
            );
        }
        NotTimed::NeitherEnd(what, callee) => {
            let what = match &**what {
                NotTimed::ShortPointerCall => {
                    "a call through a pointer too short to be redirected".to_owned()
                }
                NotTimed::UnderInnerEntry => {
                    "a call under the hook at the function's entry".to_owned()
                }
                other => not_timed(other),
            };
            return format!("{what}, to {callee}, whose entry cannot be hooked either");
        }
        NotTimed::OnlyInSomeRecordings => {
            "not timed in all rounds of the recordings taken together: look at each recording by itself"
        }
        NotTimed::MadeRoom => {
            "removed to make room for calls that explain more: raise --max-probes to time it, too"
        }
        NotTimed::BesidePath => {
            "slow intervals were seen in another call of its function, and the time beside that did not explain enough"
        }
        NotTimed::CalledTooOften => {
            "called too often: timing it would cost more than --max-overhead allows for what it explains"
        }
        NotTimed::LosesRecords => {
            "called so often that slow intervals lost records and were left out"
        }
        NotTimed::AtCalleesEntry => {
            "it lies under the hook at the function's entry; the function that it calls is timed at its own entry instead"
        }
        NotTimed::UnderEntry => {
            "it lies under the hook at the function's entry: to time it, name the interval by its call, as caller>function"
        }
        NotTimed::UnderInnerEntry => {
            "it lies under the hook at the function's entry, and the function that it calls is not expanded or not known"
        }
        NotTimed::OverCall => "a call in its first instructions is timed already",
        NotTimed::ShortPointerCall => {
            "a call through a pointer too short to be redirected; its callees can only be discovered"
        }
        NotTimed::PointerJump => {
            "a tail call through a pointer, which cannot be redirected; its callees can only be discovered"
        }
        NotTimed::IntoNoFile => {
            "a call through a pointer too short to be redirected, into code that lies in no file (made at run time, or loaded by dlmopen)"
        }
    };
    text.to_string()
}

/// Why time is not split further, and what would show more.
pub fn not_split(why: &NotSplit) -> String {
    let text = match why {
        NotSplit::Said(text) => text.as_str(),
        NotSplit::Refused { calls, reason, of } => return refused(*calls, reason, of.as_deref()),
        NotSplit::NotOpened => {
            "the calls that it makes were not timed, because it did not surely explain enough in the time there was. Profile for longer (--for), lower --threshold, or name it as --interval"
        }
        NotSplit::TooCostly => {
            "to time the calls that it makes would cost more than --max-overhead: raise it, or name it as --interval"
        }
        NotSplit::NoRoom => {
            "some of the calls that it makes had to make room for others: raise --max-probes"
        }
        NotSplit::Pointers => {
            "it calls through pointers that were not all looked at: profile for longer (--for)"
        }
        NotSplit::GoesOnElsewhere => {
            "it continues by a jump into the middle of another function, as assembly code does (an interpreter). The calls made there are not known: name a function that it calls as --interval"
        }
        NotSplit::System => {
            "it is in the C library or the loader, which are not expanded: only what it waits for is known (--waits)"
        }
        NotSplit::SystemCallingBack => {
            "it is in the C library, which is not expanded. The function of the program that it calls back was not found, or would cost more than --max-overhead to time: name that function as --interval"
        }
        NotSplit::Nowhere => {
            "the functions that it runs in were not found, because no thread's stack could be followed where it begins and ends: name one of them with within=FUNCTION"
        }
        NotSplit::NoCallee => {
            "the function that it calls was not found: profile for longer (--for), or install the debug symbols of that function's file"
        }
        NotSplit::IntoNoFile => {
            "it leads to code that lies in no file known to the loader: made at run time (a JIT compiler), or loaded by dlmopen. Such code is not expanded: name a function that it calls as --interval"
        }
        NotSplit::UnderEntry => {
            "the function that it calls cannot be found, because the call lies under the hook at the function's entry: name the interval by its call, as caller>function"
        }
        NotSplit::InNoTimedCall => {
            "what that thread did was in no call that is timed: profile for longer (--for), or name a function of it with within=FUNCTION"
        }
        NotSplit::RecordsLost => {
            "records of it were dropped or lost: fewer probes (--max-probes), or a shorter interval, lose fewer"
        }
        NotSplit::Unannounced => {
            "no call announced what it waited for, and no thread of the target is known to have ended it: another process, a device or a timer may have"
        }
    };
    text.to_string()
}

fn refused(calls: usize, reason: &NotTimed, of: Option<&str>) -> String {
    let calls = match calls {
        1 => "a call".to_owned(),
        many => format!("{many} calls"),
    };
    let remedy = if reason.is_through_pointer() {
        ": profile for longer (--for)"
    } else {
        ""
    };
    let of = of.map_or_else(String::new, |function| format!("it calls {function}: "));
    let reason = not_timed(reason);
    format!("{of}{calls} in it cannot be timed: {reason}{remedy}")
}
