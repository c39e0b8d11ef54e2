//! Texts of warnings.

use evenkeel_analysis::findings::warnings::{FrozenBy, INTERVALS_FEW, RingsRefused, Warning};
use evenkeel_analysis::profile::Reason;
use evenkeel_analysis::sums::paths::DEPTH_MAX;

use super::{discarded, java, spans};
use crate::units::{count, counted, duration, percent};

/// A warning.
pub fn warning(warning: &Warning) -> String {
    match warning {
        Warning::NoIntervals => {
            "no interval was completed: check that this workload calls the interval's function, or run longer".into()
        }
        Warning::NoVariance => {
            "all intervals took equally long, so there is no variance to explain: choose another interval".into()
        }
        Warning::NoWakers => NO_WAKERS.into(),
        Warning::NotCalibrated => {
            "the cost of a probe could not be calibrated and is not subtracted: profile again on a less busy machine".into()
        }
        Warning::DebugFile(text) | Warning::Said(text) => text.clone(),
        Warning::NoKernelEvents(why) => {
            format!("run-queue delay and blocked time are not told apart: {why}")
        }
        Warning::MappedTwice(file) => format!(
            "a process has loaded {file} twice, or a copy of it, and calls are timed in the one that was seen first. Those in the other are \
             missing, or part of their callers' own time: see that it is loaded once"
        ),
        Warning::NoStacks { pid, why } => format!(
            "no stacks of slow intervals were taken: those of process {pid} cannot be read ({why}); run evenkeel as root or as the user of the process"
        ),
        Warning::NotAttached { .. }
        | Warning::StartedUnseen { .. }
        | Warning::Unprofiled(_) | Warning::HooksLeft { .. } => {
            processes(warning)
        }
        Warning::RecordingCut
        | Warning::RecordingIncomplete(_)
        | Warning::RecordingEmpty { .. } => recording(warning),
        Warning::InlinedElsewhere { .. }
        | Warning::IntervalsRare { .. }
        | Warning::SpecialisedCopies { .. } => copies_of_boundaries(warning),
        Warning::BoundaryPartlyHooked {
            point,
            hooked,
            refused,
        } => format!(
            "{} of the {} call sites of {point} cannot be hooked, so that what passes there is missing ({}): name another function, or one of the \
             other call sites as caller>callee",
            refused.len(),
            hooked + refused.len(),
            refused.join("; ")
        ),
        Warning::CalleesSampled(sites) => format!(
            "calls through pointers are made so often, from {}, that only a sample of them was followed to the functions they \
             call, to stay within --max-overhead. Functions that are called rarely may be missing below them: raise --max-overhead, or choose \
             an --interval further down",
            counted(*sites, "call site")
        ),
        Warning::FewIntervals(n) => format!(
            "only {} intervals were recorded, and shares are rough below {}: run longer or add load",
            count(*n),
            count(INTERVALS_FEW)
        ),
        Warning::FewBlocks(n) => {
            format!("standard errors rest on only {n} blocks and are rough: run longer")
        }
        Warning::ProbeShare(share) => format!(
            "{} of the variance is spent in probes, because some probed call is very frequent: use fewer probes",
            percent(*share)
        ),
        Warning::OnlyCounted(n) => format!(
            "{} intervals were counted and none was recorded, to stay within --max-overhead: raise --max-overhead, or profile for longer",
            count(*n)
        ),
        Warning::Discarded { .. }
        | Warning::LossDependsOnLatency { .. }
        | Warning::Overhead { .. }
        | Warning::LoadChanged { .. }
        | Warning::RecordedLess { .. }
        | Warning::FewRecorded { .. }
        | Warning::TimedInSome { .. } => compared(warning),
        Warning::JavaStopped { .. }
        | Warning::JavaCompiled { .. }
        | Warning::VirtualThreads(_)
        | Warning::JavaPauseLimit { .. }
        | Warning::JavaNotOpened { .. } => java::said(warning),
        Warning::Spans(about) => spans::said(about),
        Warning::ClosureError(_)
        | Warning::Folded(_)
        | Warning::Dropped(_)
        | Warning::KernelEventsLost(_)
        | Warning::NestedTooDeeply(_)
        | Warning::LabelsUnread(_)
        | Warning::StacksSwitched(_)
        | Warning::CallsSuspended(_)
        | Warning::CallsLeftUnseen(_)
        | Warning::ThreadsWithoutRing { .. }
        | Warning::NotDrained { .. }
        | Warning::Frozen { .. }
        | Warning::EndedElsewhere { .. } => counted_events(warning),
    }
}

