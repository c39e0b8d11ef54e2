//! The policy of refinement in one place: how long a look is, what a step must explain, what it may cost, when to
//! close.
//!
//! `evenkeel_analysis::rounds::policy` is the other half: which of the resulting rounds a profile rests on.
//!
//! Each number has its origin. *Measured*: chosen on servers and programs, and the named test fails without it.
//! *Convention*: a level of confidence. *Guess*: of the right size; the test holds for the rule, not for the number.
//! The paper has only `--threshold` and `--specificity`, since it refines between runs, not within one. Tests are of
//! this crate.

use std::time::Duration;

use evenkeel_wire::Record;
use evenkeel_wire::ring::RING_BYTES;

// Length of a look. A look judges the intervals since the last one. A step that follows from it begins a round with
// empty sums.

/// Intervals that suffice for a look; for a look that follows the largest part, and to end trapping; and where they are
/// rare.
pub use evenkeel_analysis::rounds::policy::{
    INTERVALS_DEEPER as INTERVALS_TO_FOLLOW, INTERVALS_ENOUGH, INTERVALS_FEW,
};

/// Least length of a look that follows what explains most. Measured:
/// `what_explains_most_is_followed_down_without_delay`.
pub const FOLLOWED_AFTER: Duration = Duration::from_millis(200);
/// Fewer intervals suffice if their number times their seconds is this: forty in four seconds, ninety in two. A cause
/// that is ten calls down takes ten looks. A run of half a minute must have them even if intervals take twenty
/// milliseconds. Measured: `a_culprit_of_long_intervals_is_found_in_a_short_run`.
pub const INTERVAL_SECONDS_ENOUGH: f64 = 160.0;
/// Least length of a look. Measured: `looks_lengthen_with_the_search`.
pub const LOOK_AT_LEAST: Duration = Duration::from_millis(400);
/// A look takes at least one part in this many of the search's time: later looks decide on small shares, which need
/// more intervals. Guess: `looks_lengthen_with_the_search`.
pub const LOOKS_IN_SEARCH: u32 = 16;
/// Upper bound of this least length. Guess: `looks_lengthen_with_the_search`.
pub const LOOK_AT_MOST: Duration = Duration::from_millis(2500);
/// Time between looks when no step is left. Guess: `a_load_that_changes_is_followed`.
pub const SETTLED_PERIOD: Duration = Duration::from_secs(5);
/// Up to this age the search looks again soon, and takes only its best steps. Measured:
/// `a_culprit_is_found_and_the_search_rests`.
pub const EARLY: Duration = Duration::from_secs(5);
/// Up to this age the search looks again soon if a contribution may be large. Guess: `what_may_be_much_is_waited_for`.
pub const UNSURE: Duration = Duration::from_secs(30);
/// A step without result may be repeated after this time, which doubles each time. Guess:
/// `the_next_look_comes_twice_as_late`.
pub const AGAIN_AFTER: Duration = Duration::from_secs(5);

// Contribution that a step must have.

/// Standard errors by which a contribution must exceed its bound: 5 % of chance results pass. Convention:
/// `chance_opens_nothing`.
pub const SURE_ERRORS: f64 = 2.0;
/// A contribution that ends a round at any time, and that justifies timing a call beyond its part of the budget.
/// Measured: `a_long_round_ends_for_much_alone`, `the_parts_of_a_loop_are_left_alone_when_the_budget_is_spent`.
pub const MUCH: f64 = 0.1;
/// A contribution that is followed to its cause at once. Most, by definition:
/// `what_explains_most_is_followed_down_without_delay`.
pub const MOST: f64 = 0.5;
/// Rounds with at most this part of the run together may be discarded. Measured: `a_chain_of_short_rounds_is_not_free`.
pub const PART_LITTLE: f64 = 0.125;
/// A round with this part of the run gains little from more intervals. Measured:
/// `a_culprit_is_found_and_the_search_rests`.
pub const PART_MOST: f64 = 2.0 / 3.0;

// Permitted cost of timing, as fractions of the latency.

