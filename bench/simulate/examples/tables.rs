//! The tables of RESULTS.md, as Markdown.
//!
//! ```console
//! $ cargo run --release -p evenkeel-simulate --example tables            # all, some minutes
//! $ cargo run --release -p evenkeel-simulate --example tables -- skew    # one
//! ```

use std::num::NonZeroU32;

use evenkeel_locks::{ScheduleKind, Starvation};
use evenkeel_simulate::axis::Axis;
use evenkeel_simulate::config::Unit;
use evenkeel_simulate::estimate::{Estimate, Ratio};
use evenkeel_simulate::replicated::Relative;
use evenkeel_simulate::work::Work;
use evenkeel_simulate::workload::LockOrder;
use evenkeel_simulate::{Arrivals, Case, Config, Effort, Outcome, Replicated, cases, sweep};

/// Replications of every simulation of the papers' figures.
const SEEDS: u32 = 5;
/// Replications where schedules are compared with LDSF.
const SEEDS_BEYOND: u32 = 10;
const PAPERS: &str = "fifo,random,vats,mlf,mblf,ddf,ldsf,bldsf";
const OWN: &str = "svats,edsf,ldaf:1,ldaf,hldaf";

type Table = (&'static str, fn());

const TABLES: [Table; 13] = [
    ("clients-random", clients_random),
    ("clients-hashed", clients_hashed),
    ("clients-tpcc", clients_tpcc),
    ("deadlocks", deadlocks),
    ("load", load),
    ("load-tpcc", load_tpcc),
    ("skew", skew),
    ("exclusive", exclusive),
    ("delay-factor", delay_factor),
    ("size-error", size_error),
    ("hybrid", hybrid),
    ("beyond", beyond),
    ("beyond-presets", beyond_presets),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for name in &wanted {
        let known = TABLES.iter().any(|(table, _)| table == name);
        assert!(
            known,
            "no table {name}; there are {:?}",
            TABLES.map(|(name, _)| name)
        );
    }
    for (name, print) in TABLES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("## {name}\n");
            print();
        }
    }
}

// Settings.

fn micro(order: LockOrder) -> Config {
    let mut config = Config::micro();
    config.drawn_mut().expect("drawn").order = order;
    config
}

fn htap(order: LockOrder) -> Config {
    let mut config = Config::htap();
    config.drawn_mut().expect("drawn").order = order;
    config
}

fn exclusive_fraction(mut config: Config, fraction: f64) -> Config {
    let drawn = config.drawn_mut().expect("drawn");
    drawn.classes[0].exclusive = fraction;
    config
}

fn theta(mut config: Config, theta: f64) -> Config {
    config.drawn_mut().expect("drawn").theta = theta;
    config
}

fn of(mut config: Config, transactions: u64) -> Config {
    (config.transactions, config.warmup) = (transactions, transactions / 10);
    config
}

fn schedules(names: &str) -> Vec<ScheduleKind> {
    let known = |name| ScheduleKind::from_name(name).expect("a known schedule");
    names.split(',').map(known).collect()
}

// Simulating.

/// What was simulated, with all seeds of a point and schedule together.
struct Simulated {
    seeds: u32,
    cases: Vec<Case>,
    outcomes: Vec<Outcome>,
}

impl Simulated {
    fn new(config: &Config, schedules: &[ScheduleKind], axis: Option<&str>) -> Simulated {
        Simulated::with_seeds(SEEDS, config, schedules, axis)
    }

    fn with_seeds(
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

    fn rows(&self) -> Vec<Replicated<'_>> {
        Replicated::group(&self.cases, &self.outcomes, self.seeds as usize)
    }
}

