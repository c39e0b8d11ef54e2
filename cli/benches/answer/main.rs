//! How soon the right finding is there: `cargo bench -p evenkeel --bench answer [-- SECONDS [RUNS] [SUBJECT..]]`.
//!
//! Each subject is a server or a program whose cause of slow intervals is known, under a steady load. A session attaches to it, with its
//! defaults and again with `--sampling uniform`. Once a second `evenkeel snapshot` asks for the first finding. It is right if it, or a
//! function that was seen inside of it, is one of the subject's causes.
//!
//! ```text
//! right from          when it was right for the first time
//! stays from          when it was wrong for the last time
//! 10 s, 30 s, 60 s    its share then, and the report's standard error
//! at the end          its headline
//! ```
//!
//! Times are those of the snapshots, so they are known to about a second. `-` means that it never was.

mod subject;

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use subject::{SUBJECTS, Subject};

/// The command under test.
const EVENKEEL: &str = env!("CARGO_BIN_EXE_evenkeel");
/// When shares are printed, s.
const SHARES_AT: [f64; 3] = [10.0, 30.0, 60.0];
/// Load before the session begins: caches fill.
const WARM: Duration = Duration::from_secs(3);

/// What a snapshot said of the first finding.
struct Answer {
    /// Since the session began, s.
    at: f64,
    right: bool,
    share: f64,
    se: f64,
    headline: String,
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let (numbers, names): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.parse::<u64>().is_ok());
    let number = |i: usize, default| numbers.get(i).map_or(default, |n| n.parse().unwrap());
    let (seconds, runs) = (number(0, 62), number(1, 1));
    println!(
        "subject      sampling   right from  stays from      10 s           30 s           60 s"
    );
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| *asked == name);
    for (name, start) in SUBJECTS.into_iter().filter(|(name, _)| is_asked(name)) {
        let mut subject = start();
        for _ in 0..runs {
            for sampling in ["latency", "uniform"] {
                let answers = watched(&mut *subject, sampling, seconds);
                println!("{name:<12} {sampling:<9} {}", row(&answers));
            }
        }
    }
}

/// What a session said under a load.
fn watched(subject: &mut dyn Subject, sampling: &str, seconds: u64) -> Vec<Answer> {
    let mut load = subject.load(Duration::from_secs(seconds + 10));
    std::thread::sleep(WARM);
    let mut session = attach(subject, sampling, seconds);
    let began = Instant::now();
    let mut answers = Vec::new();
    while session.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_secs(1));
        let at = began.elapsed().as_secs_f64();
        if let Some(profile) = snapshot(&session) {
            answers.extend(answer(&profile, at, subject.causes()));
        }
    }
    for load in &mut load {
        let _ = load.kill();
        load.wait().expect("a child");
    }
    answers
}

fn attach(subject: &mut dyn Subject, sampling: &str, seconds: u64) -> Child {
    let pid = subject.pid().to_string();
    Command::new(EVENKEEL)
        .args(["attach", &pid, "--sampling", sampling])
        .args(subject.options())
        .args(["--for", &format!("{seconds}s"), "-o", "/dev/null"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("evenkeel attach")
}

/// What the session has seen so far; nothing before it has begun or after it has ended.
fn snapshot(session: &Child) -> Option<Value> {
    let pid = session.id().to_string();
    let output = Command::new(EVENKEEL)
        .args(["snapshot", &pid, "--json"])
        .stderr(Stdio::null())
        .output()
        .expect("evenkeel snapshot");
    serde_json::from_slice(&output.stdout).ok()
}

fn answer(profile: &Value, at: f64, causes: &[&str]) -> Option<Answer> {
    let finding = profile["findings"].get(0)?;
    let inside = finding["seen_inside"]["functions"].as_array();
    let mut named = inside
        .into_iter()
        .flatten()
        .chain([&finding["function"], &finding["called_by"]]);
    Some(Answer {
        at,
        right: named.any(|name| name.as_str().is_some_and(|name| causes.contains(&name))),
        share: finding["share"].as_f64()?,
        se: finding["se"].as_f64()?,
        headline: finding["headline"].as_str()?.to_owned(),
    })
}

fn row(answers: &[Answer]) -> String {
    let seconds = |at: Option<f64>| at.map_or("-".to_owned(), |at| format!("{at:.0} s"));
    let right = answers.iter().find(|answer| answer.right);
    let last_wrong = answers.iter().rposition(|answer| !answer.right);
    let stays = answers.get(last_wrong.map_or(0, |wrong| wrong + 1));
    let mut row = format!(
        "{:>10} {:>11}",
        seconds(right.map(|answer| answer.at)),
        seconds(stays.map(|answer| answer.at))
    );
    for at in SHARES_AT {
        let last = answers.iter().rfind(|answer| answer.at <= at + 0.5);
        let reached = answers.last().is_some_and(|answer| answer.at + 1.5 >= at);
        let share = last.filter(|_| reached).map_or("-".to_owned(), |answer| {
            format!("{:.1} % ±{:.1}", 100.0 * answer.share, 100.0 * answer.se)
        });
        let _ = write!(row, " {share:>14}");
    }
    let last = answers.last().map_or("", |answer| &answer.headline);
    row + "  " + last
}
