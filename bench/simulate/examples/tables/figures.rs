//! The papers' figures.

use evenkeel_simulate::estimate::Estimate;
use evenkeel_simulate::outcome::schedule_name;
use evenkeel_simulate::workload::LockOrder;
use evenkeel_simulate::{Arrivals, Config, Outcome, Replicated};

use crate::cells::{mean_and_tail, mean_and_throughput, spread, throughput, ticks};
use crate::settings::{exclusive_fraction, htap, micro, of, schedules};
use crate::simulated::{Cell, Simulated, print_by_axis, print_rows};
use crate::{OWN, PAPERS};

pub fn clients_random() {
    print_by_clients(of(micro(LockOrder::Random), 20_000));
}

pub fn clients_hashed() {
    print_by_clients(of(micro(LockOrder::Hashed), 20_000));
}

pub fn clients_tpcc() {
    print_by_clients(of(Config::tpcc(), 10_000));
}

fn print_by_clients(config: Config) {
    let names = format!("{PAPERS},edsf,ldaf");
    let axis = "clients=10,25,50,100..300:100,600,900";
    print_by_axis(&config, axis, &names, throughput);
}

pub fn deadlocks() {
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
            schedule_name(random.schedule()),
            spread(per_commit),
            throughput(random),
            throughput(&hashed),
            throughput(&hot_last)
        );
    }
    println!();
}

pub fn load() {
    print_by_load("random order", &of(micro(LockOrder::Random), 20_000));
    print_by_load("hashed order", &of(micro(LockOrder::Hashed), 20_000));
}

pub fn load_tpcc() {
    print_by_load("TPC-C", &of(Config::tpcc(), 20_000));
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

pub fn skew() {
    in_both_orders("theta=0,0.5..0.9:0.1", "fifo,vats,ldsf,bldsf,ldaf");
}

pub fn exclusive() {
    in_both_orders("exclusive=0.2..1:0.2", "fifo,vats,ldsf,bldsf,ldaf");
}

pub fn delay_factor() {
    let names = "fifo,bldsf:f1,bldsf:f2,bldsf:f3,bldsf:f4,bldsf:f5,bldsf:f6";
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        println!("### {name} order\n");
        let config = exclusive_fraction(of(micro(order), 10_000), 0.2);
        print_by_axis(&config, "clients=300", names, mean_and_throughput);
    }
}

pub fn size_error() {
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

pub fn hybrid() {
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