/// What a table shows of one schedule at one point.
type Cell = fn(&Replicated<'_>) -> String;

/// A row a value of the axis, a column a schedule.
fn print_by_axis(config: &Config, axis: &str, names: &str, cell: Cell) {
    let simulated = Simulated::new(config, &schedules(names), Some(axis));
    let parameter = axis.split('=').next().unwrap_or_default();
    print_rows(parameter, names, &simulated.rows(), cell);
}

fn print_rows(parameter: &str, names: &str, rows: &[Replicated<'_>], cell: Cell) {
    println!("| {parameter} | {} |", names.replace(',', " | "));
    println!("|---:{}|", "|---:".repeat(names.split(',').count()));
    for block in rows.chunk_by(|a, b| a.case.point == b.case.point) {
        let value = block[0].case.point.map_or(0.0, |(_, value)| value);
        let cells: Vec<String> = block.iter().map(cell).collect();
        println!("| {value} | {} |", cells.join(" | "));
    }
    println!();
}

// Cells.

/// About three digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn spread(estimate: Estimate) -> String {
    format!("{} ±{}", short(estimate.mean), short(estimate.half_width))
}

/// Ticks as milliseconds, or epochs as they are.
fn ticks(row: &Replicated<'_>, measure: impl Fn(&Outcome) -> f64) -> Estimate {
    let scale = match row.case.config.unit {
        Unit::Nanosecond => 1e6,
        Unit::Epoch => 1.0,
    };
    row.estimate(|outcome| measure(outcome) / scale)
}

fn throughput(row: &Replicated<'_>) -> String {
    spread(row.estimate(|o| o.window.throughput))
}

fn mean_and_throughput(row: &Replicated<'_>) -> String {
    let mean = ticks(row, |o| o.latency.mean);
    format!("{} ({}/s)", spread(mean), throughput(row))
}

fn mean_and_tail(row: &Replicated<'_>) -> String {
    let [mean, p99, p999] = [
        ticks(row, |o| o.latency.mean),
        ticks(row, |o| o.latency.p99 as f64),
        ticks(row, |o| o.latency.p999 as f64),
    ]
    .map(spread);
    format!("{mean} / {p99} / {p999}")
}

// Tables.

fn clients_random() {
    print_by_clients(of(micro(LockOrder::Random), 20_000));
}

fn clients_hashed() {
    print_by_clients(of(micro(LockOrder::Hashed), 10_000));
}

fn clients_tpcc() {
    print_by_clients(of(Config::tpcc(), 10_000));
}

fn print_by_clients(config: Config) {
    let names = format!("{PAPERS},edsf,ldaf");
    let axis = "clients=10,25,50,100..300:100,600,900";
    print_by_axis(&config, axis, &names, throughput);
}

fn deadlocks() {
    println!(
        "| schedule | random: deadlocks per commit | random: commits/s | hashed: commits/s | hot-last: commits/s |"
    );
    println!("|---|---:|---:|---:|---:|");
    let all = schedules(&format!("{PAPERS},{OWN}"));
    let of_order = |order| Simulated::new(&of(micro(order), 10_000), &all, None);
    let (random, hashed, hot_last) = (
        of_order(LockOrder::Random),
        of_order(LockOrder::Hashed),
        of_order(LockOrder::HotLast),
    );
    for ((random, hashed), hot_last) in random.rows().iter().zip(hashed.rows()).zip(hot_last.rows())
    {
        let per_commit = random.estimate(|o| o.window.deadlocks_per_commit());
        println!(
            "| {} | {} | {} | {} | {} |",
            evenkeel_simulate::outcome::schedule_name(random.schedule()),
            spread(per_commit),
            throughput(random),
            throughput(&hashed),
            throughput(&hot_last)
        );
    }
    println!();
}

fn load() {
    print_by_load("random order", &of(micro(LockOrder::Random), 20_000));
    print_by_load("hashed order", &of(micro(LockOrder::Hashed), 20_000));
}

fn load_tpcc() {
    print_by_load("TPC-C", &of(Config::tpcc(), 10_000));
}

fn print_by_load(name: &str, config: &Config) {
    let names = "fifo,vats,mlf,mblf,ddf,ldsf,bldsf";
    let axis = Some("load=0.7,0.85,0.95,1.05");
    let simulated = Simulated::new(config, &schedules(names), axis);
    let rows = simulated.rows();
    let rate = match simulated.cases[0].config.arrivals {
        Arrivals::Poisson { rate } => rate / 0.7,
        _ => 0.0,
    };
    println!("### {name}: load 1 is {rate:.0} a second\n");
    let tables: [(&str, Cell); 3] = [
        ("mean / p99 / p99.9 in ms", mean_and_tail),
        ("standard deviation in ms", |row| {
            spread(ticks(row, |o| o.latency.sd))
        }),
        ("waiters per decision", |row| {
            spread(row.estimate(|o| o.window.queue_mean))
        }),
    ];
    for (what, cell) in tables {
        println!("{what}:\n");
        print_rows("load", names, &rows, cell);
    }
}

fn in_both_orders(axis: &str, names: &str) {
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        println!("### {name} order\n");
        print_by_axis(&of(micro(order), 10_000), axis, names, mean_and_throughput);
    }
}

fn skew() {
    in_both_orders("theta=0,0.5..0.9:0.1", "fifo,vats,ldsf,bldsf,ldaf");
}

fn exclusive() {
    in_both_orders("exclusive=0.2..1:0.2", "fifo,vats,ldsf,bldsf,ldaf");
}

fn delay_factor() {
    let names = "fifo,bldsf:f1,bldsf:f2,bldsf:f3,bldsf:f4,bldsf:f5,bldsf:f6";
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        println!("### {name} order\n");
        let config = exclusive_fraction(of(micro(order), 10_000), 0.2);
        print_by_axis(&config, "clients=300", names, mean_and_throughput);
    }
}