/// Warnings about processes that were left out.
fn processes(warning: &Warning) -> String {
    match warning {
        Warning::NotAttached { processes, first } => format!(
            "nothing is known of {}: {first}{}",
            processes_or(*processes, "one process"),
            others(*processes)
        ),
        Warning::StartedUnseen { unseen, attached } => format!(
            "intervals are missing: {} started without being profiled ({attached} are), to stay within --max-overhead. Permit more, or start \
             the server with `evenkeel profile`",
            processes_or(*unseen, "one process")
        ),
        Warning::Unprofiled(why) => format!("intervals are missing: {why}"),
        Warning::HooksLeft { processes, first } => format!(
            "hooks stay in {} until the next interval there, at which they are taken out: {first}{}",
            processes_or(*processes, "an idle process"),
            others(*processes)
        ),
        other => unreachable!("{other:?} is said elsewhere"),
    }
}

/// Warnings about the recording.
fn recording(warning: &Warning) -> String {
    match warning {
        Warning::RecordingCut => RECORDING_CUT.into(),
        Warning::RecordingIncomplete(why) => {
            format!("the recording is incomplete: {why}. Free room on its disk and record again")
        }
        Warning::RecordingEmpty { path } => format!(
            "{path} holds no complete interval and adds nothing: record for longer, or with the server under load"
        ),
        other => unreachable!("{other:?} is said elsewhere"),
    }
}

/// Warnings about intervals that run in copies of their function.
fn copies_of_boundaries(warning: &Warning) -> String {
    match warning {
        Warning::InlinedElsewhere { function, holders } => format!(
            "{function} is inlined into {holders}, too: intervals that run there are not seen. Name what contains them as the --interval, or \
             build the program with {function} not inlined (__attribute__((noinline)))"
        ),
        Warning::IntervalsRare { fraction } => format!(
            "the intervals amount to {} of the processor time that the target used. If its load consists of them, most were not seen: the \
             compiler may have inlined the interval's function into some of its callers. Name one of these as the --interval",
            percent(*fraction)
        ),
        Warning::SpecialisedCopies { function, copies } => format!(
            "the compiler has made copies of {function} for some of its callers, or of a part of it: {copies}. Intervals that run there alone \
             are not seen: name them as the --interval as well, with | between"
        ),
        other => unreachable!("{other:?} is said elsewhere"),
    }
}

const NO_WAKERS: &str = "the kernel does not report the waker of a sleep that no call announced, nor which sleeps were for a device. Such time is \
     called \"off-CPU\". To see the wakers, run evenkeel as root and outside of a container: it reads the tracepoints sched_waking \
     and sched_switch";
const RECORDING_CUT: &str = "the recording ends early: the profiler was killed, found no room for it, or is still at work. What was recorded \
     until then is shown";

/// A number of processes; `one` for a single one.
fn processes_or(processes: u64, one: &str) -> String {
    match processes {
        1 => one.to_owned(),
        _ => format!("{} processes", count(processes)),
    }
}

/// Follows the reason of the first of this many processes.
fn others(processes: u64) -> String {
    match processes {
        1 => String::new(),
        2 => " (the same of another)".to_owned(),
        _ => format!(" (the same of {} others)", count(processes - 1)),
    }
}

