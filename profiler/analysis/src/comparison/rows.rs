//! The comparison, row by row, with a verdict on each.

use super::fieller::{Drift, Estimate, Pair};
use super::figures::{ABOVE_MIN, Recorded};
use super::hochberg;
use super::load::{Another, Mix, SidesLoad};
use super::parts::{PROCESSOR, Parts};
use super::sides::{self, Side};
use super::student::LEVEL;
use crate::findings::cohorts::CARRIED_MIN;
use crate::summary::PERCENTILES;
use crate::sums::paths::PROBES;
use crate::sums::shares::LISTED_MIN;

/// Rows that are corrected together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The latency's distribution, and time without a processor.
    Latency,
    /// Findings.
    Finding,
    /// Calls.
    Call,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 3] = [Family::Latency, Family::Finding, Family::Call];
}

/// BoundSubject of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The mean latency, winsorised.
    Mean,
    /// The mean as if the mix of classes had stayed.
    MeanOfSameMix,
    /// Standard deviation, winsorised.
    Sd,
    /// A percentile, by name.
    Percentile(&'static str),
    /// The slowest interval.
    Max,
    /// Time without a processor in the mean interval.
    Processor,
    /// A finding, by its index.
    Finding(usize),
    /// A call, by its node.
    Call(usize),
}

/// The intervals of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All.
    All,
    /// The slowest 1 %.
    Slow,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is surely less.
    Better,
    /// It is surely more.
    Worse,
    /// It may be chance.
    NotTold,
    /// It means nothing.
    NotComparable(WhyNot),
}

/// Why a row cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// The intervals are of another kind.
    OtherInterval,
    /// More or less work came.
    OtherLoad,
    /// Other classes of intervals came.
    OtherMix,
    /// Only the side before (0) or after (1) timed it.
    TimedOnlyBeforeOrAfter(usize),
    /// One or both sides have too few intervals.
    FewIntervals,
    /// A maximum is a single interval.
    SingleInterval,
    /// Sums do not tell.
    SumsOnly,
    /// The kernel was not asked, or did not say.
    NoKernel,
    /// Neither side has it.
    NotFound,
}

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The subject of a row.
    pub what: What,
    /// The row's intervals.
    pub of: Of,
    /// Its values, ns; nothing where one of the sides has none.
    pub pair: Option<Pair>,
    /// Values where they are known without an error.
    pub plain: Option<[f64; 2]>,
    /// Chance of such a difference between equal sides, corrected for the rows of its family.
    pub p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// A callee has most of the change.
    pub passes_on: bool,
}

impl Row {
    fn new(what: What, of: Of, pair: Option<Pair>) -> Row {
        Row {
            what,
            of,
            pair,
            plain: None,
            p: None,
            verdict: match pair {
                Some(_) => Verdict::NotTold,
                None => Verdict::NotComparable(WhyNot::FewIntervals),
            },
            passes_on: false,
        }
    }

    fn not(mut self, why: WhyNot) -> Row {
        self.verdict = Verdict::NotComparable(why);
        // What was not timed has no value.
        if matches!(why, WhyNot::TimedOnlyBeforeOrAfter(_) | WhyNot::NotFound) {
            self.pair = None;
        }
        self
    }

    /// After without before, ns.
    pub fn difference(&self) -> f64 {
        self.pair
            .map_or(0.0, |pair| pair.after.value - pair.before.value)
    }

    /// The rows that it is corrected with.
    pub fn family(&self) -> Family {
        match self.what {
            What::Finding(_) => Family::Finding,
            What::Call(_) => Family::Call,
            _ => Family::Latency,
        }
    }
}

/// Facts about both sides other than their intervals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances {
    /// They are intervals of the same kind.
    pub same_interval: bool,
    /// Both show when threads had no processor.
    pub has_processor: bool,
    /// Longest latency before and after, ns.
    pub max_ns: [f64; 2],
}

/// All rows.
pub fn rows(
    sides: &[Side; 2],
    parts: &Parts,
    load: Option<&SidesLoad>,
    circumstances: &Circumstances,
) -> Vec<Row> {
    let mut rows = latency(sides, load, circumstances);
    rows.extend(findings(sides, parts));
    rows.extend(calls(sides, parts));
    let another = match load.and_then(SidesLoad::another) {
        _ if !circumstances.same_interval => Some(WhyNot::OtherInterval),
        Some(Another::Load) => Some(WhyNot::OtherLoad),
        Some(Another::Mix) => Some(WhyNot::OtherMix),
        None => None,
    };
    if let Some(why) = another {
        let stays = |row: &Row| {
            why == WhyNot::OtherMix && matches!(row.what, What::MeanOfSameMix | What::Processor)
        };
        for row in rows.iter_mut().filter(|row| !stays(row)) {
            if row.verdict == Verdict::NotTold {
                row.verdict = Verdict::NotComparable(why);
            }
        }
    }
    for family in Family::ALL {
        give_verdicts(&mut rows, family);
    }
    rows
}

/// The mean that the classes of `before` would have in their new mix; it is not known better than the mean itself.
fn of_same_mix(mix: &Mix, mean: &Pair) -> Row {
    let Estimate { value, se, df, .. } = mix.within_ns;
    let (of_mean, within) = (mean.before.se.hypot(mean.after.se), (se, df));
    let (se, df) = match of_mean > se {
        true => (of_mean, mean.df),
        false => within,
    };
    let estimate = |value, se| Estimate {
        value,
        se,
        df,
        drift: Drift::default(),
    };
    let before = estimate(mix.mean_ns, 0.0);
    let after = estimate(mix.mean_ns + value, se);
    let pair = Pair { before, after, df };
    Row::new(What::MeanOfSameMix, Of::All, Some(pair))
}

