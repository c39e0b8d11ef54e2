//! A minute as bytes, and back.

use std::collections::BTreeMap;

use super::numbers::{Numbers, Reading};
use super::{Minute, RoundMinute};
use crate::intervals::assembler::reader::Lost;
use crate::intervals::attributes::{ATTRIBUTES_MAX, AttributeSums, Group, VALUES_MAX};
use crate::intervals::classes::{CLASSES_MAX, ClassSums};
use crate::intervals::counts::RunCounts;
use crate::intervals::interval::Reason;
use crate::sums::histogram::{BUCKETS_MAX, Bucket, Histogram};
use crate::sums::paths::{NODES_MAX, PAIRS_MAX};
use crate::sums::self_cost::{Window, Windows};
use crate::sums::{NodeSums, Sums};

/// The format of the bytes.
const FORMAT: u64 = 2;
/// Rounds of one run, at most; anything beyond is damage.
const ROUNDS_MAX: usize = 1 << 20;
/// Bytes of a name, at most.
const NAME_MAX: usize = 1 << 12;
/// Classes with their two special ones.
const CLASS_IDS_MAX: usize = CLASSES_MAX + 2;

impl Minute {
    /// The minute as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Numbers::default();
        out.put(FORMAT);
        put_run(&mut out, &self.run);
        for names in [&self.classes, &self.attributes] {
            out.size(names.len());
            names.iter().for_each(|name| out.text(name));
        }
        out.size(self.rounds.len());
        self.rounds
            .iter()
            .for_each(|round| put_round(&mut out, round));
        out.bytes
    }

    /// A minute from bytes; nothing where they are damaged, or of another version.
    pub fn read(bytes: &[u8], began_unix_ns: u64) -> Option<Minute> {
        let mut from = Reading { rest: bytes };
        (from.take::<u64>()? == FORMAT).then_some(())?;
        let run = run(&mut from)?;
        let mut names = |most| -> Option<Vec<String>> {
            let count = from.size(most)?;
            (0..count).map(|_| from.text(NAME_MAX)).collect()
        };
        let (classes, attributes) = (names(CLASS_IDS_MAX)?, names(ATTRIBUTES_MAX)?);
        let rounds = from.size(ROUNDS_MAX)?;
        let rounds = (0..rounds).map(|_| round(&mut from));
        let minute = Minute {
            run,
            classes,
            attributes,
            rounds: rounds.collect::<Option<_>>()?,
            began_unix_ns,
        };
        from.rest.is_empty().then_some(minute)
    }
}

fn put_run(out: &mut Numbers, run: &RunCounts) {
    let RunCounts {
        seen,
        represented,
        discarded,
        closure_checked,
        closure_error_max,
        dropped,
        lost,
    } = *run;
    let counts = [
        seen,
        represented,
        closure_checked,
        closure_error_max,
        dropped,
        lost.intervals,
    ];
    counts.into_iter().for_each(|count| out.put(count));
    out.put(lost.ticks);
    out.size(discarded.len());
    discarded.into_iter().for_each(|count| out.put(count));
}

fn run(from: &mut Reading<'_>) -> Option<RunCounts> {
    let mut run = RunCounts {
        seen: from.take()?,
        represented: from.take()?,
        closure_checked: from.take()?,
        closure_error_max: from.take()?,
        dropped: from.take()?,
        lost: Lost {
            intervals: from.take()?,
            ticks: from.take()?,
        },
        ..RunCounts::default()
    };
    for count in &mut run.discarded[..from.size(Reason::ALL.len())?] {
        *count = from.take()?;
    }
    Some(run)
}

fn put_round(out: &mut Numbers, minute: &RoundMinute) {
    out.size(minute.round);
    out.put(minute.probes);
    out.size(minute.steps.len());
    for &(parent, step) in &minute.steps {
        out.put(parent);
        out.put(step);
    }
    out.put(minute.folded);
    put_sums(out, &minute.sums);
    put_histogram(out, &minute.histogram);
    let met = |class: &ClassSums| class.intervals > 0;
    out.sparse(&minute.classes, met, put_class);
    for window in minute.self_cost.0 {
        out.put(window.intervals);
        out.put(window.latency);
    }
}

fn round(from: &mut Reading<'_>) -> Option<RoundMinute> {
    let (round, probes) = (from.size(ROUNDS_MAX)?, from.take()?);
    let steps = from.size(NODES_MAX)?;
    let steps = (0..steps).map(|_| Some((from.take()?, from.take()?)));
    let steps = steps.collect::<Option<_>>()?;
    Some(RoundMinute {
        round,
        probes,
        steps,
        folded: from.take()?,
        sums: sums(from)?,
        histogram: histogram(from)?,
        classes: from.sparse(CLASS_IDS_MAX, class)?,
        self_cost: Windows([window(from)?, window(from)?]),
    })
}