/// Warnings of events that were counted in the target, or lost.
fn counted_events(warning: &Warning) -> String {
    let number = |n: &u64| count(*n);
    match warning {
        Warning::ClosureError(ticks) => format!(
            "the parts of some intervals missed their latency by up to {} ticks, and these intervals are left out. This is a fault of the \
             profiler: please report it with the recording",
            number(ticks)
        ),
        Warning::Folded(calls) => format!(
            "{} calls lie beyond the bounds of the tree (more than {DEPTH_MAX} calls deep, very many paths, long chains of waits). Their time \
             counts as their caller's own, or as the wait's. Use fewer probes; of spans, record fewer levels that only call the next",
            number(calls)
        ),
        Warning::Dropped(records) => format!(
            "{} records of long intervals were dropped to bound memory, so some time is \"not seen\": choose a shorter interval or fewer probes",
            number(records)
        ),
        Warning::KernelEventsLost(events) => format!(
            "{} events of the kernel were lost, so some off-CPU time counts as running: give the profiler more processor time",
            number(events)
        ),
        Warning::NestedTooDeeply(calls) => format!(
            "{} calls were not timed, because too many were in flight or suspended on one thread (deep recursion, coroutines). Their time is \
             their callers': name an interval deeper in the program to see them",
            number(calls)
        ),
        Warning::LabelsUnread(labels) => format!(
            "{} labels could not be read: check that label= names a string argument",
            number(labels)
        ),
        Warning::StacksSwitched(intervals) => format!(
            "{} intervals are left out, because their thread switched to another stack inside of them (coroutines, ucontext, boost.context), \
             which is not supported: choose an --interval that stays on one stack",
            number(intervals)
        ),
        Warning::CallsSuspended(calls) => format!(
            "{} calls were suspended on another stack (coroutines) from one interval to the next. They are not timed, and what ran on that \
             stack counts for the function that resumed it",
            number(calls)
        ),
        Warning::CallsLeftUnseen(calls) => format!(
            "{} calls did not return, and neither the unwinder nor longjmp left them. Their time counts up to the next timed call, which may \
             be too long: choose an --interval further down to see what runs between",
            number(calls)
        ),
        Warning::ThreadsWithoutRing { threads, refused } => {
            let why = match refused {
                Some(RingsRefused::TooMany(rings)) => format!(
                    "all {} buffers for threads were in use: run fewer threads",
                    count(*rings as u64)
                ),
                Some(RingsRefused::NoMemory(error)) => format!(
                    "the system gave evenkeel no memory for their buffers ({error}): raise the memory limit of its control group, or `ulimit -f`"
                ),
                None => "they started faster than their buffers were made, or had no room for their stacks of calls (`ulimit -v`, vm.max_map_count): profile again while no threads start".to_owned(),
            };
            format!(
                "{} threads were not recorded, because {why}",
                number(threads)
            )
        }
        Warning::NotDrained { records, intervals } => not_drained(*records, *intervals),
        Warning::Frozen {
            processes,
            why: FrozenBy::SharedThread,
        } => format!(
            "{} left the session on starting a thread that shares the thread-local memory of another one (`clone` without CLONE_SETTLS), \
             where the calls of both cannot be told apart: the report is of what came before",
            processes_or(*processes, "one process")
        ),
        Warning::Frozen { processes, why } => format!(
            "in {} no calls could be added to those that were timed already, since {}. To see more, time more at the start (--plant NUMBER), \
             or name an --interval further down",
            processes_or(*processes, "one process"),
            frozen(*why)
        ),
        Warning::EndedElsewhere { left, ends } => format!(
            "{} intervals are left out: they did not end on the thread on which they began, or began again before they ended; at least {} ends \
             were met where no interval was open. If intervals move between threads, say which value identifies them: key=0:0 (argument 0 of \
             both functions, or returned:0). If the beginning is called again before the end (a read until EAGAIN), begin with a function \
             that is called once for each",
            number(left),
            number(ends)
        ),
        other => unreachable!("{other:?} is said elsewhere"),
    }
}

/// `lost`: intervals that lost calls. `skipped`: those that could not begin.
fn not_drained(lost: u64, skipped: u64) -> String {
    let parts = [
        (lost, "lost calls"),
        (skipped, "found no room for their beginning"),
    ];
    let parts = parts.into_iter().filter(|&(intervals, _)| intervals > 0);
    let parts: Vec<String> = parts
        .map(|(intervals, what)| format!("{} {what}", count(intervals)))
        .collect();
    format!(
        "intervals are left out, because a thread's buffer was full: {}. An interval makes more calls than the buffer holds, or the profiler had too \
         little processor time. Lower --max-probes, or give the profiler more processor time",
        parts.join(", and ")
    )
}

fn frozen(why: FrozenBy) -> &'static str {
    match why {
        FrozenBy::Filter => "a filter of system calls (seccomp) was installed",
        FrozenBy::Runtime => "Go's runtime accepts no breakpoint but its own",
        FrozenBy::WriteExecute => "the right to change code was given up (PR_SET_MDWE)",
        FrozenBy::Unseen => {
            "an instruction of the program itself may install a filter of system calls (seccomp)"
        }
        FrozenBy::Loader => {
            "another thread opened or closed a library at the fork, and so the loader cannot be asked what is mapped there"
        }
        FrozenBy::SharedThread => unreachable!("it has a text of its own"),
    }
}

