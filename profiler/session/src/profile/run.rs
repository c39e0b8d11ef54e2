//! What is known of a run beside its records: its names, its times, and what its user is warned of.

use std::time::{Duration, Instant};

use evenkeel_analysis::Options;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_recording::Meta;

use super::records::Records;
use super::settings::{Event, Observer, Settings};
use crate::listening::ListenQueues;
use crate::server_settings::ServerSettings;

/// How long to wait for a process with the interval's functions before giving up, when a program without them was seen.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the module's head.
pub struct Run {
    /// As reports name it: asked for while it runs.
    target_name: String,
    /// Name of the interval, once a file has its functions.
    pub interval: Option<String>,
    /// What a client may wait for that is in no interval.
    pub outside: &'static str,
    /// Version of the server, once it was looked for.
    pub server: Option<String>,
    started: Instant,
    /// When the first process was hooked.
    pub hooked: Option<Instant>,
    pub warnings: Vec<Warning>,
    /// Recorded intervals take longer than the user allows.
    pub slowdown: Option<Warning>,
    pub listening: ListenQueues,
    pub server_settings: ServerSettings,
}

impl Run {
    /// A run that begins.
    pub fn new(settings: &Settings, warnings: Vec<Warning>) -> Run {
        Run {
            target_name: settings.subject.to_string(),
            interval: None,
            outside: "",
            server: None,
            started: Instant::now(),
            hooked: None,
            warnings,
            slowdown: None,
            listening: ListenQueues::default(),
            server_settings: ServerSettings::default(),
        }
    }

    /// The first process is hooked.
    pub fn note_hooked(&mut self, observer: &mut dyn Observer) {
        self.hooked = Some(Instant::now());
        observer.event(&Event::Hooked {
            seconds: self.started.elapsed().as_secs_f64(),
        });
    }

    /// Seconds since the first process was hooked.
    pub fn seconds(&self) -> f64 {
        self.hooked.map_or(0.0, |at| at.elapsed().as_secs_f64())
    }

    /// Whether the time is over that the user gave.
    pub fn is_over(&self, limit: Option<Duration>) -> bool {
        match (limit, self.hooked) {
            (Some(limit), Some(hooked)) => hooked.elapsed() >= limit,
            // Nothing to profile for so long is as much as the user asked for.
            (Some(limit), None) => self.started.elapsed() >= limit.max(PATIENCE),
            (None, _) => false,
        }
    }

    /// Whether no process was hooked for so long that none may be.
    pub fn has_waited(&self) -> bool {
        self.hooked.is_none() && self.started.elapsed() > PATIENCE
    }

    /// A short time has passed. `probes`: how many are planted.
    pub fn tick(&self, records: &Records, probes: usize, observer: &mut dyn Observer) {
        observer.event(&Event::Tick {
            intervals: records.intervals(),
            records: records.drain.read,
            probes,
            seconds: self.seconds(),
        });
    }

    /// How a profile is made.
    pub fn options(&self, settings: &Settings, records: &Records) -> Options {
        Options {
            k: settings.k,
            threshold: settings.limits.threshold,
            specificity: settings.limits.specificity,
            ticks_per_ns: records.clock.ticks_per_ns(),
            started: Some(records.clock.started()),
            target: self.target_name.clone(),
            interval: self.interval.clone().unwrap_or_default(),
            ..Options::default()
        }
    }

    /// What explains the records; not complete yet, and without facts.
    pub fn meta(&self, settings: &Settings, records: &Records, sites: &SiteTable) -> Meta {
        let (options, cost) = (self.options(settings, records), records.probe_cost());
        Meta {
            target: options.target,
            interval: options.interval,
            root: sites.root.clone(),
            root_height: sites.root_height,
            ticks_per_ns: options.ticks_per_ns,
            outer_256: cost.outer_256,
            inner_256: cost.inner_256,
            waits: settings.waits,
            summary: settings.summary.is_some(),
            options: settings.options.clone(),
            host: host(),
            started: records.clock.started(),
            ..Meta::default()
        }
    }
}

/// Name of this machine; empty where it is not known.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
}
