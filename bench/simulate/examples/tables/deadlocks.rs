//! Deadlocks by the order in which records are asked for.

use evenkeel_simulate::outcome::schedule_name;
use evenkeel_simulate::workload::LockOrder;

use crate::cells::{spread, throughput};
use crate::settings::{micro, of, schedules};
use crate::simulated::Simulated;
use crate::{OWN, PAPERS};

/// A table of every schedule at 300 clients.
pub fn by_order() {
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
