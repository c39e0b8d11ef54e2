//! Intervals of several steps: they begin with the first, have their subject at a later one, and continue after it.

mod harness;

use evenkeel_wire::{Label, Role};
use harness::events::Event;
use harness::plan::{Hook, Hooks};
use harness::{How, run};

const HOOKS: [Hook<'static>; 4] = [
    Hook::new("prepare", Role::Step),
    Hook {
        label: Label::Text,
        ..Hook::new("execute", Role::Label)
    },
    Hook::new("ready", Role::End),
    Hook::new("inside", Role::Inner),
];

/// Records of the program's only thread: beginnings and ends of intervals, their labels, and calls.
fn course(waits: bool) -> Vec<String> {
    let how = How {
        waits,
        hooks: Hooks(&HOOKS),
        ..How::default()
    };
    let run = run("steps", &how);
    // 5 prepare, 3 execute, 5 inside and 4 ready; each adds one.
    assert_eq!(run.stdout(), "17\n");
    let [stream] = &run.streams[..] else {
        panic!("one thread: {:#?}", run.streams)
    };
    let described = stream.events.iter().map(|event| match event {
        // Ids are hook by hook: 5 sites of prepare, 3 of execute, 4 of ready, 5 of inside.
        Event::Call { probe, .. } => match probe {
            5..8 => "execute",
            8..12 => "ready",
            12..17 => "inside",
            _ => "?",
        }
        .to_owned(),
        Event::Class { name, .. } => name.clone(),
        Event::Other(text) => text.split(' ').next().unwrap_or_default().to_owned(),
        other => format!("{other:?}"),
    });
    described.collect()
}

/// Two steps belong to one interval, which ends with `ready`. An interval that has reached its subject ends with the
/// first step of the next one. An interval that never reaches its subject has no label. Outside of them nothing is
/// recorded, unless waits are followed.
#[test]
fn an_interval_is_all_steps_before_what_it_is_about_and_what_follows() {
    let expected = [
        &["Begin", "select", "execute", "inside", "ready", "End"][..],
        &["Begin", "sample", "execute", "inside", "End"],
        &[
            "Begin", "set", "execute", "inside", "inside", "ready", "End",
        ],
        &["Begin", "ready", "End"],
    ]
    .concat();
    for waits in [false, true] {
        let mut course = course(waits);
        if waits {
            let last = course.iter().rposition(|what| what == "End");
            course.truncate(last.map_or(0, |at| at + 1));
        }
        // A class is written where the call that has it begins, and a call where it ends.
        assert_eq!(course, expected, "waits {waits}");
    }
}