/// The part of `--max-overhead` up to which a cost is ignored: neither weighed for a step, nor a reason to remove a
/// probe. Measured: `what_is_called_now_and_then_costs_nothing`, `parts_of_a_loop_that_cost_much_are_closed`.
pub const COST_LITTLE: f64 = 0.125;
/// Probes with a large contribution may cost this multiple of `--max-overhead`: one interval in four is then recorded.
/// Measured: `slow_turns_are_followed_within_bounds`.
pub const EXCEEDED_AT_MOST: f64 = 4.0;
/// Probes may cost this part of `--max-overhead` in intervals that are not recorded. Recording fewer intervals does not
/// lower this cost, so the rest is left for recording. Guess:
/// `what_passes_through_too_many_probes_is_closed_whatever_it_explains`.
pub const PASSED_MAX: f64 = 0.5;
/// Largest ratio of the measured to the estimated cost of a probe. A larger ratio has other causes: the machine, or
/// code that is not timed. Guess: tests of `refine::cost`.
pub const MEASURED_TIMES_MAX: f64 = 10.0;
/// A probe that lengthens intervals by this part is removed even if it explains much: the measurement is then not of
/// the program. Guess: `a_culprit_stays_though_it_is_costly`.
pub const COST_MAX: f64 = 0.25;
/// A site that runs more rarely per interval takes no room: rare calls may be the slow ones. Guess:
/// `only_sites_that_run_need_room`.
pub const CALLS_MIN: f64 = 0.05;
/// A removed probe returns once intervals are slower by this factor, which applies once more each time. Guess:
/// `four_times_as_slow_the_first_time_sixteen_times_the_second`.
pub const SLOWER: f64 = 4.0;
/// Part of the squares of latencies whose intervals may lose their records before probes are removed. Guess:
/// `what_is_lost_counts_by_its_time`.
pub const LOST_MAX: f64 = 0.001;
/// Calls of an interval that a ring holds even if the session reads none of them while it lasts: half of a ring. By
/// definition:
/// `what_writes_most_goes_first_until_the_rest_has_room`.
pub const CALLS_HELD: u64 = (RING_BYTES / size_of::<Record>() / 2) as u64;

// Trapping, which finds the callees of calls through pointers.

/// Shortest trapping of calls once one was met: a trap costs microseconds. Measured:
/// `rare_intervals_are_trapped_for_longer`.
pub const DISCOVERY: Duration = Duration::from_millis(100);
/// Shortest trapping of calls if agents left some of them alone for a while. Guess:
/// `rare_intervals_are_trapped_for_longer`.
pub const SAMPLED: Duration = Duration::from_millis(300);
/// Longest trapping of calls. Rare intervals need it: only a few are slow, and these may have other callees. Measured:
/// `rare_intervals_are_trapped_for_longer`.
pub const DISCOVERY_AT_MOST: Duration = Duration::from_secs(1);
/// Probes trapped at a time; further ones of the same function follow in turn. This bounds the target's cost at a time.
/// Guess: `calls_of_one_function_are_trapped_in_turns`.
pub const DISCOVERED_AT_ONCE: usize = 24;
/// Traps are saved up for this long. A request that uses all of them up at once takes longer by `--max-overhead` of it.
/// Guess: `traps_are_granted_as_time_goes_by`.
pub const TRAPS_SAVED_SECONDS: f64 = 0.1;
/// Traps that may be saved up under any `--max-overhead`: even a few calls show something. Guess:
/// `a_few_are_granted_however_little_is_allowed`.
pub const TRAPS_SAVED_MIN: f64 = 100.0;

// Bounds of memory.

/// Probes planted at a time, including those that never run. Planting one takes about 20 us, and its trampoline 300
/// bytes.
pub const PLANTED_MAX: usize = 1 << 14;
/// Functions in which intervals are known to run.
pub const SCOPE_MAX: usize = 64;
/// Functions seen active on holders' threads.
pub const WAKERS_MAX: usize = 256;
/// Calls in which slow intervals were seen.
pub const ON_PATHS_MAX: usize = 1 << 14;
