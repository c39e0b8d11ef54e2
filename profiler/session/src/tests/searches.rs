//! Searches through simulated looks: shares are planted, and each look sees them with an error of known size.
//!
//! A share of `s` that is seen in what amounts to `n` independent intervals errs by about sqrt(s / n): Cov(X, L) of a
//! function with Var(X) = s Var(L). Servers whose stalls come in bursts have few independent intervals a second,
//! however many they serve.

mod program;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use evenkeel_analysis::profile::{Node, Profile};

use super::example::{LIMITS, at};
use crate::location::Location;
use crate::plan::Planned;
use crate::refine::known::{Calls, Known};
use crate::refine::patience::{
    Patience, is_enough, is_enough_to_follow, look_after, part_since_long,
};
use crate::refine::policy::SETTLED_PERIOD;
use crate::refine::{Cost, Limits, State, Step, to_close, worth_a_round};
use program::{LOOP, Program, ROOT};

const SIMULATED: Limits = Limits {
    probes_max: 1000,
    threshold: 0.01,
    opened_at_once: 5,
    ..LIMITS
};
/// Time between two questions whether to look.
const STEP: f64 = 0.01;
/// Intervals a second, however few of them are independent.
const SERVED: f64 = 10_000.0;

/// Normal numbers, the same ones each time.
struct Noise(u64);

impl Noise {
    fn normal(&mut self) -> f64 {
        // Twelve uniform numbers have a variance of one.
        let uniform = |_| {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1);
            (self.0 >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..12).map(uniform).sum::<f64>() - 6.0
    }
}

struct Search {
    program: Program,
    probes: Vec<Planned>,
    known: Known,
    /// Independent intervals a second, and all of them.
    rate: f64,
    served: f64,
    noise: Noise,
    seconds: f64,
    /// Length of the present round, and the errors of its shares so far, times its length.
    round: f64,
    erred: HashMap<u64, f64>,
    longest: f64,
    looks: usize,
    /// When a round began.
    begun: Vec<f64>,
    /// When the run ends, if that is known.
    ends: Option<f64>,
    settled: bool,
    follows: bool,
}

impl Search {
    fn new(program: Program, rate: f64, seed: u64) -> Search {
        let mut known = Known::default();
        known.function_mut(at(ROOT)).calls = Calls::Opened;
        Search {
            probes: program.probes(),
            program,
            known,
            rate,
            served: SERVED,
            noise: Noise(seed),
            seconds: 0.0,
            round: 0.0,
            erred: HashMap::new(),
            longest: 0.0,
            looks: 0,
            begun: Vec::new(),
            ends: None,
            settled: false,
            follows: false,
        }
    }

    /// The observations below a function: recent ones, and those of all of the round.
    fn see(&mut self, function: u64, phase: usize, look: f64) -> [Vec<Node>; 2] {
        let mut seen = [Vec::new(), Vec::new()];
        if !self.known.is_open(at(function)) {
            return seen;
        }
        for probe in 0..self.program.calls.len() {
            let (caller, callee) = self.program.calls[probe];
            if caller != function || self.known.probe(probe as u32).taken_out.is_out() {
                continue;
            }
            let share = self.program.share(callee, phase);
            let spread = (share.max(1e-4) / (self.rate * self.recorded())).sqrt();
            let error = self.noise.normal() * spread * look.sqrt();
            let erred = self.erred.entry(callee).or_default();
            *erred += error;
            let errors = [error / look, *erred / self.round];
            let spans = [look, self.round];
            let below = self.see(callee, phase, look);
            for (at, children) in below.into_iter().enumerate() {
                let share = share + errors[at];
                let se = spread / spans[at].sqrt();
                seen[at].push(Node {
                    probe: Some(probe as u32),
                    share,
                    se,
                    variance_fraction: self.program.variance(callee, share),
                    variance_se: se,
                    calls_mean: self.program.calls_of(callee),
                    calls_explained: Some(self.program.explained),
                    children,
                    ..Node::default()
                });
            }
        }
        seen
    }

    /// Cost of the present probes.
    fn cost(&self) -> Cost {
        let timed = self
            .program
            .calls
            .iter()
            .enumerate()
            .filter(|(probe, (caller, _))| {
                let is_out = self.known.probe(*probe as u32).taken_out.is_out();
                self.known.is_open(at(*caller)) && !is_out
            });
        let calls: f64 = timed
            .map(|(_, (_, callee))| self.program.calls_of(*callee))
            .sum();
        Cost {
            spent: calls * self.program.of_a_call,
            of_a_call: self.program.of_a_call,
            ..Cost::default()
        }
    }

    /// The part of the intervals that is recorded, so that the mean over all stays within the budget.
    fn recorded(&self) -> f64 {
        (SIMULATED.overhead_max / self.cost().spent.max(1e-9)).min(1.0)
    }

