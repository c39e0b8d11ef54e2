//! Streams of several threads, written record by record, and what an interval spent where.

use std::collections::BTreeMap;

use evenkeel_wire::Kind;
use evenkeel_wire::edges::end_payload;
use evenkeel_wire::record::{Marker, Record};

use super::super::trace::{PAYLOAD, options, sites, started};
use crate::profile::{Node, Profile};
use crate::sites::{Kind as NodeKind, SiteTable};
use crate::{Analysis, ProbeCost};

/// Probes of the tests, by name: `f` to `k` are functions, the others what their names say.
pub const F: u32 = 0;
pub const G: u32 = 1;
pub const H: u32 = 2;
pub const K: u32 = 3;
pub const LOCK: u32 = 4;
pub const UNLOCK: u32 = 5;

pub fn table() -> SiteTable {
    sites(&[
        ("f", "root+1", 2),
        ("g", "root+2", 2),
        ("h", "g+1", 1),
        ("k", "g+2", 1),
        ("lock", "f+1", 0),
        ("unlock", "g+3", 0),
    ])
}

/// The records of one thread.
#[derive(Clone, Debug, Default)]
pub struct Stream(pub Vec<Record>);

/// A call that is open: since when, and which.
pub type Open = (u64, u32);

impl Stream {
    fn marker(mut self, marker: Marker, start: u64, payload: u64) -> Stream {
        self.0.push(Record::marker(marker, start, payload));
        self
    }

    fn object(self, kind: Kind, key: u64) -> Stream {
        self.marker(Marker::Object, key, kind as u64)
    }

    fn opens(self, opens: &[Open]) -> Stream {
        let open = |stream: Stream, &(start, probe): &Open| {
            stream.marker(Marker::Open, start, probe.into())
        };
        opens.iter().fold(self, open)
    }

    pub fn call(mut self, start: u64, end: u64, probe: u32) -> Stream {
        self.0.push(Record::new(start, end - start, probe));
        self
    }

    pub fn begin(self, time: u64, label: &str) -> Stream {
        let mut stream = self.marker(Marker::Begin, time, PAYLOAD);
        if !label.is_empty() {
            stream.0.push(Record::from_label_chunk(label.as_bytes()));
        }
        stream
    }

    pub fn end(self, time: u64, opens: &[Open]) -> Stream {
        self.opens(opens).marker(Marker::End, time, PAYLOAD)
    }

    pub fn wait(self, start: u64, end: u64, kind: Kind, key: u64) -> Stream {
        self.marker(Marker::Wait, start, end - start)
            .object(kind, key)
    }

    /// A wait for two objects.
    pub fn wait_both(self, start: u64, end: u64, objects: [(Kind, u64); 2]) -> Stream {
        let [first, second] = objects;
        self.wait(start, end, first.0, first.1)
            .object(second.0, second.1)
    }

    pub fn wake(self, time: u64, kind: Kind, key: u64, opens: &[Open]) -> Stream {
        self.marker(Marker::Wake, time, opens.len() as u64)
            .object(kind, key)
            .opens(opens)
    }

    pub fn enqueue(self, time: u64, task: u64, opens: &[Open]) -> Stream {
        self.marker(Marker::Enqueue, time, opens.len() as u64)
            .object(Kind::Task, task)
            .opens(opens)
    }

    pub fn dequeue(self, time: u64, task: u64) -> Stream {
        self.marker(Marker::Dequeue, time, 0)
            .object(Kind::Task, task)
    }

    pub fn work(self, time: u64, key: u64) -> Stream {
        self.marker(Marker::Work, time, 0)
            .object(Kind::Interval, key)
    }

    /// As agents write it: the thread works for the interval that it began.
    pub fn begin_keyed(self, time: u64, key: u64, label: &str) -> Stream {
        let mut stream = self
            .marker(Marker::BeginKeyed, time, PAYLOAD)
            .object(Kind::Interval, key);
        if !label.is_empty() {
            stream.0.push(Record::from_label_chunk(label.as_bytes()));
        }
        stream.work(time, key)
    }

