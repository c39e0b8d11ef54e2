//! The facts of a run that a report shows, and no record has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ListenQueue, Machine, join_queues};

/// Facts of a run that its profile repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunDetails {
    /// Where the names are of functions that are shown by address or by an inferred name (`~name`), a line a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Functions that threads run which held intervals up and have no name of their own, the function of most threads
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnamed_threads: Vec<String>,
    /// What a client may wait for that is in no interval, where a preset knows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outside: String,
    /// Queues of the target's listening sockets: connections that waited there were in no interval. Empty where it has
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen_queues: Vec<ListenQueue>,
    /// Settings of the server that were seen, by their names in its manual.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The machine, and for how long it was watched; absent where the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// What of the profiler failed in the target, with what came of it; empty where nothing did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed: String,
}

impl RunDetails {
    /// Takes in those of another run, whose intervals are added to this one's.
    pub fn merge(&mut self, other: &RunDetails) {
        add_new(&mut self.names, &other.names);
        add_new(&mut self.unnamed_threads, &other.unnamed_threads);
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

/// Adds those that are not among them yet.
pub fn add_new<T: Clone + PartialEq>(all: &mut Vec<T>, others: &[T]) {
    for other in others {
        if !all.contains(other) {
            all.push(other.clone());
        }
    }
}
