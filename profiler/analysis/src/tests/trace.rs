//! Traces written as nested calls: `call(PROBE, body_before, [children], body_after)`.

use evenkeel_wire::{Marker, Record, Stamp};

use crate::sites::{Site, SiteTable};
use crate::{Analysis, Options, ProbeCost, profile};

/// A call with what happens in it, in order.
#[derive(Clone, Debug)]
pub struct Call {
    pub probe: u32,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Own time, ticks.
    Work(u64),
    Call(Call),
}

/// A call without timed calls.
pub fn leaf(probe: u32, ticks: u64) -> Step {
    call(probe, [work(ticks)])
}

pub fn call(probe: u32, steps: impl Into<Vec<Step>>) -> Step {
    Step::Call(Call {
        probe,
        steps: steps.into(),
    })
}

pub fn work(ticks: u64) -> Step {
    Step::Work(ticks)
}

/// Generation 1, probed.
pub const STAMP: Stamp = Stamp {
    generation: 1,
    probed: true,
};
/// The stamp in a record.
pub const PAYLOAD: u64 = STAMP.payload();

/// Records of an interval that begins at `start` and consists of these steps; `label` records follow the Begin.
pub fn labelled(start: u64, label: &[Record], steps: &[Step]) -> Vec<Record> {
    let mut records = vec![Record::marker(Marker::Begin, start, PAYLOAD)];
    records.extend_from_slice(label);
    let end = write(start, steps, &mut records);
    records.push(Record::marker(Marker::End, end, PAYLOAD));
    records
}

pub fn interval(start: u64, steps: &[Step]) -> Vec<Record> {
    labelled(start, &[], steps)
}

/// Appends the records of `steps` from `now` on, returns when they end.
pub fn write(mut now: u64, steps: &[Step], records: &mut Vec<Record>) -> u64 {
    for step in steps {
        now = match step {
            Step::Work(ticks) => now + ticks,
            Step::Call(call) => {
                let end = write(now, &call.steps, records);
                records.push(Record::new(now, end - now, call.probe));
                end
            }
        };
    }
    now
}

/// An analysis of these intervals, each a list of steps, in one round.
pub fn analysed(intervals: &[Vec<Step>]) -> Analysis {
    let mut analysis = started(ProbeCost::default());
    for (at, steps) in intervals.iter().enumerate() {
        analysis.push(1, &interval(1000 + 1_000_000 * at as u64, steps));
    }
    analysis
}

pub fn started(cost: ProbeCost) -> Analysis {
    let mut analysis = Analysis::new(cost);
    analysis.begin_round(1, 4);
    analysis
}

/// `(callee, caller's offset, height)` by probe id, under a root `root` of height 5.
pub fn sites(sites: &[(&str, &str, u32)]) -> SiteTable {
    let site = |&(callee, site, height): &(&str, &str, u32)| Site {
        callee: callee.into(),
        caller: site.split('+').next().unwrap_or_default().into(),
        site: site.into(),
        height,
        ..Site::default()
    };
    SiteTable {
        root: "root".into(),
        root_height: 5,
        sites: sites.iter().map(site).collect(),
    }
}

pub fn options() -> Options {
    Options {
        threshold: 0.0,
        ..Options::default()
    }
}

/// The child of a node with this name; with `site`, also of this site.
pub fn child<'a>(node: &'a profile::Node, name: &str) -> &'a profile::Node {
    let found = node
        .children
        .iter()
        .find(|child| child.name == name || child.site == name);
    found.unwrap_or_else(|| panic!("no {name} under {}", node.name))
}

#[track_caller]
pub fn near(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{actual} instead of {expected}"
    );
}
