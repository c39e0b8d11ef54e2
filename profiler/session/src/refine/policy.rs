//! The policy of refinement in one place: how long to look, what a step has to explain, what it may cost, when to close.
//!
//! Which of the rounds that come of it a profile rests on is the other half of the page: `evenkeel_analysis::rounds::policy`.
//!
//! Each number says where it is from. *Measured*: chosen on servers and programs, and the test that is named
//! fails without it. *Convention*: a level of confidence. *Guess*: of the right size; the test holds the rule, not the number. The paper has no
//! such numbers but `--threshold` and `--specificity`: it refines between runs, not within one. Tests are of this crate.

use std::time::Duration;

// How long to look. A look judges what came since the last one; a step that follows from it begins a round, which forgets what was summed.

/// Intervals that are enough for a look; for one that follows what explains most, and to end trapping; and where they are rare.
pub use evenkeel_analysis::rounds::policy::{
    INTERVALS_DEEPER as INTERVALS_TO_FOLLOW, INTERVALS_ENOUGH, INTERVALS_FEW,
};

/// Least length of a look that follows what explains most. Measured: `what_explains_most_is_followed_down_without_delay`.
pub const FOLLOWED_AFTER: Duration = Duration::from_millis(200);
/// Fewer intervals are enough when their number times the seconds that they took is this: forty in four seconds, ninety in two. A cause that
/// lies ten calls down takes ten looks, which a run of half a minute must have even if its intervals take twenty milliseconds each. Measured:
/// `a_culprit_of_long_intervals_is_found_in_a_short_run`.
pub const INTERVAL_SECONDS_ENOUGH: f64 = 160.0;
/// Least length of a look. Measured: `looks_lengthen_with_the_search`.
pub const LOOK_AT_LEAST: Duration = Duration::from_millis(400);
/// A look takes at least this part of the search's time: later looks decide on small shares, which a short look cannot tell from noise.
/// Guess: `looks_lengthen_with_the_search`.
pub const LOOKS_IN_SEARCH: u32 = 16;
/// The part of the search's time is not more than this. Guess: `looks_lengthen_with_the_search`.
pub const LOOK_AT_MOST: Duration = Duration::from_millis(2500);
/// Time between looks once nothing is left to do. Guess: `a_culprit_is_found_and_the_search_rests`.
pub const SETTLED_PERIOD: Duration = Duration::from_secs(5);
/// Up to this age the search looks again soon, and takes only its best steps. Measured:
/// `a_culprit_is_found_and_the_search_rests`.
pub const EARLY: Duration = Duration::from_secs(5);
/// Up to this age the search looks again soon at what may explain much. Guess: `what_may_be_much_is_waited_for`.
pub const UNSURE: Duration = Duration::from_secs(30);
/// A step that found nothing may be taken again after this time, which doubles each time. Guess: `the_next_look_comes_twice_as_late`.
pub const AGAIN_AFTER: Duration = Duration::from_secs(5);

// What a step has to explain.

/// Standard errors by which a contribution has to exceed what is asked of it: 5 % of what is chance passes. Convention: `chance_opens_nothing`.
pub const SURE_ERRORS: f64 = 2.0;
/// A contribution for which a round is ended at any time, and for which a call that costs more than its part is timed. Measured:
/// `a_long_round_ends_for_much_alone`, `the_parts_of_a_loop_are_left_alone_when_the_budget_is_spent`.
pub const MUCH: f64 = 0.1;
/// A contribution that is followed at once to where it comes from. By definition most: `what_explains_most_is_followed_down_without_delay`.
pub const MOST: f64 = 0.5;
/// Rounds that have no larger part of the run together are not missed. Measured: `a_chain_of_short_rounds_is_not_free`.
pub const PART_LITTLE: f64 = 0.125;
/// A round that has this part of the run has said what it can. Measured: `a_culprit_is_found_and_the_search_rests`.
pub const PART_MOST: f64 = 2.0 / 3.0;

// What timing may cost, as fractions of the latency.

/// The part of `--max-overhead` up to which a step is not weighed, nor a probe taken out. Measured:
/// `what_is_called_now_and_then_costs_nothing`, `parts_of_a_loop_that_cost_much_are_closed`.
pub const COST_LITTLE: f64 = 0.125;
/// For what explains much, probes may cost this multiple of `--max-overhead`: one interval in four is recorded then. Measured:
/// `slow_turns_are_followed_within_bounds`.
pub const EXCEEDED_AT_MOST: f64 = 4.0;
/// Probes may cost this part of `--max-overhead` where nothing is recorded. It cannot be lowered by recording fewer intervals, so the rest is what
/// recording may cost. Guess: `what_passes_through_too_many_probes_is_closed_whatever_it_explains`.
pub const PASSED_MAX: f64 = 0.5;
/// By what factor probes may have been measured to cost more than estimated. The rest is not theirs: the machine, or what is not timed.
/// Guess: tests of `refine::cost`.
pub const MEASURED_TIMES_MAX: f64 = 10.0;
/// A probe that makes intervals longer by this part is taken out even if it explains much: what is measured then is not the program.
/// Guess: `a_culprit_stays_though_it_is_costly`.
pub const COST_MAX: f64 = 0.25;
/// A site that runs more rarely in an interval takes no room: what happens rarely may be what is slow. Guess:
/// `only_sites_that_run_need_room`.
pub const CALLS_MIN: f64 = 0.05;
/// A probe that was taken out comes back once intervals are slower by this factor; the factor applies once more each time. Guess:
/// `four_times_as_slow_the_first_time_sixteen_times_the_second`.
pub const SLOWER: f64 = 4.0;
/// Part of the intervals that may lose their records before probes are taken out. Guess: `few_that_are_lost_change_nothing`.
pub const LOST_MAX: f64 = 0.001;
/// Part of the lost intervals' records whose probes go at a time. Guess: `what_writes_most_goes_first`.
pub const LOST_GOES: f64 = 0.75;

// Trapping, which finds the callees of calls through pointers.

/// Least time for which calls are trapped once one was met: a trap costs microseconds. Measured: `rare_intervals_are_trapped_for_longer`.
pub const DISCOVERY: Duration = Duration::from_millis(100);
/// Least time for which calls are trapped where agents left some of them alone for a while. Guess: `rare_intervals_are_trapped_for_longer`.
pub const SAMPLED: Duration = Duration::from_millis(300);
/// Most time for which calls are trapped. Rare intervals need it, since only a few are slow, with callees of their own. Measured: `rare_intervals_are_trapped_for_longer`.
pub const DISCOVERY_AT_MOST: Duration = Duration::from_secs(1);
/// Probes trapped at a time; those of a function with more follow in turn. Guess: a bound on what the target pays at once.
pub const DISCOVERED_AT_ONCE: usize = 24;

// Bounds of memory.

/// Probes planted at a time, those that never run included: to plant one takes about 20 us, its trampoline 300 bytes.
pub const PLANTED_MAX: usize = 1 << 14;
/// Functions in which intervals are found to run.
pub const SCOPE_MAX: usize = 64;
/// Functions seen active on threads that held others up.
pub const WAKERS_MAX: usize = 256;
/// Calls in which slow intervals were seen.
pub const ON_PATHS_MAX: usize = 1 << 14;
