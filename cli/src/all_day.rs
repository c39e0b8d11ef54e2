//! What a session that runs all day hands on while it does.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use clap::Args;
use evenkeel_analysis::profile::{Bin, Profile};
use evenkeel_metrics::otlp::{self, Endpoint, Sender};
use evenkeel_metrics::{Server, Session, Totals};
use evenkeel_session::clock::unix_ns;
use evenkeel_session::profile::host;
use evenkeel_session::{Event, Observer, Settings};

use crate::output::Failure;
use crate::progress::Progress;

/// Metrics of each period of `--summary`.
#[derive(Args)]
pub struct Metrics {
    /// Answer Prometheus' scrapes at this address, with the profile of the last minute: 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS:PORT", requires = "summary")]
    metrics: Option<String>,
    /// Send the same to an OpenTelemetry Collector, by OTLP over HTTP, once a minute: http://127.0.0.1:4318
    #[arg(long, value_name = "ENDPOINT", requires = "summary")]
    otlp: Option<Endpoint>,
    /// Findings that have a series of their own in metrics, at a time
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    top: u32,
}

impl Metrics {
    /// Whether there are any.
    pub fn are_wanted(&self) -> bool {
        self.metrics.is_some() || self.otlp.is_some()
    }

    /// Begins to hand them on, where that is wanted.
    pub fn open(&self, settings: &Settings) -> Result<Option<Exporter>, Failure> {
        if !self.are_wanted() {
            return Ok(None);
        }
        let totals = Arc::new(Mutex::new(Totals::new(Session {
            target: settings.subject.to_string(),
            began_unix_ns: unix_ns(SystemTime::now()),
            top: self.top as usize,
        })));
        let server = self.metrics.as_deref().map(|address| {
            Server::listen(address, Arc::clone(&totals)).map_err(|error| {
                Failure::Usage(format!(
                    "--metrics cannot listen at {address}: {error}; give an address of this machine and a free port"
                ))
            })
        });
        let sender = self.otlp.clone().map(|endpoint| {
            let why = |error| Failure::Usage(format!("--otlp cannot send: {error}"));
            Sender::to(endpoint).map_err(why)
        });
        let exporter = Exporter {
            totals,
            server: server.transpose()?,
            sender: sender.transpose()?,
            host: host(),
            fails: false,
        };
        if let Some(server) = &exporter.server {
            tell!(
                "evenkeel: metrics are at http://{}/metrics",
                server.address()
            );
        }
        Ok(Some(exporter))
    }
}

/// Hands metrics on.
pub struct Exporter {
    totals: Arc<Mutex<Totals>>,
    server: Option<Server>,
    sender: Option<Sender>,
    host: String,
    /// The Collector did not take the last request.
    fails: bool,
}

impl Exporter {
    fn add(&mut self, profile: &Profile, latencies: &[Bin]) {
        let mut totals = self.totals.lock().expect("nobody panicked with it");
        totals.add(profile, latencies, unix_ns(SystemTime::now()));
        if let Some(sender) = &self.sender {
            sender.send(otlp::request(&totals, &self.host));
        }
    }

    /// What the user should know of the Collector, said once.
    fn news(&mut self) -> Option<String> {
        let outcome = self.sender.as_ref()?.outcome()?;
        let failed_before = std::mem::replace(&mut self.fails, outcome.is_err());
        match outcome {
            Err(why) if !failed_before => Some(format!(
                "the Collector of --otlp takes no metrics: {why}; the next request has everything that this one had"
            )),
            Ok(()) if failed_before => {
                Some("the Collector of --otlp takes metrics again".to_owned())
            }
            _ => None,
        }
    }
}

/// A session's progress, and metrics of its minutes.
pub struct Exporting<'p> {
    progress: &'p mut dyn Progress,
    exporter: Exporter,
}

impl<'p> Exporting<'p> {
    /// Both.
    pub fn new(progress: &'p mut dyn Progress, exporter: Exporter) -> Exporting<'p> {
        Exporting { progress, exporter }
    }
}

impl Observer for Exporting<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Minute { profile, latencies } => self.exporter.add(profile, latencies),
            Event::Tick { .. } => {
                if let Some(news) = self.exporter.news() {
                    self.progress.say(&news);
                }
            }
            _ => {}
        }
        self.progress.event(event);
    }

    fn choice(&mut self) -> Option<Vec<usize>> {
        self.progress.choice()
    }

    fn wants_profile(&mut self) -> bool {
        self.progress.wants_profile()
    }

    fn wants_minutes(&self) -> bool {
        true
    }

    fn closing(&mut self) -> Option<u32> {
        self.progress.closing()
    }
}
