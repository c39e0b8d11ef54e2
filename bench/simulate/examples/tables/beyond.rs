//! Schedules beyond the papers, compared with LDSF.

use evenkeel_locks::Starvation;
use evenkeel_simulate::Config;
use evenkeel_simulate::estimate::Ratio;
use evenkeel_simulate::outcome::schedule_name;
use evenkeel_simulate::replicated::Relative;
use evenkeel_simulate::work::Work;
use evenkeel_simulate::workload::LockOrder;

use crate::OWN;
use crate::cells::{spread, ticks};
use crate::settings::{self, exclusive_fraction, of, schedules, theta};
use crate::simulated::Simulated;

/// Replications.
const SEEDS_BEYOND: u32 = 10;

/// Loads at which schedules are compared with LDSF.
const LOADS: [f64; 3] = [0.85, 0.95, 1.0];
/// Dependents a second of age is worth in the row of LDSF with ageing: with 10 ms, a dependent.
const AGEING_PER_S: f64 = 100.0;

/// The microbenchmark in several shapes.
pub fn micro() {
    let pareto = || {
        let mut config = settings::micro(LockOrder::Hashed);
        config.drawn_mut().expect("drawn").classes[0].work = Work::Pareto {
            mean: 1e6,
            shape: 1.5,
        };
        config
    };
    let hashed = || settings::micro(LockOrder::Hashed);
    for (name, config) in [
        ("hashed", hashed()),
        ("hashed, 20 % exclusive", exclusive_fraction(hashed(), 0.2)),
        ("hashed, 100 % exclusive", exclusive_fraction(hashed(), 1.0)),
        ("hashed, theta 0.9", theta(hashed(), 0.9)),
        ("hashed, Pareto work, shape 1.5", pareto()),
        ("hot-last", settings::micro(LockOrder::HotLast)),
        ("random", settings::micro(LockOrder::Random)),
        (
            "random, 20 % exclusive",
            exclusive_fraction(settings::micro(LockOrder::Random), 0.2),
        ),
    ] {
        println!("### {name}\n");
        print_beyond(&of(config, 30_000));
    }
}

/// TPC-C's locks.
pub fn tpcc() {
    print_beyond(&of(Config::tpcc(), 10_000));
}

fn print_beyond(config: &Config) {
    let axis = format!("load={}", LOADS.map(|load| load.to_string()).join(","));
    let names = format!("fifo,ldsf,vats,mblf,ddf,{OWN}");
    let simulated = Simulated::with_seeds(SEEDS_BEYOND, config, &schedules(&names), Some(&axis));
    println!(
        "| load | schedule | mean | variance | p99 | p99.9 | gain kept |\n|---:|---|---:|---:|---:|---:|---:|"
    );
    for block in simulated
        .rows()
        .chunk_by(|a, b| a.case.point == b.case.point)
    {
        let (fifo, ldsf) = (&block[0], &block[1]);
        let load = fifo.case.point.map_or(0.0, |(_, load)| load);
        println!(
            "| {load} | ldsf itself | {} | sd {} | {} | {} | of FIFO's {} |",
            spread(ticks(ldsf, |o| o.latency.mean)),
            spread(ticks(ldsf, |o| o.latency.sd)),
            spread(ticks(ldsf, |o| o.latency.p99 as f64)),
            spread(ticks(ldsf, |o| o.latency.p999 as f64)),
            spread(ticks(fifo, |o| o.latency.mean)),
        );
        let aged = Config {
            starvation: Some(Starvation::Ageing {
                size_per_ns: AGEING_PER_S / config.unit.ticks_per_s(),
            }),
            ..ldsf.case.config.clone()
        };
        let aged = Simulated::with_seeds(SEEDS_BEYOND, &aged, &schedules("ldsf"), None);
        let aged = &aged.rows()[0];
        print_ratios("ldsf, ageing", &aged.relative(ldsf, Some(fifo)));
        for row in &block[2..] {
            let name = schedule_name(row.schedule());
            print_ratios(&name, &row.relative(ldsf, Some(fifo)));
        }
    }
    println!();
}

fn print_ratios(name: &str, relative: &Relative) {
    let cell = |ratio: Option<Ratio>| {
        ratio.map_or("-".to_owned(), |Ratio { ratio, low, high }| {
            format!("{ratio:.2} ({low:.2}-{high:.2})")
        })
    };
    println!(
        "| | {name} | {} | {} | {} | {} | {} |",
        cell(relative.mean),
        cell(relative.variance),
        cell(relative.p99),
        cell(relative.p999),
        relative
            .gain_kept
            .map_or("-".to_owned(), |kept| format!("{:.0} %", 100.0 * kept))
    );
}
