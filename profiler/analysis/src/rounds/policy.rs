//! The policy of rounds in one place: which of them a profile rests on, which are taken together with it, what is kept of the others.
//!
//! How long rounds are, and what begins one, is the other half of the page: `evenkeel_session::refine::policy`, which says what the words on
//! a number's origin mean. Tests are of this crate, where no other is named.

// How many intervals say something.

/// Intervals that refinement needs to act on what it saw, and a round to be taken together with others. Guess: `tests::rounds`.
pub const INTERVALS_ENOUGH: u64 = 300;
/// Intervals that are enough to follow what explains most. Measured: `what_explains_most_is_followed_down_without_delay`, of the session.
pub const INTERVALS_DEEPER: u64 = 150;
/// Intervals that a profile needs to rest on a round by what it explains, and refinement where they are long. Guess:
/// `few_intervals_are_shown_if_there_are_no_others`.
pub const INTERVALS_FEW: u64 = 40;
/// An octave of latency says which round has a fair sample if it has this many intervals in the whole run. Half of a
/// run contains none of them by chance in 3 of 100 runs. Convention: `a_few_slow_intervals_do_not_choose_the_round`.
pub(super) const INTERVALS_OF_OCTAVE: u64 = 5;

// Rounds taken together.

/// Standard errors by which what is compared may differ: of a dozen that are compared, one differs so much once in forty times. Convention:
/// `tests::combine`.
pub(super) const ERRORS_MAX: f64 = 3.0;
/// Paths compared have at least this share. Guess: `time_that_moves_to_another_call_is_another_load`.
pub(super) const COMPARED_MIN: f64 = 0.05;

// What other rounds have found, and what hides in a caller's own time.

/// A share is sure by what it exceeds this multiple of its standard error. Convention: `one_stall_in_a_deeper_round_is_no_answer`.
pub(super) const ERRORS_MIN: f64 = 2.0;
/// A call that a round did not time is reported as hidden if it took this fraction of the time, or of the variance, in another round. Guess: `tests::rounds`.
pub(super) const TAKEN_MIN: f64 = 0.01;

// Bounds of memory and of output.

/// Paths kept of one round, and paths reported of all together, largest first.
pub const PATHS_MAX: usize = 16;
/// Blocks of a retired round.
pub(super) const BLOCKS_RETIRED: usize = 16;
/// Numbers kept of all retired rounds together, 16 bytes each: the smallest rounds go first.
pub(super) const CELLS_RETIRED_MAX: usize = 1 << 23;
/// Blocks of what came since the last look.
pub(super) const BLOCKS_OF_LOOK_MAX: usize = 32;
/// Parts with smaller shares have the share itself for an error: most of a tree's parts, which no rule looks at.
pub(super) const SHARE_WITH_ERROR_MIN: f64 = 5e-4;
