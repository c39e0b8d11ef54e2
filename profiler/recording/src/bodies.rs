//! Decodes the bodies of chunks: the other side of `crate::write`. A damaged body gives `None`.

use evenkeel_analysis::SwitchedOut;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::slow::SlowStack;
use evenkeel_wire::{LATENCY_CLASSES, Record};

use crate::{OFFS, WOKEN_BY, starts_at_a_time, varint};

/// A plan's fields other than its generation and its number of probes.
pub(crate) fn change(body: &[u8]) -> Option<PlanChange> {
    let [trapping, continues, added @ ..] = &numbers(body)?[..] else {
        return None;
    };
    Some(PlanChange {
        trapping: *trapping != 0,
        continues: (*continues != 0).then_some(*continues),
        added: added.to_vec(),
        ..PlanChange::default()
    })
}

/// Numbers, as many as there are.
pub(crate) fn numbers(body: &[u8]) -> Option<Vec<u32>> {
    let (words, []) = body.as_chunks::<4>() else {
        return None;
    };
    Some(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

/// Two numbers, and nothing else.
pub(crate) fn words(body: &[u8]) -> Option<[u32; 2]> {
    let word = |at: usize| Some(u32::from_le_bytes(body.get(at..at + 4)?.try_into().ok()?));
    (body.len() == 8).then_some([word(0)?, word(4)?])
}

/// Decodes a chunk of records; the thread's key.
pub(crate) fn records(body: &[u8], into: &mut Vec<Record>) -> Option<u64> {
    let thread = u64::from_le_bytes(body.get(..8)?.try_into().ok()?);
    let count = u32::from_le_bytes(body.get(8..12)?.try_into().ok()?);
    let mut rest = &body[12..];
    let mut previous = 0u64;
    into.clear();
    for _ in 0..count {
        let start = previous.wrapping_add(varint::unzigzag(varint::take(&mut rest)?) as u64);
        let duration = varint::take(&mut rest)?;
        let record = Record::new(
            start,
            duration,
            u32::try_from(varint::take(&mut rest)?).ok()?,
        );
        if starts_at_a_time(&record) {
            previous = start;
        }
        into.push(record);
    }
    rest.is_empty().then_some(thread)
}

/// Decodes latencies of intervals that were not recorded: the largest, ticks, and how many of each class.
pub(crate) fn unrecorded(body: &[u8]) -> Option<(u64, Vec<(usize, u64)>)> {
    let mut rest = body;
    let max_ticks = varint::take(&mut rest)?;
    let mut by_class = Vec::new();
    while !rest.is_empty() {
        let class = usize::try_from(varint::take(&mut rest)?).ok()?;
        let count = varint::take(&mut rest)?;
        // More than a thread can have counted: the later sums must not overflow.
        if class >= LATENCY_CLASSES || count > u64::from(u32::MAX) {
            return None;
        }
        by_class.push((class, count));
    }
    Some((max_ticks, by_class))
}

/// Decodes a stack of an interval that was slow already.
pub(crate) fn slow_stack(body: &[u8]) -> Option<SlowStack> {
    let mut rest = body;
    let interval = varint::take(&mut rest)?;
    let (age, unseen) = (varint::take(&mut rest)?, varint::take(&mut rest)?);
    if unseen > age {
        return None;
    }
    let names = rest.strip_suffix(&[0])?.split(|&byte| byte == 0);
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    Some(SlowStack {
        functions: names.collect(),
        interval,
        age,
        unseen,
    })
}

/// Decodes when a thread did not run; the thread's key.
pub(crate) fn spans(body: &[u8]) -> Option<(u64, Vec<SwitchedOut>)> {
    let thread = u64::from_le_bytes(body.get(..8)?.try_into().ok()?);
    let count = u32::from_le_bytes(body.get(8..12)?.try_into().ok()?);
    let mut rest = &body[12..];
    let mut previous = 0u64;
    let mut spans = Vec::new();
    for _ in 0..count {
        let start = previous.wrapping_add(varint::unzigzag(varint::take(&mut rest)?) as u64);
        let end = start.wrapping_add(varint::take(&mut rest)?);
        let why = varint::take(&mut rest)?;
        let by = match why / WOKEN_BY {
            0 => None,
            1 => Some(varint::take(&mut rest)?),
            _ => return None,
        };
        let off = *OFFS.get((why % WOKEN_BY) as usize)?;
        spans.push(SwitchedOut {
            start,
            end,
            off,
            by,
        });
        previous = start;
    }
    rest.is_empty().then_some((thread, spans))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::{Chunk, Chunks};
    use crate::progress::Progress;
    use crate::{Meta, Writer};

    /// When threads did not run comes back as it was recorded; a word that no version has is damage.
    #[test]
    fn spans_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        let whys = OFFS
            .into_iter()
            .flat_map(|off| [(off, None), (off, Some(7 << 32 | 1))]);
        let span = |(at, (off, by)): (u64, (_, _))| SwitchedOut {
            start: 5000 + 10 * at,
            end: 5007 + 10 * at,
            off,
            by,
        };
        let spans: Vec<_> = (0..).zip(whys).map(span).collect();
        let mut writer = Writer::create(&path).unwrap();
        writer.switched_out(9, &spans);
        writer.finish(&Meta::default()).unwrap();
        let chunk = Chunks::open(&path, &Progress::default())
            .unwrap()
            .next()
            .unwrap();
        let Chunk::Body(b'K', mut body) = chunk else {
            panic!("the first chunk");
        };
        assert_eq!(super::spans(&body), Some((9, spans)));
        let last_why = body.len() - 6; // before the key's five bytes
        assert_eq!(u64::from(body[last_why]), WOKEN_BY + 3);
        body[last_why] = 8;
        assert_eq!(super::spans(&body), None);
    }

    /// A stack of a slow interval comes back as it was recorded; one without an end is damage.
    #[test]
    fn slow_stacks_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        let stack = SlowStack {
            functions: vec!["request".to_owned(), "operator()(int)".to_owned()],
            interval: 300,
            age: 1 << 40,
            unseen: 7,
        };
        let mut writer = Writer::create(&path).unwrap();
        writer.slow_stack(&stack);
        writer.finish(&Meta::default()).unwrap();
        let mut chunks = Chunks::open(&path, &Progress::default()).unwrap();
        let Chunk::Body(b'W', body) = chunks.next().unwrap() else {
            panic!("the first chunk");
        };
        assert_eq!(slow_stack(&body), Some(stack));
        assert_eq!(slow_stack(&body[..body.len() - 1]), None);
        assert_eq!(slow_stack(&[1, 2, 3, b'f', 0]), None, "more than all");
    }

    /// A plan comes back as it was recorded: of the next chunks, what it continues and adds, what was toggled, and its numbers.
    #[test]
    fn plans_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        let plan = PlanChange {
            generation: 7,
            probes: 3,
            continues: Some(5),
            added: vec![1 << 20, 4],
            trapping: false,
            toggled: Some(vec![2, 4, 1 << 20]),
        };
        let mut writer = Writer::create(&path).unwrap();
        writer.plan_changed(&plan);
        writer.finish(&Meta::default()).unwrap();
        let mut chunks = Chunks::open(&path, &Progress::default()).unwrap();
        let mut body = |tag| match chunks.next().unwrap() {
            Chunk::Body(found, body) if found == tag => body,
            _ => panic!("a chunk {}", char::from(tag)),
        };
        let beside = change(&body(b'C')).unwrap();
        let toggled = numbers(&body(b'O'));
        let [generation, probes] = words(&body(b'R')).unwrap();
        let read = PlanChange {
            generation,
            probes,
            toggled,
            ..beside
        };
        assert_eq!(read, plan);
    }
}
