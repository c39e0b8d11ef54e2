//! The event loop.

mod attempts;

use evenkeel_locks::ScheduleKind;
use evenkeel_locks::contention::{Contention, Effects};
use evenkeel_locks::graph::{QueueIndex, TxnMeta};

use crate::active::{Active, State};
use crate::arrivals::Clock;
use crate::config::Remaining;
use crate::event_queue::{EventQueue, What};
use crate::measure::Measure;
use crate::outcome::SizeError;
use crate::processors::Processors;
use crate::workload::{Maker, Workload};
use crate::{Arrivals, Config, Error, Outcome};

/// Commits between two reports of progress.
const PROGRESS_STEP: u64 = 1024;

/// Simulates `schedule`.
///
/// # Errors
/// A setting makes no sense.
pub fn run(config: &Config, schedule: ScheduleKind) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(config, schedule)?;
    simulation.run(&mut |_| {});
    Ok(simulation.finish())
}

/// A simulation under way.
pub struct Simulation<'a> {
    config: &'a Config,
    contention: Contention,
    maker: Maker<'a>,
    clock: Clock,
    event_queue: EventQueue,
    now: u64,
    /// Transactions that have arrived.
    arrived: u64,
    arrivals_max: u64,
    /// In a closed loop, the number of transactions that each client began.
    begun: Vec<u64>,
    active: Vec<Active>,
    free: Vec<u32>,
    /// From a place in the graph to one in `active`.
    slots: Vec<u32>,
    /// From an object to its queue, made when it is first asked for.
    queues: Vec<Option<QueueIndex>>,
    processors: Processors<u32>,
    effects: Effects,
    spare: Effects,
    measure: Measure,
    sizes: Vec<(u64, u64)>,
}

