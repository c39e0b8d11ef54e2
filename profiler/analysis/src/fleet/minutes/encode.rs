//! A minute as bytes, and back: each function describes a structure for writing and for reading.

use super::numbers::Numbers;
use super::{Minute, RoundMinute};
use crate::intervals::attributes::{ATTRIBUTES_MAX, AttributeSums, VALUES_MAX};
use crate::intervals::classes::{CLASSES_MAX, ClassSums};
use crate::intervals::counts::RunCounts;
use crate::intervals::interval::Reason;
use crate::sums::histogram::{BUCKETS_MAX, Bucket, Histogram};
use crate::sums::paths::{NODES_MAX, PAIRS_MAX};
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
        let mut numbers = Numbers::Writing(Vec::new());
        // Writing reads the values alone.
        let written = minute(&mut numbers, &mut self.clone());
        match numbers {
            Numbers::Writing(bytes) if written.is_some() => bytes,
            _ => unreachable!("a minute is within its bounds"),
        }
    }

    /// A minute from bytes; nothing where they are damaged, or of another version.
    pub fn read(bytes: &[u8], began_unix_ns: u64) -> Option<Minute> {
        let mut numbers = Numbers::Reading(bytes);
        let mut read = Minute {
            began_unix_ns,
            ..Minute::default()
        };
        minute(&mut numbers, &mut read)?;
        matches!(numbers, Numbers::Reading([])).then_some(read)
    }
}

/// Numbers, one after the other.
macro_rules! numbers {
    ($numbers:expr; $($number:expr),+ $(,)?) => {
        $($numbers.number(&mut $number)?;)+
    };
}

fn minute(numbers: &mut Numbers<'_>, minute: &mut Minute) -> Option<()> {
    let mut format = FORMAT;
    numbers.number(&mut format)?;
    (format == FORMAT).then_some(())?;
    run(numbers, &mut minute.run)?;
    let name = |numbers: &mut Numbers<'_>, name: &mut String| numbers.text(name, NAME_MAX);
    numbers.list(&mut minute.classes, CLASS_IDS_MAX, name)?;
    numbers.list(&mut minute.attributes, ATTRIBUTES_MAX, name)?;
    numbers.list(&mut minute.rounds, ROUNDS_MAX, round)
}

fn run(numbers: &mut Numbers<'_>, run: &mut RunCounts) -> Option<()> {
    numbers!(numbers; run.seen, run.represented, run.closure_checked, run.closure_error_max);
    numbers!(numbers; run.dropped, run.lost.intervals, run.lost.ticks);
    let mut reasons = run.discarded.len();
    numbers.size(&mut reasons, Reason::ALL.len())?;
    let mut discarded = run.discarded[..reasons].iter_mut();
    discarded.try_for_each(|count| numbers.number(count))
}

fn round(numbers: &mut Numbers<'_>, minute: &mut RoundMinute) -> Option<()> {
    numbers.size(&mut minute.round, ROUNDS_MAX)?;
    numbers.number(&mut minute.probes)?;
    numbers.list(&mut minute.steps, NODES_MAX, |numbers, (parent, step)| {
        numbers.number(parent)?;
        numbers.number(step)
    })?;
    numbers.number(&mut minute.folded)?;
    sums(numbers, &mut minute.sums)?;
    histogram(numbers, &mut minute.histogram)?;
    let met = |class: &ClassSums| class.intervals > 0;
    numbers.sparse(&mut minute.classes, CLASS_IDS_MAX, met, class)?;
    for window in &mut minute.self_cost.0 {
        numbers!(numbers; window.intervals, window.latency);
    }
    Some(())
}

fn sums(numbers: &mut Numbers<'_>, sums: &mut Sums) -> Option<()> {
    numbers!(numbers; sums.intervals, sums.kept, sums.latency, sums.latency_squared);
    let met = |node: &NodeSums| *node != NodeSums::default();
    numbers.sparse(&mut sums.nodes, NODES_MAX, met, |numbers, node| {
        let mut all = node.all();
        all.iter_mut().try_for_each(|sum| numbers.number(sum))?;
        *node = NodeSums::of(all);
        Some(())
    })?;
    numbers.sparse(
        &mut sums.pairs,
        PAIRS_MAX,
        |&pair| pair != 0,
        Numbers::number,
    )?;
    let was_reported = |sums: &AttributeSums| sums.intervals > 0;
    numbers.sparse(
        &mut sums.attributes,
        ATTRIBUTES_MAX,
        was_reported,
        attribute,
    )
}

fn attribute(numbers: &mut Numbers<'_>, sums: &mut AttributeSums) -> Option<()> {
    numbers!(numbers; sums.intervals, sums.value, sums.value_squared, sums.value_latency);
    let mut too_many = u8::from(sums.too_many);
    numbers!(numbers; sums.latency, sums.latency_squared, too_many);
    sums.too_many = too_many != 0;
    let mut groups = std::mem::take(&mut sums.groups).into_iter().collect();
    numbers.list(&mut groups, VALUES_MAX, |numbers, (value, group)| {
        numbers!(numbers; *value, group.intervals, group.latency);
        Some(())
    })?;
    sums.groups = groups.into_iter().collect();
    Some(())
}

fn histogram(numbers: &mut Numbers<'_>, histogram: &mut Histogram) -> Option<()> {
    numbers.number(&mut histogram.latency_max)?;
    let met = |bucket: &Bucket| bucket.intervals > 0;
    let mut buckets = std::mem::take(&mut histogram.buckets);
    numbers.sparse(&mut buckets, BUCKETS_MAX, met, |numbers, bucket| {
        numbers!(numbers; bucket.intervals, bucket.kept);
        let mut both: Vec<(i64, u64)> = bucket.both().collect();
        pairs(numbers, &mut both)?;
        *bucket = Bucket::of(bucket.intervals, bucket.kept, &both);
        Some(())
    })?;
    *histogram = Histogram::of(buckets, histogram.latency_max);
    Some(())
}

fn class(numbers: &mut Numbers<'_>, class: &mut ClassSums) -> Option<()> {
    numbers!(numbers; class.intervals, class.latency, class.latency_squared);
    pairs(numbers, &mut class.nodes)
}

/// Two numbers of each node.
fn pairs<A, B>(numbers: &mut Numbers<'_>, pairs: &mut Vec<(A, B)>) -> Option<()>
where
    A: Copy + Default + PartialEq + Into<i128> + TryFrom<i128>,
    B: Copy + Default + PartialEq + Into<i128> + TryFrom<i128>,
{
    let met = |pair: &(A, B)| *pair != Default::default();
    numbers.sparse(pairs, NODES_MAX, met, |numbers, (a, b)| {
        numbers.number(a)?;
        numbers.number(b)
    })
}
