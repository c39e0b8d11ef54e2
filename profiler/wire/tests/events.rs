//! Whatever is encoded comes back, however the stream is cut; and whatever lies in the stream is survived.

use evenkeel_wire::event::{Sink, Stamp};
use evenkeel_wire::record::{DURATION_BITS, LABEL_MAX, MARKER_FIRST, PROBE_ID_MASK};
use evenkeel_wire::{Decoder, Event, KeepRate, LabelValue, Object, ObjectKind, Open, Record};
use proptest::collection::vec;
use proptest::prelude::*;

/// A stream's parts, each with what an event of any kind could need.
#[derive(Clone, Debug)]
struct Part {
    which: u8,
    at: u64,
    key: u64,
    payload: u64,
    generation: u32,
    keep: KeepRate,
    flag: bool,
    kinds: [usize; 2],
    text: Vec<u8>,
    open: Vec<Open>,
}

fn parts() -> impl Strategy<Value = Part> {
    let open = (any::<u64>(), 0..MARKER_FIRST).prop_map(|(start, probe)| Open { start, probe });
    let kinds = [0..ObjectKind::ALL.len(), 0..ObjectKind::ALL.len()];
    let numbers = (any::<u64>(), any::<u64>(), 0u64..1 << DURATION_BITS);
    let text = vec(1u8..=255, 1..=LABEL_MAX);
    let keep = (0..=KeepRate::LOG2_MAX).prop_map(KeepRate::of_log2);
    let plan = (any::<u32>(), keep);
    let rest = (plan, any::<bool>(), kinds, text, vec(open, 0..=64));
    (0u8..15, numbers, rest).prop_map(
        |(which, (at, key, payload), ((generation, keep), flag, kinds, text, open))| Part {
            which,
            at,
            key,
            payload,
            generation,
            keep,
            flag,
            kinds,
            text,
            open,
        },
    )
}

impl Part {
    /// A completed call, or nothing where the part is something else.
    fn call(&self) -> Option<Record> {
        let probe = self.key as u32 % MARKER_FIRST;
        (self.which == 14).then(|| Record::new(self.at, self.payload, probe))
    }

    /// The part's events: two where an interval begins that has a label.
    fn events(&self) -> Vec<Event<'_>> {
        let (at, key) = (self.at, self.key);
        let stamp = Stamp {
            generation: self.generation,
            probed: self.flag,
        };
        let object = Object {
            key,
            kind: ObjectKind::ALL[self.kinds[0]],
        };
        let second = Object {
            key: self.payload,
            kind: ObjectKind::ALL[self.kinds[1]],
        };
        let open = &self.open[..];
        let label = match self.kinds[0] % 3 {
            0 => LabelValue::None,
            1 => LabelValue::Integer(self.payload),
            _ => LabelValue::Text(&self.text),
        };
        vec![match self.which {
            0 => Event::Begin { at, stamp },
            1 => {
                return vec![
                    Event::Begin { at, stamp },
                    Event::Label(LabelValue::Text(&self.text)),
                ];
            }
            2 => Event::End {
                at,
                keep: self.keep,
                generation: self.generation,
                left: self.flag,
                open,
            },
            3 => Event::Gap {
                at,
                lost: self.payload,
            },
            4 => Event::Abandon {
                at,
                left: at & 1 == 1,
            },
            5 => Event::Wait {
                start: at,
                end: at.saturating_add(self.payload.min(u64::MAX - at)),
                objects: [Some(object), self.flag.then_some(second)],
            },
            6 => Event::Wake { at, object, open },
            7 => Event::Enqueue { at, object, open },
            8 => Event::Dequeue { at, object },
            9 => Event::BeginKeyed {
                at,
                key,
                stamp,
                label,
            },
            10 => Event::Work { at, key },
            11 => Event::Class { key, label },
            12 => Event::Attribute {
                key,
                name: &self.text,
                value: self.payload as i64,
            },
            13 => Event::EndKeyed {
                at,
                key,
                generation: self.generation,
                open,
            },
            _ => return Vec::new(),
        }]
    }

    fn records(&self) -> Vec<Record> {
        for event in self.events() {
            assert_eq!(event.records().count(), event.records_len());
        }
        let events = self.events().into_iter().flat_map(Event::records);
        self.call().into_iter().chain(events).collect()
    }
}

