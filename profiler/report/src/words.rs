//! Factors in plain words: the kind of time, and advice for steadier latency.

use evenkeel_analysis::OUTSIDE;
use evenkeel_analysis::profile::{Activity, TimeSpent};
use evenkeel_analysis::profile::{Caller, Factor, FactorKind, Profile, SamplingRule, WaitedFor};
use evenkeel_analysis::sites::Kind;

use crate::paths::Paths;
use crate::{names, units};

/// Explained part of a function's variance from which its number of calls is the cause ("more work"), and below which
/// it is not ("slower work"). Between the two the text gives both parts.
const MORE_WORK: f64 = 0.5;
const SLOWER_WORK: f64 = 0.2;

/// Calls shown of a path that waits or releases.
const CALLS_SHOWN: usize = 4;

/// Callers of a factor shown by name.
const CALLERS_SHOWN: usize = 4;

/// A smaller part of the variance would be shown as 0.0 %.
const CALLER_MIN: f64 = 0.000_5;

/// Columns of a name in a sentence.
const NAME_WIDTH: usize = 48;

/// Share of the tail from which it is worth a clause.
const TAIL_WORTH_SAYING: f64 = 0.05;

/// The name of a kind in a table.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Call => "call",
        Kind::Lock => "lock",
        Kind::Io => "I/O",
        Kind::Client => "client",
        Kind::Timer => "timer",
        Kind::Event => "event",
        Kind::Socket => "socket",
        Kind::Idle => "idle",
        Kind::Others => "others",
        Kind::Helper => "helper",
        Kind::Woken => "woken",
        Kind::Queued => "queued",
        Kind::Turn => "turn",
        Kind::Preempted => "runnable",
        Kind::Asleep => "off-CPU",
        Kind::Fault => "fault",
        Kind::Unseen => "unseen",
        Kind::Probe => "probe",
        Kind::Body => "body",
        Kind::NotOpened => "untimed",
    }
}

/// The name of an activity in the summary line.
pub fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Running => "running",
        Activity::OffProcessor => "runnable (waiting for a CPU)",
        Activity::Blocked => "blocked on others' work",
        Activity::Queued => "queued",
        Activity::Device => "waiting for a device",
        Activity::Fault => "waiting for a page",
        Activity::Outside => "waiting for something outside of the target",
        Activity::Asleep => "off-CPU, waker unknown",
        Activity::Timer => "sleeping, or waiting for a timer",
        Activity::Idle => "idle by design",
        Activity::Unknown => "not seen",
    }
}

/// The summary of where time goes, in one sentence, most first; empty without one.
pub fn time(summary: &[TimeSpent]) -> String {
    let mut lines: Vec<&TimeSpent> = summary.iter().collect();
    lines.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
    let clause = |(at, line): (usize, &&TimeSpent)| {
        let of = if at == 0 { " of the variance" } else { "" };
        format!(
            "{} {} ({}{of})",
            activity(line.activity),
            units::percent(line.fraction),
            units::percent(line.share)
        )
    };
    let clauses: Vec<String> = lines.iter().enumerate().map(clause).collect();
    clauses.join(", ")
}

/// The awaited object: `semaphore (3 objects)`.
pub fn object(line: &WaitedFor) -> String {
    let more = if line.more_objects { " or more" } else { "" };
    match line.objects {
        0 | 1 if !line.more_objects => line.object.clone(),
        n => format!("{} ({n}{more} of them)", line.object),
    }
}

/// For what the waits were, and who ended them: `for a semaphore, ended by "end" in XLogWrite > issue_xlog_fsync [XLogWrite+0x1a]`.
pub fn wait(line: &WaitedFor) -> String {
    let object = object(line);
    let holder = match &line.holder_thread {
        Some(thread) => Some(format!("{OUTSIDE}: {}", names::compact(thread))),
        None => line.holder.clone(),
    };
    match (holder, line.holder_calls.as_slice()) {
        (None, _) => format!("for {object}; waker unknown"),
        (Some(holder), []) => format!("for {object}, ended by \"{holder}\" in no timed call"),
        (Some(holder), calls) => {
            format!(
                "for {object}, ended by \"{holder}\" in {}",
                innermost(calls)
            )
        }
    }
}

