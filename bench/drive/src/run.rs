//! A run: clients under load, from the start of the warm-up to the last transaction, and what was measured.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use evenkeel_locks::rng::Rng;

use crate::admission::Admission;
use crate::arrivals::{Spread, Times};
use crate::client::Client;
use crate::clock::Clock;
use crate::error::Error;
use crate::metrics::Metrics;
use crate::round_trip::RoundTripReport;
use crate::sample::{Ending, Sample, SampleBuffer};
use crate::transaction::evenkeel_bench_transaction;
use crate::window::Window;

/// Slices that the course of a run is cut into, and their least length.
const SLICES: u32 = 150;
const SLICE_MIN: Duration = Duration::from_millis(100);
/// How often the monitor checks for the end, or for an interruption by the user.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time to start one client's thread before the clock starts for all.
const START_OF_CLIENT: Duration = Duration::from_micros(100);
/// Queued arrivals are still served after the window for as long as it was, within these limits.
const DRAIN_MIN: Duration = Duration::from_secs(5);
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// Decides when transactions start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Arrivals come at their time whatever the target does; clients serve them in order. Latency counts from the arrival.
    Open {
        /// The spread of arrivals.
        spread: Spread,
        /// Their mean rate.
        rate_per_s: f64,
        /// An arrival that finds this many queueing or running is rejected and counted.
        in_flight_max: u64,
    },
    /// Each client starts its next transaction after its last one.
    Closed {
        /// With keying and think times.
        thinking: bool,
    },
}

/// A run to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The load.
    pub load: Load,
    /// Load that is not measured, first.
    pub warmup: Duration,
    /// Load that is measured.
    pub length: Duration,
    /// Attempts after the first that a transaction has.
    pub retries_max: u16,
    /// Seed of arrivals and back-offs.
    pub seed: u64,
}

/// Receives the course of a run.
pub trait Observer {
    /// Samples as they come in, in no order.
    ///
    /// # Errors
    /// What was to be done with them failed; the run ends.
    fn samples(&mut self, samples: &[Sample]) -> Result<(), Error>;
    /// A slice of time has been closed: the last of `metrics.slices`.
    fn slice(&mut self, metrics: &Metrics);
}

/// Measurements of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The statistics.
    pub metrics: Metrics,
    /// Arrivals of the window that found too many in flight.
    pub rejected: u64,
    /// Arrivals of the window that had not been served when the run gave up or was stopped.
    pub unfinished: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Arrivals of the window per second; none in a closed loop, which offers what it gets done.
    pub offered_per_s: Option<f64>,
    /// Sleeps of the clients between the statements of their transactions, with a round trip.
    pub round_trips: Option<RoundTripReport>,
}

/// State shared by the threads of a run.
struct Shared {
    clock: Clock,
    window: Window,
    drained_ns: u64,
    admission: Option<Mutex<Admission>>,
    thinking: bool,
    retries_max: u16,
    unfinished: AtomicU64,
    running: AtomicU64,
    failure: Mutex<Option<Error>>,
}

