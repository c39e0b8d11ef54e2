//! The race: candidates run in interleaved rounds with the unchanged server, losers leave early, and the winner is
//! confirmed.
//!
//! Noise is the problem, not the search. Up to 63 % of the configurations that a tuner calls best are 30 % worse when
//! they are used (Freischuetz et al., "TUNA: Tuning Unstable and Noisy Cloud Applications", EuroSys 2025). So there
//! are three rules.
//!
//! 1. **Blocks.** A round measures every candidate still in the race, and the unchanged server twice, in random
//!    order. A candidate's score is the mean over rounds of ln(own value) less the mean of the two baselines'
//!    logarithms in the same round. Changes from round to round cancel (Birattari et al., "A Racing Algorithm for
//!    Configuring Metaheuristics", GECCO 2002, where a block is an instance).
//! 2. **Halving.** The runs of the race are split evenly over its stages. After each the worse half leaves, so that
//!    the most promising get the most rounds (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and
//!    Hyperparameter Optimization", AISTATS 2016, algorithm "Successive Halving"). The last stage races unions of the
//!    remaining settings against the best of them.
//! 3. **Fresh rounds.** The winner's score is the lowest of many, so it is too good to say anything. The winner
//!    alone is measured again, in rounds that did not choose it, whose number was fixed before, and one exchange test
//!    decides ([`paired`]). The chance to claim an effect that does not exist is at most [`paired::LEVEL`].

mod stages;

use evenkeel_drive::{drawn_order, paired};

use crate::objective::{Objective, Run};
pub use stages::BASELINES;
use stages::{FINALISTS, affordable, cost, halvings};

/// Rounds of the confirmation: at least, so that three labels can be exchanged in enough ways, and at most.
pub const CONFIRMING: [usize; 2] = [5, 20];
/// Part of the runs that the confirmation has.
const CONFIRMING_PART: f64 = 0.4;
/// A candidate that does less than this part of the baseline's throughput buys latency with it.
const THROUGHPUT_MIN: f64 = 0.9;
/// If this share more of the arrivals is unserved, latencies cannot be compared.
const UNSERVED_MORE: f64 = 0.01;
/// Rounds below which noise alone may look like less throughput.
const WORSE_ROUNDS: usize = 3;
/// Most rounds of a stage: more would be spent on candidates that are to leave.
const STAGE_ROUNDS_MAX: usize = 12;

/// A setting and its value.
pub type NameAndValue = (String, String);

/// Settings that are tried together, on top of the server's own.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Candidate {
    /// The settings, by name.
    pub settings: Vec<NameAndValue>,
}

impl Candidate {
    /// `a=1 b=2`, as a person reads it.
    pub fn name(&self) -> String {
        let pairs = self.settings.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(" ")
    }
}

/// A configuration that is measured once in a round.
#[derive(Clone, Copy, Debug)]
pub enum Arm<'a> {
    /// The unchanged server.
    Baseline,
    /// The baseline again.
    Again,
    /// Other settings.
    Of(&'a Candidate),
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was measured.
    Measured(Run),
    /// The server does not take the settings, for this reason.
    Refused(String),
    /// The user has had enough.
    Interrupted,
}

/// Where runs are made.
pub trait Runner {
    /// An error that ends the race.
    type Error;
    /// Runs that the budget still has.
    fn runs_left(&self) -> usize;
    /// A round of these begins. `of` says which part of the race it is.
    fn round(&mut self, arms: &[Arm<'_>], of: &str);
    /// One run. Arms of the same round have the same arrivals.
    ///
    /// # Errors
    /// What no other candidate would mend either.
    fn run(&mut self, arm: Arm<'_>, round: u32) -> Result<Outcome, Self::Error>;
}

/// A round of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Block {
    /// Its own run.
    pub own: Run,
    /// The unchanged server.
    pub baseline: Run,
    /// The unchanged server again.
    pub again: Run,
}

/// The fate of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It left after this stage, counted from one.
    Left(usize),
    /// It was in the race to its end.
    Stayed,
    /// It won, and was measured in fresh rounds.
    Won,
    /// The server does not take it, for this reason.
    Refused(String),
    /// It was faster for doing less, in these words.
    Worse(String),
    /// The budget had no time for it.
    Untried,
}

/// A candidate with its rounds in the race.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its settings.
    pub candidate: Candidate,
    /// Its rounds.
    pub blocks: Vec<Block>,
    /// Its fate.
    pub fate: Fate,
}

