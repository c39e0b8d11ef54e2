//! Which threads are in an interval that is recorded. The helper class looks there before it calls the agent for a call inside of one.
//! A call into native code costs far more, and most intervals of a busy server are only counted.
//!
//! A thread's place follows from its number in Java. Threads that share a place share its count, so that one of them may call the
//! agent in vain.

use core::sync::atomic::{AtomicU8, Ordering::*};

/// The helper class has the same number.
const PLACES: usize = 1 << 14;

static RECORDING: [AtomicU8; PLACES] = [const { AtomicU8::new(0) }; PLACES];

/// Where the places are. They stay there, since compiled Java code has their address.
pub fn address() -> usize {
    RECORDING.as_ptr() as usize
}

/// What is noted of a thread.
#[derive(Debug)]
pub struct Mark {
    place: u16,
    is_set: bool,
}

impl Mark {
    /// Of the thread with this number, which is in no interval.
    pub fn of(number: u64) -> Mark {
        Mark {
            place: (number % PLACES as u64) as u16,
            is_set: false,
        }
    }

    /// Notes whether the thread is in an interval that is recorded.
    pub fn set(&mut self, is_recorded: bool) {
        let place = &RECORDING[usize::from(self.place)];
        match (self.is_set, is_recorded) {
            (false, true) => place.fetch_add(1, Relaxed),
            (true, false) => place.fetch_sub(1, Relaxed),
            _ => return,
        };
        self.is_set = is_recorded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(number: usize) -> u8 {
        RECORDING[number % PLACES].load(Relaxed)
    }

    #[test]
    fn a_place_is_of_all_threads_that_share_it() {
        let number = 77;
        let mut threads = [number, number + PLACES].map(|number| Mark::of(number as u64));
        assert_eq!(noted(number), 0);
        for _ in 0..2 {
            threads.iter_mut().for_each(|thread| thread.set(true));
        }
        assert_eq!(noted(number), 2);
        threads[0].set(false);
        assert_eq!(noted(number), 1);
        threads.iter_mut().for_each(|thread| thread.set(false));
        assert_eq!((noted(number), noted(number + 1)), (0, 0));
    }
}
