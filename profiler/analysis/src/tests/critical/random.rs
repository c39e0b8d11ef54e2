//! Properties of random streams of several threads.

use evenkeel_wire::ObjectKind;
use evenkeel_wire::record::{MARKER_FIRST, Record};
use proptest::prelude::*;

use super::super::trace::{self, PAYLOAD, options, started};
use super::streams::*;
use crate::critical::walk::HOPS_MAX;
use crate::findings::warnings::Warning;
use crate::intervals::assembler::spans::{Off, SwitchedOut};
use crate::intervals::interval::{LeftOut, Reason};
use crate::profile::{Node, Profile};
use crate::{Analysis, Options, Pick, ProbeCost};

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Act {
    Enter(u32),
    Leave,
    Wait(u64, ObjectKind, u64),
    Wake(ObjectKind, u64),
    Enqueue(u64),
    Dequeue(u64),
    Work(u64),
    BeginKeyed(u64),
    EndKeyed(u64),
    Begin,
    End,
    Gap,
}

fn kind() -> impl Strategy<Value = ObjectKind> {
    prop_oneof![
        6 => Just(ObjectKind::Mutex),
        1 => Just(ObjectKind::Spin),
        1 => Just(ObjectKind::Poll),
        1 => Just(ObjectKind::Pipe),
        1 => Just(ObjectKind::Timer),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0u32..6).prop_map(Act::Enter),
        6 => Just(Act::Leave),
        5 => (1u64..200, kind(), 1u64..3).prop_map(|(ticks, kind, key)| Act::Wait(ticks, kind, key)),
        5 => (kind(), 1u64..3).prop_map(|(kind, key)| Act::Wake(kind, key)),
        2 => (1u64..4).prop_map(Act::Enqueue),
        2 => (1u64..4).prop_map(Act::Dequeue),
        3 => (0u64..4).prop_map(Act::Work),
        2 => (1u64..4).prop_map(Act::BeginKeyed),
        2 => (1u64..4).prop_map(Act::EndKeyed),
        2 => Just(Act::Begin),
        3 => Just(Act::End),
        1 => Just(Act::Gap),
    ]
}

/// Spans in which a thread did not run, and its waker: also the thread itself, one that does not exist, and a busy one.
fn off() -> impl Strategy<Value = (Off, Option<u64>)> {
    prop_oneof![
        Just((Off::Preempted, None)),
        Just((Off::Device, None)),
        Just((Off::Fault, None)),
        Just((Off::Blocked, None)),
        (1u64..6).prop_map(|by| (Off::Blocked, Some(by))),
    ]
}

/// A thread: its acts with the time before each, ticks.
fn thread() -> impl Strategy<Value = Vec<(u64, Act)>> {
    prop::collection::vec((0u64..20, act()), 0..60)
}

/// The records of a thread from tick 1000 on. Well-formed: calls nest, and time does not go back.
fn write(acts: &[(u64, Act)]) -> Stream {
    let (mut stream, mut now) = (stream(), 1000);
    let mut open: Vec<Open> = Vec::new();
    for &(before, act) in acts {
        now += before;
        stream = match act {
            Act::Enter(probe) => {
                open.push((now, probe));
                stream
            }
            Act::Leave => match open.pop() {
                Some((start, probe)) => stream.call(start, now, probe),
                None => stream,
            },
            Act::Wait(ticks, kind, key) => {
                now += ticks;
                stream.wait(now - ticks, now, kind, key)
            }
            Act::Wake(kind, key) => stream.wake(now, kind, key, &open),
            Act::Enqueue(task) => stream.enqueue(now, task, &open),
            Act::Dequeue(task) => stream.dequeue(now, task),
            Act::Work(key) => stream.work(now, key),
            Act::BeginKeyed(key) => stream.begin_keyed(now, key, "keyed"),
            Act::EndKeyed(key) => stream.end_keyed(now, key, &open),
            Act::Begin => stream.begin(now, "home"),
            Act::End => stream.end(now, &open),
            Act::Gap => {
                let mut stream = stream;
                stream
                    .0
                    .push(Record::marker(evenkeel_wire::Marker::Gap, now, 1));
                stream
            }
        };
    }
    stream
}