    /// As agents write it: the thread works for nobody afterwards.
    pub fn end_keyed(self, time: u64, key: u64, opens: &[Open]) -> Stream {
        self.marker(Marker::EndKeyed, time, end_payload(1, opens.len()))
            .object(Kind::Interval, key)
            .opens(opens)
            .work(time, 0)
    }

    pub fn attribute(mut self, key: u64, name: &str, value: i64) -> Stream {
        self = self
            .marker(Marker::Attribute, value as u64, 0)
            .object(Kind::Interval, key);
        self.0.push(Record::from_label_chunk(name.as_bytes()));
        self
    }

    pub fn class(mut self, key: u64, name: &str) -> Stream {
        self = self.marker(Marker::Class, 0, 0).object(Kind::Interval, key);
        self.0.push(Record::from_label_chunk(name.as_bytes()));
        self
    }
}

/// An empty stream.
pub fn stream() -> Stream {
    Stream::default()
}

/// An analysis that follows edges, in one round, free of probe costs.
pub fn following() -> Analysis {
    let mut analysis = started(ProbeCost::default());
    analysis.follow_edges();
    analysis
}

/// Pushes every thread's stream (keys 1, 2, ...) in one pass, and lets everything be dealt with.
pub fn run(analysis: &mut Analysis, streams: &[Stream]) {
    for (at, stream) in streams.iter().enumerate() {
        analysis.push(at as u64 + 1, &stream.0);
    }
    analysis.ended();
}

pub fn profile_of(streams: &[Stream]) -> Profile {
    let mut analysis = following();
    run(&mut analysis, streams);
    analysis.profile(&table(), &options())
}

/// Mean time at each node itself, without nodes of no time, by names joined with ` > ` below the root. Asserts closure.
pub fn spent(profile: &Profile) -> BTreeMap<String, i64> {
    fn below(node: &Node, path: &str, found: &mut BTreeMap<String, i64>) {
        let mut own = node.mean_ns;
        for child in node
            .children
            .iter()
            .filter(|child| child.kind != NodeKind::Body)
        {
            own -= child.mean_ns;
            let path = match path {
                "" => child.name.clone(),
                path => format!("{path} > {}", child.name),
            };
            below(child, &path, found);
        }
        if own != 0.0 {
            found.insert(path.to_owned(), own as i64);
        }
    }
    assert_eq!(profile.closure.max_abs_error_ticks, 0);
    assert_eq!(profile.closure.intervals, profile.intervals);
    let mut found = BTreeMap::new();
    below(&profile.tree, "", &mut found);
    assert_eq!(
        found.values().sum::<i64>(),
        profile.mean_ns as i64,
        "{found:#?}"
    );
    found
}

/// Asserts what one interval spent, each line a path and its ticks.
#[track_caller]
pub fn assert_spent(profile: &Profile, expected: &[(&str, i64)]) {
    assert_eq!(profile.intervals, 1, "{:?}", profile.discarded_by_reason);
    let expected: BTreeMap<String, i64> = expected
        .iter()
        .map(|&(path, ticks)| (path.to_owned(), ticks))
        .collect();
    assert_eq!(spent(profile), expected);
}

/// Mean calls of a node, by names joined with ` > ` below the root.
#[track_caller]
pub fn calls(profile: &Profile, path: &str) -> f64 {
    let step = |node: &'_ Node, name: &str| {
        let mut children = node.children.iter();
        let child = children.find(|child| child.name == name);
        child
            .unwrap_or_else(|| panic!("no {path}: {node:#?}"))
            .clone()
    };
    let node = path
        .split(" > ")
        .fold(profile.tree.clone(), |node, name| step(&node, name));
    node.calls_mean
}
