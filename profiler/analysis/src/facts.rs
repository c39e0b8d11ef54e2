//! Facts of a run that are not in its records; a finished profile is made of both.

use serde::{Deserialize, Serialize};

use crate::findings::unseen::Unopened;
use crate::findings::warnings::Warning;
use crate::profile::{RunDetails, SamplingRule, Stops, Unpatched, add_new};

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
    /// Facts that a profile has, too.
    #[serde(flatten)]
    pub details: RunDetails,
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
        add_new(&mut self.warnings, &other.warnings);
        self.details.merge(&other.details);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(number: &u64) -> bool {
    *number == 0
}