    /// Takes probes out that cost too much.
    fn close(&mut self, trees: &[Node; 2], cost: Cost) {
        let profile = Profile {
            tree: trees[0].clone(),
            ..Profile::default()
        };
        let state = State::of(&self.probes, &[], &self.known);
        let planted: Vec<u32> = (0..self.probes.len() as u32)
            .filter(|&id| !self.known.probe(id).taken_out.is_out())
            .collect();
        let closings = to_close(
            &profile,
            cost,
            &SIMULATED,
            |id| state.has_opened(id),
            &planted,
        );
        for closing in closings.iter().filter(|closing| closing.over_budget) {
            self.known.probe_mut(closing.id).taken_out.at(1.0);
        }
    }

    /// Length of the next look.
    fn look_length(&self) -> f64 {
        let searched = Duration::from_secs_f64(self.seconds);
        let mut lengths = (1..).map(|steps| f64::from(steps) * STEP);
        let recorded = self.recorded();
        let is_ripe = |&length: &f64| {
            let seen = (length * self.served * recorded).round() as u64;
            let age = Duration::from_secs_f64(length);
            match self.follows {
                true => is_enough_to_follow(seen, age),
                false => is_enough(seen, age, searched),
            }
        };
        lengths
            .find(is_ripe)
            .unwrap_or(SETTLED_PERIOD.as_secs_f64())
    }

    fn look(&mut self, phase: usize) {
        let length = self.look_length();
        let usual = look_after(Duration::from_secs_f64(self.seconds)).as_secs_f64();
        let length = if self.settled {
            SETTLED_PERIOD.as_secs_f64().max(length)
        } else {
            length
        };
        self.seconds += length;
        self.round += length;
        self.looks += 1;
        self.longest = self.longest.max(self.round);
        let trees = self.see(ROOT, phase, length).map(|children| Node {
            children,
            ..Node::default()
        });
        let patience = Patience {
            searched: Duration::from_secs_f64(self.seconds),
            part_of_run: self.round / self.seconds,
            part_since_long: part_since_long(&self.rounds()),
            is_late: self.ends.is_some_and(|end| 2.0 * self.seconds > end),
            is_early_look: self.follows && length < usual,
        };
        let scope = [at(ROOT)];
        let state = State {
            probes: &self.probes,
            scope: &scope,
            known: &self.known,
            now: Instant::now(),
        };
        let cost = self.cost();
        let both = [&trees[0], &trees[1]];
        let next = worth_a_round(&both, 20, &SIMULATED, &state, &patience, cost).steps;
        self.close(&trees, cost);
        let opened: Vec<Location> = next
            .iter()
            .filter_map(|candidate| match candidate.step {
                Step::Open(function) => Some(function),
                _ => None,
            })
            .collect();
        self.settled = opened.is_empty() && !patience.is_early() && !patience.is_early_look;
        self.follows = Patience::is_led_by(&next);
        for function in opened {
            let makes_calls = self
                .program
                .calls
                .iter()
                .any(|&(caller, _)| at(caller) == function);
            self.known.function_mut(function).calls = if makes_calls {
                self.begun.push(self.seconds);
                (self.round, self.erred) = (0.0, HashMap::new());
                Calls::Opened
            } else {
                Calls::NoneToTime
            };
        }
    }

    /// Lengths of all rounds in milliseconds, as their intervals would be.
    fn rounds(&self) -> Vec<u64> {
        let mut begun = self.begun.clone();
        // Several functions opened at one look begin one round.
        begun.dedup();
        let ends = begun.iter().copied().chain([self.seconds]);
        let begins = [0.0].into_iter().chain(begun.iter().copied());
        let lengths = ends.zip(begins).map(|(end, begin)| 1e3 * (end - begin));
        lengths.map(|length| length as u64).collect()
    }

    fn run(&mut self, until: f64, phase: usize) {
        while self.seconds < until {
            self.look(phase);
        }
    }

    fn is_found(&self, function: u64) -> bool {
        self.known.is_open(at(function))
    }
}

/// A culprit seven calls down is found in the first seconds, however large the errors of the looks. After forty
/// seconds a round has more than a third of the run, and smaller findings do not keep the search from resting.
#[test]
fn a_culprit_is_found_and_the_search_rests() {
    for (rate, found_within) in [(10_000.0, 5.0), (300.0, 5.0), (30.0, 12.0)] {
        for seed in 1..20 {
            let program = Program::new(7, [0.7, 0.7], [0.0, 0.0]);
            let mut search = Search::new(program, rate, seed);
            search.run(found_within, 0);
            assert!(search.is_found(105), "rate {rate}, seed {seed}");
            search.run(40.0, 0);
            let (longest, begun) = (search.longest, &search.begun);
            assert!(
                longest > 40.0 / 3.0,
                "rate {rate}, seed {seed}: {longest} {begun:?}"
            );
            let before = search.looks;
            search.run(400.0, 0);
            assert!(
                search.longest > 130.0,
                "{} {:?}",
                search.longest,
                search.begun
            );
            assert!(search.looks - before < 400, "it looks as often as at first");
        }
    }
}

