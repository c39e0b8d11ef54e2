//! Simulations of all seeds, and tables of them.

use std::num::NonZeroU32;

use evenkeel_locks::ScheduleKind;
use evenkeel_simulate::axis::Axis;
use evenkeel_simulate::{Case, Config, Effort, Outcome, Replicated, cases, sweep};

use crate::settings::schedules;

/// Replications of every simulation of the papers' figures.
const SEEDS: u32 = 5;

/// What was simulated, with all seeds of a point and schedule together.
pub struct Simulated {
    seeds: u32,
    pub cases: Vec<Case>,
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

/// What a table shows of one schedule at one point.
pub type Cell = fn(&Replicated<'_>) -> String;

/// A row a value of the axis, a column a schedule.
pub fn print_by_axis(config: &Config, axis: &str, names: &str, cell: Cell) {
    let simulated = Simulated::new(config, &schedules(names), Some(axis));
    let parameter = axis.split('=').next().unwrap_or_default();
    print_rows(parameter, names, &simulated.rows(), cell);
}

pub fn print_rows(parameter: &str, names: &str, rows: &[Replicated<'_>], cell: Cell) {
    println!("| {parameter} | {} |", names.replace(',', " | "));
    println!("|---:{}|", "|---:".repeat(names.split(',').count()));
    for block in rows.chunk_by(|a, b| a.case.point == b.case.point) {
        let value = block[0].case.point.map_or(0.0, |(_, value)| value);
        let cells: Vec<String> = block.iter().map(cell).collect();
        println!("| {value} | {} |", cells.join(" | "));
    }
    println!();
}