fn size_error() {
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        println!("### {name} order\n");
        println!(
            "| exclusive | ratio > 1 | > 1.5 | > 2 | > 4 | greatest |\n|---:|---:|---:|---:|---:|---:|"
        );
        let config = Config {
            measure_size_error: true,
            ..of(micro(order), 10_000)
        };
        let simulated = Simulated::new(&config, &schedules("bldsf"), Some("exclusive=0.2..1:0.2"));
        for row in simulated.rows() {
            let value = row.case.point.map_or(0.0, |(_, value)| value);
            let per_cent = |of: fn(&evenkeel_simulate::outcome::SizeError) -> f64| {
                let estimate = row.estimate(|o| 100.0 * o.size_error.as_ref().map_or(0.0, of));
                format!("{:.1} ±{:.1} %", estimate.mean, estimate.half_width)
            };
            let greatest = row.pooled().size_error.map_or(0.0, |error| error.max);
            println!(
                "| {value} | {} | {} | {} | {} | {greatest:.1} |",
                per_cent(|e| e.above_1),
                per_cent(|e| e.above_1_5),
                per_cent(|e| e.above_2),
                per_cent(|e| e.above_4)
            );
        }
        println!();
    }
}

fn hybrid() {
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        println!("### {name} order\n");
        let simulated = Simulated::new(
            &of(htap(order), 10_000),
            &schedules("fifo,ldsf,hldsf,hldaf"),
            Some("clients=25..150:25"),
        );
        println!(
            "| clients | FIFO: mean, p95, p99 | less under LDSF | hLDSF | hLDAF |\n|---:|---|---|---|---|"
        );
        for block in simulated
            .rows()
            .chunk_by(|a, b| a.case.point == b.case.point)
        {
            let value = block[0].case.point.map_or(0.0, |(_, value)| value);
            let measures: [fn(&Outcome) -> f64; 3] = [
                |o| o.latency.mean,
                |o| o.latency.p95 as f64,
                |o| o.latency.p99 as f64,
            ];
            let fifo = measures
                .map(|measure| spread(block[0].estimate(measure)))
                .join(", ");
            let less = |row: &Replicated<'_>| {
                let one = |measure: fn(&Outcome) -> f64| {
                    let pairs = row.outcomes.iter().zip(block[0].outcomes);
                    let saved =
                        pairs.map(|(own, fifo)| 100.0 * (1.0 - measure(own) / measure(fifo)));
                    let estimate = Estimate::of(saved);
                    format!("{:.0} ±{:.0} %", estimate.mean, estimate.half_width)
                };
                measures.map(one).join(", ")
            };
            let [ldsf, hldsf, hldaf] = [1, 2, 3].map(|at| less(&block[at]));
            println!("| {value} | {fifo} | {ldsf} | {hldsf} | {hldaf} |");
        }
        println!();
    }
}

/// Loads at which schedules are compared with LDSF.
const LOADS: [f64; 3] = [0.85, 0.95, 1.0];
/// Dependents a second of age is worth in the row of LDSF with ageing: with 10 ms, a dependent.
const AGEING_PER_S: f64 = 100.0;

fn beyond() {
    let pareto = || {
        let mut config = micro(LockOrder::Hashed);
        config.drawn_mut().expect("drawn").classes[0].work = Work::Pareto {
            mean: 1e6,
            shape: 1.5,
        };
        config
    };
    let hashed = || micro(LockOrder::Hashed);
    for (name, config) in [
        ("hashed", hashed()),
        ("hashed, 20 % exclusive", exclusive_fraction(hashed(), 0.2)),
        ("hashed, 100 % exclusive", exclusive_fraction(hashed(), 1.0)),
        ("hashed, theta 0.9", theta(hashed(), 0.9)),
        ("hashed, Pareto work, shape 1.5", pareto()),
        ("hot-last", micro(LockOrder::HotLast)),
        ("random", micro(LockOrder::Random)),
        (
            "random, 20 % exclusive",
            exclusive_fraction(micro(LockOrder::Random), 0.2),
        ),
    ] {
        println!("### {name}\n");
        print_beyond(&of(config, 30_000));
    }
}

fn beyond_presets() {
    for (name, config) in [
        ("TPC-C", Config::tpcc()),
        ("HTAP, random", htap(LockOrder::Random)),
        ("HTAP, hashed", htap(LockOrder::Hashed)),
    ] {
        println!("### {name}\n");
        print_beyond(&of(config, 10_000));
    }
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
            let name = evenkeel_simulate::outcome::schedule_name(row.schedule());
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
