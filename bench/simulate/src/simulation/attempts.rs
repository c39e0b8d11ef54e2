//! The course of an attempt of a transaction: it asks, waits, works, and commits or is aborted and tried again.

use evenkeel_locks::contention::Outcome as Request;
use evenkeel_locks::graph::{QueueIndex, TxnIndex};

use super::Simulation;
use crate::active::State;
use crate::event_queue::What;
use crate::sample::{self, Purpose};

/// Retries after which the mean back-off grows no more: 64 times the first.
const BACKOFF_DOUBLINGS_MAX: u32 = 6;
impl Simulation<'_> {
    /// Begins an attempt.
    pub(super) fn begin(&mut self, slot: u32) {
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
        self.event_queue.add(time, What::Worked { slot, attempt });
    }

    fn yield_processor(&mut self) {
        if let Some(next) = self.processors.release() {
            self.work(next);
        }
    }

    /// The work of a step is done.
    pub(super) fn worked(&mut self, slot: u32) {
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
            self.event_queue.add(self.now, What::Arrival { client });
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
        let mut rng = sample::stream(
            self.config.seed,
            Purpose::Backoff,
            (active.draw << 16) ^ u64::from(active.retries),
        );
        let doublings = active.retries.min(BACKOFF_DOUBLINGS_MAX);
        active.retries += 1;
        let mean = self.config.backoff * f64::from(1u32 << doublings);
        let pause = libm::round(sample::exponential(&mut rng, mean)).max(1.0) as u64;
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
        self.event_queue.add(self.now + pause, What::Retry { slot });
    }

    /// Passes on what calls did to other transactions, until nothing is left.
    pub(super) fn settle(&mut self) {
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