/// The decoded events, in words.
#[derive(Default)]
struct Words(Vec<String>);

impl Sink for Words {
    fn calls(&mut self, calls: &[Record]) {
        self.0.extend(calls.iter().map(|call| format!("{call:?}")));
    }

    fn event(&mut self, event: Event<'_>) {
        self.0.push(format!("{event:?}"));
    }
}

/// The words of a stream that is cut into pieces of these lengths, again and again.
fn decoded(records: &[Record], lengths: &[usize]) -> Vec<String> {
    let (mut decoder, mut words) = (Decoder::default(), Words::default());
    let mut rest = records;
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(length.min(rest.len()));
        decoder.push(piece, &mut words);
        rest = after;
    }
    decoder.finish(&mut words);
    words.0
}

proptest! {
    #[test]
    fn events_come_back(parts in vec(parts(), 0..12), lengths in vec(1usize..9, 1..4)) {
        let records: Vec<Record> = parts.iter().flat_map(Part::records).collect();
        let expected: Vec<String> = parts
            .iter()
            .flat_map(|part| {
                let call = part.call().map(|call| format!("{call:?}"));
                let events = part.events().into_iter().map(|event| format!("{event:?}"));
                call.into_iter().chain(events).collect::<Vec<_>>()
            })
            .collect();
        prop_assert_eq!(decoded(&records, &lengths), expected);
    }

    #[test]
    fn anything_is_survived(
        words in vec((any::<u64>(), any::<u64>(), MARKER_FIRST - 2..=PROBE_ID_MASK), 0..40),
        lengths in vec(1usize..9, 1..4),
    ) {
        let record = |&(start, payload, id): &(u64, u64, u32)| Record::new(start, payload, id);
        let records: Vec<Record> = words.iter().map(record).collect();
        prop_assert_eq!(decoded(&records, &lengths), decoded(&records, &[usize::MAX]));
    }
}

/// The layout that recordings of all versions have.
#[test]
fn fields_lie_where_recordings_have_them() {
    let at = 1000;
    let stamp = Stamp {
        generation: 3,
        probed: true,
    };
    let object = Object {
        key: 7,
        kind: ObjectKind::Mutex,
    };
    let open = [Open {
        start: 900,
        probe: 5,
    }];
    let records = |event: Event<'_>| -> Vec<(u64, u64, u32)> {
        let fields = |record: Record| (record.start, record.duration(), record.id());
        event.records().map(fields).collect()
    };
    assert_eq!(records(Event::Begin { at, stamp }), [(1000, 7, 0xf_fff0)]);
    let end = Event::End {
        at,
        keep: KeepRate::ALL,
        generation: 3,
        left: false,
        open: &open,
    };
    assert_eq!(records(end), [(900, 5, 0xf_fff3), (1000, 7, 0xf_fff4)]);
    let end = Record::end_of_interval(at, 3, KeepRate::of_log2(6), true);
    assert_eq!(end.duration(), 1 << 41 | 6 << 33 | 7);
    // A weight that no session writes.
    let impossible = Record::new(at, 200 << 33 | 7, 0xf_fff4);
    let all = Record::end_of_interval(at, 3, KeepRate::ALL, false);
    assert_eq!(decoded(&[impossible], &[1]), decoded(&[all], &[1]));
    let wake = Event::Wake {
        at,
        object,
        open: &open,
    };
    assert_eq!(
        records(wake),
        [(1000, 1, 0xf_ffe2), (7, 1, 0xf_ffe1), (900, 5, 0xf_fff3)]
    );
    let end = Event::EndKeyed {
        at,
        key: 9,
        generation: 3,
        open: &open,
    };
    assert_eq!(
        records(end),
        [
            (1000, 0x301, 0xf_ffe7),
            (9, 21, 0xf_ffe1),
            (900, 5, 0xf_fff3)
        ]
    );
}
