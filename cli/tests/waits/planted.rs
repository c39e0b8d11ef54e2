//! Runs of the programs with critical paths, and what holds for each.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::expect::{Truth, number, quiet, ticks_per_ns};
use crate::support::build::program;
use crate::support::run::{Place, Run, finish, has_opened_all};

/// Intervals of most runs: a whole number of the balanced design's groups of 16, few enough for a machine that is busy eight times over.
pub const INTERVALS: u64 = 480;
/// Every call of the program is timed.
pub const EVERY_CALL: [&str; 2] = ["--plant", "every"];
/// A budget that the profiler cannot exhaust, however busy the machine: only the ends of windows cost intervals.
pub const EVERY_INTERVAL: [&str; 2] = ["--max-overhead", "100%"];

/// A program and how it is profiled.
pub struct Planted {
    program: PathBuf,
    intervals: u64,
    options: Vec<String>,
    argument: Option<String>,
    code: i32,
    until_opened: Option<&'static str>,
}

impl Planted {
    /// The C program of a name, [`INTERVALS`] intervals, every one recorded with every call.
    pub fn new(name: &str, interval: &str) -> Planted {
        Planted::every(&program(name), interval)
    }

    /// The executable at a path, the same.
    pub fn every(program: &Path, interval: &str) -> Planted {
        let every = [EVERY_CALL, EVERY_INTERVAL].concat();
        Planted::at(program, interval).options(&every)
    }

    /// The executable at a path, [`INTERVALS`] intervals.
    pub fn at(program: &Path, interval: &str) -> Planted {
        Planted {
            program: program.to_owned(),
            intervals: INTERVALS,
            options: ["--interval", interval, "--waits"]
                .map(str::to_owned)
                .into(),
            argument: None,
            code: 0,
            until_opened: None,
        }
    }

    /// Runs this many intervals.
    pub fn intervals(mut self, intervals: u64) -> Planted {
        self.intervals = intervals;
        self
    }

    /// Runs as many again and again until this function was opened and there is nothing left to expand. On a machine whose noise is
    /// much of the variance, there may seem to be nothing left before.
    #[allow(dead_code)] // one test program refines
    pub fn until_opened(mut self, function: &'static str) -> Planted {
        self.until_opened = Some(function);
        self
    }

    /// With more options.
    pub fn options(mut self, options: &[&str]) -> Planted {
        self.options
            .extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// With a second argument for the program.
    pub fn argument(mut self, argument: &str) -> Planted {
        self.argument = Some(argument.to_owned());
        self
    }

    /// The program ends with this code.
    pub fn ends_with(mut self, code: i32) -> Planted {
        self.code = code;
        self
    }

    /// The profile, after the checks that hold for each; and what the profiler said. The program prints the same as without.
    #[track_caller]
    pub fn measured(self) -> (Value, Run) {
        self.measured_in(&Place::new())
    }

    /// The profile with the program's own measurement.
    #[track_caller]
    pub fn with_truth(self) -> (Value, Truth) {
        let place = Place::new();
        let intervals = self.intervals;
        let (profile, _) = self.argument("truth").measured_in(&place);
        let truth = Truth::read(&place.file("truth"));
        assert_eq!(truth.intervals() as u64, intervals);
        (profile, truth)
    }

    #[track_caller]
    fn measured_in(self, place: &Place) -> (Value, Run) {
        let _quiet = quiet();
        let with_count = |count: u64| -> Vec<String> {
            let argument = self.argument.iter().cloned();
            [count.to_string()].into_iter().chain(argument).collect()
        };
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let arguments = with_count(self.intervals);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (run, intervals) = if let Some(function) = self.until_opened {
            let (enough, mut is_opened) = (place.file("enough"), false);
            let opens = format!("open {function}");
            place.profile_hearing(&options, &self.program, &arguments, move |line| {
                is_opened |= line.contains(&opens);
                if is_opened && has_opened_all(line) {
                    std::fs::write(&enough, "").unwrap();
                }
            })
        } else {
            let run = place.profile(&options, &self.program, &arguments);
            (run, self.intervals)
        };
        let run = run.ended(i32::from(self.code != 0)); // it names the command's own
        // In a separate place: the program may write a file, and the one here is the profiled run's.
        let elsewhere = Place::new();
        let mut alone = elsewhere.command(&self.program);
        let alone = finish(alone.args(with_count(intervals)).spawn().unwrap()).ended(self.code);
        assert_eq!(run.stdout, alone.stdout, "the program's output");
        let profile = place.json("run.json");
        assert_whole(&profile, intervals);
        (profile, run)
    }
}

/// Closure, and every interval is accounted for.
#[track_caller]
fn assert_whole(profile: &Value, intervals: u64) {
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
    assert_eq!(number(&profile["tree"], "share"), 1.0, "the root's share");
    assert_eq!(
        profile["intervals_seen"], intervals,
        "{:?}",
        profile["warnings"]
    );
    let rounds = profile["rounds"].as_array().unwrap();
    if let [_] = rounds.as_slice() {
        assert_eq!(
            number(profile, "discarded"),
            0.0,
            "{}",
            profile["discarded_by_reason"]
        );
        let used = number(profile, "intervals") + number(profile, "sampled_out");
        // Some are timed without anything inside of them, to measure what recording costs.
        let used = used as u64;
        assert!(used <= intervals && used >= intervals / 2, "{used}");
    }
    let used: u64 = rounds
        .iter()
        .map(|round| round["intervals"].as_u64().unwrap())
        .sum();
    assert!(used >= intervals.min(200) / 2, "hardly any sampled: {used}");
}

/// The node below `node` by the names on the way.
#[track_caller]
pub fn path<'a>(node: &'a Value, names: &[&str]) -> &'a Value {
    names.iter().fold(node, |node, name| {
        child(node, name).unwrap_or_else(|| panic!("no {name} of {names:?} below {node:#}"))
    })
}

/// The first child of a name.
pub fn child<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    let mut children = node["children"].as_array().into_iter().flatten();
    children.find(|child| child["name"] == name)
}

/// Mean ticks an interval.
pub fn mean_ticks(node: &Value) -> f64 {
    number(node, "mean_ns") * ticks_per_ns()
}

/// Once an interval, except for the first: a thread's calls are timed once it was seen to wait, to wake another
/// thread, or to serve an interval.
#[track_caller]
pub fn assert_about_once(node: &Value) {
    let calls = number(node, "calls_mean");
    assert!((0.95..=1.0).contains(&calls), "{calls} calls: {node:#}");
}

/// The node's mean is at least nine tenths of the planted time. Intervals are sampled in groups, and a waiter that
/// was preempted first has waited less.
#[track_caller]
pub fn assert_at_least(node: &Value, planted_ticks: f64) {
    let mean = mean_ticks(node);
    assert!(
        mean >= 0.9 * planted_ticks,
        "{mean} of {planted_ticks} planted ticks: {node:#}"
    );
}

/// The times below a node add up to its own.
#[track_caller]
pub fn assert_partition(node: &Value) {
    let children = node["children"].as_array().unwrap();
    let sum: f64 = children.iter().map(|child| number(child, "mean_ns")).sum();
    let whole = number(node, "mean_ns");
    assert!(
        (sum - whole).abs() <= 1e-6 * whole,
        "{sum} of {whole}: {node:#}"
    );
}