/// The fresh rounds of the winner.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// Index of its entry.
    pub entry: usize,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// The chance that equal settings would differ so much.
    pub chance: Option<f64>,
    /// Why it is worse although its latencies may be lower.
    pub worse: Option<String>,
    /// Whether the winner is better, at [`paired::LEVEL`].
    pub confirmed: bool,
}

/// A race that is over.
#[derive(Clone, Debug)]
pub struct Race {
    /// All candidates, in the order given, then unions of them.
    pub entries: Vec<Entry>,
    /// The confirmation; none where no candidate looked better, or the user stopped the race.
    pub confirmation: Option<Confirmation>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Races `candidates`, the most promising first.
///
/// # Errors
/// Those of the runner.
pub fn race<B: Runner>(
    candidates: Vec<Candidate>,
    objective: Objective,
    seed: u64,
    runner: &mut B,
) -> Result<Race, B::Error> {
    let mut racing = Racing {
        entries: candidates.into_iter().map(Entry::new).collect(),
        objective,
        seed,
        round: 0,
        interrupted: false,
        runner,
    };
    let confirmation = racing.go()?;
    Ok(Race {
        confirmation,
        interrupted: racing.interrupted,
        entries: racing.entries,
    })
}

/// Runs below which nothing can be confirmed: one round of the race with one candidate, and the fewest fresh rounds.
pub fn runs_needed() -> usize {
    (BASELINES + 1) * (1 + CONFIRMING[0])
}

impl Entry {
    fn new(candidate: Candidate) -> Entry {
        Entry {
            candidate,
            blocks: Vec::new(),
            fate: Fate::Untried,
        }
    }

    /// Mean over rounds of the logarithm of its ratio to the geometric mean of the two baselines; infinite without a round.
    pub fn score(&self, objective: Objective) -> f64 {
        mean_logarithm(&self.blocks, |run| objective.of(run))
    }

    /// Why it is worse although it may be faster, once it has enough rounds.
    fn worse(&self) -> Option<String> {
        if self.blocks.len() < WORSE_ROUNDS {
            return None;
        }
        worse(&self.blocks)
    }
}

/// Why some rounds are worse although latencies may be lower.
fn worse(blocks: &[Block]) -> Option<String> {
    let throughput = mean_logarithm(blocks, |run| run.throughput_per_s).exp();
    if throughput < THROUGHPUT_MIN {
        return Some(format!("{:.0} % of the throughput", 100.0 * throughput));
    }
    let mean =
        |of: fn(&Block) -> f64| blocks.iter().map(of).sum::<f64>() / blocks.len().max(1) as f64;
    let own = mean(|block| block.own.unserved);
    let more = own - mean(|block| block.baseline.unserved.max(block.again.unserved));
    if more > UNSERVED_MORE {
        return Some(format!("{:.1} % of the arrivals unserved", 100.0 * own));
    }
    let grows = |block: &Block| block.own.queue_grows;
    let baseline_grows = |block: &Block| block.baseline.queue_grows || block.again.queue_grows;
    let only_here = blocks.iter().any(grows) && !blocks.iter().any(baseline_grows);
    only_here.then(|| "its queue grows".to_owned())
}

fn mean_logarithm(blocks: &[Block], of: impl Fn(&Run) -> f64) -> f64 {
    if blocks.is_empty() {
        return f64::INFINITY;
    }
    let ratios = blocks.iter().map(|block| {
        let baseline = (of(&block.baseline).ln() + of(&block.again).ln()) / 2.0;
        let ratio = of(&block.own).ln() - baseline;
        if ratio.is_finite() {
            ratio
        } else {
            f64::INFINITY
        }
    });
    ratios.sum::<f64>() / blocks.len() as f64
}

struct Racing<'b, B: Runner> {
    entries: Vec<Entry>,
    objective: Objective,
    seed: u64,
    round: u32,
    interrupted: bool,
    runner: &'b mut B,
}

