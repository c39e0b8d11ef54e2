//! The policy of the duty cycle in one place: how much profiling may cost, and how often that is measured.
//!
//! `crate::refine::policy` defines the words for a number's origin (guess, measured, convention). Tests are those of
//! the file that uses the number, unless stated otherwise.

use std::time::Duration;

// The overhead limiter.

/// Interval at which the fraction of recorded intervals is set. Guess: `the_fraction_is_set_now_and_then`.
pub(super) const LIMIT_PERIOD: Duration = Duration::from_millis(50);
/// Time over which costs and fractions are averaged. Longer than most slow intervals: these go on to cost what they cost
/// when fewer are recorded. Guess: `a_slow_interval_does_not_end_all_recording`.
pub(super) const COST_SECONDS: f64 = 1.0;
/// The part of `--max-overhead` that it spends. The rest is for cost that it does not see: the ends of intervals,
/// counted ones included, caches, and the processor that each drain takes from another thread. Measured:
/// `half_of_what_is_allowed_is_spent`.
pub(super) const SPENT_PART: f64 = 0.5;
/// At least this part of the intervals is recorded, and of the recorded ones kept. Guess: `some_are_always_recorded`.
pub(super) const RECORDED_MIN: f64 = 1.0 / 1024.0;
/// Pairs of windows from which a measurement's error is known well enough. Convention: `chance_limits_nothing`.
pub(super) const PAIRS_ENOUGH: usize = 8;
/// Errors by which a measurement has to lie above what is allowed. Convention: `chance_limits_nothing`.
pub(super) const SURE_ERRORS: f64 = 2.0;
/// Smallest part of the budget for draining records, where intervals are kept by their latency; probes may use the
/// rest. Guess: `intervals_are_kept_as_draining_allows_and_recorded_as_probes_do`.
pub(super) const DRAINING_MIN: f64 = 0.25;
/// Largest growth of the fraction in a period, so that not all intervals of a burst are recorded. Guess:
/// `the_fraction_follows_the_cost`.
pub(super) const GROWTH_MAX: f64 = 1.1;

// What the limiter goes by.

/// Interval at which latencies are taken. Guess: `old_latencies_fade`.
pub(super) const LATENCIES_PERIOD: Duration = Duration::from_millis(200);
/// Latencies count half after so long: the load may change. Guess: `old_latencies_fade`.
pub(super) const HALF_LIFE_S: f64 = 2.0;
/// Fewer intervals than this say too little of the mean latency without older ones. Guess:
/// `the_mean_of_rare_intervals_is_of_several_periods`.
pub(super) const MEAN_FROM: f64 = 100.0;

// Windows without probes, which measure what probes cost.

/// Mean length of such a window. Guess: `probes_are_bypassed_now_and_then`,
/// `what_recording_costs_is_measured_now_and_then`.
pub(super) const BYPASSED: Duration = Duration::from_millis(60);
/// Windows with probes are as many times longer. Guess: `probes_are_bypassed_now_and_then`.
pub(super) const PROBED_TIMES: u32 = 15;
/// Time for which probes are on at first. Guess: `probes_are_bypassed_now_and_then`.
pub(super) const PROBED_FIRST: Duration = Duration::from_secs(1);
/// Mean time between two such windows where threads are followed. Guess:
/// `what_recording_costs_is_measured_now_and_then`.
pub(super) const BETWEEN_BYPASSES: Duration = Duration::from_secs(2);
/// It is as many times as long as the ends of open intervals were awaited, at least. Guess:
/// `what_takes_long_to_await_is_awaited_rarely`.
pub(super) const AWAITING_TIMES: u32 = 10;

// Sampling windows, where threads are followed.

/// Mean time after which a window's cost is looked at, and after which it closes if it has spent too much. Guess:
/// `windows_close_for_what_was_spent`.
pub(super) const OPEN: Duration = Duration::from_millis(150);
/// Records and intervals that may be lost, as a part of those that are read. Guess: `what_is_lost_counts_as_spent`.
pub(super) const UNREAD_MAX: f64 = 0.01;
/// If more are lost, the window has spent so many times the budget, at least: it closes for as long as it was open.
/// Guess: `what_is_lost_counts_as_spent`.
pub(super) const UNREAD_EXCESS: f64 = 2.0;
/// Time between the start of recording and a window's first interval. Measured: `windows_close_for_what_was_spent`.
pub(super) const AHEAD: Duration = Duration::from_millis(15);
/// A window closes no sooner than this after its last interval could begin. A thread that was about to begin one has
/// written it by then, and the session has read it: the interval's end is awaited, too. Measured:
/// `what_recording_costs_is_measured_now_and_then`.
pub(super) const SETTLING: Duration = Duration::from_millis(10);
/// Longest time between two windows. Guess: `windows_close_for_some_seconds_at_most`.
pub(super) const CLOSED_MAX: Duration = Duration::from_secs(5);
/// Longest time for which a window awaits the ends of open intervals. Guess:
/// `intervals_that_never_end_close_no_window_for_ever`.
pub(super) const CLOSING_MAX: Duration = Duration::from_secs(10);
