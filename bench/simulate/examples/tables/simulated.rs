//! Simulations of all seeds, and tables of them.

use std::num::NonZeroU32;

use evenkeel_locks::ScheduleKind;
use evenkeel_simulate::axis::Axis;
use evenkeel_simulate::{Case, Config, Effort, Outcome, Replicated, cases, sweep};

/// Replications of a simulation where no other number is asked for.
const SEEDS: u32 = 5;

/// Simulations, with all seeds of a point and schedule together.
pub struct Simulated {
    seeds: u32,
    cases: Vec<Case>,
    outcomes: Vec<Outcome>,
}

impl Simulated {
    pub fn new(config: &Config, schedules: &[ScheduleKind], axis: Option<&str>) -> Simulated {
        Simulated::with_seeds(SEEDS, config, schedules, axis)
    }

    pub fn with_seeds(
        seeds: u32,
        config: &Config,
        schedules: &[ScheduleKind],
        axis: Option<&str>,
    ) -> Simulated {
        let axis: Option<Axis> = axis.map(|axis| axis.parse().expect("an axis"));
        let effort = Effort {
            seeds: NonZeroU32::new(seeds).expect("not zero"),
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        };
        let quiet = |_| {};
        let cases = cases(config, schedules, axis.as_ref(), effort, &quiet).expect("sound");
        let outcomes = sweep(&cases, effort.threads, &quiet).expect("sound");
        Simulated {
            seeds,
            cases,
            outcomes,
        }
    }

    pub fn rows(&self) -> Vec<Replicated<'_>> {
        Replicated::group(&self.cases, &self.outcomes, self.seeds as usize)
    }
}
