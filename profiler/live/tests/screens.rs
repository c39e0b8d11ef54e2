//! Drawn screens, as text: `tests/screens/NAME.txt`. With UPDATE_SCREENS=1 in the environment the files are written
//! again.

use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{
    Activity, Bin, Finding, Node, Overhead, Profile, TimeSpent, Uncovered, WaitedFor,
};
use evenkeel_live::{Key, View};
use evenkeel_report::terminal::Style;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

fn node(name: &str, share: f64, mean_ns: f64, children: Vec<Node>) -> Node {
    Node {
        name: name.into(),
        site: format!("0x40{:02x}", name.len()),
        share,
        mean_ns,
        children,
        ..Node::default()
    }
}

/// A profile in its `second`: what a commit waits for grows.
fn profile(second: u64) -> Profile {
    let flush = 0.3 + 0.02 * second as f64;
    let finding = |headline: &str, share: f64| Finding {
        headline: headline.into(),
        share,
        se: 0.021,
        mean_ns: 5e5 * share,
        calls_mean: 0.25,
        ..Finding::default()
    };
    let latency = |step: u32| 1e4 * 1.6f64.powi(step as i32);
    let bin = |step: u32| Bin {
        from_ns: latency(step),
        to_ns: latency(step + 1),
        count: second * (1000 >> step),
    };
    let sleep = node("sem_wait", flush, 3e5, vec![]);
    let wait = node("LWLockAcquireOrWait", flush, 3.1e5, vec![sleep]);
    let commit = node("CommitTransaction", flush + 0.1, 4e5, vec![wait]);
    let tuple = node("LockTuple", 0.02, 1e4, vec![]);
    let portal = node(
        "PortalRun",
        0.6 - flush,
        1.4e5,
        vec![Node {
            probe: Some(4),
            ..node("heap_update", 0.02, 9e4, vec![tuple])
        }],
    );
    Profile {
        interval: "statement".into(),
        target: "postgres -D data".into(),
        intervals: second * 2000,
        mean_ns: 6.3e5,
        sd_ns: 2e6,
        percentiles_ns: [("p50", 4.7e4), ("p99", 9.7e6), ("p999", 2e7)]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        histogram: (0..10).map(bin).collect(),
        overhead: Overhead {
            probe_ns: 19.0,
            estimated_fraction: 0.004,
            measured_fraction: Some(0.012),
            measured_se: Some(0.008),
            ..Overhead::default()
        },
        round: 1,
        findings: vec![
            finding("LWLockAcquireOrWait called by XLogFlush", flush),
            finding("XactLockTableWait called by heap_update", 0.2),
        ],
        uncovered: Uncovered::default(),
        tree: node("statement", 1.0, 6.3e5, vec![commit, portal]),
        time_spent: vec![TimeSpent {
            activity: Activity::Blocked,
            mean_ns: 4e5,
            fraction: 0.64,
            share: 0.9,
        }],
        waits: vec![WaitedFor {
            waiter: "XLogFlush > LWLockAcquireOrWait [PGSemaphoreLock+0x1d]".into(),
            object: "semaphore".into(),
            objects: 16,
            holder: Some("end".into()),
            holder_calls: vec!["XLogFlush".into(), "LWLockRelease".into()],
            count: 784,
            total_ns: 7.96e8,
            mean_ns: 1.02e6,
            share: 0.3,
            variance_fraction: 0.327,
            ..WaitedFor::default()
        }],
        ..Profile::default()
    }
}

fn view(colour: bool) -> View {
    let mut view = View::new(colour, true);
    view.say("profiling (the first process was ready after 0.1 s)");
    for second in 1..=12 {
        view.update(profile(second));
        view.set_status(second as f64, second * 2100, 57);
    }
    view
}

fn draw(view: &mut View, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    view.draw(area, &mut buffer);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let Rect { width, height, .. } = buffer.area;
    let row = |y| {
        let row: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned() + "\n"
    };
    (0..height).map(row).collect()
}

#[track_caller]
fn is_as_before(name: &str, buffer: &Buffer) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/{name}.txt"));
    let drawn = text(buffer);
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == before, "{name} is now\n{drawn}");
}

#[test]
fn each_pane_on_eighty_columns() {
    for (key, name) in [
        ('1', "findings"),
        ('2', "tree"),
        ('3', "latency"),
        ('4', "waits"),
        ('5', "messages"),
    ] {
        let mut view = view(false);
        view.key(Key::Character(key));
        is_as_before(name, &draw(&mut view, 80, 24));
    }
}

#[test]
fn all_on_a_large_screen() {
    is_as_before("large", &draw(&mut view(false), 140, 44));
}

#[test]
fn expandable_rows_are_marked() {
    let mut view = view(false);
    view.key(Key::Character('2'));
    view.offer(vec![vec![Some(4)]]);
    let drawn = text(&draw(&mut view, 80, 24));
    let line = drawn.lines().find(|line| line.contains("heap_update"));
    assert!(line.unwrap().contains("+ heap_update"), "{drawn}");
    assert!(drawn.contains("o expand  c close"), "{drawn}");
}

#[test]
fn before_the_first_interval() {
    let mut view = View::new(false, false);
    view.say("profiling (the first process was ready after 0.1 s)");
    is_as_before("nothing-yet", &draw(&mut view, 80, 24));
}

/// No size and no pane panics, and a terminal that is too small gets a message.
#[test]
fn every_size() {
    let mut full = view(true);
    let mut empty = View::new(true, false);
    for pane in '1'..='5' {
        for width in (0..200).step_by(7) {
            for height in (0..60).step_by(3) {
                for view in [&mut full, &mut empty] {
                    view.key(Key::Character(pane));
                    view.key(Key::PageDown);
                    draw(view, width, height);
                }
            }
        }
    }
    let small = text(&draw(&mut full, 30, 5));
    assert!(small.starts_with("40 x 8 needed"), "{small}");
}

#[test]
fn no_colour_where_none_is_wanted() {
    for (colour, expected) in [(true, true), (false, false)] {
        let buffer = draw(&mut view(colour), 140, 44);
        let coloured = buffer
            .content
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert_eq!(coloured, expected);
    }
}

/// A session shows what it would report: time that is not expanded has that name on the screen, too.
#[test]
fn a_finished_profile_has_the_names_of_the_report() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/recordings");
    let replay = evenkeel_recording::Replay::open(&recordings.join("redis-keys.keel"));
    let profile = replay.unwrap().run().unwrap().profile(&Options::default());
    let report = evenkeel_report::terminal::render(&profile, &Style::default());
    assert!(report.contains(" (not expanded)"));
    let mut view = View::new(false, false);
    view.update(profile);
    view.key(Key::Character('2'));
    let drawn = text(&draw(&mut view, 200, 60));
    assert!(drawn.contains("call (not expanded)"), "{drawn}");
    assert!(!drawn.contains("body of call"), "{drawn}");
}
