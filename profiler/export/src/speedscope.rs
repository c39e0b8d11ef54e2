//! Speedscope's own format (<https://www.speedscope.app/file-format-schema.json>): a sampled profile for each weight, and an evented
//! one for each critical path. Nanoseconds are named as such; shares have no unit that speedscope knows.

use std::collections::HashMap;
use std::io::Write;

use serde::Serialize;

use crate::format::{Error, Export, Format};
use crate::slices::{Boundary, Stacks, boundaries, slices, whole};
use crate::weights::{NEGATIVE, Weight};

/// The format.
pub struct Speedscope;

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    shared: Shared,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<SharedFrame>,
}

/// A frame for each function, wherever it is called: speedscope's view of a function adds up its calls by frame.
#[derive(Serialize)]
struct SharedFrame {
    name: String,
}

#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
enum Profile {
    Sampled {
        name: String,
        unit: &'static str,
        start_value: u64,
        end_value: u64,
        samples: Vec<Vec<usize>>,
        weights: Vec<u64>,
    },
    Evented {
        name: String,
        unit: &'static str,
        start_value: u64,
        end_value: u64,
        events: Vec<Event>,
    },
}

#[derive(Serialize)]
struct Event {
    /// `O` opens a frame, `C` closes it.
    #[serde(rename = "type")]
    kind: &'static str,
    frame: usize,
    at: u64,
}

/// Frames by number.
#[derive(Default)]
struct Frames {
    all: Vec<SharedFrame>,
    numbers: HashMap<String, usize>,
}

impl Frames {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.all.len();
        self.all.push(SharedFrame { name: name.into() });
        self.numbers.insert(name.into(), number);
        number
    }
}

impl Format for Speedscope {
    fn name(&self) -> &'static str {
        "speedscope"
    }

    fn about(&self) -> &'static str {
        "JSON for speedscope.app: every weight, and critical paths"
    }

    fn takes_timelines(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut frames = Frames::default();
        let weights = Weight::ALL.into_iter();
        let mut profiles: Vec<Profile> = weights
            .filter_map(|weight| sampled(export, weight, &mut frames))
            .collect();
        profiles.extend(critical_paths(export, &mut frames));
        let file = File {
            schema: "https://www.speedscope.app/file-format-schema.json",
            exporter: concat!("evenkeel ", env!("CARGO_PKG_VERSION")).to_owned(),
            name: export.title(),
            shared: Shared { frames: frames.all },
            profiles,
        };
        serde_json::to_writer(&mut *out, &file)?;
        Ok(writeln!(out)?)
    }
}

/// Nothing where no leaf has the weight.
fn sampled(export: &Export<'_>, weight: Weight, frames: &mut Frames) -> Option<Profile> {
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for leaf in export.leaves() {
        let value = weight.of(leaf.node());
        if value == 0 {
            continue;
        }
        let root = (value < 0).then_some(NEGATIVE);
        let names = leaf.stack.iter().map(|node| node.name.as_str());
        let stack = root.into_iter().chain(names);
        samples.push(stack.map(|name| frames.number(name)).collect());
        weights.push(value.unsigned_abs());
    }
    let unit = match weight {
        Weight::Mean => "nanoseconds",
        Weight::Variance | Weight::Tail(_) => "none",
    };
    (!samples.is_empty()).then(|| Profile::Sampled {
        name: format!("{weight}: {}", weight.about()),
        unit,
        start_value: 0,
        end_value: weights.iter().sum(),
        samples,
        weights,
    })
}

fn critical_paths(export: &Export<'_>, frames: &mut Frames) -> Vec<Profile> {
    let profile = export.profile;
    let stacks = Stacks::of(&profile.tree);
    let evented = |timeline| {
        let slices = slices(timeline, &stacks);
        let event = |boundary: Boundary| match boundary {
            Boundary::Begin(at) => ("O", at, slices[at].from_ns),
            Boundary::End(at) => ("C", at, slices[at].to_ns),
        };
        let events = boundaries(&slices).into_iter().map(event);
        let events = events.map(|(kind, at, when)| Event {
            kind,
            frame: frames.number(&slices[at].frame.name),
            at: when,
        });
        Profile::Evented {
            name: format!("critical path of {}: {}", timeline.pick, timeline.class),
            unit: "nanoseconds",
            start_value: 0,
            end_value: whole(timeline.latency_ns),
            events: events.collect(),
        }
    };
    profile.timelines.iter().map(evented).collect()
}
