//! `evenkeel simulate`.

mod values;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use evenkeel_locks::{DeadlockPolicy, ScheduleKind, SetSizes, Starvation};
use evenkeel_simulate::axis::{Axis, Parameter};
use evenkeel_simulate::config::{Remaining, Unit};
use evenkeel_simulate::export::{self, Report};
use evenkeel_simulate::matched::at_throughput_of;
use evenkeel_simulate::outcome::schedule_name;
use evenkeel_simulate::workload::{LockOrder, Workload};
use evenkeel_simulate::{Arrivals, Config, Effort, cases, plot, sweep};

use crate::output::{self, Failure};
use crate::progress::Line;

use values::{Schedules, Starving, burst, loads, schedule, schedules, starvation, work};

/// Compare lock schedules by deterministic simulation
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evenkeel simulate                                             the papers' microbenchmark, every schedule
  evenkeel simulate --sweep clients=100..900:100 --plot f.svg
  evenkeel simulate --load 0.7,0.85,0.95,1.05 --schedule fifo,vats,ldsf --json
  evenkeel simulate --sweep clients=100,900 --schedule fifo,vats,bldsf --at-throughput-of fifo --seeds 5
  evenkeel simulate --load 0.95 --order hashed --seeds 10 --baseline ldsf --schedule fifo,ldsf,edsf,ldaf
  evenkeel simulate --preset htap --schedule fifo,hldsf --sweep clients=50..200:50")]
pub struct Arguments {
    /// The workload: the papers' microbenchmark, their hybrid mix in epochs, or the locks of TPC-C
    #[arg(long, value_parser = named(&PRESETS), default_value = "micro")]
    preset: fn() -> Config,
    #[arg(
        long,
        value_name = "LIST",
        default_value = "all",
        help = format!("Schedules: all, or a list of {}", ScheduleKind::NAMES),
        value_parser = schedules
    )]
    schedule: Schedules,
    /// Closed loop with this many clients [default: 300, in htap 100]
    #[arg(long, value_name = "N", group = "arriving")]
    clients: Option<u32>,
    /// Open loop with this many arrivals per second (of an epoch in htap)
    #[arg(long, value_name = "RATE", group = "arriving")]
    rate: Option<f64>,
    /// Open loop at these fractions of FIFO's saturation
    #[arg(long, value_name = "F,..", group = "arriving", conflicts_with = "sweep", value_parser = loads)]
    load: Option<Axis>,
    /// Vary one of clients, rate, load, theta, exclusive, objects, locks, cpus: NAME=VALUES with values like
    /// 10,50,100..900:200
    #[arg(long, value_name = "SPEC")]
    sweep: Option<Axis>,
    /// Let open arrivals come in bursts: FACTOR times as fast for MS milliseconds (epochs in htap), then a pause
    #[arg(long, value_name = "FACTOR:MS", value_parser = burst)]
    bursts: Option<(f64, f64)>,
    /// Processors [default: unlimited: locks are the only contention]
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// Transactions measured [default: 50000]
    #[arg(long, value_name = "N")]
    transactions: Option<u64>,
    /// Transactions simulated before the measurement [default: a tenth of them]
    #[arg(long, value_name = "N")]
    warmup: Option<u64>,
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulate with this many seeds, from --seed on, and print means with 95 % confidence intervals
    #[arg(long, value_name = "N", default_value = "1")]
    seeds: NonZeroU32,
    /// Compare with this schedule, seed by seed: ratios of mean, variance and percentiles
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule)]
    baseline: Option<ScheduleKind>,
    /// The papers' method: this schedule runs in a closed loop (--clients, or a sweep of anything but rate and load),
    /// the others in an open loop at its throughput
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule, conflicts_with_all = ["load", "rate", "bursts"])]
    at_throughput_of: Option<ScheduleKind>,
    /// Warehouses of TPC-C [default: 32]
    #[arg(long, value_name = "N")]
    warehouses: Option<u32>,
    /// Objects that can be locked [default: 20000, in htap 2000]
    #[arg(long, value_name = "N")]
    objects: Option<u32>,
    /// Zipf skew of the access; 0 is uniform [default: 0.8]
    #[arg(long)]
    theta: Option<f64>,
    /// Order in which a transaction asks for its locks [default: random]
    #[arg(long, value_parser = named(&ORDERS))]
    order: Option<LockOrder>,
    /// Locks of a transaction (of a short one in htap) [default: 5, in htap 4]
    #[arg(long, value_name = "N")]
    locks: Option<u32>,
    /// Fraction of exclusive requests (of short transactions in htap) [default: 0.5]
    #[arg(long, value_name = "FRACTION")]
    exclusive: Option<f64>,
    /// Work after each grant (of a statement in tpcc): constant:T, exponential:T, pareto:T:SHAPE, or a file of values
    /// in ns. T is a time such as 250us or 1ms, in htap a number of epochs [default: exponential:1ms, in htap
    /// constant:1]
    #[arg(long, value_name = "WORK")]
    work: Option<String>,
    /// Resolution or prevention of deadlocks
    #[arg(long, value_parser = named(&DeadlockPolicy::NAMED), default_value = "youngest")]
    deadlocks: DeadlockPolicy,
    /// Against starvation: none, barrier, ageing:SIZE_PER_SECOND, bypass:OVERTAKES [default: what the papers do for each schedule]
    #[arg(long, value_name = "HOW", value_parser = starvation)]
    starvation: Option<Starving>,
    /// Measure dependency sets exactly instead of by the papers' approximation
    #[arg(long)]
    exact: bool,
    /// Report the error of the approximation (figure 4.19)
    #[arg(long)]
    size_error: bool,
    /// Where hLDSF takes expected remaining times from [default: learned, in htap known]
    #[arg(long, value_parser = named(&REMAINING))]
    remaining: Option<Remaining>,
    /// Mean back-off before the first retry of an aborted transaction, in ms (epochs in htap) [default: 1, in htap 10]
    #[arg(long, value_name = "MS")]
    backoff: Option<f64>,
    /// Threads; results do not depend on their number [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    json: output::Json,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Also draw the results; a name ending in .svg or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

