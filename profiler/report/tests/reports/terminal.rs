//! The terminal report of the fixture, and what must hold for any profile.

use evenkeel_analysis::findings::reasons::NotSplit;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::findings::{Finding, Trade};
use evenkeel_analysis::profile::{Bin, Caller, Closure, Machine, Profile, Unseen};
use evenkeel_report::fit::columns;
use evenkeel_report::terminal::{Style, render};
use evenkeel_report::{html, json};

use super::fixture;

fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(
            columns(line) <= width,
            "{} columns, {width} allowed: {line}",
            columns(line)
        );
        assert_eq!(line, line.trim_end(), "a line ends in spaces");
    }
}

#[test]
fn the_report_equals_its_snapshot() {
    let text = render(&fixture::before(), &Style::default());
    assert_eq!(text, include_str!("../snapshots/tpcb.txt"));
}

#[test]
fn by_class_on_a_narrow_terminal() {
    let style = Style {
        width: 80,
        by_class: true,
        rows: 4,
        tail: "p999",
        ..Style::default()
    };
    assert_eq!(
        render(&fixture::before(), &style),
        include_str!("../snapshots/tpcb-narrow-by-class.txt")
    );
}

/// Puts a control character into each text of a document that may be any text: with it, the document is still a profile.
fn spoil(profile: &mut serde_json::Value, pointer: &str) {
    let at = profile.pointer_mut(pointer).expect("a part of it");
    match at {
        serde_json::Value::Object(parts) => {
            let names: Vec<String> = parts.keys().cloned().collect();
            for name in names {
                let name = name.replace('~', "~0").replace('/', "~1");
                spoil(profile, &format!("{pointer}/{name}"));
            }
        }
        serde_json::Value::Array(parts) => {
            for at in 0..parts.len() {
                spoil(profile, &format!("{pointer}/{at}"));
            }
        }
        serde_json::Value::String(text) => {
            let before = text.clone();
            text.push_str("\u{1b}[2J");
            if serde_json::from_value::<Profile>(profile.clone()).is_err() {
                *profile.pointer_mut(pointer).expect("the same") = before.into();
            }
        }
        _ => {}
    }
}

