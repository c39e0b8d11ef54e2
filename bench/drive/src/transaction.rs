//! A transaction with its retries: the interval that `evenkeel profile` sees.

use evenkeel_locks::rng::Rng;

use crate::client::{Abort, Attempt, Client, Reason};
use crate::clock::Clock;
use crate::error::Error;
use crate::sample::Ending;

/// Longest back-off before the first retry; it doubles with every further one.
const BACKOFF_FIRST_NS: u64 = 1_000_000;
/// Longest back-off at all.
const BACKOFF_MAX_NS: u64 = 64_000_000;

/// End of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The kind of end.
    pub ending: Ending,
    /// Failed attempts by [`Reason`].
    pub aborts: [u16; Reason::COUNT],
    /// Attempts after the first.
    pub retries: u16,
}

/// Runs the transaction that `client` has drawn, again after each abort, up to `retries_max` times. Before a retry it
/// sleeps a random time up to a limit that doubles, so that those who collided do not collide again.
///
/// This function is one call by its symbol's name in every build, and never inlined, so that
/// `evenkeel profile --interval evenkeel_bench_transaction` finds it.
///
/// # Errors
/// What no repetition mends.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn evenkeel_bench_transaction(
    client: &mut dyn Client,
    retries_max: u16,
    rng: &mut Rng,
    clock: &Clock,
) -> Result<Ended, Error> {
    let mut ended = Ended {
        ending: Ending::GivenUp,
        aborts: [0; Reason::COUNT],
        retries: 0,
    };
    loop {
        let reason = match client.attempt() {
            Ok(Attempt::Committed) => {
                ended.ending = Ending::Committed;
                return Ok(ended);
            }
            Ok(Attempt::RolledBack(reason)) => {
                ended.ending = Ending::RolledBack(reason);
                return Ok(ended);
            }
            Err(Abort::Fatal(error)) => return Err(error),
            Err(Abort::Retry(reason)) => reason,
        };
        ended.aborts[reason as usize] += 1;
        if ended.retries == retries_max || !back_off(ended.retries, rng, clock) {
            return Ok(ended);
        }
        ended.retries += 1;
    }
}

/// False if the run was stopped in between.
fn back_off(retries: u16, rng: &mut Rng, clock: &Clock) -> bool {
    let limit_ns = BACKOFF_MAX_NS.min(BACKOFF_FIRST_NS << retries.min(16));
    clock.sleep_until(clock.now_ns() + rng.below(limit_ns))
}
