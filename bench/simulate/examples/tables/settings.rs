//! The simulated settings.

use evenkeel_locks::ScheduleKind;
use evenkeel_simulate::Config;
use evenkeel_simulate::workload::LockOrder;

pub fn micro(order: LockOrder) -> Config {
    let mut config = Config::micro();
    config.drawn_mut().expect("drawn").order = order;
    config
}

pub fn exclusive_fraction(mut config: Config, fraction: f64) -> Config {
    let drawn = config.drawn_mut().expect("drawn");
    drawn.classes[0].exclusive = fraction;
    config
}

pub fn theta(mut config: Config, theta: f64) -> Config {
    config.drawn_mut().expect("drawn").theta = theta;
    config
}

pub fn of(mut config: Config, transactions: u64) -> Config {
    (config.transactions, config.warmup) = (transactions, transactions / 10);
    config
}

pub fn schedules(names: &str) -> Vec<ScheduleKind> {
    let known = |name| ScheduleKind::from_name(name).expect("a known schedule");
    names.split(',').map(known).collect()
}