/// What to do about intervals that are left out.
fn without_discards(reason: Reason) -> &'static str {
    match reason {
        Reason::LeftEarly => {
            "They may be the slow ones, since requests that fail often are: name as --interval a function that calls this one and returns, \
             such as the one that catches the error"
        }
        Reason::Abandoned => "Choose an --interval that stays on one stack",
        Reason::PlanChanged | Reason::BeforeFirstRound | Reason::NeverEnded => {
            "The rest may not be typical: profile for longer"
        }
        Reason::RecordsLost | Reason::Malformed | Reason::TooManyCalls | Reason::RingFull => {
            "The rest may not be typical: use fewer probes or less load"
        }
    }
}

/// Warnings that compare what was recorded with what was not.
fn compared(warning: &Warning) -> String {
    let how = |measured: bool, word: &'static str| if measured { word } else { "estimated" };
    match warning {
        Warning::Discarded { fraction, reason } => format!(
            "{} of the intervals were left out, mostly for this reason: {}. {}",
            percent(*fraction),
            discarded(*reason),
            without_discards(*reason)
        ),
        Warning::LossDependsOnLatency {
            intervals,
            lost_ns,
            kept_ns,
            mean_ns,
        } => format!(
            "{} intervals lost records and are left out. They took {} on average, the others {}, and all together {}, so what makes intervals \
             slow is understated. Lower --max-probes, or choose an --interval with fewer calls, until none lose records",
            count(*intervals),
            duration(*lost_ns),
            duration(*kept_ns),
            duration(*mean_ns)
        ),
        Warning::Overhead { fraction, measured } => format!(
            "profiling slows intervals by about {} ({}), so small shares may be its own: use fewer probes",
            percent(*fraction),
            how(*measured, "measured")
        ),
        Warning::LoadChanged { before, after } => format!(
            "the load or the program changed during the run, and this profile is of both parts: {} intervals of {} ± {} first, then {} of {} ± {} \
             (mean and standard deviation). Profile each part by itself to tell what varies in it",
            count(before.intervals),
            duration(before.mean_ns),
            duration(before.sd_ns),
            count(after.intervals),
            duration(after.mean_ns),
            duration(after.sd_ns)
        ),
        Warning::RecordedLess {
            fraction,
            measured,
            recorded,
        } => format!(
            "recorded intervals take {} longer ({}), more than --max-overhead allows, so at most {} of them are recorded. Lower --max-probes to \
             record more of them",
            percent(*fraction),
            how(*measured, "measured, less its error"),
            percent(*recorded)
        ),
        Warning::FewRecorded {
            recorded,
            sampled_out,
            se,
        } => format!(
            "{} intervals were recorded and {} skipped by sampling, because no processor was idle to record more. Shares are known to ±{:.0} % at best: \
             raise --max-overhead, which the target pays for, or run longer",
            count(*recorded),
            count(*sampled_out),
            100.0 * se
        ),
        Warning::TimedInSome { sites, callees } => format!(
            "{sites} call sites were timed in some of the recordings only and count as their callers' own time ({}{}). Look at each recording by \
             itself to see the time below them, or record for longer, until all have expanded the same functions",
            callees.join(", "),
            if *sites > callees.len() { ", .." } else { "" }
        ),
        other => unreachable!("{other:?} is said elsewhere"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_everywhere_else() {
        let few = Warning::FewRecorded {
            recorded: 900,
            sampled_out: 9_000,
            se: 0.04,
        };
        let text = warning(&few);
        assert!(text.starts_with("900 intervals were recorded and 9,000 skipped by sampling"));
        assert!(text.contains("±4 %"), "{text}");
        let loss = Warning::LossDependsOnLatency {
            intervals: 1,
            lost_ns: 9.1e8,
            kept_ns: 1e4,
            mean_ns: 1e8,
        };
        let text = warning(&loss);
        assert!(
            text.contains("took 910 ms on average, the others 10.0 µs"),
            "{text}"
        );
    }

    /// What did not happen is not said.
    #[test]
    fn a_full_buffer_lost_calls_or_whole_intervals() {
        let said = |records, intervals| warning(&Warning::NotDrained { records, intervals });
        assert!(said(3, 0).contains("was full: 3 lost calls. "));
        assert!(said(0, 15_346).contains("was full: 15,346 found no room"));
        assert!(said(1, 2).contains(": 1 lost calls, and 2 found no room"));
    }
}
