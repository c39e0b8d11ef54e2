//! One of several recordings, after its first replay.

use std::ops::Range;
use std::path::PathBuf;

use evenkeel_analysis::fleet::joint::Scouted;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_analysis::{Analysis, ProbeCost};

use crate::Meta;

/// A recording after its first replay.
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    /// Index of that file.
    pub(crate) file: usize,
    pub(crate) follows_waits: bool,
    pub(crate) meta: Meta,
    pub(crate) sites: SiteTable,
    pub(crate) scouted: Option<Scouted>,
    /// It ends before its time.
    pub(crate) cut: bool,
    /// It is one of those that are wanted.
    pub(crate) wanted: bool,
    /// [`crate::Replayed::covered`].
    pub(crate) covered: Option<Range<u64>>,
}

impl Part {
    /// Begins it in an analysis of several. `clock`: as in the translation of its records.
    pub(crate) fn begin(&self, analysis: &mut Analysis, clock: Option<u64>) {
        let scouted = self.scouted.as_ref();
        analysis.begin_recording(self.cost(clock), scouted.unwrap_or(&Scouted::default()));
        if self.follows_waits {
            analysis.follow_waits();
        }
    }

    /// The cost of a probe in ticks of the common clock.
    fn cost(&self, clock: Option<u64>) -> ProbeCost {
        let ratio = clock.map_or(1.0, |clock| clock as f64 / 2f64.powi(32));
        let scaled = |ticks: u32| (f64::from(ticks) * ratio).round() as u32;
        ProbeCost {
            outer_256: scaled(self.meta.outer_256),
            inner_256: scaled(self.meta.inner_256),
        }
    }
}
