//! Until when the target takes the session for alive.
//!
//! A process that starts waits for the session's verdict on its executable, which takes a while where the file is large
//! and the machine busy. The lease shows it that somebody is at work on that; a profiler that was killed or stopped
//! lets it run out.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_wire::Control;

use crate::arena::Arena;
use evenkeel_wire::now_ticks;

use crate::clock::TickClock;

/// Seconds for which the session is taken for alive after it last said so.
const LEASE_S: f64 = 10.0;
/// How often the lease is renewed.
const PERIOD: Duration = Duration::from_secs(1);

/// Kept until it is dropped, whatever the session's own thread is busy with.
pub struct Lease {
    /// Gone when the lease is to end.
    holding: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Lease {
    /// Takes it, and keeps it from now on.
    ///
    /// # Errors
    /// The system has no memory or no thread to give.
    pub fn keep(arena: &Arena, clock: &TickClock) -> Result<Lease, io::Error> {
        Lease::renewed_every(PERIOD, arena, clock)
    }

    fn renewed_every(
        period: Duration,
        arena: &Arena,
        clock: &TickClock,
    ) -> Result<Lease, io::Error> {
        let page = arena.control_page()?;
        let length_ticks = (LEASE_S * 1e9 * clock.ticks_per_ns()) as u64;
        renew(page.control(), length_ticks);
        let (holding, held) = mpsc::channel::<()>();
        let keeper = thread::Builder::new()
            .name("lease".to_owned())
            .spawn(move || {
                while held.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                    renew(page.control(), length_ticks);
                }
            })?;
        Ok(Lease {
            holding: Some(holding),
            keeper: Some(keeper),
        })
    }
}

fn renew(control: &Control, length_ticks: u64) {
    let until = now_ticks() + length_ticks;
    control.lease_ticks.store(until, Relaxed);
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.holding = None;
        if let Some(keeper) = self.keeper.take() {
            // It has nothing that could panic.
            let _ = keeper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_renewed_until_it_is_dropped() {
        let arena = Arena::create().unwrap();
        let until = || arena.control().lease_ticks.load(Relaxed);
        let period = Duration::from_millis(1);
        let lease = Lease::renewed_every(period, &arena, &TickClock::start()).unwrap();
        for _ in 0..3 {
            let before = until();
            assert!(before > now_ticks());
            while until() == before {
                thread::sleep(period);
            }
        }
        drop(lease);
        let last = until();
        thread::sleep(20 * period);
        assert_eq!(until(), last);
    }
}