fn latency(sides: &[Side; 2], load: Option<&SidesLoad>, circumstances: &Circumstances) -> Vec<Row> {
    let has_latencies = sides.iter().flatten().all(|run| run.has_latencies);
    let mean = sides::pair(sides, |run| Some(run.mean()));
    let mut rows = vec![
        Row::new(What::Mean, Of::All, mean),
        Row::new(What::Sd, Of::All, sides::pair(sides, |run| Some(run.sd()))),
    ];
    if let Some(mix) = load.and_then(|load| load.mix.as_ref())
        && mix.is_another()
        && let Some(mean) = mean
    {
        rows.push(of_same_mix(mix, &mean));
    }
    let quantiles = PERCENTILES.map(|(_, quantile)| quantile);
    let of_run = |run: &Recorded| run.percentiles(&quantiles);
    let all: [Vec<Vec<Option<Estimate>>>; 2] =
        [0, 1].map(|side: usize| sides[side].iter().map(of_run).collect());
    for (at, (name, _)) in PERCENTILES.into_iter().enumerate() {
        let figure = |run: &Recorded| {
            let place = [0, 1].into_iter().find_map(|side: usize| {
                let mut runs = sides[side].iter();
                Some((side, runs.position(|one| std::ptr::eq(one, run))?))
            });
            let (side, number) = place.expect("one of them");
            all[side][number][at]
        };
        let row = Row::new(What::Percentile(name), Of::All, sides::pair(sides, figure));
        rows.push(match has_latencies {
            true => row,
            false => row.not(WhyNot::SumsOnly),
        });
    }
    let mut max = Row::new(What::Max, Of::All, None).not(WhyNot::SingleInterval);
    max.plain = Some(circumstances.max_ns);
    rows.push(max);
    let processor = sides::pair(sides, |run| Some(run.part_mean(PROCESSOR)));
    rows.push(match circumstances.has_processor {
        true => Row::new(What::Processor, Of::All, processor),
        false => Row::new(What::Processor, Of::All, None).not(WhyNot::NoKernel),
    });
    rows
}

fn findings(sides: &[Side; 2], parts: &Parts) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, named) in parts.findings.iter().enumerate() {
        let part = parts.of_finding(at);
        for row in part_rows(sides, &What::Finding(at), part) {
            rows.push(match named.found {
                _ if parts.is_met(at) => row,
                [true, false] => row.not(WhyNot::TimedOnlyBeforeOrAfter(0)),
                [false, true] => row.not(WhyNot::TimedOnlyBeforeOrAfter(1)),
                _ => row.not(WhyNot::NotFound),
            });
        }
    }
    rows
}

/// Rows of all intervals, and of the slow ones where they are known.
fn part_rows(sides: &[Side; 2], what: &What, part: usize) -> Vec<Row> {
    let has_latencies = sides.iter().flatten().all(|run| run.has_latencies);
    let all = sides::pair(sides, |run| Some(run.part_mean(part)));
    let mut rows = vec![Row::new(what.clone(), Of::All, all)];
    if has_latencies {
        let slow = sides::pair(sides, |run| {
            (run.total.slow >= ABOVE_MIN).then(|| run.part_slow(part))
        });
        rows.push(Row::new(what.clone(), Of::Slow, slow));
    }
    rows
}

fn calls(sides: &[Side; 2], parts: &Parts) -> Vec<Row> {
    let whole = |run: &Recorded| {
        (
            run.total.latency_ns,
            run.total.part(parts.of_node(0)).slow_ns,
        )
    };
    // It has enough of the latency on a side, or of slow intervals.
    let matters = |node: usize| {
        let part = parts.of_node(node);
        sides.iter().flatten().any(|run| {
            let (all, slow) = whole(run);
            let own = run.total.part(part);
            own.all_ns >= LISTED_MIN * all || (slow > 0.0 && own.slow_ns >= LISTED_MIN * slow)
        })
    };
    // The root is the latency itself, and what probes cost is ours.
    let nodes: Vec<usize> = (1..parts.nodes().len())
        .filter(|&node| node != PROBES as usize && matters(node))
        .collect();
    let mut rows: Vec<Row> = nodes
        .iter()
        .flat_map(|&node| part_rows(sides, &What::Call(node), parts.of_node(node)))
        .collect();
    pass_on(&mut rows, parts);
    rows
}

/// Marks calls of whose change one of their own has most.
fn pass_on(rows: &mut [Row], parts: &Parts) {
    let changes: Vec<(usize, Of, f64)> = rows
        .iter()
        .filter_map(|row| match row.what {
            What::Call(node) => Some((node, row.of, row.difference())),
            _ => None,
        })
        .collect();
    for row in rows {
        let What::Call(own) = row.what else { continue };
        let change = row.difference();
        row.passes_on = changes.iter().any(|&(node, of, below)| {
            let is_below = node != own && parts.nodes()[node].parent == own && of == row.of;
            is_below && below * change > 0.0 && below.abs() >= CARRIED_MIN * change.abs()
        });
    }
}

/// Verdicts of a family's rows that can be compared.
fn give_verdicts(rows: &mut [Row], family: Family) {
    let mut own: Vec<&mut Row> = rows
        .iter_mut()
        .filter(|row| row.family() == family && row.verdict == Verdict::NotTold)
        .collect();
    let p: Vec<f64> = own
        .iter()
        .map(|row| row.pair.map_or(1.0, |pair| pair.p()))
        .collect();
    for (row, p) in own.iter_mut().zip(hochberg::adjusted(&p)) {
        row.p = Some(p);
        if p <= LEVEL {
            row.verdict = match row.difference() > 0.0 {
                true => Verdict::Worse,
                false => Verdict::Better,
            };
        }
    }
}
