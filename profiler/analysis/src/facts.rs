//! Facts of a run that are not in its records; a finished profile is made of both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::findings::unseen::Unopened;
use crate::findings::warnings::Warning;
use crate::profile::{ListenQueue, Machine, SamplingRule, Stops, Unpatched, join_queues};

/// Facts of a run that no record has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Intervals that could not begin because a ring was full.
    #[serde(default)]
    pub missed: u64,
    /// Intervals counted and not recorded, to stay within the budget.
    #[serde(default)]
    pub sampled_out: u64,
    /// The user's rule for choosing intervals; absent where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingRule>,
    /// Intervals that could not begin because the plan was being changed.
    #[serde(default)]
    pub unplanned: u64,
    /// Number of calls that were trapped to learn their callees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub traps: u64,
    /// Threads that were stopped in order to attach.
    #[serde(default)]
    pub stops: Stops,
    /// Its intervals are requests that spans report (`evenkeel spans`), not what an agent saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spans: bool,
    /// Sites that could not be timed.
    pub unpatched: Vec<Unpatched>,
    /// Calls whose inside was not timed; absent where nobody kept the reasons.
    #[serde(default)]
    pub unopened: Option<Vec<Unopened>>,
    /// Where the names of functions are that have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Functions that threads run which held intervals up and have no name of their own, the function of most threads first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnamed_threads: Vec<String>,
    /// Waits of a client that are in no interval, where a preset knows them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outside: String,
    /// Queues of the target's listening sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen_queues: Vec<ListenQueue>,
    /// Settings of the server that were seen, by their names in its manual.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The machine, and for how long it was watched; absent where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The profiler's failure in the target; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed: String,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

impl RunFacts {
    /// Takes in what is known of another run, whose intervals are added to this one's.
    pub fn merge(&mut self, other: &RunFacts) {
        self.missed += other.missed;
        self.sampled_out += other.sampled_out;
        self.unplanned += other.unplanned;
        self.traps += other.traps;
        self.stops.add(other.stops);
        if self.sampling != other.sampling {
            self.sampling = None;
        }
        add_new(&mut self.unpatched, &other.unpatched);
        add_new(&mut self.names, &other.names);
        add_new(&mut self.unnamed_threads, &other.unnamed_threads);
        add_new(&mut self.warnings, &other.warnings);
        join_queues(&mut self.listen_queues, &other.listen_queues);
        // Of servers that are set differently nothing is known together.
        self.settings
            .retain(|name, value| other.settings.get(name) == Some(value));
        if let Some(other) = other.machine {
            let machine = self.machine.get_or_insert_default();
            machine.processors = machine.processors.max(other.processors);
            machine.seconds += other.seconds;
        }
        if self.outside.is_empty() {
            self.outside.clone_from(&other.outside);
        }
        if self.failed.is_empty() {
            self.failed.clone_from(&other.failed);
        }
    }
}

fn add_new<T: Clone + PartialEq>(all: &mut Vec<T>, others: &[T]) {
    for other in others {
        if !all.contains(other) {
            all.push(other.clone());
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(number: &u64) -> bool {
    *number == 0
}
