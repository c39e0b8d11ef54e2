//! Findings as a report shows them (fields may be added, not renamed).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::findings::call_path::CallPath;
use crate::sites::Kind;
use crate::slow::model::SeenInside;

/// One cause of the latency's variance. Findings do not overlap: their shares and that of [`Uncovered`] add up to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// `LWLockAcquireOrWait called by XLogFlush`.
    pub headline: String,
    /// The function that explains most. For time without a responsible function, the name of its state
    /// (`crate::critical::states`).
    pub function: String,
    /// The nearest function above it that explains something; absent if that is the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_by: Option<String>,
    /// What its time is spent on.
    pub kind: Kind,
    /// Whether the time is spread over calls that are all too small for a separate finding.
    #[serde(default)]
    pub spread: bool,
    /// Cov(x, L) / Var(L), x being the finding's time. Negative if it evens the latency out.
    pub share: f64,
    /// Its standard error.
    pub se: f64,
    /// Share of the tail by percentile name, as [`crate::profile::Node::tail_share`].
    pub tail_share: BTreeMap<String, f64>,
    /// Mean time per interval.
    pub mean_ns: f64,
    /// Mean number of calls of the function per interval. Where its own call is not timed: of the calls that it makes and
    /// that are timed.
    pub calls_mean: f64,
    /// The classes of intervals that contain it, most of its time first. Empty without classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<FindingClass>,
    /// The function without a name that has most of its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<Unnamed>,
    /// With waits followed: the holders that it waits for, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Holder>,
    /// With waits followed: which of the slowest intervals waited so for longest, with each thread from the one that it
    /// waited for to the head. Absent where there is one such thread, and its class says all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// What the holders, and the threads that they wait for in turn, do for most of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<Meanwhile>,
    /// It was not timed: only stacks of slow intervals show it, so it has no share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_only: bool,
    /// What another round timed inside of the function, deeper than the round that the profile rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_inside: Option<TimedInside>,
    /// What stacks of slow intervals showed inside of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_inside: Option<SeenInside>,
    /// The factors that belong to it; indices into [`crate::profile::Profile::factors`].
    pub factors: Vec<usize>,
    /// Paths to the function that make up 95 % of the finding, largest share first, at most [`crate::findings::factors::PATHS_MAX`].
    pub paths: Vec<CallPath>,
    /// Remedies, if its server is known; filled in by the crate that knows the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// Explanation in the server's terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// How to check the explanation with the server's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// What another round of refinement timed inside of a finding's function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimedInside {
    /// The functions below the finding's, outermost first.
    pub functions: Vec<String>,
    /// Number of the round, from 1.
    pub round: usize,
    /// Its intervals.
    pub intervals: u64,
    /// Cov(X, L) / Var(L) of the last function's inclusive time, in that round.
    pub share: f64,
    /// Its standard error.
    pub se: f64,
    /// That share as a fraction of the share of the finding's function in that round.
    pub of_share: f64,
}

/// A finding within one class of intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingClass {
    /// The class.
    pub name: String,
    /// Part of the finding's time.
    #[serde(default)]
    pub of_time: f64,
    /// The contribution of its intervals to the finding's share: negative if they are fast and have much of it.
    pub share: f64,
    /// Mean time of the finding in one of them.
    pub mean_ns: f64,
}

/// A holder that a finding waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// The class of the interval that the holder worked on, or the name of its other activity.
    pub class: String,
    /// What the holder's thread is called, where it served no interval; `class` has this name, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Part of the finding's time.
    pub of_time: f64,
    /// The deepest function with most of this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// `function` is no function but a state, in words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_state: bool,
}

/// An interval that waits for a thread, which waits for another one, and so on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// The class of the interval that waits.
    pub class: String,
    /// For how long it waited, in all.
    pub waited_ns: f64,
    /// When its last such wait ended, in nanoseconds since 1970, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_unix_ns: Option<u64>,
    /// Those of the run's slowest intervals that waited for threads of these classes and roles in this order.
    pub intervals: u64,
    /// The threads, the head last.
    pub links: Vec<Link>,
    /// The chain in a sentence; filled in by the crate that makes texts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
}

/// A thread of a chain, or several in a row that work on the same class of intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The class of the interval that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Its role where it works on no interval, or on one that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Threads in a row, each of which waits for the next.
    pub threads: u64,
    /// The name of the last of them, or the title of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Its number in the system: of a process with one thread its pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    /// The function, or the state, that has most of the time that it is waited for. Of the head only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// It waits for its client, in a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleInTransaction>,
}

/// A session that holds something and waits for its client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdleInTransaction {
    /// For how long it waited for its client.
    pub for_ns: f64,
    /// Since when, in nanoseconds since 1970, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_unix_ns: Option<u64>,
    /// The class of its last interval, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// The activity of the holders that a finding waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meanwhile {
    /// The function.
    pub function: String,
    /// `function` is no function but a state, in words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_state: bool,
    /// Part of the time that they are waited for.
    pub of_time: f64,
    /// The system's function that has most of that time: `fdatasync`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
}

/// A function that has no name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unnamed {
    /// Its address.
    pub function: String,
    /// Part of the finding's time.
    pub of_time: f64,
}

/// A remedy for a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do.
    pub what: String,
    /// What it costs.
    pub costs: String,
    /// The version of the server from which on it can be followed, or `any`; with the version's part of it, where that
    /// is not all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub since: String,
    /// Its source in the server's documentation, or a measurement.
    pub source: String,
    /// The guarantee that it weakens.
    #[serde(default)]
    pub gives_up: Option<GivesUp>,
    /// Functions that run only if it is applied already.
    #[serde(default, skip_serializing)]
    pub done_if: Vec<String>,
    /// Values of settings with which it is applied already: `NAME = VALUE`, or `NAME != VALUE`.
    #[serde(default, skip_serializing)]
    pub done_with: Vec<String>,
}

/// A guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivesUp {
    /// Acknowledged changes may be lost.
    Durability,
    /// Transactions may see anomalies that they did not see before.
    Isolation,
}

/// The variance that is in no finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Uncovered {
    /// Cov(x, L) / Var(L) of the rest.
    pub share: f64,
    /// Its standard error.
    pub se: f64,
    /// Factors that no finding has a good part of; indices into [`crate::profile::Profile::factors`].
    pub factors: Vec<usize>,
}

/// Two functions with a negative covariance: one takes longer when the other takes less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trade {
    /// In order of name.
    pub functions: [String; 2],
    /// 2 Cov / Var(L), below zero, summed over all nodes.
    pub contribution: f64,
    /// Its standard error.
    pub se: f64,
}