/// The innermost calls of a path, with the site of the last.
pub fn innermost(calls: &[String]) -> String {
    let shown = &calls[calls.len().saturating_sub(CALLS_SHOWN)..];
    let gap = if shown.len() < calls.len() {
        "… > "
    } else {
        ""
    };
    let Some((last, above)) = shown.split_last() else {
        return "(not timed)".into();
    };
    // Of the others the names do.
    let above = above.iter().map(|call| names::without_site(call));
    let names: Vec<&str> = above.chain([last.as_str()]).collect();
    format!("{gap}{}", names.join(" > "))
}

/// The name of a factor in the `kind` column: a pair is a pair, whatever its functions do.
pub(crate) fn factor_kind(factor: &Factor) -> &'static str {
    match factor.kind {
        FactorKind::Variance => kind(factor.what),
        FactorKind::Covariance => "pair",
    }
}

/// A factor's functions, and what stands between them: `f`, `f & g` for a pair, `caller > f` where only one caller's calls are
/// summed.
pub fn functions<'a>(
    functions: &'a [String],
    caller: Option<&'a String>,
) -> (Vec<&'a str>, &'static str) {
    let separator = if caller.is_some() { " > " } else { " & " };
    let names = caller.into_iter().chain(functions);
    (names.map(String::as_str).collect(), separator)
}

