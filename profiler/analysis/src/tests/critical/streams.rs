//! Streams of several threads, written record by record, and what an interval spent where.

use std::collections::BTreeMap;

use evenkeel_wire::{Event, KeepRate, LabelValue, Object, ObjectKind, Record};

use super::super::trace::{STAMP, options, sites, started};
use crate::profile::{Node, Profile};
use crate::sites::{Kind, SiteTable};
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
    fn event(mut self, event: Event<'_>) -> Stream {
        self.0.extend(event.records());
        self
    }

    pub fn call(mut self, start: u64, end: u64, probe: u32) -> Stream {
        self.0.push(Record::new(start, end - start, probe));
        self
    }

    pub fn begin(self, at: u64, label: &str) -> Stream {
        self.event(Event::Begin { at, stamp: STAMP })
            .event(Event::Label(text(label)))
    }

    pub fn end(self, at: u64, opens: &[Open]) -> Stream {
        self.event(Event::End {
            at,
            keep: KeepRate::ALL,
            left: false,
            generation: STAMP.generation,
            open: &open(opens),
        })
    }

    pub fn wait(self, start: u64, end: u64, kind: ObjectKind, key: u64) -> Stream {
        self.event(Event::Wait {
            start,
            end,
            objects: [Some(Object { key, kind }), None],
        })
    }

    /// A wait for two objects.
    pub fn wait_both(self, start: u64, end: u64, objects: [(ObjectKind, u64); 2]) -> Stream {
        self.event(Event::Wait {
            start,
            end,
            objects: objects.map(|(kind, key)| Some(Object { key, kind })),
        })
    }

    pub fn wake(self, at: u64, kind: ObjectKind, key: u64, opens: &[Open]) -> Stream {
        self.event(Event::Wake {
            at,
            object: Object { key, kind },
            open: &open(opens),
        })
    }

    pub fn enqueue(self, at: u64, task: u64, opens: &[Open]) -> Stream {
        self.event(Event::Enqueue {
            at,
            object: a_task(task),
            open: &open(opens),
        })
    }

    pub fn dequeue(self, at: u64, task: u64) -> Stream {
        self.event(Event::Dequeue {
            at,
            object: a_task(task),
        })
    }

    pub fn work(self, at: u64, key: u64) -> Stream {
        self.event(Event::Work { at, key })
    }

    /// As agents write it: the thread works on the interval that it began.
    pub fn begin_keyed(self, at: u64, key: u64, label: &str) -> Stream {
        self.event(Event::BeginKeyed {
            at,
            key,
            stamp: STAMP,
            label: text(label),
        })
        .work(at, key)
    }

    /// As agents write it: afterwards the thread works on no interval.
    pub fn end_keyed(self, at: u64, key: u64, opens: &[Open]) -> Stream {
        self.end_keyed_under(STAMP.generation, at, key, opens)
            .work(at, 0)
    }

    /// The end alone, under this generation of the plan.
    pub fn end_keyed_under(self, generation: u32, at: u64, key: u64, opens: &[Open]) -> Stream {
        self.event(Event::EndKeyed {
            at,
            key,
            generation,
            open: &open(opens),
        })
    }

    pub fn attribute(self, key: u64, name: &str, value: i64) -> Stream {
        self.event(Event::Attribute {
            key,
            name: name.as_bytes(),
            value,
        })
    }

    pub fn class(self, key: u64, name: &str) -> Stream {
        let label = text(name);
        self.event(Event::Class { key, label })
    }
}

fn a_task(key: u64) -> Object {
    Object {
        key,
        kind: ObjectKind::Task,
    }
}

fn text(label: &str) -> LabelValue<'_> {
    match label {
        "" => LabelValue::None,
        label => LabelValue::Text(label.as_bytes()),
    }
}

fn open(opens: &[Open]) -> Vec<evenkeel_wire::Open> {
    let open = |&(start, probe): &Open| evenkeel_wire::Open { start, probe };
    opens.iter().map(open).collect()
}

/// An empty stream.
pub fn stream() -> Stream {
    Stream::default()
}

/// An analysis that follows waits, in one round, free of probe costs.
pub fn following() -> Analysis {
    let mut analysis = started(ProbeCost::default());
    analysis.follow_waits();
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
            .filter(|child| child.kind != Kind::Body)
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
