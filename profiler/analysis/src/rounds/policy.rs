//! The policy of rounds in one place: which round a profile rests on, which rounds are added to it, and what is kept of
//! the others.
//!
//! `evenkeel_session::refine::policy` is the other half: how long rounds are, and what begins one. It also defines the
//! words for a number's origin (guess, measured, convention). Tests named here are of this crate unless stated
//! otherwise.

// Intervals that are evidence enough.

/// Intervals that refinement needs before it acts, and that a round needs to be combined with others. Guess:
/// `tests::rounds`.
pub const INTERVALS_ENOUGH: u64 = 300;
/// Intervals that suffice to follow the part that explains most. Measured:
/// `what_explains_most_is_followed_down_without_delay`, of the session.
pub const INTERVALS_DEEPER: u64 = 150;
/// Intervals that a round needs to be chosen by what it explains. Refinement needs as many where intervals are long.
/// Guess: `few_intervals_are_shown_if_there_are_no_others`.
pub const INTERVALS_FEW: u64 = 40;
/// An octave of latency says which round has a fair sample if it has this many intervals in the whole run. Half of a
/// run contains none of them by chance in 3 of 100 runs. Convention: `a_few_slow_intervals_do_not_choose_the_round`.
pub(super) const INTERVALS_OF_OCTAVE: u64 = 5;

/// Weight of the interval's own code in a round's depth, where a first call has 1. Guess:
/// `what_is_surely_own_code_is_an_answer`.
pub(super) const OWN_CODE_WEIGHT: f64 = 0.5;

// Rounds taken together.

/// Standard errors by which two rounds that agree may differ. Of a dozen compared values, one differs by more in 3 of
/// 100 comparisons by chance. Convention: `what_chance_explains_is_no_other_load`.
pub(super) const ERRORS_MAX: f64 = 3.0;
/// Paths compared have at least this share. Guess: `time_that_moves_to_another_call_is_another_load`,
/// `a_little_time_that_moves_is_no_other_load`.
pub(super) const COMPARED_MIN: f64 = 0.05;

// What other rounds have found, and what is hidden in a caller's own time.

/// A share is certain if it exceeds this multiple of its standard error. Convention:
/// `an_uncertain_deeper_answer_waits`.
pub(crate) const ERRORS_MIN: f64 = 2.0;

// Bounds of memory and of output.

/// Paths kept of one round, and paths reported of all together, largest first.
pub const PATHS_MAX: usize = 16;
/// Blocks of a retired round. Guess: `a_retired_round_has_some_blocks`.
pub(super) const BLOCKS_RETIRED: usize = 16;
/// Numbers kept of all retired rounds together, 16 bytes each. The smallest rounds are dropped first.
pub(super) const CELLS_RETIRED_MAX: usize = 1 << 23;
/// Blocks of the intervals since the last look. Guess: `the_last_look_is_summed_in_some_blocks`.
pub(super) const BLOCKS_OF_LOOK_MAX: usize = 32;
/// Below this share the error is set to the share itself: most parts are smaller, and no rule uses them. Guess:
/// `errors_of_small_parts_are_the_parts`.
pub(super) const SHARE_WITH_ERROR_MIN: f64 = 5e-4;
