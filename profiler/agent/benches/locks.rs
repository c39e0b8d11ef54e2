//! Cost of an uncontended lock under the agent: `cargo bench -p evenkeel-agent`.
//!
//! Runs `locks.c` in turn without the agent, with it and waits off, and with waits on. Prints medians over the runs,
//! in ns for each round.

#[path = "../tests/harness/mod.rs"]
mod harness;

use std::path::Path;
use std::process::Command;

use harness::{How, build, run_path};

const RUNS: usize = 9;

fn main() {
    let program = build::program_of(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("benches"),
        "locks",
    );
    let mut names = Vec::new();
    let mut columns: [Vec<Vec<f64>>; 3] = Default::default();
    for _ in 0..RUNS {
        for (variant, column) in columns.iter_mut().enumerate() {
            let text = if variant == 0 {
                Command::new(&program).output().expect("it runs").stdout
            } else {
                let how = How {
                    waits: variant == 2,
                    ..How::default()
                };
                run_path(&program, &how).output.stdout
            };
            let text = String::from_utf8(text).expect("text");
            names = text
                .lines()
                .map(|line| line.split('\t').next().unwrap_or("").to_owned())
                .collect();
            let values = text
                .lines()
                .filter_map(|line| line.split('\t').nth(1)?.parse().ok());
            column.push(values.collect());
        }
    }
    println!(
        "{:24} {:>9} {:>10} {:>9}",
        "ns a round", "no agent", "waits off", "waits on"
    );
    for (index, name) in names.iter().enumerate() {
        let [none, off, on] = [0, 1, 2].map(|variant| median(&columns[variant], index));
        println!(
            "{name:24} {none:9.2} {off:+10.2} {on:+9.2}",
            off = off - none,
            on = on - none
        );
    }
}

fn median(runs: &[Vec<f64>], index: usize) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(|run| run[index]).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
