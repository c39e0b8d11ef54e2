//! Threads that could run and have no processor.

use serde_json::Value;

use super::expect::{number, ticks_per_ns};
use super::planted::{Planted, assert_partition, child, path};

const READY: &str = "runnable, waiting for a CPU";
/// The profiler's warning where it may not ask the kernel.
const NOT_TOLD_APART: &str = "run-queue delay and blocked time are not told apart";

/// Mean nanoseconds at a node that are not [`READY`], and those that are.
fn running_and_ready(node: &Value) -> (f64, f64) {
    let ready = child(node, READY).map_or(0.0, |ready| number(ready, "mean_ns"));
    (number(node, "mean_ns") - ready, ready)
}

/// Three threads spin on one processor. Of what crunch takes, its own processor time is its own, and the rest nobody's; the
/// lock is waited for because its holder has no processor either.
#[test]
fn a_preempted_spinner() {
    let (profile, truth) = Planted::new("waits_preempted", "run_interval")
        .intervals(24)
        .with_truth();
    let interval = path(&profile["tree"], &["run_interval"]);
    let crunch = path(interval, &["crunch"]);
    let blocked = path(interval, &["pthread_spin_lock", "waits: spin lock"]);
    let hold = path(
        blocked,
        &["thread outside of intervals", "hold_locked", "hold"],
    );
    assert_partition(interval);
    assert_partition(blocked);
    if profile["warnings"].to_string().contains(NOT_TOLD_APART) {
        eprintln!("not seen: {NOT_TOLD_APART} (perf events are refused)");
        return;
    }
    let [crunch_cpu_ns, hold_cpu_ns] = [2, 3].map(|column| truth.mean(column));
    let crunch_ns = truth.mean(1) / ticks_per_ns();
    let off_ns = crunch_ns - crunch_cpu_ns;
    assert!(
        off_ns >= 0.2 * crunch_cpu_ns,
        "the processor is shared: {crunch_cpu_ns} of {crunch_ns}"
    );
    // The two clocks count interrupts and a virtual machine's stolen time each in its way.
    let (running, ready) = running_and_ready(crunch);
    assert!(
        running <= crunch_cpu_ns + 0.25 * off_ns && ready >= 0.5 * off_ns,
        "{running} and {ready}, truth {crunch_cpu_ns} and {off_ns}"
    );
    let (running, ready) = running_and_ready(hold);
    assert!(
        running <= 1.25 * hold_cpu_ns && ready >= 0.2 * running,
        "{running} and {ready}, truth {hold_cpu_ns}"
    );
}