fn window(from: &mut Reading<'_>) -> Option<Window> {
    Some(Window {
        intervals: from.take()?,
        latency: from.take()?,
    })
}

fn put_sums(out: &mut Numbers, sums: &Sums) {
    out.put(sums.intervals);
    out.put(sums.kept);
    out.put(sums.latency);
    out.put(sums.latency_squared);
    let met = |node: &NodeSums| *node != NodeSums::default();
    out.sparse(&sums.nodes, met, |out, node| {
        node.all().into_iter().for_each(|sum| out.put(sum));
    });
    out.sparse(&sums.pairs, |&pair| pair != 0, |out, &pair| out.put(pair));
    let was_reported = |sums: &AttributeSums| sums.intervals > 0;
    out.sparse(&sums.attributes, was_reported, put_attribute);
}

fn sums(from: &mut Reading<'_>) -> Option<Sums> {
    Some(Sums {
        intervals: from.take()?,
        kept: from.take()?,
        latency: from.take()?,
        latency_squared: from.take()?,
        nodes: from.sparse(NODES_MAX, |from| {
            let mut all = [0; NodeSums::COUNT];
            for sum in &mut all {
                *sum = from.take()?;
            }
            Some(NodeSums::of(all))
        })?,
        pairs: from.sparse(PAIRS_MAX, Reading::take)?,
        attributes: from.sparse(ATTRIBUTES_MAX, attribute)?,
    })
}

fn put_attribute(out: &mut Numbers, sums: &AttributeSums) {
    out.put(sums.intervals);
    let sums_of = [
        sums.value,
        sums.value_squared,
        sums.value_latency,
        sums.latency,
        sums.latency_squared,
        sums.too_many.into(),
    ];
    sums_of.into_iter().for_each(|sum| out.put(sum));
    out.size(sums.groups.len());
    for (&value, group) in &sums.groups {
        out.put(value);
        out.put(group.intervals);
        out.put(group.latency);
    }
}

fn attribute(from: &mut Reading<'_>) -> Option<AttributeSums> {
    let mut sums = AttributeSums {
        intervals: from.take()?,
        value: from.take()?,
        value_squared: from.take()?,
        value_latency: from.take()?,
        latency: from.take()?,
        latency_squared: from.take()?,
        too_many: from.take::<u8>()? != 0,
        groups: BTreeMap::new(),
    };
    for _ in 0..from.size(VALUES_MAX)? {
        let value = from.take()?;
        let group = Group {
            intervals: from.take()?,
            latency: from.take()?,
        };
        sums.groups.insert(value, group);
    }
    Some(sums)
}

fn put_histogram(out: &mut Numbers, histogram: &Histogram) {
    out.put(histogram.latency_max);
    let met = |bucket: &Bucket| bucket.intervals > 0;
    out.sparse(&histogram.buckets, met, |out, bucket| {
        out.put(bucket.intervals);
        out.put(bucket.kept);
        let both: Vec<(i64, u64)> = bucket.both().collect();
        out.sparse(
            &both,
            |both| *both != (0, 0),
            |out, &(inclusive, calls)| {
                out.put(inclusive);
                out.put(calls);
            },
        );
    });
}

fn histogram(from: &mut Reading<'_>) -> Option<Histogram> {
    let latency_max = from.take()?;
    let buckets = from.sparse(BUCKETS_MAX, |from| {
        let (intervals, kept) = (from.take()?, from.take()?);
        let both = from.sparse(NODES_MAX, |from| Some((from.take()?, from.take()?)))?;
        Some(Bucket::of(intervals, kept, &both))
    })?;
    Some(Histogram::of(buckets, latency_max))
}

fn put_class(out: &mut Numbers, class: &ClassSums) {
    out.put(class.intervals);
    out.put(class.latency);
    out.put(class.latency_squared);
    out.sparse(
        &class.nodes,
        |sums| *sums != (0, 0),
        |out, &(x, with_latency)| {
            out.put(x);
            out.put(with_latency);
        },
    );
}

fn class(from: &mut Reading<'_>) -> Option<ClassSums> {
    Some(ClassSums {
        intervals: from.take()?,
        latency: from.take()?,
        latency_squared: from.take()?,
        nodes: from.sparse(NODES_MAX, |from| Some((from.take()?, from.take()?)))?,
    })
}
