//! The annotations of `include/evenkeel.h`, marker by marker.

mod harness;

use evenkeel_wire::ObjectKind;
use harness::events::{Event, Stream};
use harness::record;

/// A stream's annotations, keys as the number of the first that is equal.
fn annotations(stream: &Stream, keys: &mut Vec<u64>) -> Vec<String> {
    let mut name = |key: u64| match key {
        0 => "none".to_owned(),
        key => {
            let index = keys
                .iter()
                .position(|&known| known == key)
                .unwrap_or_else(|| {
                    keys.push(key);
                    keys.len() - 1
                });
            format!("k{index}")
        }
    };
    let mut line = |event: &Event| {
        Some(match event {
            Event::Begin { key, payload, .. } => {
                assert_eq!(*payload, 1, "generation 0, probed");
                format!("begin {}", name(*key))
            }
            Event::Work { key, .. } => format!("work {}", name(*key)),
            Event::End {
                key, generation, ..
            } => {
                assert_eq!(*generation, 0);
                format!("end {}", name(*key))
            }
            Event::Class { key, name: text } => format!("class {} {text}", name(*key)),
            Event::Attribute {
                key,
                name: text,
                value,
            } => format!("attribute {} {text} {value}", name(*key)),
            Event::Enqueue {
                object: (ObjectKind::Task, key),
                ..
            } => format!("enqueue {}", name(*key)),
            Event::Dequeue {
                object: (ObjectKind::Task, key),
                ..
            } => format!("dequeue {}", name(*key)),
            _ => return None,
        })
    };
    stream.events.iter().filter_map(&mut line).collect()
}

#[test]
fn everything_a_header_can_say() {
    let run = record("annotated");
    assert_eq!(run.stdout(), "done\n");
    let threads = run.threads();
    assert_eq!(
        threads.len(),
        3,
        "main, the server, the child: {threads:#?}"
    );
    let mut keys = Vec::new();
    // 7 is k0, 8 is k1, the request k2, as interval and as task, and 7 of all processes k3. A thread that ends its
    // interval works on none. main works on 7 when 8 ends.
    let main = [
        "begin k0",
        "work k0",
        "begin k1",
        "work k1",
        "class k1 a class of fourteen and more",
        "work k0",
        "end k1",
        "end k0",
        "work none",
        "begin k2",
        "work k2",
        "enqueue k2",
        "work none",
        "begin k3",
        "work k3",
    ];
    assert_eq!(annotations(threads[0], &mut keys), main);
    let server = [
        "dequeue k2",
        "work k2",
        "attribute k2 rows -12",
        "end k2",
        "work none",
    ];
    assert_eq!(annotations(threads[1], &mut keys), server);
    // The child does not inherit its parent's interval.
    assert_eq!(annotations(threads[2], &mut keys), ["end k3"]);
    assert_ne!(threads[0].pid, threads[2].pid);
    // Times do not go back.
    for stream in threads {
        let times: Vec<u64> = stream
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Begin { at, .. } | Event::Work { at, .. } | Event::End { at, .. } => {
                    Some(*at)
                }
                _ => None,
            })
            .collect();
        assert!(times.is_sorted(), "{stream:#?}");
    }
}
