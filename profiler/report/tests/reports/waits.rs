//! A report of intervals that were followed across threads. The records are invented; the analysis is real.

use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::sites::{Kind, Site, SiteTable};
use evenkeel_analysis::{Analysis, Options, Pick, ProbeCost};
use evenkeel_report::fit::columns;
use evenkeel_report::terminal::{self, Style, timeline};
use evenkeel_report::{html, json, messages};
use evenkeel_wire::{Marker, ObjectKind, Record};

use super::fixture;

const COMMIT: u32 = 0;
const LOCK: u32 = 1;
const WRITE: u32 = 2;
const FSYNC: u32 = 3;
const PROBED: u64 = 1 << 1 | 1;

fn sites() -> SiteTable {
    let site = |callee: &str, site: &str, kind| Site {
        callee: callee.into(),
        caller: site.split('+').next().unwrap().into(),
        site: site.into(),
        kind,
        ..Site::default()
    };
    SiteTable {
        root: "exec".into(),
        root_height: 4,
        sites: vec![
            site("commit", "exec+0x10", Kind::Call),
            site("lock", "commit+0x20", Kind::Lock),
            site("write_log", "commit+0x30", Kind::Call),
            site("fsync", "write_log+0x40", Kind::Io),
        ],
    }
}

fn object(kind: ObjectKind, key: u64) -> Record {
    Record::marker(Marker::Object, key, kind as u64)
}

/// Interval n of 50 takes 100 µs itself, and is blocked n % 7 * 40 + 10 µs by the other server's "pay". That one
/// releases the lock from write_log 5 µs before the waiter continues, after half of the time in fsync.
fn streams() -> [Vec<Record>; 2] {
    let (mut waiter, mut holder) = (Vec::new(), Vec::new());
    holder.push(Record::marker(Marker::Begin, 10, PROBED));
    holder.push(Record::from_label_chunk(b"pay"));
    for n in 0..50u64 {
        let begin = 1_000_000 * (n + 1);
        let blocked = (n % 7 * 40 + 10) * 1000;
        let (from, to) = (begin + 60_000, begin + 60_000 + blocked);
        waiter.push(Record::marker(Marker::Begin, begin, PROBED));
        waiter.push(Record::from_label_chunk(b"order"));
        waiter.push(Record::marker(Marker::Wait, from, blocked));
        waiter.push(object(ObjectKind::Mutex, 0xabc));
        waiter.push(Record::new(from - 1000, blocked + 2000, LOCK));
        waiter.push(Record::new(begin + 50_000, blocked + 30_000, COMMIT));
        waiter.push(Record::marker(Marker::End, to + 40_000, PROBED));
        let released = to - 5000;
        holder.push(Record::new(from, (released - from) / 2, FSYNC));
        holder.push(Record::marker(Marker::Wake, released, 1));
        holder.push(object(ObjectKind::Mutex, 0xabc));
        holder.push(Record::marker(Marker::Open, from - 500, WRITE.into()));
        holder.push(Record::new(from - 500, released - from + 600, WRITE));
    }
    [waiter, holder]
}

fn profile() -> Profile {
    let mut analysis = Analysis::new(ProbeCost::default());
    analysis.follow_waits();
    analysis.begin_round(1, 4);
    analysis.name_thread(1, "server/4711".into());
    for (at, records) in streams().iter().enumerate() {
        analysis.push(at as u64 + 1, records);
    }
    analysis.pass_ended();
    analysis.pass_ended();
    let options = Options {
        target: "server".into(),
        interval: "exec".into(),
        timelines: vec![Pick::Rank(1), Pick::Percentile(0.5)],
        ..Options::default()
    };
    analysis.profile(&sites(), &options)
}

#[test]
fn the_report_equals_its_snapshot() {
    let text = terminal::render(&profile(), &Style::default());
    assert_eq!(text, include_str!("../snapshots/contention.txt"));
}

#[test]
fn the_timelines_equal_their_snapshot() {
    let text = timeline::render(&profile(), &Style::default());
    assert_eq!(text, include_str!("../snapshots/contention-timelines.txt"));
    assert_eq!(timeline::render(&Profile::default(), &Style::default()), "");
}

/// For each wait of 10 to 50 µs there are 8 intervals, and so on: blocked (n % 7 * 40 + 10 - 5) µs on average.
#[test]
fn blocked_is_distinguished_from_running() {
    let profile = profile();
    let text = terminal::render(&profile, &Style::default());
    let blocked: f64 = (0..50).map(|n| f64::from(n % 7 * 40 + 5)).sum::<f64>() / 50.0 * 1000.0;
    let line = profile
        .time_spent
        .iter()
        .find(|line| line.mean_ns == blocked);
    assert_eq!(
        line.map(|line| format!("{:?}", line.activity)),
        Some("Blocked".into())
    );
    assert!(text.contains("blocked on others' work 53.9 %"), "{text}");
    assert!(
        text.contains("for mutex, ended by \"pay\" in write_log [commit+0x30]"),
        "{text}"
    );
}

#[test]
fn every_line_fits_whatever_the_names() {
    let mut profile = profile();
    let long =
        "std::__1::vector<std::__1::pair<int, foo::Bar<char> > >::".repeat(3) + "\u{1b}[2J\n";
    for line in &mut profile.waits {
        line.waiter_calls = vec![long.clone(); 3];
        line.holder_calls = vec![long.clone(); 3];
    }
    for timeline in &mut profile.timelines {
        timeline
            .lanes
            .iter_mut()
            .for_each(|lane| *lane = long.clone());
        timeline.class = long.clone();
        for span in &mut timeline.spans {
            span.name = long.clone();
            span.path = format!("root > {long} > {long}");
        }
    }
    for width in [0, 80, 90, 100, 163] {
        for colour in [false, true] {
            let style = Style {
                width,
                colour,
                ..Style::default()
            };
            let text = terminal::render(&profile, &style) + &timeline::render(&profile, &style);
            let text = fixture::without_colours(&text);
            for line in text.lines() {
                assert!(columns(line) <= width.max(80), "{width}: {line}");
            }
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}

/// A kind without a colour would be a frame that cannot be seen.
#[test]
fn every_kind_has_words_and_a_colour_on_the_page() {
    let page = html::render(&profile());
    let kinds = [
        "call",
        "lock",
        "io",
        "client",
        "timer",
        "event",
        "socket",
        "idle",
        "others",
        "helper",
        "woken",
        "queued",
        "turn",
        "preempted",
        "asleep",
        "fault",
        "unseen",
        "probe",
        "body",
    ];
    for kind in kinds {
        let json = format!("\"{kind}\"");
        serde_json::from_str::<Kind>(&json).expect("a kind of node");
        assert!(page.contains(&format!(".kind-{kind} {{")), "{kind}");
        assert!(
            page.contains(&format!(" {kind}: \"")) || page.contains(&format!("{{ {kind}: \"")),
            "{kind}"
        );
    }
    let inside = page.split_once("id=\"profile\">").unwrap().1;
    let inside = inside.split_once("</script").unwrap().0;
    let read = serde_json::from_str::<Profile>(inside).unwrap();
    assert_eq!(read, messages::in_words(&profile()));
}

#[test]
fn json_has_it_all() {
    let text = json::profile(&profile());
    for field in [
        "\"waits\"",
        "\"holder_calls\"",
        "\"timelines\"",
        "\"lanes\"",
        "\"doing\": \"blocked\"",
    ] {
        assert!(text.contains(field), "{field}");
    }
}
