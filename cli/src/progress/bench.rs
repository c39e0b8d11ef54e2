//! The course of benchmarks and simulations.

use evenkeel_drive::metrics::Slice;
use evenkeel_drive::progress::Progress;
use evenkeel_drive::window::Window;
use evenkeel_report::units;
use evenkeel_simulate::Progress as Simulated;

use super::Line;

/// Progress of a simulation.
const SIMULATING: &str =
    "simulating {wide_bar} {percent} % of {human_len} transactions, {eta} left";
/// Progress of a load.
const LOADING: &str = "{prefix}loading {wide_bar} {human_pos} rows, {percent} %";

impl Progress for Line {
    fn heading(&self, heading: &str) {
        self.bar.set_prefix(heading.to_owned());
    }

    fn step(&self, what: &str) {
        self.show(what);
    }

    fn loading(&self, rows_total: u64) {
        self.bar.set_length(rows_total);
        self.bar.set_position(0);
    }

    fn loaded(&self, rows: u64) {
        self.shape(LOADING);
        self.bar.inc(rows);
    }

    fn running(&self, slice: &Slice, window: Window, saturating: bool) {
        self.show(course(slice, window.length_s(), saturating));
    }
}

fn course(slice: &Slice, length_s: f64, saturating: bool) -> String {
    let what = if saturating { "saturating: " } else { "" };
    let phase = if slice.begin_s < 0.0 {
        format!("warm-up, {:.0} s left", -slice.begin_s)
    } else {
        format!("{:.0} of {length_s:.0} s", slice.begin_s.min(length_s))
    };
    let (rate, p99) = (
        units::count(slice.throughput_per_s as u64),
        units::duration(slice.p99_ns as f64),
    );
    format!("{what}{phase}: {rate} transactions/s, p99 {p99}")
}

impl Line {
    /// Shows how far simulations are.
    pub fn simulated(&self, progress: Simulated) {
        match progress {
            Simulated::Saturating { probes } => {
                self.show(format!(
                    "looking for FIFO's saturation: {probes} simulations"
                ));
            }
            Simulated::Simulating { done, total } => {
                self.bar.set_length(total);
                self.shape(SIMULATING);
                self.bar.set_position(done);
            }
        }
    }
}
