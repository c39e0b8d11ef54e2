//! Classifies an interval's time in a few words for the head of a report: running, blocked on others' work, idle by
//! design.
//!
//! The rule sorts the own time of each node, from the root down, so the parts add up to the latency.
//! - **Running**: calls of the interval's own threads, including helpers. Own time of a function whose name suggests a
//!   lock is running time, too. Where waits are followed, the blocked part is a wait below the function.
//! - **Off the processor**: woken or preempted, and not running.
//! - **Blocked on others' work**: other threads' activity, including their waits, from the beginning of a wait to the
//!   wake that ended it. A wait for a lock belongs here even if its waker is unknown: a thread held the lock.
//! - **Queued**: handed over and not taken up, or the thread works for other intervals first.
//! - **Device**: calls and waits for files. Where the kernel reports how threads sleep, other uninterruptible sleeps
//!   are included.
//! - **Fault**: pages that had to be read.
//! - **Outside**: waits for bytes and events that no thread of the target sent. Clients and other servers send them.
//! - **Asleep**: blocked without an announced wait and with an unknown waker.
//! - **Timer**: sleeps, and waits that ended because their time was over.
//! - **Idle by design**: waits for a task (none is enqueued) and everything below a call that waits for the client. The
//!   time between two intervals is not counted at all.
//! - **Unknown**: not recorded.

use crate::critical::states::{State, object_kind};
use crate::profile::{Activity, TimeSpent};
use crate::sites::Kind;
use crate::sums::moments::fraction;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{PROBES, ROOT};
use evenkeel_wire::ObjectKind;

/// The activity of a node, and of the nodes below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    own: Activity,
    /// Activity of the nodes below, unless a node is more specific.
    below: Option<Activity>,
}

/// The summary, without activities that took no time.
pub fn summary(tree: &VarianceTree<'_>, ticks_per_ns: f64) -> Vec<TimeSpent> {
    let sums = tree.total;
    let mut totals = [(0i128, 0.0); Activity::ALL.len()];
    let mut verdicts: Vec<Option<Verdict>> = vec![None; tree.paths.all().len()];
    for node in tree.nodes() {
        let above = match node {
            ROOT => None,
            _ => verdicts[tree.paths.get(node).parent as usize].and_then(|above| above.below),
        };
        let verdict = verdict(tree, node, above);
        verdicts[node as usize] = Some(verdict);
        let total = &mut totals[verdict.own as usize];
        total.0 += sums.node(node).exclusive;
        total.1 += sums.exclusive_latency_moment(node);
    }
    let line = |activity: Activity| {
        let (ticks, moment) = totals[activity as usize];
        TimeSpent {
            activity,
            mean_ns: ticks as f64 / sums.intervals.max(1) as f64 / ticks_per_ns,
            fraction: fraction(ticks as f64, sums.latency as f64),
            share: fraction(moment, sums.latency_moment()),
        }
    };
    let all = Activity::ALL.into_iter().map(line);
    all.filter(|line| line.mean_ns != 0.0).collect()
}

fn verdict(tree: &VarianceTree<'_>, node: u32, above: Option<Activity>) -> Verdict {
    let simply = |activity| Verdict {
        own: above.unwrap_or(activity),
        below: above,
    };
    if node == ROOT || node == PROBES {
        return simply(Activity::Running);
    }
    let Some(state) = tree.paths.get(node).state else {
        return match activity(tree.kind(Part::Call(node))) {
            Some(activity @ (Activity::Timer | Activity::Idle)) => on_purpose(activity, above),
            activity => simply(activity.unwrap_or(Activity::Running)),
        };
    };
    match state {
        State::Remote if above != Some(Activity::Idle) => simply_own(Activity::Outside),
        // A wait below others' work is a part of it.
        _ if above.is_some_and(|above| above != Activity::Queued) => simply(Activity::Blocked),
        // Only sleeps that another thread ended are recorded so.
        State::Waits(ObjectKind::Unannounced) => Verdict {
            own: Activity::Blocked,
            below: None,
        },
        State::Waits(object) => wait(object_kind(object)),
        State::Other(_) | State::Background(_) | State::Thread(_) | State::Unrecorded => Verdict {
            own: above.unwrap_or(Activity::Blocked),
            below: Some(above.unwrap_or(Activity::Blocked)),
        },
        State::Helper => Verdict {
            own: Activity::Running,
            below: None,
        },
        State::Woken | State::Preempted => simply_own(Activity::OffProcessor),
        State::Asleep => simply_own(Activity::Asleep),
        State::Device => simply_own(Activity::Device),
        State::Fault => simply_own(Activity::Fault),
        State::Queued => simply_own(Activity::Queued),
        State::Turn => Verdict {
            own: Activity::Queued,
            below: Some(Activity::Queued),
        },
        State::Idle { .. } => simply_own(Activity::Blocked),
        State::Remote => simply_own(Activity::Outside),
        State::Unseen => simply_own(Activity::Unknown),
    }
}

/// The activity that a kind means; `None` for calls, and for waits for other threads.
fn activity(kind: Kind) -> Option<Activity> {
    match kind {
        Kind::Io => Some(Activity::Device),
        Kind::Timer => Some(Activity::Timer),
        Kind::Idle | Kind::Client => Some(Activity::Idle),
        Kind::Socket | Kind::Event => Some(Activity::Outside),
        _ => None,
    }
}

/// A call whose purpose is to wait.
fn on_purpose(activity: Activity, above: Option<Activity>) -> Verdict {
    Verdict {
        own: above.unwrap_or(activity),
        below: above.or(Some(activity)),
    }
}

fn simply_own(activity: Activity) -> Verdict {
    Verdict {
        own: activity,
        below: Some(activity),
    }
}

/// A wait of the interval itself. The thread that ended it, if known, is below and blocked it, unless waiting is the
/// purpose.
fn wait(kind: Kind) -> Verdict {
    let own = activity(kind).unwrap_or(Activity::Blocked);
    Verdict {
        own,
        below: matches!(own, Activity::Timer | Activity::Idle).then_some(own),
    }
}
