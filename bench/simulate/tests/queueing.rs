//! Agreement with closed formulas of queueing theory. Seeds are fixed, so these results never change; the tolerances
//! are a few standard errors of means over correlated latencies.

use evenkeel_locks::{ScheduleKind, Starvation};
use evenkeel_simulate::config::Unit;
use evenkeel_simulate::saturation::saturation;
use evenkeel_simulate::work::Work;
use evenkeel_simulate::{Arrivals, Config, run};

/// Transactions of one lock on one of `objects` objects, mean work 1 ms, arriving at `load` times 1000 a second.
fn queue(load: f64, work: Work, objects: u32, exclusive: f64) -> Config {
    let mut config = Config {
        arrivals: Arrivals::Poisson {
            rate: load * 1000.0,
        },
        transactions: 200_000,
        warmup: 5_000,
        ..Config::micro()
    };
    let drawn = config.drawn_mut().expect("drawn");
    (drawn.objects, drawn.theta) = (objects, 0.0);
    (
        drawn.classes[0].locks,
        drawn.classes[0].exclusive,
        drawn.classes[0].work,
    ) = (1, exclusive, work);
    config
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!(
        (found / expected - 1.0).abs() < relative,
        "found {found}, expected {expected}"
    );
}

/// M/M/1, first come, first served: response times are exponential with mean `s / (1 - rho)`.
#[test]
fn one_exclusive_object_is_m_m_1() {
    let config = queue(0.7, Work::Exponential(1e6), 1, 1.0);
    let outcome = run(&config, ScheduleKind::Fifo).expect("a sound setting");
    let mean = 1e6 / 0.3;
    close(outcome.latency.mean, mean, 0.03);
    close(outcome.latency.sd, mean, 0.05);
    close(outcome.latency.p99 as f64, mean * 100f64.ln(), 0.06);
    close(outcome.window.throughput, 700.0, 0.01);
    // rho / (1 - rho) in the system.
    close(outcome.window.in_flight_mean, 0.7 / 0.3, 0.04);
}

/// Orders that ignore service times do not change the mean, but do change the variance. In random order the second
/// moment of the wait is `2 / (2 - rho)` times that of first come, first served (Kingman, "On Queues in which
/// Customers are Served in Random Order", 1962). With `rho` 0.7, in units of the work: `E[W^2] = 2 rho / (1 - rho)^2
/// * 2 / (2 - rho)` = 23.93, `Var W` = 18.49, and 1 for the work itself.
#[test]
fn the_order_changes_the_variance_and_not_the_mean() {
    let config = Config {
        starvation: Some(Starvation::None),
        ..queue(0.7, Work::Exponential(1e6), 1, 1.0)
    };
    let random = run(&config, ScheduleKind::Random).expect("a sound setting");
    close(random.latency.mean, 1e6 / 0.3, 0.03);
    close(random.latency.sd, 1e6 * 19.49f64.sqrt(), 0.05);
}

/// M/D/1 and M/G/1 by Pollaczek and Khinchine: `W = lambda E[S^2] / (2 (1 - rho))`.
#[test]
fn other_work_follows_pollaczek_and_khinchine() {
    let constant =
        run(&queue(0.8, Work::Constant(1e6), 1, 1.0), ScheduleKind::Fifo).expect("a sound setting");
    close(constant.latency.mean, 1e6 * (1.0 + 0.8 / (2.0 * 0.2)), 0.03);
    // Pareto with shape 4: E[S^2] = m^2 (a - 1)^2 / (a (a - 2)) = 9/8 m^2.
    let pareto = Work::Pareto {
        mean: 1e6,
        shape: 4.0,
    };
    let pareto = run(&queue(0.5, pareto, 1, 1.0), ScheduleKind::Fifo).expect("a sound setting");
    close(
        pareto.latency.mean,
        1e6 * (1.0 + 0.5 * 9.0 / 8.0 / (2.0 * 0.5)),
        0.03,
    );
}

/// M/M/c: no lock conflicts, 3 processors, load 0.8. Erlang C with a = 2.4:
/// `P(wait) = 0.6472`, mean response `s + s P(wait) / (c - a)` = 2.0787 s.
#[test]
fn three_processors_are_m_m_3() {
    let config = Config {
        cpus: Some(3),
        ..queue(2.4, Work::Exponential(1e6), 100, 0.0)
    };
    let a: f64 = 2.4;
    let blocks = a.powi(3) / 6.0 * 3.0 / (3.0 - a);
    let wait = blocks / (1.0 + a + a * a / 2.0 + blocks);
    close(wait, 0.6472, 1e-3);
    let outcome = run(&config, ScheduleKind::Fifo).expect("a sound setting");
    close(outcome.latency.mean, 1e6 * (1.0 + wait / (3.0 - a)), 0.03);
}

/// M/M/infinity: nothing in the way, mean response is the work.
#[test]
fn without_conflicts_there_is_no_wait() {
    let outcome = run(
        &queue(5.0, Work::Exponential(1e6), 100, 0.0),
        ScheduleKind::Ldsf,
    )
    .expect("a sound setting");
    close(outcome.latency.mean, 1e6, 0.01);
    assert_eq!((outcome.window.waits, outcome.window.queue_mean), (0, 0.0));
}

/// The saturation of one exclusive object is one transaction per mean work.
#[test]
fn saturation_of_one_object_is_its_service_rate() {
    let config = Config {
        transactions: 40_000,
        ..queue(1.0, Work::Exponential(1e6), 1, 1.0)
    };
    let rate = saturation(&config, ScheduleKind::Fifo, &|| {}).expect("a sound setting");
    close(rate, 1000.0, 0.03);
    // Relative to epochs the same.
    let epochs = Config {
        unit: Unit::Epoch,
        ..config
    };
    let rate = saturation(&epochs, ScheduleKind::Fifo, &|| {}).expect("a sound setting");
    close(rate, 1e-6, 0.03);
}