/// Everything in one go, or cut into batches with a pass after each round of them.
fn analysed(streams: &[Stream], batch: usize, spans: &[SwitchedOut]) -> Profile {
    let mut analysis = started(ProbeCost {
        outer_256: 300,
        inner_256: 200,
    });
    analysis.follow_waits();
    (0..streams.len()).for_each(|at| analysis.switched_out(at as u64 + 1, spans));
    let longest = streams
        .iter()
        .map(|stream| stream.0.len())
        .max()
        .unwrap_or(0);
    for from in (0..longest.max(1)).step_by(batch) {
        for (at, stream) in streams.iter().enumerate() {
            let to = stream.0.len().min(from + batch);
            analysis.push(at as u64 + 1, &stream.0[from.min(to)..to]);
        }
        if batch < longest {
            analysis.pass_ended();
        }
    }
    (0..streams.len()).for_each(|at| analysis.thread_ended(at as u64 + 1));
    analysis.pass_ended();
    analysis.pass_ended();
    let options = Options {
        timelines: (1..=16).map(Pick::Rank).collect(),
        ..options()
    };
    analysis.profile(&table(), &options)
}

/// A path's pieces cover its interval once, in order.
fn assert_partition(profile: &Profile) {
    for timeline in &profile.timelines {
        let mut at = 0.0;
        for span in &timeline.spans {
            assert_eq!(span.from_ns, at, "{timeline:?}");
            assert!(span.to_ns > at && span.lane < timeline.lanes.len());
            at = span.to_ns;
        }
        assert_eq!(at, timeline.latency_ns);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_interval_is_partitioned(
        threads in prop::collection::vec(thread(), 1..5),
        spans in prop::collection::vec((0u64..40, 1u64..30, off()), 0..20),
    ) {
        let streams: Vec<Stream> = threads.iter().map(|acts| write(acts)).collect();
        let mut at = 1000;
        let spans: Vec<_> = spans.into_iter().map(|(gap, ticks, (off, by))| {
            let start = at + gap;
            at = start + ticks;
            SwitchedOut { start, end: at, off, by }
        }).collect();
        let profile = analysed(&streams, usize::MAX, &spans);
        prop_assert_eq!(profile.closure.max_abs_error_ticks, 0);
        prop_assert_eq!(profile.closure.intervals, profile.intervals);
        prop_assert_eq!(profile.intervals + profile.discarded, profile.intervals_seen);
        prop_assert!(!profile.discarded_by_reason.contains_key(&LeftOut::Known(Reason::Malformed)), "{:?}", profile.discarded_by_reason);
        assert_partition(&profile);
        // The same passes give the same results.
        prop_assert_eq!(&analysed(&streams, usize::MAX, &spans), &profile);
    }

    /// If no record was lost or dropped, and no chain of waits exceeds the bound, no time is "not seen".
    #[test]
    fn nothing_is_unseen_without_a_gap(threads in prop::collection::vec(thread(), 1..4)) {
        let gapless = |acts: &Vec<(u64, Act)>| {
            let acts = acts.iter().filter(|(_, act)| !matches!(act, Act::Gap));
            write(&acts.copied().collect::<Vec<_>>())
        };
        let streams: Vec<Stream> = threads.iter().map(gapless).collect();
        let profile = analysed(&streams, usize::MAX, &[]);
        let spent: Vec<String> = paths_of(&profile.tree);
        for path in spent.iter().filter(|path| path.contains("not seen")) {
            prop_assert!(path.matches("waits: ").count() > HOPS_MAX, "{path}");
        }
        // All intervals that began have ended, are left out, or are still open.
        prop_assert!(!profile.discarded_by_reason.contains_key(&LeftOut::Known(Reason::RecordsLost)));
    }

    /// However rings are cut into passes, nothing is lost and everything closes.
    #[test]
    fn passes_may_cut_anywhere(threads in prop::collection::vec(thread(), 1..5), batch in 1usize..40) {
        let streams: Vec<Stream> = threads.iter().map(|acts| write(acts)).collect();
        let whole = analysed(&streams, usize::MAX, &[]);
        let cut = analysed(&streams, batch, &[]);
        prop_assert_eq!(cut.closure.max_abs_error_ticks, 0);
        prop_assert_eq!(cut.intervals + cut.discarded, cut.intervals_seen);
        assert_partition(&cut);
        if threads.len() == 1 {
            prop_assert_eq!((cut.intervals, cut.mean_ns), (whole.intervals, whole.mean_ns));
        }
    }

    /// A ring or a recording can hold anything.
    #[test]
    fn any_records_are_survived(
        rings in prop::collection::vec(prop::collection::vec(any_record(), 0..150), 1..4),
        batch in 1usize..60,
    ) {
        let streams: Vec<Stream> = rings.into_iter().map(Stream).collect();
        let profile = analysed(&streams, batch, &[]);
        prop_assert_eq!(profile.closure.max_abs_error_ticks, 0);
        prop_assert!(profile.intervals + profile.discarded <= profile.intervals_seen);
        assert_partition(&profile);
    }

    /// Without waits in it, a stream gives exactly what it gives without following them.
    #[test]
    fn streams_without_waits_are_the_same(
        intervals in prop::collection::vec(prop::collection::vec(nested(), 1..6), 1..20),
    ) {
        let cost = ProbeCost { outer_256: 700, inner_256: 300 };
        let (mut plain, mut following) = (started(cost), started(cost));
        following.follow_waits();
        for (at, steps) in intervals.iter().enumerate() {
            let records = trace::interval(1000 + 1_000_000 * at as u64, steps);
            plain.push(1, &records);
            following.push(1, &records);
            following.pass_ended();
        }
        following.pass_ended();
        let profile = |analysis: &Analysis| {
            let mut profile = analysis.profile(&table(), &options());
            profile.time_spent.clear();
            profile.timelines.clear();
            profile
        };
        prop_assert_eq!(profile(&following), profile(&plain));
    }
}

/// Every node's path, by names.
fn paths_of(node: &Node) -> Vec<String> {
    let below = node.children.iter().flat_map(paths_of);
    let mut paths: Vec<String> = below
        .map(|path| format!("{} > {path}", node.name))
        .collect();
    paths.push(node.name.clone());
    paths
}

fn nested() -> impl Strategy<Value = trace::Step> {
    let leaf = prop_oneof![
        (0u64..100).prop_map(trace::Step::Work),
        (0u32..6, 0u64..50).prop_map(|(probe, ticks)| trace::leaf(probe, ticks)),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        (0u32..6, prop::collection::vec(inner, 0..5))
            .prop_map(|(probe, steps)| trace::call(probe, steps))
    })
}

