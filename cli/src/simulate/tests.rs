//! Arguments to settings.

use clap::Parser;

use evenkeel_simulate::work::Work;
use evenkeel_simulate::workload::Tpcc;

use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Arguments,
}

fn parse(line: &str) -> Result<Config, String> {
    let words = std::iter::once("simulate").chain(line.split_whitespace());
    let parsed = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    config(&parsed.args).map_err(|error| error.to_string())
}

#[test]
fn every_form_of_results_has_its_option() {
    let command = <Command as clap::CommandFactory>::command();
    let options: Vec<&str> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    for (name, _) in &export::FORMATS[1..] {
        assert!(
            options.contains(name),
            "no option --{name} in cli/src/simulate/: {options:?}"
        );
    }
}

#[test]
fn without_arguments_it_is_the_papers_microbenchmark() {
    assert_eq!(parse(""), Ok(Config::micro()));
    assert_eq!(parse("--preset htap"), Ok(Config::htap()));
    assert_eq!(parse("--preset tpcc"), Ok(Config::tpcc()));
}

#[test]
fn every_option_arrives() {
    let line = "--rate 500 --bursts 4:50 --cpus 8 --transactions 1000 --warmup 7 --seed 9 --objects 100 --theta 0.9 \
                --order hot-last --locks 3 --exclusive 0.25 --work pareto:2ms:1.5 --deadlocks wait-die --exact \
                --starvation bypass:5 --size-error --remaining known --backoff 2";
    let mut expected = Config {
        seed: 9,
        arrivals: Arrivals::Bursty {
            rate: 500.0,
            factor: 4.0,
            on: 5e7,
        },
        cpus: Some(8),
        transactions: 1000,
        warmup: 7,
        backoff: 2e6,
        deadlocks: DeadlockPolicy::WaitDie,
        starvation: Some(Starvation::BoundedBypass { overtakes_max: 5 }),
        sizes: SetSizes::Exact,
        remaining: Remaining::Known,
        measure_size_error: true,
        ..Config::micro()
    };
    let drawn = expected.drawn_mut().expect("drawn");
    (drawn.objects, drawn.theta, drawn.order) = (100, 0.9, LockOrder::HotLast);
    let class = &mut drawn.classes[0];
    (class.locks, class.exclusive) = (3, 0.25);
    class.work = Work::Pareto {
        mean: 2e6,
        shape: 1.5,
    };
    assert_eq!(parse(line), Ok(expected));
}

#[test]
fn tpcc_has_warehouses_and_statements() {
    let mut expected = Config::tpcc();
    expected.workload = Workload::Tpcc(Tpcc {
        warehouses: 4,
        statement: Work::Constant(5e5),
    });
    assert_eq!(
        parse("--preset tpcc --warehouses 4 --work constant:500us"),
        Ok(expected)
    );
}

#[test]
fn nonsense_is_refused_with_what_to_do() {
    for (line, reported) in [
        ("--schedule fast", "there are fifo"),
        ("--clients 5 --rate 6", "cannot be used with"),
        ("--sweep clients=1..5", "FIRST..LAST:STEP"),
        ("--sweep colour=1", "clients, rate"),
        ("--work exponential:5", "needs its unit"),
        ("--work no-such-file", "cannot read"),
        ("--bursts 3:5", "add --rate or --load"),
        ("--starvation hope", "barrier"),
        ("--seeds 0", "seeds"),
        ("--baseline fast", "there are fifo"),
        ("--warehouses 4", "--preset tpcc"),
        ("--preset tpcc --theta 0.5", "--warehouses"),
        ("--preset tpcc --work exponential:5", "needs its unit"),
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.contains(reported), "{line}: {error}");
    }
    assert!(plot_kind(Path::new("f.png")).is_err());
}

/// The options with the defaults that their help states; a preset may have other defaults.
fn promised(preset: &str) -> String {
    let command = <Command as clap::CommandFactory>::command();
    let own = format!(", in {preset} ");
    let options = command.get_arguments().filter_map(|option| {
        let help = option.get_help()?.to_string();
        let (_, promise) = help.split_once("[default: ")?;
        let (promise, _) = promise.split_once(']')?;
        let value = match promise.split_once(&own) {
            Some((_, value)) => value,
            None => promise.split(", in ").next()?,
        };
        // A default in words is no value.
        let is_value = !value.contains(' ');
        is_value.then(|| format!("--{} {value}", option.get_long().unwrap()))
    });
    options.collect::<Vec<_>>().join(" ")
}

#[test]
fn defaults_are_what_the_help_promises() {
    let line = promised("micro").replace("--warehouses 32", "");
    assert!(line.contains("--clients 300") && line.contains("--work exponential:1ms"));
    assert_eq!(parse(&line), Ok(Config::micro()));
    let line = promised("htap").replace("--warehouses 32", "");
    assert_eq!(parse(&format!("--preset htap {line}")), Ok(Config::htap()));
    assert_eq!(
        parse("--preset tpcc --warehouses 32 --work exponential:1ms"),
        Ok(Config::tpcc())
    );
}