/// The callers of a factor's function, with the part of each in the variance: `called by f 96.3 %, g 25.6 %, 2 others
/// 0.4 %`. Empty where there is one path to it.
pub fn callers(factor: &Factor) -> String {
    let is_listed = |caller: &&Caller| caller.contribution.abs() >= CALLER_MIN;
    let callers: Vec<&Caller> = factor.callers.iter().filter(is_listed).collect();
    let count = match callers.len() {
        // One name is no longer than a count of one, and says more.
        n if n <= CALLERS_SHOWN + 1 => n,
        _ => CALLERS_SHOWN,
    };
    let (shown, rest) = callers.split_at(count);
    let part = |caller: &&Caller| {
        let name = names::shortened(&caller.function, NAME_WIDTH);
        format!("{name} {}", units::percent(caller.contribution))
    };
    let mut parts: Vec<String> = shown.iter().map(part).collect();
    if !rest.is_empty() {
        let contribution = rest.iter().map(|caller| caller.contribution).sum();
        let contribution = units::percent(contribution);
        parts.push(format!("{} others {contribution}", rest.len()));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("called by {}", parts.join(", "))
}

/// A factor in one or two sentences; `tail` is a percentile's name (`p99`).
pub fn explain(profile: &Profile, paths: &Paths, factor: &Factor, tail: &str) -> String {
    match factor.kind {
        FactorKind::Covariance => explain_pair(factor),
        FactorKind::Variance => {
            let mut text = opening(factor);
            let clauses: Vec<String> = [
                calls_clause(paths, factor),
                tail_clause(profile, paths, factor, tail),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !clauses.is_empty() {
                text.push_str("; ");
                text.push_str(&clauses.join("; "));
            }
            text.push('.');
            text
        }
    }
}

/// Whether a call is no less often of a pipe or socket than of a file.
fn moves_bytes(name: &str) -> bool {
    matches!(name, "read" | "readv" | "write" | "writev")
}

fn opening(factor: &Factor) -> String {
    let name = factor.functions.first().map_or("it", String::as_str);
    let name = names::shortened(name, NAME_WIDTH);
    let own_time_of = factor.own_time_of.as_ref();
    let own_time_of = own_time_of.map(|function| names::shortened(function, NAME_WIDTH));
    match factor.what {
        Kind::Lock => {
            "Lock wait: its length depends on the holder, not on this interval's own work"
                .into()
        }
        Kind::Io if moves_bytes(&name) => {
            "Waits for what it reads or writes: a file's storage, or the other end of a pipe or socket".into()
        }
        Kind::Io => {
            "Waits for a device: how long depends on the storage and on its queue"
                .into()
        }
        Kind::Client => "Waits for the client: think time, not the server's".into(),
        Kind::Timer => "Sleeps, or waits for a timer: the delay is chosen, not needed".into(),
        Kind::Event => "Waits until another thread wakes it: its callers show for what".into(),
        Kind::Socket => "Waits for bytes: how long depends on the sender".into(),
        Kind::Idle => "Waits for work to do: idle by design".into(),
        Kind::Others => "Work of other threads that it had to wait for".into(),
        Kind::Helper => "Work of another thread for the same interval".into(),
        Kind::Woken => {
            "Woken, but not running yet (run-queue delay): more processors or fewer threads shorten it".into()
        }
        Kind::Queued => {
            "Handed over and waiting in the queue: more workers or shorter tasks shorten it".into()
        }
        Kind::Turn => "Its thread worked for other intervals first".into(),
        Kind::Preempted => {
            "Runnable, waiting for a CPU (run-queue delay): more processors or fewer threads shorten it".into()
        }
        Kind::Asleep => {
            "Blocked inside the call (off-CPU), waker unknown: its callers show what it waited for".into()
        }
        Kind::Fault => {
            "A page that it touched was not in memory: more memory, or a smaller working set, make it rarer".into()
        }
        Kind::Unseen => "Nothing was recorded of this time".into(),
        Kind::Probe => "The cost of the probes themselves: fewer probes make it smaller".into(),
        Kind::Body => match own_time_of {
            Some(function) => format!("{function}'s own code, outside every call that is timed"),
            None => "No timed call and no wake-up explains this time further".into(),
        },
        Kind::NotOpened => {
            let function = own_time_of.unwrap_or(name);
            format!("{function}'s own code and its calls that are not timed: NOT SEEN has the reasons and what would time them")
        }
        Kind::Call => match &factor.caller {
            Some(caller) => {
                let caller = names::shortened(caller, NAME_WIDTH);
                format!("Time in {name} and all it calls, when {caller} calls it")
            }
            None => format!("Time in {name} and all it calls"),
        },
    }
}

/// The part of the variance that the number of calls explains: the node with the largest contribution represents the
/// factor.
fn calls_clause(paths: &Paths, factor: &Factor) -> Option<String> {
    let node = paths.find(*factor.nodes.first()?.first()?)?.node();
    let explained = node.calls_explained.filter(|e| e.is_finite())?;
    let part = units::whole_percent(explained);
    let waits = factor.what.is_wait()
        || matches!(
            factor.what,
            Kind::Idle
                | Kind::Woken
                | Kind::Queued
                | Kind::Turn
                | Kind::Preempted
                | Kind::Asleep
                | Kind::Fault
        );
    Some(match (explained, waits) {
        (e, true) if e >= MORE_WORK => {
            format!("the number of waits explains {part} of it: more waits, not longer ones")
        }
        (e, false) if e >= MORE_WORK => {
            format!("the number of calls explains {part} of it: more work, not slower work")
        }
        (e, true) if e <= SLOWER_WORK => {
            format!("the number of waits explains only {part} of it, their length the rest")
        }
        (e, false) if e <= SLOWER_WORK => {
            format!("the number of calls explains only {part} of it: the same work takes longer")
        }
        _ => format!("the number of calls explains {part} of it, the time of a call the rest"),
    })
}

fn tail_clause(profile: &Profile, paths: &Paths, factor: &Factor, tail: &str) -> Option<String> {
    profile.tree.tail_share.get(tail)?;
    let nodes = paths.of_factor(factor);
    let share: f64 = nodes
        .iter()
        .filter_map(|l| l.node().tail_share.get(tail))
        .sum();
    let slowest = units::tail(tail);
    (share >= TAIL_WORTH_SAYING).then(|| {
        let part = units::whole_percent(share);
        format!("it is also {part} of the tail ({slowest})")
    })
}

fn explain_pair(factor: &Factor) -> String {
    let [a, b] = factor.functions.as_slice() else {
        return "Functions whose times move together.".into();
    };
    let [a, b] = [a, b].map(|name| names::shortened(name, NAME_WIDTH));
    if factor.contribution >= 0.0 {
        format!(
            "{a} and {b} are slow together: look for what drives both, such as the size of the job."
        )
    } else {
        format!("When {a} is slow, {b} is fast: they trade places, which keeps the sum steadier.")
    }
}

/// A part of the slowest below this is shown as a number of intervals.
const SLOWEST_PERCENT: f64 = 0.001;
/// `1 in 3.4` has a digit after the point below this number.
const ONE_IN_EXACT: f64 = 9.95;

/// Connections that waited before any interval, in the longest queue; empty where none did for long.
pub fn waiting_connections(profile: &Profile) -> String {
    let queues = profile.details.listen_queues.iter();
    let long = queues.filter(|queue| queue.is_long());
    let Some(queue) = long.max_by(|one, other| one.mean.total_cmp(&other.mean)) else {
        return String::new();
    };
    format!(
        "connections waited in the listen queue of {}: in {} of {} looks, {:.1} on average, {} at most. Clients wait there, and no interval \
         contains it: all workers were busy or held idle connections, or the server's limit of connections was reached. More workers, a higher \
         limit, shorter keep-alive or an event-driven server shorten it. `ss -ltn` shows the queue (Recv-Q)",
        queue.address,
        units::percent(queue.waiting_part()),
        units::count(queue.looks),
        queue.mean,
        units::count(queue.max),
    )
}

/// The number of recorded intervals, and the rule that chose them.
pub fn sampled(profile: &Profile) -> String {
    let sampling = profile.sampling.as_ref();
    let by_latency = sampling.filter(|sampling| sampling.rule == SamplingRule::Latency);
    let Some(sampling) = by_latency else {
        return format!(
            "{} skipped by sampling to stay within --max-overhead",
            units::count(profile.sampled_out)
        );
    };
    let mut text = format!(
        "kept {} of {}",
        units::count(sampling.recorded),
        units::count(sampling.seen)
    );
    let one_in = match sampling.one_in < ONE_IN_EXACT {
        true => format!("{:.1}", sampling.one_in),
        false => units::count(sampling.one_in.round() as u64),
    };
    text += &match sampling.slowest > 0.0 {
        true => {
            let slowest = match sampling.slowest < SLOWEST_PERCENT {
                true => {
                    let intervals = sampling.slowest * sampling.seen as f64;
                    format!("{} intervals", units::count(intervals.round() as u64))
                }
                false => units::percent(sampling.slowest),
            };
            format!(": all of the slowest {slowest}, 1 in {one_in} of the rest")
        }
        false => format!(": 1 in {one_in}"),
    };
    text
}

/// The part of the variance that a profile does not explain, where that is much, and what to do. Empty where it
/// explains nearly all.
pub fn explains_a_part(profile: &Profile) -> String {
    let Some(missing) = profile.explains_a_part() else {
        return String::new();
    };
    let intervals = units::counted(missing.intervals, "slow interval");
    let which = match missing.slower_than_ns > 0.0 {
        true => format!(
            "{intervals} of more than {}",
            units::duration(missing.slower_than_ns)
        ),
        false => "Intervals that it has too few of".to_owned(),
    };
    let hold = if missing.intervals == 1 {
        "holds"
    } else {
        "hold"
    };
    let skipped = match profile.sampled_out > 0 {
        true => {
            " Sampling skipped them, or another round of refinement timed them: raise --max-overhead, or profile for longer."
        }
        false => " Another round of refinement timed them: profile for longer.",
    };
    format!(
        "{} of the variance of all intervals is explained below. {which} {hold} the other {}.{skipped}",
        units::percent(1.0 - missing.share),
        units::percent(missing.share),
    )
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::profile::{ListenQueue, Sampling};

    use super::*;

    #[test]
    fn the_longest_queue_of_connections_is_stated_where_it_is_long() {
        let queue = |address: &str, mean, waiting| ListenQueue {
            address: address.to_owned(),
            looks: 1_000,
            waiting,
            mean,
            max: 61,
        };
        let mut profile = Profile::default();
        profile.details.listen_queues = vec![queue("0.0.0.0:80", 0.5, 20)];
        assert_eq!(waiting_connections(&profile), "", "in 2 % of the looks");
        let queues = &mut profile.details.listen_queues;
        queues.push(queue("[::]:443", 34.2, 970));
        let said = waiting_connections(&profile);
        assert!(
            said.contains("of [::]:443: in 97.0 % of 1,000 looks, 34.2 on average, 61 at most"),
            "{said}"
        );
    }

    #[test]
    fn the_kept_intervals_are_stated() {
        let said = |rule, slowest, one_in| {
            let sampling = Sampling {
                seen: 786_762,
                recorded: 31_200,
                slowest,
                one_in,
                rule,
                ..Sampling::default()
            };
            sampled(&Profile {
                sampled_out: 755_562,
                sampling: Some(sampling),
                ..Profile::default()
            })
        };
        assert_eq!(
            said(SamplingRule::Latency, 0.02, 64.3),
            "kept 31,200 of 786,762: all of the slowest 2.0 %, 1 in 64 of the rest"
        );
        assert_eq!(
            said(SamplingRule::Latency, 0.0002, 64.3),
            "kept 31,200 of 786,762: all of the slowest 157 intervals, 1 in 64 of the rest"
        );
        assert_eq!(
            said(SamplingRule::Latency, 0.0, 1.36),
            "kept 31,200 of 786,762: 1 in 1.4"
        );
        assert_eq!(
            said(SamplingRule::Uniform, 0.0, 25.0),
            "755,562 skipped by sampling to stay within --max-overhead"
        );
    }
}