#[test]
fn no_text_of_a_profile_commands_the_terminal() {
    let mut profile = fixture::before();
    profile.details.unnamed_threads = vec!["run".into()];
    profile.details.settings = [("flush_log".to_owned(), "1".to_owned())].into();
    let mut document = serde_json::to_value(&profile).expect("a document");
    spoil(&mut document, "");
    let profile: Profile = serde_json::from_value(document).expect("still a profile");
    assert!(profile.details.unnamed_threads[0].contains('\u{1b}'));
    let style = Style {
        by_class: true,
        rows: 100,
        ..Style::default()
    };
    let text = render(&profile, &style);
    let commands = text.lines().filter(|line| line.contains('\u{1b}'));
    assert_eq!(commands.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_line_fits_whatever_the_names() {
    let long = "std::__1::vector<std::__1::pair<int, foo::Bar<char> >, std::__1::allocator<int> > const&::";
    let mut cxx = fixture::before();
    fixture::rename(&mut cxx, &|name| {
        format!("{long}{name}(unsigned long, {long}iterator)")
    });
    cxx.interval = long.repeat(3);
    for profile in [fixture::before(), cxx] {
        for width in [0, 80, 89, 90, 100, 163] {
            let style = Style {
                width,
                by_class: true,
                rows: 50,
                ..Style::default()
            };
            assert_fits(&render(&profile, &style), width.max(80));
        }
    }
}

#[test]
fn colours_only_where_asked_for() {
    let profile = fixture::before();
    let plain = render(&profile, &Style::default());
    let coloured = render(
        &profile,
        &Style {
            colour: true,
            ..Style::default()
        },
    );
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}[31mlock"));
    // Padding may be inside a colour, so that only the coloured text ends in spaces.
    let coloured: Vec<_> = fixture::without_colours(&coloured)
        .lines()
        .map(|line| line.trim_end().to_string())
        .collect();
    assert_eq!(coloured, plain.lines().collect::<Vec<_>>());
}

#[test]
fn names_cannot_command_the_terminal() {
    let mut profile = fixture::before();
    fixture::rename(&mut profile, &|name| format!("{name}\u{1b}[2J\r\n\u{9b}1m"));
    profile
        .warnings
        .push(Warning::Said("\u{1b}]0;title\u{7}".into()));
    profile.classes.classes[0].name = "\u{1b}[31m".into();
    let text = render(
        &profile,
        &Style {
            by_class: true,
            ..Style::default()
        },
    );
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn a_profile_of_nothing_is_still_a_report() {
    let text = render(&Profile::default(), &Style::default());
    assert!(text.contains("none: no function contributes enough"));
    assert!(text.contains("not measured"));
    assert!(!text.contains("NaN"));
}

#[test]
fn a_broken_closure_is_the_loudest_word() {
    let closure = Closure {
        max_abs_error_ticks: 3,
        intervals: 10,
    };
    let text = render(
        &Profile {
            closure,
            ..fixture::before()
        },
        &Style::default(),
    );
    assert!(text.contains("BROKEN by up to 3 ticks over 10 intervals"));
}

/// The first factor as that of a Rust program: a function that others share, with the calls of one caller summed.
#[test]
fn a_shared_function_names_who_calls_it() {
    let mut profile = fixture::before();
    let first = &mut profile.factors[0];
    first.functions = vec!["parking_lot::condvar::Condvar::wait_until_internal".into()];
    first.caller = Some("evenkeel_locks::owner::Owner::wait".into());
    first.callers = [
        ("store::<impl store::Txn>::get", 0.3),
        ("\u{1b}[2Jscan", 0.2),
    ]
    .map(|(function, contribution)| Caller {
        function: function.into(),
        contribution,
    })
    .to_vec();
    let text = render(&profile, &Style::default());
    let row = text.lines().find(|line| line.starts_with("   1 ")).unwrap();
    assert!(
        row.ends_with("  Owner::wait > Condvar::wait_until_internal"),
        "{row}"
    );
    let callers = "      called by store::<impl store::Txn>::get 30.0 %, ·[2Jscan 20.0 %\n";
    assert!(text.contains(callers), "{text}");
    assert_fits(&text, 100);
}

/// Where missing names are, at the end, at any width.
#[test]
fn where_names_are_is_the_foot() {
    let mut profile = fixture::before();
    let (build, server) = (
        "44c007cfee140e4c25e8a434008096828e70a92c",
        "DEBUGINFOD_URLS=https://debuginfod.fedoraproject.org",
    );
    profile.details.names = vec![format!(
        "postgres: 4136 of 13688 functions have no symbol; those of build {build} come from debuginfod: {server}"
    )];
    for width in [80, 100, 163] {
        let style = Style {
            width,
            ..Style::default()
        };
        let text = render(&profile, &style);
        assert_fits(&text, width);
        let foot = text.split("NAMES  ").nth(1).expect("the section");
        for word in [build, server] {
            assert!(foot.contains(word), "{foot}");
        }
    }
    assert!(!render(&fixture::before(), &Style::default()).contains("NAMES"));
}

/// A covariance below zero is shown as a trade: in the terminal, in JSON and on the page.
#[test]
fn trades_are_shown_everywhere() {
    let mut profile = fixture::before();
    profile.findings = vec![Finding {
        headline: "XLogFlush".into(),
        function: "XLogFlush".into(),
        share: 0.8,
        ..Finding::default()
    }];
    profile.trades = vec![Trade {
        functions: ["flush".into(), "plan".into()],
        contribution: -0.18,
        se: 0.01,
    }];
    let text = render(&profile, &Style::default());
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = words.join(" ");
    assert!(
        said.contains(
            "flush and plan trade: where one takes longer the other takes less, which reduces the variance by 18.0 %"
        ),
        "{said}"
    );
    let json: serde_json::Value = serde_json::from_str(&json::profile(&profile)).unwrap();
    assert_eq!(json["trades"][0]["contribution"], -0.18);
    let page = html::render(&profile);
    assert!(page.contains("\"contribution\":-0.18") && page.contains("profile.trades"));
}

/// A reason that holds for several functions is given once, below the last of them.
#[test]
fn each_reason_is_given_once() {
    let unseen = |name: &str, share, why| Unseen {
        name: name.into(),
        share,
        se: 0.01,
        why,
    };
    let mut profile = fixture::before();
    profile.unseen = Some(vec![
        unseen("parse", 0.4, NotSplit::NotOpened),
        unseen("flush", 0.3, NotSplit::TooCostly),
        unseen("plan", 0.2, NotSplit::NotOpened),
    ]);
    let text = render(&profile, &Style::default());
    let foot: Vec<&str> = text
        .split("NOT SEEN")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .collect();
    let foot = foot.join(" ");
    assert!(foot.contains("40.0 % ±1.0 parse: the calls"), "{foot}");
    assert!(foot.contains("20.0 % ±1.0 plan: the same"), "{foot}");
    assert_eq!(foot.matches("were not timed").count(), 1, "{foot}");
    assert!(foot.contains("flush: to time the calls"), "{foot}");
}

/// Where nothing is found because too little was slow, the report says how much is needed.
#[test]
fn too_few_slow_intervals_are_reported_with_the_needed_time() {
    let mut profile = fixture::before();
    profile.findings.clear();
    profile.uncovered.share = 0.98;
    profile.mean_ns = 2e6;
    profile.intervals = 10_000;
    let bin = |from_ns: f64, count| Bin {
        from_ns,
        to_ns: from_ns,
        count,
    };
    profile.histogram = vec![bin(2e6, 9_988), bin(1e9, 12)];
    profile.details.machine = Some(Machine {
        processors: 2,
        seconds: 30.0,
    });
    let text = render(&profile, &Style::default());
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    assert!(
        text.contains(
            "too few slow intervals. 6 of 10,000 hold half of the variance, and 100 are needed. This run took 30 s: run for 500 s (--for 500s)"
        ),
        "{text}"
    );
    profile.histogram = vec![bin(1e6, 5_000), bin(3e6, 5_000)];
    let text = render(&profile, &Style::default());
    assert!(text.contains("spread over functions"), "{text}");
}
