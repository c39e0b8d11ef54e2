//! Threads that were asked to stop and did not in time, since they sleep in the kernel. Each stops once it wakes, however late that is, and would
//! stand still until this process ends: it has to be let go then.

use std::cell::RefCell;
use std::time::Duration;

use super::{Stop, Tracee};

thread_local! {
    /// Those of this thread, for only the thread that asked may let them go.
    static LATE: RefCell<Vec<Late>> = const { RefCell::new(Vec::new()) };
}

/// What is kept of a [`Tracee`].
#[derive(Clone, Copy, Debug)]
struct Late {
    tid: i32,
    number: i32,
    how: libc::c_uint,
    holds_stops: bool,
    held_stop: bool,
}

/// It has not stopped yet.
pub(super) fn add(tracee: &Tracee) {
    let late = Late {
        tid: tracee.tid,
        number: tracee.number,
        how: tracee.how,
        holds_stops: tracee.holds_stops,
        held_stop: tracee.held_stop,
    };
    LATE.with_borrow_mut(|all| all.push(late));
}

/// Whether a thread is one of them.
pub(super) fn has(number: i32) -> bool {
    LATE.with_borrow(|all| all.iter().any(|late| late.number == number))
}

/// Lets those go on that have stopped by now. To be called often, by the thread that has attached to processes.
pub fn let_go() {
    for late in LATE.take() {
        let mut tracee = Tracee {
            tid: late.tid,
            number: late.number,
            stopped: false,
            gone: false,
            signal: 0,
            how: late.how,
            holds_stops: late.holds_stops,
            held_stop: late.held_stop,
        };
        if tracee.look() == Stop::Late {
            add(&tracee);
            // It stays traced.
            tracee.gone = true;
        }
    }
}

impl Tracee {
    /// Whether it has stopped by now.
    fn look(&mut self) -> Stop {
        self.wait_for(0, Duration::ZERO)
    }
}
