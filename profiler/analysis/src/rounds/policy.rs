//! The policy of rounds in one place: which of them a profile rests on, which are taken together with it, what is kept of the others.
//!
//! How long rounds are, and what begins one, is the other half of the page: `evenkeel_session::refine::policy`, which says what the words on
//! a number's origin mean. Tests are of this crate, where no other is named.

// How many intervals say something.

/// Intervals a round needs for a profile to rest on it, and refinement to act on what it saw. Measured:
/// `the_last_round_with_enough_is_chosen`.
pub const INTERVALS_ENOUGH: u64 = 300;
/// Intervals that are enough where a round has looked deeper than others, and to follow what explains most. Measured: `a_deeper_look_counts_more_than_a_longer_one`.
pub const INTERVALS_DEEPER: u64 = 150;
/// Intervals that are enough where they are long, and all say the same. Measured: `long_intervals_need_not_be_many`.
pub const INTERVALS_FEW: u64 = 40;

// Which round a profile rests on.

/// The chosen round has at least one interval for this many of the largest round: the first milliseconds do not replace a minute. Measured:
/// `the_last_round_with_enough_is_chosen`.
pub(super) const PART_ENOUGH: u64 = 50;
/// It has one for this many, unless it is precise ([`ERROR_ENOUGH`]). Measured: `few_intervals_are_enough_where_they_are_precise`.
pub(super) const PART_GOOD: u64 = 3;
/// A round is precise if no share that a report shows has a larger standard error. Measured:
/// `few_intervals_are_enough_where_they_are_precise`.
pub(super) const ERROR_ENOUGH: f64 = 0.03;
/// A newer round is taken instead where it finds this fraction of the variance inside of what was not opened. Measured:
/// `a_deeper_look_counts_more_than_a_longer_one`.
pub(super) const SHARE_DEEPER: f64 = 0.3;
/// Intervals that lost their records slant a round if they change its mean by this fraction. Guess:
/// `a_round_that_lost_its_slow_intervals_is_passed_over`.
pub(super) const SLANTED_MIN: f64 = 0.1;

// Loads that change.

/// A round holds more of what varies than another from this ratio of their variances on: twice the standard deviation. Measured:
/// `what_varies_more_is_wider`.
pub(super) const WIDER_MIN: f64 = 4.0;
/// A round under another load, or rounds of several loads together, are trusted if no share has a larger standard error. Measured: `tests::rounds`, `tests::combine`.
pub(super) const ERROR_SURE: f64 = 0.1;

// Rounds taken together.

/// Standard errors by which what is compared may differ: of a dozen that are compared, one differs so much once in forty times. Convention:
/// `tests::combine`.
pub(super) const ERRORS_MAX: f64 = 3.0;
/// Paths compared have at least this share. Guess: `time_that_moves_to_another_call_is_another_load`.
pub(super) const COMPARED_MIN: f64 = 0.05;

// What other rounds have found, and what hides in a caller's own time.

/// A share is kept if it exceeds this multiple of its standard error. Convention: `one_stall_in_a_deeper_round_is_no_answer`.
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
