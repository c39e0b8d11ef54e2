//! While a thread of a target stands still, the thread that stopped it runs before all others. The target waits for it at a dozen calls. On a
//! busy machine it would have to queue for a processor each time.

/// The lowest real-time priority.
const LOWEST: libc::sched_param = libc::sched_param { sched_priority: 1 };

/// While this exists, this thread has a real-time priority, where that is permitted (`CAP_SYS_NICE`, `ulimit -r`). It waits nearly all the time.
pub(crate) struct Urgent {
    /// Policy and priority to go back to.
    before: Option<(i32, libc::sched_param)>,
}

impl Urgent {
    /// Begins. It changes nothing where the thread has a real-time priority already, or may not have one.
    pub(crate) fn begin() -> Urgent {
        // SAFETY: of the calling thread; a local structure.
        let before = unsafe {
            let mut priority = libc::sched_param { sched_priority: 0 };
            let policy = libc::sched_getscheduler(0);
            let is_known = libc::sched_getparam(0, &raw mut priority) == 0;
            (is_known && matches!(policy, libc::SCHED_OTHER | libc::SCHED_BATCH))
                .then_some((policy, priority))
        };
        Urgent {
            before: before.filter(|_| set(libc::SCHED_RR, LOWEST)),
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some((policy, priority)) = self.before {
            set(policy, priority);
        }
    }
}

fn set(policy: i32, priority: libc::sched_param) -> bool {
    // SAFETY: of the calling thread; a local structure.
    unsafe { libc::sched_setscheduler(0, policy, &raw const priority) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: libc::sched_param = libc::sched_param { sched_priority: 0 };

    fn policy() -> i32 {
        // SAFETY: of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn the_priority_is_given_back() {
        let is_permitted = set(libc::SCHED_RR, LOWEST);
        assert!(set(libc::SCHED_BATCH, NONE));
        let urgent = Urgent::begin();
        let expected = if is_permitted {
            libc::SCHED_RR
        } else {
            libc::SCHED_BATCH
        };
        assert_eq!(policy(), expected);
        drop(urgent);
        assert_eq!(policy(), libc::SCHED_BATCH);
    }

    #[test]
    fn who_is_urgent_already_stays_so() {
        let outer = Urgent::begin();
        let before = policy();
        drop(Urgent::begin());
        assert_eq!(policy(), before);
        drop(outer);
    }
}