/// Mostly sensible records, sometimes anything.
fn any_record() -> impl Strategy<Value = Record> {
    let id = prop_oneof![
        4 => 0u32..4,
        6 => MARKER_FIRST..MARKER_FIRST + 23,
        4 => Just(MARKER_FIRST + 1),
        1 => 0u32..1 << 20,
    ];
    let time = prop_oneof![9 => 0u64..60, 1 => any::<u64>()];
    let payload = prop_oneof![6 => 0u64..22, 2 => Just(PAYLOAD), 1 => 0u64..1 << 43];
    (time, payload, id).prop_map(|(start, payload, id)| Record::new(start, payload, id))
}

/// Many passes of threads that are never idle, with one interval that never ends, and threads that come and go. Memory
/// stays within the bounds, and dropped time is reported as unseen: inside of the call that encloses it.
#[test]
fn memory_is_bounded() {
    use crate::intervals::assembler::timeline::CALLS_MAX;
    let mut analysis = following();
    analysis.push(1, &stream().begin_keyed(1000, 9, "never ends").0);
    analysis.push(3, &stream().begin(1000, "long").0);
    let calls_a_pass = 1 << 16;
    let mut now = 2000;
    for pass in 0..40u64 {
        let calls: Vec<Record> = (0..calls_a_pass)
            .map(|at| Record::new(now + 4 * at, 3, 1))
            .collect();
        now += 4 * calls_a_pass;
        analysis.push(3, &calls);
        let wakes = (0..100).fold(stream(), |stream, at| {
            stream.wake(now + at, ObjectKind::Mutex, at, &[])
        });
        analysis.push(100 + pass, &wakes.0);
        analysis.thread_ended(100 + pass);
        analysis.pass_ended();
        assert!(analysis.records_kept() <= CALLS_MAX + 10_000);
    }
    let end = stream().call(1500, now + 2, F).end(now + 5, &[]);
    analysis.push(3, &end.0);
    analysis.pass_ended();
    analysis.pass_ended();
    let profile = analysis.profile(&table(), &options());
    let spent = spent(&profile);
    assert!(
        spent["f > not seen"] > 0 && spent["f > g"] >= 3 * (CALLS_MAX / 2) as i64,
        "{spent:?}"
    );
    assert_eq!(spent["not seen"], 500);
    let warned = profile
        .warnings
        .iter()
        .any(|warning| matches!(warning, Warning::Dropped(_)));
    assert!(warned, "{:?}", profile.warnings);
}
