//! Progress of a benchmark, for display.

use crate::metrics::Slice;
use crate::window::Window;

/// Is notified of the course of a benchmark, from any thread. Each method does nothing unless it is implemented.
pub trait Progress: Sync {
    /// The next reports concern this configuration or round, of several.
    fn heading(&self, heading: &str) {
        let _ = heading;
    }

    /// Something else is being done now, such as starting a server or building indexes.
    fn step(&self, what: &str) {
        let _ = what;
    }

    /// A load of about `rows_total` rows begins.
    fn loading(&self, rows_total: u64) {
        let _ = rows_total;
    }

    /// `rows` more rows were loaded.
    fn loaded(&self, rows: u64) {
        let _ = rows;
    }

    /// A slice of a run ended. `saturating`: the run only measures the saturation.
    fn running(&self, slice: &Slice, window: Window, saturating: bool) {
        let _ = (slice, window, saturating);
    }
}