type MakeConfig = fn() -> Config;

/// The configurations to start from.
const PRESETS: [(&str, MakeConfig); 3] = [
    ("micro", Config::micro),
    ("htap", Config::htap),
    ("tpcc", Config::tpcc),
];

const ORDERS: [(&str, LockOrder); 3] = [
    ("random", LockOrder::Random),
    ("hashed", LockOrder::Hashed),
    ("hot-last", LockOrder::HotLast),
];

const REMAINING: [(&str, Remaining); 2] =
    [("known", Remaining::Known), ("learned", Remaining::Learned)];

/// A parser of these names.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).map(|found| {
        let mut all = all.iter();
        let of_name = all.find(|(name, _)| *name == found);
        of_name.expect("the parser knows the names").1
    })
}

/// Runs the command: results on standard output, progress on standard error if that is a terminal.
pub fn run(args: Arguments) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.plot {
        plot_kind(path)?;
        output::check(path)?;
    }
    let config = config(&args)?;
    let axis = args.load.as_ref().or(args.sweep.as_ref());
    let schedules = &args.schedule.0;
    if let Some(baseline) = args.baseline
        && !schedules.contains(&baseline)
    {
        let name = schedule_name(baseline);
        return Err(Failure::Usage(format!(
            "the baseline {name} is not simulated: add it to --schedule"
        )));
    }
    let effort = Effort {
        seeds: args.seeds,
        threads: args
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get())),
    };
    let line = Line::new();
    let progress = |progress| line.simulated(progress);
    let (cases, outcomes) = match args.at_throughput_of {
        Some(baseline) => at_throughput_of(baseline, &config, schedules, axis, effort, &progress)?,
        None => {
            let cases = cases(&config, schedules, axis, effort, &progress)?;
            let outcomes = sweep(&cases, effort.threads, &progress)?;
            (cases, outcomes)
        }
    };
    line.clear();
    let seeds = args.seeds.get() as usize;
    let report = Report::new(&cases, &outcomes, seeds, args.baseline);
    let text = || match args.csv {
        true => export::csv(&report),
        false => export::table(&report),
    };
    args.json.output(|| export::json(&report), text)?;
    if let Some(path) = &args.plot {
        let image = match plot_kind(path)? {
            PlotKind::Svg => plot::svg(&report),
            PlotKind::Html => plot::html(&report),
        };
        output::write(path, &image)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn config(args: &Arguments) -> Result<Config, Failure> {
    let mut config = (args.preset)();
    let ticks_per_ms = if config.unit == Unit::Epoch { 1.0 } else { 1e6 };
    config.seed = args.seed;
    config.cpus = args.cpus;
    config.transactions = args.transactions.unwrap_or(config.transactions);
    config.warmup = args.warmup.unwrap_or((config.transactions / 10).max(1));
    config.backoff = args.backoff.map_or(config.backoff, |ms| ms * ticks_per_ms);
    config.measure_size_error = args.size_error;
    config.deadlocks = args.deadlocks;
    if args.exact {
        config.sizes = SetSizes::Exact;
    }
    config.starvation = args.starvation.map(|how| match how {
        Starving::As(starvation) => starvation,
        Starving::Ageing(per_s) => Starvation::Ageing {
            size_per_ns: per_s / config.unit.ticks_per_s(),
        },
    });
    config.remaining = args.remaining.unwrap_or(config.remaining);
    set_arrivals(&mut config, args, ticks_per_ms)?;
    set_workload(&mut config, args)?;
    Ok(config)
}

fn set_workload(config: &mut Config, args: &Arguments) -> Result<(), Failure> {
    let unit = config.unit;
    let work = args
        .work
        .as_deref()
        .map(|text| work(text, unit))
        .transpose()?;
    if let Workload::Tpcc(tpcc) = &mut config.workload {
        tpcc.warehouses = args.warehouses.unwrap_or(tpcc.warehouses);
        tpcc.statement = work.unwrap_or_else(|| tpcc.statement.clone());
        let drawn_only = args.objects.is_some()
            || args.theta.is_some()
            || args.order.is_some()
            || args.locks.is_some()
            || args.exclusive.is_some();
        if drawn_only {
            config.drawn_mut()?;
        }
        return Ok(());
    }
    if args.warehouses.is_some() {
        return Err(Failure::Usage(
            "--warehouses needs --preset tpcc".to_owned(),
        ));
    }
    let drawn = config.drawn_mut()?;
    drawn.objects = args.objects.unwrap_or(drawn.objects);
    drawn.theta = args.theta.unwrap_or(drawn.theta);
    drawn.order = args.order.unwrap_or(drawn.order);
    let class = &mut drawn.classes[0];
    class.locks = args.locks.unwrap_or(class.locks);
    class.exclusive = args.exclusive.unwrap_or(class.exclusive);
    if let Some(work) = work {
        class.work = work;
    }
    Ok(())
}

fn set_arrivals(config: &mut Config, args: &Arguments, ticks_per_ms: f64) -> Result<(), Failure> {
    if let Some(clients) = args.clients {
        config.arrivals = Arrivals::Closed { clients };
    }
    let opens = |axis: &Axis| matches!(axis.parameter, Parameter::Rate | Parameter::Load);
    let varied = args
        .load
        .as_ref()
        .or(args.sweep.as_ref())
        .is_some_and(opens);
    if let Some((factor, ms)) = args.bursts {
        if args.rate.is_none() && !varied {
            return Err(Failure::Usage(
                "--bursts needs open arrivals: add --rate or --load".to_owned(),
            ));
        }
        config.arrivals = Arrivals::Bursty {
            rate: 1.0,
            factor,
            on: ms * ticks_per_ms,
        };
    }
    if let Some(rate) = args.rate {
        config.arrivals = config.arrivals.at_rate(rate);
    }
    Ok(())
}

/// The kind of plot, by the file's name.
enum PlotKind {
    Svg,
    Html,
}

fn plot_kind(path: &Path) -> Result<PlotKind, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(PlotKind::Svg),
        Some("html") => Ok(PlotKind::Html),
        _ => Err(Failure::Usage(format!(
            "{}: name the plot .svg or .html",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests;
