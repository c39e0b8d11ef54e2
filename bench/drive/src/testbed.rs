//! A testbed: a target with a workload's data and clients connected, ready for one run after another.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Error;
use crate::client::Client;
use crate::delay::Delay;
use crate::grants::Grants;
use crate::progress::Progress;
use crate::report::Consistency;
use crate::round_trip::{RoundTrips, SleepLog, Slept};
use crate::run::{Load, Measured, Observer, Plan, run};
use crate::target::Target;
use crate::workload::AnyWorkload;

/// Part of a run's length, and least time, that the search for the saturation takes.
const SATURATION_PART: u32 = 3;
const SATURATION_MIN: Duration = Duration::from_secs(3);

/// A target with a workload on it.
pub struct Testbed {
    // In the order in which they go: connections before the server.
    clients: Vec<Box<dyn Client>>,
    target: Target,
    workload: Arc<dyn AnyWorkload>,
    /// Sleeps of each client with a round trip.
    sleep_logs: Vec<SleepLog>,
}

/// Options of a testbed.
#[derive(Clone, Copy, Debug)]
pub struct TestbedOptions {
    /// Clients to connect.
    pub clients: usize,
    /// Load the data even if it is there.
    pub reload: bool,
    /// Connections that load in parallel.
    pub loaders: usize,
    /// The clients' time between the statements of a transaction.
    pub round_trip: Option<Delay>,
}

/// A target that could not become a testbed: it is given back, since its server may have to be restored.
pub struct NotSet {
    /// The target, with nobody connected.
    pub target: Target,
    /// Why it could not.
    pub error: Error,
}

impl From<NotSet> for Error {
    fn from(not_set: NotSet) -> Error {
        not_set.error
    }
}

/// The clients of a workload, and the sleeps of those that are some way off.
type Clients = (Vec<Box<dyn Client>>, Vec<SleepLog>);

/// Loads the data where it is missing, and connects the clients.
fn connect(
    target: &Target,
    workload: &dyn AnyWorkload,
    options: &TestbedOptions,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Clients, Error> {
    let (reload, loaders) = (options.reload, options.loaders);
    target.set_up(workload, reload, loaders, stop, progress)?;
    workload.prepare(&mut target.connect(workload)?)?;
    progress.step("connecting");
    let mut clients = Vec::with_capacity(options.clients);
    let mut sleep_logs = Vec::new();
    for number in 0..options.clients {
        let mut session = target.connect(workload)?;
        if let Some(delay) = options.round_trip {
            let round_trips = RoundTrips::new(delay, number as u64);
            sleep_logs.push(session.set_round_trips(round_trips)?);
        }
        clients.push(workload.client(number as u32, session));
    }
    Ok((clients, sleep_logs))
}

impl Testbed {
    /// Loads the data where it is missing, and connects the clients.
    ///
    /// # Errors
    /// See [`Target::set_up`] and [`Target::connect`]; the target comes with the error.
    pub fn set(
        target: Target,
        workload: Arc<dyn AnyWorkload>,
        options: &TestbedOptions,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Testbed, NotSet> {
        match connect(&target, workload.as_ref(), options, stop, progress) {
            Ok((clients, sleep_logs)) => Ok(Testbed {
                clients,
                target,
                workload,
                sleep_logs,
            }),
            Err(error) => Err(NotSet { target, error }),
        }
    }

    /// The target, with nobody connected.
    pub fn into_target(self) -> Target {
        self.target
    }

    /// The target itself.
    pub fn on(&mut self) -> &mut Target {
        &mut self.target
    }

    /// Name of the target, with its version.
    pub fn target(&self) -> &str {
        self.target.name()
    }

    /// The workload.
    pub fn workload(&self) -> &dyn AnyWorkload {
        self.workload.as_ref()
    }

    /// Makes a run.
    ///
    /// # Errors
    /// See [`run`].
    pub fn run(
        &mut self,
        plan: &Plan,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Measured, Error> {
        let kinds = self.workload.transactions().len();
        let mut measured = run(&mut self.clients, kinds, plan, interrupted, observer)?;
        measured.round_trips = self.slept().map(|slept| slept.report());
        Ok(measured)
    }

    /// The round trips since the last run, of all clients; none where they have none.
    fn slept(&self) -> Option<Slept> {
        let mut all = Slept::default();
        self.sleep_logs
            .iter()
            .for_each(|log| all.merge(&log.take()));
        (!self.sleep_logs.is_empty()).then_some(all)
    }

    /// Transactions per second that these clients get done when each starts its next one at once: the saturation that a
    /// load is a fraction of.
    ///
    /// # Errors
    /// See [`run`]; [`Error::Setting`] if nothing got done or the user stopped it.
    pub fn saturation_per_s(
        &mut self,
        plan: &Plan,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<f64, Error> {
        let closed = Plan {
            load: Load::Closed { thinking: false },
            length: (plan.length / SATURATION_PART).max(SATURATION_MIN),
            ..*plan
        };
        let measured = self.run(&closed, interrupted, observer)?;
        if measured.interrupted {
            return Err(Error::Setting(
                "stopped while the saturation was measured".to_owned(),
            ));
        }
        let saturation = measured.metrics.throughput_per_s();
        if saturation > 0.0 {
            Ok(saturation)
        } else {
            Err(Error::Setting(
                "no transaction was completed, so there is no saturation; give a --rate".to_owned(),
            ))
        }
    }

    /// Has the store report its lock grants from now on; none where the target is a server, which reports none.
    pub(crate) fn observe_grants(&self) -> Option<Arc<Grants>> {
        let Target::Embedded(target) = &self.target else {
            return None;
        };
        let grants = Arc::new(Grants::default());
        target.store().observe(Some(grants.clone()));
        Some(grants)
    }

    /// Checks the workload's consistency conditions.
    ///
    /// # Errors
    /// What the target says.
    pub fn check(&mut self) -> Result<Consistency, Error> {
        let mut session = self.target.connect(self.workload.as_ref())?;
        self.workload.check(&mut session).map(Consistency::Checked)
    }
}
