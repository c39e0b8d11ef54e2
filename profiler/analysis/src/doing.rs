//! What an interval's time is, in a few words for the head of a report: running, blocked on others' work, idle by design ...
//!
//! The rule, from the root down (the time at each node itself is sorted, so the parts add up to the latency):
//! - **Running**: calls of the interval's own threads, helpers included. Time inside a call that by its name waits for a lock
//!   counts as running, too: with edges on, what it blocks is told by a wait below it.
//! - **Off the processor**: woken or preempted, and not running.
//! - **Blocked on others' work**: whatever other threads did between the beginning of a wait and the wake that ended it,
//!   their own waits included; and waits for locks of which nobody was seen to end them: somebody held them.
//! - **Queued**: handed over and not taken up, or the thread works for other intervals first.
//! - **Device**: calls and waits for files, and other sleeps that no signal could have ended, where the kernel tells how threads
//!   sleep.
//! - **Fault**: pages that had to be read.
//! - **Outside**: waits for bytes and events that no thread of the target was seen to send: clients, other servers.
//! - **Asleep**: blocked, and neither a call announced for what nor was anybody seen to end it.
//! - **Idle by design**: timers, waits for a task (while nothing was enqueued there is nothing to do), and everything below
//!   a call that waits for the client. What comes between two intervals is in none of them and not counted at all.
//! - **Unknown**: not recorded.

use evenkeel_wire::Kind as Object;
use serde::{Deserialize, Serialize};

use crate::parts::{Part, VarianceTree, fraction};
use crate::paths::{PROBES, ROOT};
use crate::sites::Kind;
use crate::states::{State, object_kind};

/// What time is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Work of the interval's own.
    #[default]
    Running,
    /// Could run, and does not.
    OffProcessor,
    /// Others' work is waited for.
    Blocked,
    /// Its turn has not come.
    Queued,
    /// A device is waited for.
    Device,
    /// A page is waited for.
    Fault,
    /// Something outside of the target is waited for.
    Outside,
    /// Something is waited for, and nobody saw what.
    Asleep,
    /// Waiting is the purpose.
    Idle,
    /// Nothing is known.
    Unknown,
}

impl Doing {
    /// All of them.
    pub const ALL: [Doing; 10] = [
        Doing::Running,
        Doing::OffProcessor,
        Doing::Blocked,
        Doing::Queued,
        Doing::Device,
        Doing::Fault,
        Doing::Outside,
        Doing::Asleep,
        Doing::Idle,
        Doing::Unknown,
    ];
}

/// One line of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// What.
    pub doing: Doing,
    /// Mean time an interval.
    pub mean_ns: f64,
    /// The same as a fraction of the mean latency.
    pub fraction: f64,
    /// Cov(X, L) / Var(L); the lines add up to 1.
    pub share: f64,
}

/// What is said of a node, and of what lies below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    own: Doing,
    /// Everything below is that as well, unless it says more.
    below: Option<Doing>,
}

/// The summary, without lines of no time.
pub fn summary(tree: &VarianceTree<'_>, ticks_per_ns: f64) -> Vec<TimeSpent> {
    let sums = tree.total;
    let mut totals = [(0i128, 0.0); Doing::ALL.len()];
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
    let line = |doing: Doing| {
        let (ticks, moment) = totals[doing as usize];
        TimeSpent {
            doing,
            mean_ns: ticks as f64 / sums.intervals.max(1) as f64 / ticks_per_ns,
            fraction: fraction(ticks as f64, sums.latency as f64),
            share: fraction(moment, sums.latency_moment()),
        }
    };
    let all = Doing::ALL.into_iter().map(line);
    all.filter(|line| line.mean_ns != 0.0).collect()
}

fn verdict(tree: &VarianceTree<'_>, node: u32, above: Option<Doing>) -> Verdict {
    let simply = |doing| Verdict {
        own: above.unwrap_or(doing),
        below: above,
    };
    if node == ROOT || node == PROBES {
        return simply(Doing::Running);
    }
    let Some(state) = tree.paths.get(node).state else {
        return match tree.kind(Part::Call(node)) {
            Kind::Io => simply(Doing::Device),
            Kind::Event | Kind::Socket => simply(Doing::Outside),
            Kind::Client | Kind::Timer | Kind::Idle => Verdict {
                own: above.unwrap_or(Doing::Idle),
                below: above.or(Some(Doing::Idle)),
            },
            _ => simply(Doing::Running),
        };
    };
    match state {
        // A wait below others' work is a part of it.
        _ if above.is_some_and(|above| above != Doing::Queued) => simply(Doing::Blocked),
        // Only those that another thread ended are told.
        State::Waits(Object::Unannounced) => Verdict {
            own: Doing::Blocked,
            below: None,
        },
        State::Waits(object) => wait(object_kind(object)),
        State::Other(_) | State::Background => Verdict {
            own: above.unwrap_or(Doing::Blocked),
            below: Some(above.unwrap_or(Doing::Blocked)),
        },
        State::Helper => Verdict {
            own: Doing::Running,
            below: None,
        },
        State::Woken | State::Preempted => simply_own(Doing::OffProcessor),
        State::Asleep => simply_own(Doing::Asleep),
        State::Device => simply_own(Doing::Device),
        State::Fault => simply_own(Doing::Fault),
        State::Queued => simply_own(Doing::Queued),
        State::Turn => Verdict {
            own: Doing::Queued,
            below: Some(Doing::Queued),
        },
        State::Unseen => simply_own(Doing::Unknown),
    }
}

fn simply_own(doing: Doing) -> Verdict {
    Verdict {
        own: doing,
        below: Some(doing),
    }
}

/// A wait of the interval's own: who ended it, if anybody was seen, is below and blocked it, unless waiting is the purpose.
fn wait(kind: Kind) -> Verdict {
    let own = match kind {
        Kind::Io => Doing::Device,
        Kind::Timer | Kind::Idle | Kind::Client => Doing::Idle,
        Kind::Socket | Kind::Event => Doing::Outside,
        _ => Doing::Blocked,
    };
    Verdict {
        own,
        below: (own == Doing::Idle).then_some(Doing::Idle),
    }
}
