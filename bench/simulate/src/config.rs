//! Settings of a simulation, except for the schedule.

use evenkeel_locks::{DeadlockPolicy, Rules, ScheduleKind, SetSizes, Starvation, Victim};

use crate::work::Work;
use crate::workload::{Class, Drawn, LockOrder, Tpcc, Workload};
use crate::{Arrivals, Error};

/// The unit of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A nanosecond. Rates are per second.
    Nanosecond,
    /// An epoch of section 4.7.4 of the dissertation. Rates are per epoch.
    Epoch,
}

impl Unit {
    /// Ticks in what rates count in.
    pub fn ticks_per_s(self) -> f64 {
        match self {
            Unit::Nanosecond => 1e9,
            Unit::Epoch => 1.0,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanosecond => "ns",
            Unit::Epoch => "epoch",
        }
    }
}

/// Where hLDSF gets expected remaining times from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// From the transaction itself: all of its work (the simulator of section 4.7.4).
    Known,
    /// The mean of its class so far (section 4.7.3).
    Learned,
}

/// Settings of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Decides every draw.
    pub seed: u64,
    /// When transactions arrive. A [`Workload::Listed`] has its own times.
    pub arrivals: Arrivals,
    /// The transactions.
    pub workload: Workload,
    /// Processors; `None` is one for everybody, so that locks are the only contention.
    pub cpus: Option<u32>,
    /// Transactions measured.
    pub transactions: u64,
    /// Transactions before these that are not; in an open loop as many again come after.
    pub warmup: u64,
    /// Transactions in the system at most; arrivals beyond are rejected and counted.
    pub in_flight_limit: u32,
    /// Mean back-off before the first retry of an aborted transaction, in ticks; it doubles with each, up to 64 times.
    pub backoff: f64,
    /// The unit of a tick.
    pub unit: Unit,
    /// Resolves or prevents deadlocks.
    pub deadlocks: DeadlockPolicy,
    /// Keeps waiters from starving; `None` follows the papers for each schedule ([`Rules::new`]).
    pub starvation: Option<Starvation>,
    /// Method of measuring dependency sets.
    pub sizes: SetSizes,
    /// Where expected remaining times come from.
    pub remaining: Remaining,
    /// Compare approximate with exact dependency-set sizes at every scheduled grant (figure 4.19).
    pub measure_size_error: bool,
}

impl Config {
    /// The papers' microbenchmark (section 4.6.1): 5 statements on 20 000 records, Zipf 0.8, half of them exclusive, 300
    /// clients. The papers do not say how long a statement takes; here it is exponential with a mean of 1 ms.
    pub fn micro() -> Config {
        Config {
            seed: 1,
            arrivals: Arrivals::Closed { clients: 300 },
            workload: Workload::Drawn(Drawn {
                objects: 20_000,
                theta: 0.8,
                order: LockOrder::Random,
                classes: vec![Class {
                    name: "all",
                    weight: 1.0,
                    locks: 5,
                    exclusive: 0.5,
                    work: Work::Exponential(1e6),
                    last_work: None,
                }],
            }),
            cpus: None,
            transactions: 50_000,
            warmup: 5_000,
            in_flight_limit: 4_096,
            backoff: 1e6,
            unit: Unit::Nanosecond,
            deadlocks: DeadlockPolicy::Detect(Victim::Youngest),
            starvation: None,
            sizes: SetSizes::Approximate,
            remaining: Remaining::Learned,
            measure_size_error: false,
        }
    }

    /// The mix of section 4.7.4, in epochs: short transactions and 0.5 % long ones that read many records; expected
    /// times are known. The dissertation gives no numbers for either class: these are ours.
    pub fn htap() -> Config {
        let class = |name, weight, locks, exclusive, last| Class {
            name,
            weight,
            locks,
            exclusive,
            work: Work::Constant(1.0),
            last_work: Some(Work::Constant(last)),
        };
        Config {
            arrivals: Arrivals::Closed { clients: 100 },
            workload: Workload::Drawn(Drawn {
                objects: 2_000,
                theta: 0.8,
                order: LockOrder::Random,
                classes: vec![
                    class("short", 99.5, 4, 0.5, 10.0),
                    class("long", 0.5, 40, 0.0, 200.0),
                ],
            }),
            backoff: 10.0,
            unit: Unit::Epoch,
            remaining: Remaining::Known,
            ..Config::micro()
        }
    }

    /// The locks of TPC-C on 32 warehouses, as the papers set it (section 4.6.1); see [`Tpcc`] for what it leaves out. A
    /// statement takes 1 ms in the mean, as in [`Config::micro`].
    pub fn tpcc() -> Config {
        Config {
            workload: Workload::Tpcc(Tpcc {
                warehouses: 32,
                statement: Work::Exponential(1e6),
            }),
            ..Config::micro()
        }
    }

    /// The rules for one schedule.
    pub fn rules(&self, schedule: ScheduleKind) -> Rules {
        let papers = Rules::new(schedule);
        Rules {
            sizes: self.sizes,
            starvation: self.starvation.unwrap_or(papers.starvation),
            deadlocks: self.deadlocks,
            seed: self.seed,
            track_effective_sizes: self.measure_size_error,
            ..papers
        }
    }

    /// The classes and objects, if transactions are drawn.
    ///
    /// # Errors
    /// They are listed, or TPC-C's.
    pub fn drawn_mut(&mut self) -> Result<&mut Drawn, Error> {
        match &mut self.workload {
            Workload::Drawn(drawn) => Ok(drawn),
            Workload::Tpcc(_) => Err(Error::setting(
                "TPC-C fixes objects, skew, order, locks and modes: of these only --warehouses can be set",
            )),
            Workload::Listed(_) => Err(Error::setting(
                "listed transactions have no parameters to set",
            )),
        }
    }

    /// # Errors
    /// A setting makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        let positive = |what: &str, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(Error::setting(format!(
                "{what} must be above 0, and is {value}"
            )))
        };
        match self.arrivals {
            Arrivals::Closed { clients } => positive("the number of clients", f64::from(clients))?,
            Arrivals::Poisson { rate } => positive("the rate", rate)?,
            Arrivals::Bursty { rate, factor, on } => {
                positive("the rate", rate)?;
                positive("the length of a burst", on)?;
                positive("the factor of a burst less 1", factor - 1.0)?;
            }
        }
        positive("the number of transactions", self.transactions as f64)?;
        positive(
            "the number of processors",
            f64::from(self.cpus.unwrap_or(1)),
        )?;
        positive(
            "the limit of transactions in flight",
            f64::from(self.in_flight_limit),
        )?;
        if !self.backoff.is_finite() || self.backoff < 1.0 {
            let what = "the back-off must be at least one tick, or a deadlock is repeated for ever";
            return Err(Error::setting(what));
        }
        self.workload.check()
    }
}
