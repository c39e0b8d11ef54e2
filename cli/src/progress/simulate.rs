//! Progress of simulations.

use evenkeel_simulate::Progress;

use super::Line;

/// The line of progress.
const SIMULATING: &str =
    "simulating {wide_bar} {percent} % of {human_len} transactions, {eta} left";

impl Line {
    /// Shows how far simulations are.
    pub fn simulated(&self, progress: Progress) {
        match progress {
            Progress::Saturating { probes } => {
                self.show(format!(
                    "looking for FIFO's saturation: {probes} simulations"
                ));
            }
            Progress::Simulating { done, total } => {
                self.bar.set_length(total);
                self.shape(SIMULATING);
                self.bar.set_position(done);
            }
        }
    }
}
