//! A variance profile in the formats of other tools, one file a format, each an [`Format`]. [`columns`] exports the
//! intervals themselves as tables.
//!
//! ```text
//! format         the trait, and what an export takes
//! formats        the list of them
//! weights        what the width of a call path stands for: variance, mean or tail; its value at each leaf of the tree
//! slices         a critical path as nested slices of time
//! folded         one line a call path: flamegraph.pl, inferno, speedscope
//! speedscope     speedscope.app: every weight, and critical paths
//! firefox        profiler.firefox.com: the same, with waits as markers
//! perfetto       ui.perfetto.dev: critical paths over their threads
//! pprof          `go tool pprof`, Grafana Pyroscope, Polar Signals
//! csv            one line a node of the tree, with everything that is known of it
//! otlp           OpenTelemetry: critical paths as traces, with their waits
//! otlp_profiles  the same project's profiles, an alpha: every weight
//! columns        Parquet: intervals, call paths, times and sums, for SQL
//! ```
//!
//! Flame graphs draw widths, and a share of variance may be negative: time that is short where the interval is long. Formats that
//! know no negative widths have such paths under a root of their own, [`weights::NEGATIVE`], with the magnitude.

pub mod columns;
mod csv;
mod firefox;
mod folded;
mod format;
mod formats;
mod otlp;
mod otlp_profiles;
mod perfetto;
mod pprof;
mod slices;
mod speedscope;
pub mod weights;

pub use format::{Error, Export, Format, Started};
pub use formats::{FORMATS, named};
pub use otlp_profiles::PROTO_VERSION;
pub use weights::Weight;
