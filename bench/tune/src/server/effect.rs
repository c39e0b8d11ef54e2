//! Waiting until settings hold.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Failure;
use crate::error::Error;
use crate::race::NameAndValue;

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time limits until values take effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For new values: after that the server is taken to refuse them.
    set: Duration,
    /// Values that were found. There is no other choice but to wait for them: resizing a large buffer pool takes minutes.
    put_back: Duration,
}

pub(super) const LIMITS: Limits = Limits {
    set: Duration::from_secs(15),
    put_back: Duration::from_secs(600),
};

/// Waits until the values `found` on the server hold again and those `wanted` hold, too. `differing` says which of some settings has
/// another value.
///
/// # Errors
/// [`Failure::Refused`] if a wanted value does not hold in time, [`Failure::Broken`] if a found one does not, or `interrupted` was set.
pub(super) fn settle(
    wanted: &[NameAndValue],
    found: &[NameAndValue],
    limits: Limits,
    interrupted: &AtomicBool,
    mut differing: impl FnMut(&[NameAndValue]) -> Result<Option<String>, Error>,
) -> Result<(), Failure> {
    let mut wait = |settings: &[NameAndValue], limit: Duration| match settings {
        [] => Ok(None),
        settings => until(limit, interrupted, || differing(settings)),
    };
    if let Some(why) = wait(found, limits.put_back)? {
        return Err(Failure::Broken(Error::Setting(format!(
            "{why} {} s ago; the server's log says what keeps it from that",
            limits.put_back.as_secs()
        ))));
    }
    match wait(wanted, limits.set)? {
        None => Ok(()),
        Some(why) => Err(Failure::Refused(why)),
    }
}

/// Looks until nothing is amiss; what still is after the limit.
pub(super) fn until(
    limit: Duration,
    interrupted: &AtomicBool,
    mut amiss: impl FnMut() -> Result<Option<String>, Error>,
) -> Result<Option<String>, Error> {
    let begin = Instant::now();
    loop {
        let Some(why) = amiss()? else {
            return Ok(None);
        };
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Setting(format!("stopped while {why}")));
        }
        if begin.elapsed() > limit {
            return Ok(Some(why));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn setting(name: &str) -> Vec<NameAndValue> {
        vec![(name.to_owned(), "1".to_owned())]
    }

    /// Settles "new" and "old" on a server on which each of them holds after some looks.
    fn settled(limits: Limits, looks: usize, interrupted: bool) -> Result<(), Failure> {
        let mut looked = 0;
        let interrupted = AtomicBool::new(interrupted);
        let (wanted, found) = (setting("new"), setting("old"));
        settle(&wanted, &found, limits, &interrupted, |settings| {
            looked += 1;
            let name = &settings[0].0;
            Ok((looked <= looks).then(|| format!("{name} stays 0 although it was set to 1")))
        })
    }

    #[test]
    fn a_setting_that_is_slow_to_be_put_back_is_waited_for() {
        let limits = Limits {
            set: Duration::ZERO,
            put_back: HOUR,
        };
        settled(limits, 3, false)
            .expect("the old value holds after three looks, the new one at once");
    }

    #[test]
    fn a_new_value_that_does_not_hold_is_refused() {
        let limits = Limits {
            set: Duration::ZERO,
            put_back: HOUR,
        };
        let refused = settle(
            &setting("new"),
            &[],
            limits,
            &AtomicBool::new(false),
            |_| Ok(Some("new stays 0 although it was set to 1".to_owned())),
        );
        assert!(matches!(refused, Err(Failure::Refused(why)) if why.starts_with("new stays 0")));
    }

    #[test]
    fn an_old_value_that_does_not_come_back_is_an_error_that_names_it() {
        let limits = Limits {
            set: HOUR,
            put_back: Duration::ZERO,
        };
        let broken = settled(limits, usize::MAX, false);
        assert!(
            matches!(broken, Err(Failure::Broken(Error::Setting(why))) if why.starts_with("old stays 0"))
        );
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        let limits = Limits {
            set: HOUR,
            put_back: HOUR,
        };
        let broken = settled(limits, usize::MAX, true);
        assert!(
            matches!(broken, Err(Failure::Broken(Error::Setting(why))) if why.starts_with("stopped while old"))
        );
    }
}