/// Puts `clients` under load. `kinds` is the number of types of transactions they draw; setting `interrupted` ends the
/// run with what was measured until then.
///
/// # Errors
/// The first error of a client that no repetition mends, or one of the observer.
pub fn run(
    clients: &mut [Box<dyn Client>],
    kinds: usize,
    plan: &Plan,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Measured, Error> {
    let buffers: Vec<SampleBuffer> = clients.iter().map(|_| SampleBuffer::default()).collect();
    let shared = Shared::new(plan, clients.len());
    let mut metrics = Metrics::new(shared.window, kinds);
    let watched = thread::scope(|scope| {
        for (number, (client, buffer)) in clients.iter_mut().zip(&buffers).enumerate() {
            let rng = Rng::new(plan.seed ^ (number as u64 + 1).rotate_left(32));
            let shared = &shared;
            scope.spawn(move || shared.serve(client.as_mut(), buffer, rng));
        }
        let watched = watch(&shared, plan, &buffers, interrupted, &mut metrics, observer);
        shared.clock.stop();
        watched
    });
    if let Some(failure) = lock(&shared.failure).take() {
        return Err(failure);
    }
    let stopped = watched?;
    let (rejected, left) = shared.leftovers();
    let unfinished = left + shared.unfinished.load(Ordering::Relaxed);
    let arrived = metrics.all.response.count + metrics.given_up + rejected + unfinished;
    let length_s = metrics.window().length_s();
    Ok(Measured {
        offered_per_s: shared
            .admission
            .is_some()
            .then(|| arrived as f64 / length_s.max(1e-9)),
        metrics,
        rejected,
        unfinished,
        interrupted: stopped,
        round_trips: None,
    })
}

/// Metrics for what the clients leave in their buffers until the last of them is done. Returns whether the user stopped it.
fn watch(
    shared: &Shared,
    plan: &Plan,
    buffers: &[SampleBuffer],
    interrupted: &AtomicBool,
    metrics: &mut Metrics,
    observer: &mut dyn Observer,
) -> Result<bool, Error> {
    let slice_ns = (plan.length / SLICES).max(SLICE_MIN).as_nanos() as u64;
    let (mut next_slice_ns, mut taken, mut stopped) = (slice_ns, Vec::new(), false);
    loop {
        thread::sleep(LOOK_EVERY);
        if !stopped && interrupted.load(Ordering::Relaxed) {
            stopped = true;
            shared.stop(metrics);
        }
        // Read before the buffers are: who is done by now has left its last sample.
        let done = shared.running.load(Ordering::Acquire) == 0;
        for buffer in buffers {
            buffer.swap(&mut taken);
            taken.iter().for_each(|sample| metrics.add(sample));
            observer.samples(&taken)?;
            taken.clear();
        }
        let now_ns = shared.clock.now_ns();
        if now_ns >= next_slice_ns || done {
            next_slice_ns = now_ns + slice_ns;
            if metrics.close_slice(now_ns).is_some() {
                observer.slice(metrics);
            }
        }
        if done {
            return Ok(stopped);
        }
    }
}

impl Shared {
    fn new(plan: &Plan, clients: usize) -> Shared {
        let window = Window::after(plan.warmup, plan.length);
        let admission = match plan.load {
            Load::Open {
                spread,
                rate_per_s,
                in_flight_max,
            } => {
                let times = Times::new(spread, rate_per_s, plan.seed);
                let admission =
                    Admission::new(times, window.end_ns, window.begin_ns, in_flight_max);
                Some(Mutex::new(admission))
            }
            Load::Closed { .. } => None,
        };
        Shared {
            clock: Clock::starting_in(START_OF_CLIENT * clients as u32),
            window,
            drained_ns: window.end_ns + plan.length.clamp(DRAIN_MIN, DRAIN_MAX).as_nanos() as u64,
            admission,
            thinking: matches!(plan.load, Load::Closed { thinking: true }),
            retries_max: plan.retries_max,
            unfinished: AtomicU64::new(0),
            running: AtomicU64::new(clients as u64),
            failure: Mutex::new(None),
        }
    }

    /// The life of a client's thread.
    fn serve(&self, client: &mut dyn Client, buffer: &SampleBuffer, mut rng: Rng) {
        let _leaving = Leaving(self);
        precise_timers();
        let served = match &self.admission {
            Some(admission) => self.serve_arrivals(admission, client, buffer, &mut rng),
            None => self.serve_in_turn(client, buffer, &mut rng),
        };
        if let Err(error) = served {
            lock(&self.failure).get_or_insert(error);
            self.clock.stop();
        }
    }

    /// Open loop.
    fn serve_arrivals(
        &self,
        admission: &Mutex<Admission>,
        client: &mut dyn Client,
        buffer: &SampleBuffer,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        while !self.clock.is_stopped() && self.clock.now_ns() < self.drained_ns {
            let kind = client.draw();
            let Some(scheduled_ns) = lock(admission).claim(self.clock.now_ns()) else {
                break;
            };
            if !self.clock.sleep_until(scheduled_ns) {
                break;
            }
            self.transact(client, kind, Some(scheduled_ns), buffer, rng)?;
            lock(admission).finish(self.clock.now_ns());
        }
        Ok(())
    }

    /// Closed loop.
    fn serve_in_turn(
        &self,
        client: &mut dyn Client,
        buffer: &SampleBuffer,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        let rest = |pause: Duration| {
            pause.is_zero() || {
                let until_ns = self.clock.now_ns() + pause.as_nanos() as u64;
                self.clock.sleep_until(until_ns.min(self.window.end_ns))
            }
        };
        // All begin together, when every thread is there.
        self.clock.sleep_until(1);
        while !self.clock.is_stopped() {
            let kind = client.draw();
            let (keying, think) = if self.thinking {
                client.pauses()
            } else {
                Default::default()
            };
            rest(keying);
            if self.clock.is_stopped() || self.clock.now_ns() >= self.window.end_ns {
                break;
            }
            self.transact(client, kind, None, buffer, rng)?;
            rest(think);
        }
        Ok(())
    }

    /// Runs the drawn transaction and leaves its sample.
    fn transact(
        &self,
        client: &mut dyn Client,
        kind: u8,
        scheduled_ns: Option<u64>,
        buffer: &SampleBuffer,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        let started_ns = self.clock.now_ns();
        let ended = evenkeel_bench_transaction(client, self.retries_max, rng, &self.clock)?;
        let ended_ns = self.clock.now_ns();
        client.finished(ended.ending == Ending::Committed);
        let scheduled_ns = scheduled_ns.unwrap_or(started_ns);
        if ended.ending == Ending::GivenUp && self.clock.is_stopped() {
            let measured = self.window.contains(scheduled_ns);
            self.unfinished
                .fetch_add(u64::from(measured), Ordering::Relaxed);
            return Ok(());
        }
        buffer.leave(Sample {
            kind,
            scheduled_ns,
            started_ns,
            ended_ns,
            ending: ended.ending,
            aborts: ended.aborts,
            retries: ended.retries,
        });
        Ok(())
    }

    /// Ends the run early, and with it the window.
    fn stop(&self, metrics: &mut Metrics) {
        let now_ns = self.clock.now_ns();
        metrics.cut(now_ns);
        if let Some(admission) = &self.admission {
            lock(admission).end(now_ns);
        }
        self.clock.stop();
    }

    /// Arrivals that were rejected, and those that nobody claimed.
    fn leftovers(&self) -> (u64, u64) {
        self.admission.as_ref().map_or((0, 0), |admission| {
            let mut admission = lock(admission);
            let left = admission.abandon();
            (admission.rejected(), left)
        })
    }
}

/// Says when a client's thread ends, however it ends.
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.clock.stop();
        }
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the kernel end this thread's sleeps when they are due, not up to 50 µs later to save a wake-up. Where it cannot be
/// asked, starts are that much later, and the queueing time shows it.
fn precise_timers() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