/// Intervals of twenty milliseconds each, fifty a second: a culprit ten calls down is found within twenty-five.
#[test]
fn a_culprit_of_long_intervals_is_found_in_a_short_run() {
    for seed in 1..20 {
        let program = Program::new(10, [0.9, 0.9], [0.0, 0.0]);
        let mut search = Search::new(program, 50.0, seed);
        search.served = 50.0;
        search.run(25.0, 0);
        assert!(search.is_found(108), "seed {seed}: {:?}", search.begun);
    }
}

/// After twenty seconds the load changes to one whose culprit lies twenty calls down. It is found within twenty more;
/// up to five of them may pass before the resting search looks again.
#[test]
fn what_explains_most_is_followed_down_without_delay() {
    for seed in 1..20 {
        let program = Program::new(20, [0.0, 0.9], [0.0, 0.0]);
        let mut search = Search::new(program, 300.0, seed);
        search.run(20.0, 0);
        assert!(!search.is_found(101), "seed {seed}");
        search.run(40.0, 1);
        assert!(search.is_found(118), "seed {seed}: {:?}", search.begun);
    }
}

/// A run of a minute, which is known: the last half is one round, whatever there is to find, and the culprit has been.
#[test]
fn the_last_half_of_a_known_run_is_one_round() {
    for (rate, seed) in [(10_000.0, 1), (300.0, 2), (300.0, 3), (30.0, 4)] {
        let program = Program::new(7, [0.7, 0.7], [0.0, 0.0]);
        let mut search = Search::new(program, rate, seed);
        search.ends = Some(60.0);
        search.run(60.0, 0);
        assert!(search.is_found(105), "rate {rate}, seed {seed}");
        let begun = search.begun.iter().copied().fold(0.0, f64::max);
        assert!(begun <= 30.0, "rate {rate}, seed {seed}: {begun}");
    }
}

/// ... unless the load changes in it, and much is found.
#[test]
fn what_explains_much_is_opened_in_the_last_half() {
    let program = Program::new(7, [0.7, 0.2], [0.0, 0.5]);
    let mut search = Search::new(program, 300.0, 5);
    search.ends = Some(120.0);
    search.run(61.0, 0);
    assert!(!search.is_found(201));
    search.run(120.0, 1);
    assert!(search.is_found(205), "{:?}", search.begun);
}

/// After a minute the time goes elsewhere: seven calls down in half a minute, however long the round before was.
#[test]
fn a_load_that_changes_is_followed() {
    for seed in 1..20 {
        let program = Program::new(7, [0.7, 0.2], [0.0, 0.5]);
        let mut search = Search::new(program, 300.0, seed);
        search.run(60.0, 0);
        assert!(search.is_found(105) && !search.is_found(201), "seed {seed}");
        search.run(95.0, 1);
        assert!(search.is_found(205), "seed {seed}: {:?}", search.begun);
    }
}

/// Shares of a hundredth are distinguished from smaller ones when a round has grown long enough, and not before: at
/// first few of twenty.
#[test]
fn small_shares_are_opened_when_they_are_known() {
    let program = Program::new(2, [0.7, 0.7], [0.0, 0.0]);
    let mut search = Search::new(program, 300.0, 7);
    search.run(4.0, 0);
    let opened = |search: &Search| (300..320).filter(|&f| search.is_found(f)).count();
    assert!(opened(&search) < 5, "{} at first", opened(&search));
    let program = Program::new(2, [0.7, 0.7], [0.0, 0.0]);
    let mut precise = Search::new(program, 1e6, 7);
    precise
        .program
        .own
        .values_mut()
        .for_each(|own| own[0] *= 1.2);
    precise.run(4.0, 0);
    assert_eq!(opened(&precise), 20, "1.2 % each");
}

/// The number of a loop's turns is the cause, and is known where its one call is timed. The calls in each turn are
/// not expanded: they cost twice the budget, level by level, and explain the same. So half of the intervals are
/// recorded, most of them in one round.
#[test]
fn a_loop_is_not_gone_into_for_how_often_it_turns() {
    for seed in 1..20 {
        let mut search = Search::new(Program::looping(0.99), 1300.0, seed);
        search.served = 1300.0;
        search.run(15.0, 0);
        assert!(search.is_found(LOOP), "seed {seed}");
        assert!(
            !search.is_found(LOOP + 1),
            "seed {seed}: {:?}",
            search.begun
        );
        assert!(
            search.recorded() > 0.5,
            "seed {seed}: {}",
            search.recorded()
        );
        assert!(search.round > 10.0, "seed {seed}: {:?}", search.begun);
    }
}

/// Turns that take longer are followed down, as long as one interval in four is recorded: the fourth level would leave
/// less.
#[test]
fn slow_turns_are_followed_within_bounds() {
    for seed in 1..20 {
        let mut search = Search::new(Program::looping(0.0), 1300.0, seed);
        search.served = 1300.0;
        search.run(30.0, 0);
        assert!(search.is_found(LOOP + 1), "seed {seed}: {:?}", search.begun);
        assert!(
            !search.is_found(LOOP + 4),
            "seed {seed}: {:?}",
            search.begun
        );
        assert!(
            search.recorded() > 0.24,
            "seed {seed}: {}",
            search.recorded()
        );
    }
}