impl<'a> Simulation<'a> {
    /// Before the first event.
    ///
    /// # Errors
    /// A setting makes no sense.
    pub fn new(config: &'a Config, schedule: ScheduleKind) -> Result<Simulation<'a>, Error> {
        config.check()?;
        let (closed, warmup, count) = match (&config.workload, config.arrivals) {
            (Workload::Listed(listed), _) => (false, 0, listed.len() as u64),
            (_, arrivals) => (
                matches!(arrivals, Arrivals::Closed { .. }),
                config.warmup,
                config.transactions,
            ),
        };
        let mut simulation = Simulation {
            config,
            contention: Contention::new(config.rules(schedule)),
            maker: Maker::new(&config.workload, config.seed),
            clock: Clock::new(config.arrivals, config.unit.ticks_per_s(), config.seed),
            event_queue: EventQueue::default(),
            now: 0,
            arrived: 0,
            arrivals_max: if closed { u64::MAX } else { count + 2 * warmup },
            begun: Vec::new(),
            active: Vec::new(),
            free: Vec::new(),
            slots: Vec::new(),
            queues: Vec::new(),
            processors: Processors::new(config.cpus),
            effects: Effects::default(),
            spare: Effects::default(),
            measure: Measure::new(closed, warmup, count, config.workload.class_names().len()),
            sizes: Vec::new(),
        };
        match config.arrivals {
            Arrivals::Closed { clients } if closed => {
                simulation.begun = vec![0; clients as usize];
                for client in 0..clients {
                    simulation.event_queue.add(0, What::Arrival { client });
                }
            }
            _ => simulation.expect_arrival(),
        }
        Ok(simulation)
    }

    /// Runs to the end; `progress` gets, now and then, how many transactions have committed so far.
    pub fn run(&mut self, progress: &mut dyn FnMut(u64)) {
        let mut reported = 0;
        while self.step() {
            if self.measure.commits >= reported + PROGRESS_STEP {
                reported = self.measure.commits;
                progress(reported);
            }
        }
        progress(self.measure.commits);
    }

    /// The next event; `false` if none is left, or all measured transactions of a closed loop have committed.
    pub fn step(&mut self) -> bool {
        if self.measure.is_complete() {
            return false;
        }
        let Some((time, what)) = self.event_queue.next() else {
            return false;
        };
        self.now = time;
        match what {
            What::Arrival { client } => self.arrive(client),
            What::Worked { slot, attempt } if self.active[slot as usize].attempt == attempt => {
                self.worked(slot)
            }
            What::Worked { .. } => {}
            What::Retry { slot } => self.begin(slot),
        }
        self.settle();
        true
    }

    /// Queues and wait-for graph.
    pub fn contention(&self) -> &Contention {
        &self.contention
    }

    /// Virtual time in ticks.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Transactions in the system.
    pub fn in_flight(&self) -> u32 {
        self.measure.in_flight
    }

    /// Transactions that work now.
    pub fn running(&self) -> u32 {
        self.active
            .iter()
            .filter(|active| active.state == State::Running)
            .count() as u32
    }

    /// Transactions committed since the beginning.
    pub fn commits(&self) -> u64 {
        self.measure.commits
    }

    /// Arrivals rejected since the beginning.
    pub fn rejected(&self) -> u64 {
        self.measure.rejected
    }

    /// The result.
    pub fn finish(self) -> Outcome {
        let unfinished = self
            .active
            .iter()
            .filter(|active| active.state != State::Gone);
        let oldest = unfinished.map(|active| active.meta.birth_ns).min();
        let schedule = self.contention.rules().schedule;
        let (in_flight, rejected) = (self.measure.in_flight, self.measure.rejected);
        let ticks_per_s = self.config.unit.ticks_per_s();
        let (latency, of_class, window) =
            self.measure
                .finish(self.now, self.contention.counters(), ticks_per_s);
        let names = self.config.workload.class_names();
        let classes = if names.len() > 1 {
            names.into_iter().zip(of_class).collect()
        } else {
            Vec::new()
        };
        Outcome {
            schedule,
            latency,
            classes,
            window,
            rejected,
            unfinished: in_flight,
            unfinished_age_max: oldest.map_or(0, |birth| self.now - birth),
            size_error: self
                .config
                .measure_size_error
                .then(|| SizeError::of(&self.sizes)),
        }
    }

    /// Puts the next arrival of an open loop on the list.
    fn expect_arrival(&mut self) {
        if self.arrived + self.measure.rejected >= self.arrivals_max {
            return;
        }
        let time = match &self.config.workload {
            Workload::Listed(listed) => {
                Some(listed[self.arrived as usize + self.measure.rejected as usize].at)
            }
            _ => self.clock.next(),
        };
        if let Some(time) = time {
            self.event_queue.add(time, What::Arrival { client: 0 });
        }
    }

    fn arrive(&mut self, client: u32) {
        let open = self.begun.is_empty();
        let number = self.arrived + self.measure.rejected;
        let draw = if open {
            number
        } else {
            let clients = self.begun.len() as u64;
            let begun = &mut self.begun[client as usize];
            *begun += 1;
            (*begun - 1) * clients + u64::from(client)
        };
        if open && self.measure.in_flight >= self.config.in_flight_limit {
            self.measure.rejected += 1;
            self.expect_arrival();
            return;
        }
        self.arrived += 1;
        self.measure
            .arrived(number, self.now, self.contention.counters());
        let slot = self.admit(number, draw, client);
        if open {
            self.expect_arrival();
        }
        self.begin(slot);
    }

    /// A slot for arrival number `number`, with its plan.
    fn admit(&mut self, number: u64, draw: u64, client: u32) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.active.push(Active::vacant());
            (self.active.len() - 1) as u32
        });
        let active = &mut self.active[slot as usize];
        let issuer = (!self.begun.is_empty()).then_some(client);
        let class = self.maker.make(draw, issuer, &mut active.steps);
        let work = active
            .steps
            .iter()
            .fold(0u64, |sum, step| sum.saturating_add(step.work));
        active.meta = TxnMeta {
            id: number,
            birth_ns: self.now,
            class,
            expected_remaining_ns: (self.config.remaining == Remaining::Known)
                .then_some(work as f64),
        };
        (active.number, active.draw, active.client, active.retries) = (number, draw, client, 0);
        slot
    }
}