impl<B: Runner> Racing<'_, B> {
    fn go(&mut self) -> Result<Option<Confirmation>, B::Error> {
        let all = self.runner.runs_left();
        let part = (all as f64 * CONFIRMING_PART) as usize / (BASELINES + 1);
        let confirming = part.clamp(CONFIRMING[0], CONFIRMING[1]);
        let reserve = confirming * (BASELINES + 1);
        let mut waiting: Vec<usize> = (0..self.entries.len()).collect();
        let mut field = Vec::new();
        let mut stage = 0;
        // Where nothing of a field looks better, those that there was no time for have what is left of the budget.
        while field.is_empty() && !waiting.is_empty() {
            let runs = self.runner.runs_left().saturating_sub(reserve);
            if stage > 0 && runs < cost(1) {
                break;
            }
            let rest = waiting.split_off(affordable(waiting.len(), runs));
            field = self.halved(std::mem::replace(&mut waiting, rest), &mut stage, reserve)?;
            if self.interrupted {
                return Ok(None);
            }
        }
        let unions = self.unions(&field);
        if !unions.is_empty() {
            let mut last = vec![field[0]];
            last.extend(unions);
            stage += 1;
            self.stage(&last, 1, reserve, "last stage")?;
            if self.interrupted {
                return Ok(None);
            }
            field = self.leave(last, stage, true);
        }
        match field.first() {
            Some(&winner) => self.confirm(winner, confirming),
            None => Ok(None),
        }
    }

    /// A field through all of its stages: who is left, the best first.
    fn halved(
        &mut self,
        mut field: Vec<usize>,
        stage: &mut usize,
        reserve: usize,
    ) -> Result<Vec<usize>, B::Error> {
        loop {
            *stage += 1;
            // The stages that follow, and that of the unions.
            let stages = halvings(field.len()) + 2;
            self.stage(&field, stages, reserve, &format!("stage {stage}"))?;
            let is_last = field.len() <= FINALISTS;
            if !self.interrupted {
                field = self.leave(field, *stage, is_last);
            }
            if is_last || self.interrupted || field.is_empty() {
                return Ok(field);
            }
        }
    }

    /// Rounds of `field`, as many as its part of the runs that are left allows.
    fn stage(
        &mut self,
        field: &[usize],
        stages_left: usize,
        reserve: usize,
        name: &str,
    ) -> Result<(), B::Error> {
        let runs = self.runner.runs_left().saturating_sub(reserve) / stages_left.max(1);
        let rounds = (runs / (field.len() + BASELINES)).clamp(1, STAGE_ROUNDS_MAX);
        for number in 1..=rounds {
            let of = format!("{name}, round {number} of {rounds}");
            for (entry, block) in self.measured(field, &of)? {
                self.entries[entry].fate = Fate::Stayed;
                self.entries[entry].blocks.push(block);
            }
            if self.interrupted {
                break;
            }
        }
        Ok(())
    }

    /// One round: the blocks of candidates that the server accepted. An interrupted round is discarded.
    fn measured(&mut self, field: &[usize], of: &str) -> Result<Vec<(usize, Block)>, B::Error> {
        let field: Vec<usize> = field
            .iter()
            .copied()
            .filter(|&entry| self.is_taken(entry))
            .collect();
        let candidates: Vec<Candidate> = field
            .iter()
            .map(|&entry| self.entries[entry].candidate.clone())
            .collect();
        let mut arms = vec![Arm::Baseline, Arm::Again];
        arms.extend(candidates.iter().map(Arm::Of));
        self.runner.round(&arms, of);
        let round = self.round;
        self.round += 1;
        let mut runs = vec![None; arms.len()];
        for at in drawn_order(arms.len(), self.seed, round) {
            match self.runner.run(arms[at], round)? {
                Outcome::Measured(run) => runs[at] = Some(run),
                Outcome::Refused(why) if at >= BASELINES => {
                    self.entries[field[at - BASELINES]].fate = Fate::Refused(why);
                }
                // A round without a baseline says nothing.
                Outcome::Refused(_) => {}
                Outcome::Interrupted => {
                    self.interrupted = true;
                    return Ok(Vec::new());
                }
            }
        }
        let (Some(baseline), Some(again)) = (runs[0], runs[1]) else {
            return Ok(Vec::new());
        };
        let block = |own| Block {
            own,
            baseline,
            again,
        };
        let own = field.iter().zip(&runs[BASELINES..]);
        Ok(own
            .filter_map(|(&entry, run)| run.map(|run| (entry, block(run))))
            .collect())
    }

    fn is_taken(&self, entry: usize) -> bool {
        !matches!(self.entries[entry].fate, Fate::Refused(_))
    }

    /// The remaining entries, the best first: the better half, and at the end those that look better than the
    /// unchanged server.
    fn leave(&mut self, field: Vec<usize>, stage: usize, is_last: bool) -> Vec<usize> {
        let keep = if is_last {
            field.len()
        } else {
            field.len().div_ceil(2)
        };
        let objective = self.objective;
        let mut left: Vec<usize> = Vec::new();
        for entry in field {
            if !self.is_taken(entry) {
                continue;
            }
            match self.entries[entry].worse() {
                Some(why) => self.entries[entry].fate = Fate::Worse(why),
                None => left.push(entry),
            }
        }
        let score = |&entry: &usize| self.entries[entry].score(objective);
        left.sort_by(|a, b| score(a).total_cmp(&score(b)));
        let better = left.iter().filter(|entry| score(entry) < 0.0).count();
        let out = left.split_off(
            keep.min(if is_last { better } else { left.len() })
                .min(left.len()),
        );
        for entry in out {
            self.entries[entry].fate = Fate::Left(stage);
        }
        left
    }

    /// New entries of what is left: the two best together, the three best, each with one value of a knob.
    fn unions(&mut self, field: &[usize]) -> Vec<usize> {
        let mut settings: Vec<NameAndValue> = Vec::new();
        let mut made = Vec::new();
        for &entry in field.iter().take(FINALISTS) {
            let own = &self.entries[entry].candidate.settings;
            let other_knobs = own
                .iter()
                .all(|(name, _)| settings.iter().all(|(known, _)| known != name));
            if !other_knobs {
                continue;
            }
            let is_first = settings.is_empty();
            settings.extend(own.iter().cloned());
            if !is_first {
                let settings = settings.clone();
                self.entries.push(Entry::new(Candidate { settings }));
                made.push(self.entries.len() - 1);
            }
        }
        made
    }

    /// The winner in fresh rounds, whose number does not depend on what they say.
    fn confirm(&mut self, winner: usize, rounds: usize) -> Result<Option<Confirmation>, B::Error> {
        let mut blocks = Vec::new();
        for number in 1..=rounds {
            let of = format!("confirming, round {number} of {rounds}");
            let measured = self.measured(&[winner], &of)?;
            if self.interrupted {
                return Ok(None);
            }
            blocks.extend(measured.into_iter().map(|(_, block)| block));
            if !self.is_taken(winner) {
                return Ok(None);
            }
        }
        self.entries[winner].fate = Fate::Won;
        let triples = blocks.iter().map(|block| {
            [block.own, block.baseline, block.again].map(|run| self.objective.of(&run))
        });
        let chance = paired::chances(&[triples.collect()], self.seed)[0];
        let score = mean_logarithm(&blocks, |run| self.objective.of(run));
        let worse = worse(&blocks);
        Ok(Some(Confirmation {
            entry: winner,
            confirmed: score < 0.0
                && worse.is_none()
                && chance.is_some_and(|chance| chance <= paired::LEVEL),
            blocks,
            chance,
            worse,
        }))
    }
}

#[cfg(test)]
mod tests;
