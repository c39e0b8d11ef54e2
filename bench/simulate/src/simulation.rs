//! The event loop.

use evenkeel_locks::ScheduleKind;
use evenkeel_locks::contention::{Contention, Effects, Outcome as Request};
use evenkeel_locks::graph::{QueueIndex, TxnIndex, TxnMeta};

use crate::active::{Active, State};
use crate::agenda::{Agenda, What};
use crate::arrivals::Clock;
use crate::config::Remaining;
use crate::measure::Measure;
use crate::outcome::SizeError;
use crate::processors::Processors;
use crate::sample::{self, Purpose};
use crate::workload::{Maker, Workload};
use crate::{Arrivals, Config, Error, Outcome};

/// Retries after which the mean back-off grows no more: 64 times the first.
const BACKOFF_DOUBLINGS_MAX: u32 = 6;
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
    agenda: Agenda,
    now: u64,
    /// Transactions that have arrived.
    arrived: u64,
    arrivals_max: u64,
    /// Of each client in a closed loop: how many transactions it began.
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
            agenda: Agenda::default(),
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
                    simulation.agenda.add(0, What::Arrival { client });
                }
            }
            _ => simulation.expect_arrival(),
        }
        Ok(simulation)
    }

    /// Runs to the end; `progress` is told now and then how many transactions have committed so far.
    pub fn run(&mut self, progress: &mut dyn FnMut(u64)) {
        let mut told = 0;
        while self.step() {
            if self.measure.commits >= told + PROGRESS_STEP {
                told = self.measure.commits;
                progress(told);
            }
        }
        progress(self.measure.commits);
    }

    /// The next event; `false` if there is none left, or all measured transactions of a closed loop have committed.
    pub fn step(&mut self) -> bool {
        if self.measure.is_complete() {
            return false;
        }
        let Some((time, what)) = self.agenda.next() else {
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

    /// What was found.
    pub fn finish(self) -> Outcome {
        let unfinished = self
            .active
            .iter()
            .filter(|active| active.state != State::Gone);
        let eldest = unfinished.map(|active| active.meta.birth_ns).min();
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
            unfinished_age_max: eldest.map_or(0, |birth| self.now - birth),
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
            self.agenda.add(time, What::Arrival { client: 0 });
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

    /// A place for arrival number `number`, with what it is going to do.
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

    /// Begins an attempt.
    fn begin(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        active.txn = self.contention.add_txn(active.meta);
        (active.at, active.held) = (0, 0);
        active.granted_at.clear();
        let place = active.txn.0 as usize;
        if self.slots.len() <= place {
            self.slots.resize(place + 1, 0);
        }
        self.slots[place] = slot;
        self.request(slot);
    }

    /// Asks for the lock of the next step.
    fn request(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        active.state = State::Waiting;
        let step = active.steps[active.at];
        let (txn, held) = (active.txn, active.held);
        let queue = self.queue(step.object);
        match self
            .contention
            .request(txn, queue, step.mode, held, self.now, &mut self.effects)
        {
            Ok(Request::Granted | Request::AlreadyHeld) => self.granted(slot),
            Ok(Request::Waiting) => {}
            Err(_) => self.abort(slot),
        }
    }

    fn queue(&mut self, object: u32) -> QueueIndex {
        let place = object as usize;
        if self.queues.len() <= place {
            self.queues.resize(place + 1, None);
        }
        *self.queues[place].get_or_insert_with(|| self.contention.add_queue())
    }

    /// The lock of this step is held: work.
    fn granted(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        let object = active.steps[active.at].object;
        let again = active.steps[..active.at]
            .iter()
            .any(|step| step.object == object);
        active.held += u32::from(!again);
        active.state = State::Ready;
        if self.processors.take(slot) {
            self.work(slot);
        }
    }

    fn work(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        active.state = State::Running;
        let (time, attempt) = (
            self.now.saturating_add(active.steps[active.at].work),
            active.attempt,
        );
        self.agenda.add(time, What::Worked { slot, attempt });
    }

    fn yield_processor(&mut self) {
        if let Some(next) = self.processors.release() {
            self.work(next);
        }
    }

    fn worked(&mut self, slot: u32) {
        self.yield_processor();
        let active = &mut self.active[slot as usize];
        active.at += 1;
        if active.at == active.steps.len() {
            self.commit(slot);
        } else {
            self.request(slot);
        }
    }

    fn commit(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        active.state = State::Gone;
        active.attempt = active.attempt.wrapping_add(1);
        for granted_at in active.granted_at.drain(..) {
            let remaining = (self.now - granted_at) as f64;
            self.contention
                .observe_remaining(active.meta.class, remaining);
        }
        let (txn, number, client) = (active.txn, active.number, active.client);
        let (birth, class) = (active.meta.birth_ns, active.meta.class);
        self.free.push(slot);
        self.contention
            .release_all(txn, self.now, &mut self.effects);
        self.contention.remove_txn(txn);
        self.measure
            .committed(number, birth, class, self.now, self.contention.counters());
        if !self.begun.is_empty() {
            self.agenda.add(self.now, What::Arrival { client });
        }
    }

    /// Takes all locks back and tries again later.
    fn abort(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        let was = std::mem::replace(&mut active.state, State::BackingOff);
        if was == State::BackingOff {
            return;
        }
        active.attempt = active.attempt.wrapping_add(1);
        let mut draws = sample::stream(
            self.config.seed,
            Purpose::Backoff,
            (active.draw << 16) ^ u64::from(active.retries),
        );
        let doublings = active.retries.min(BACKOFF_DOUBLINGS_MAX);
        active.retries += 1;
        let mean = self.config.backoff * f64::from(1u32 << doublings);
        let pause = libm::round(sample::exponential(&mut draws, mean)).max(1.0) as u64;
        let txn = active.txn;
        self.measure.aborts += 1;
        match was {
            State::Running => self.yield_processor(),
            State::Ready => self.processors.forget(|&job| job == slot),
            _ => {}
        }
        self.contention
            .release_all(txn, self.now, &mut self.effects);
        self.contention.remove_txn(txn);
        self.agenda.add(self.now + pause, What::Retry { slot });
    }

    /// Passes on what calls did to other transactions, until nothing is left.
    fn settle(&mut self) {
        while !(self.effects.granted.is_empty()
            && self.effects.refused.is_empty()
            && self.effects.wounded.is_empty())
        {
            let mut batch = std::mem::replace(&mut self.effects, std::mem::take(&mut self.spare));
            for granted in &batch.granted {
                let slot = self.slots[granted.txn.0 as usize];
                self.note_grant(slot, granted.txn);
                self.granted(slot);
            }
            let aborted = batch
                .refused
                .iter()
                .map(|(txn, _)| txn)
                .chain(batch.wounded.iter().map(|(txn, _)| txn));
            for txn in aborted {
                self.abort(self.slots[txn.0 as usize]);
            }
            batch.clear();
            self.spare = batch;
        }
        self.effects.clear();
    }

    fn note_grant(&mut self, slot: u32, txn: TxnIndex) {
        if self.contention.rules().schedule.needs_remaining_times() {
            self.active[slot as usize].granted_at.push(self.now);
        }
        if self.config.measure_size_error {
            let graph = self.contention.graph();
            self.sizes
                .push((graph.effective_size(txn), graph.dependency_set_size(txn)));
        }
    }
}
