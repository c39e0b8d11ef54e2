//! A figure on both sides, in words.

use evenkeel_analysis::comparison::parts::Parts;
use evenkeel_analysis::comparison::rows::{self, What, WhyNot};
use serde::Serialize;

/// Kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// The latency's distribution.
    Latency,
    /// Other work on the machine.
    Machine,
    /// A finding's time.
    Finding,
    /// A call's time, with what it calls.
    Call,
}

/// The intervals of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Of {
    /// All.
    #[serde(rename = "all")]
    All,
    /// The slowest 1 %.
    #[serde(rename = "slowest 1 %")]
    Slow,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It is surely less.
    #[serde(rename = "better")]
    Better,
    /// It is surely more.
    #[serde(rename = "worse")]
    Worse,
    /// It may be chance.
    #[serde(rename = "no difference told")]
    NotTold,
    /// It means nothing; why says the row.
    #[serde(rename = "cannot be compared")]
    NotComparable,
}

impl Verdict {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NotTold => "no difference told",
            Verdict::NotComparable => "cannot be compared",
        }
    }

    /// Whether a difference is told.
    pub fn is_told(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse)
    }
}

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The kind of row.
    pub kind: RowKind,
    /// `mean`, `sd`, a percentile; a finding's headline; a call's path.
    pub what: String,
    /// The row's intervals.
    pub of: Of,
    /// For a finding or call: its function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// For a call: the functions that lead to it, the interval first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
    /// Before, ns.
    pub before: Option<f64>,
    /// After, ns.
    pub after: Option<f64>,
    /// after / before - 1; absent where there is nothing before.
    pub change: Option<f64>,
    /// Its interval of 95 %: from. Absent where it has no bounds.
    pub low: Option<f64>,
    /// To.
    pub high: Option<f64>,
    /// Chance of such a difference between equal sides, corrected for the rows of its kind.
    pub p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// For a call: a callee has most of the change.
    pub passes_on: bool,
    /// Place of the finding or call.
    #[serde(skip)]
    pub at: usize,
}

impl Row {
    pub(super) fn of(row: &rows::Row, parts: &Parts) -> Row {
        let (kind, what, at) = match &row.what {
            What::Mean => (RowKind::Latency, "mean".to_owned(), 0),
            What::MeanOfSameMix => (RowKind::Latency, "mean of the same mix".to_owned(), 0),
            What::Sd => (RowKind::Latency, "sd".to_owned(), 0),
            What::Percentile(name) => (RowKind::Latency, (*name).to_owned(), 0),
            What::Max => (RowKind::Latency, "max".to_owned(), 0),
            What::Processor => (RowKind::Machine, "waiting for a CPU".to_owned(), 0),
            What::Finding(at) => (RowKind::Finding, parts.findings[*at].headline.clone(), *at),
            What::Call(node) => (RowKind::Call, super::tree::path(parts, *node), *node),
        };
        let function = match row.what {
            What::Finding(at) => Some(parts.findings[at].function.clone()),
            What::Call(node) => Some(parts.nodes()[node].name.clone()),
            _ => None,
        };
        let values = match (row.pair, row.plain) {
            (Some(pair), _) => Some([pair.before.value, pair.after.value]),
            (None, plain) => plain,
        };
        let change = values
            .filter(|[before, _]| *before > 0.0)
            .map(|[before, after]| after / before - 1.0);
        let interval = row.pair.and_then(|pair| pair.interval());
        let (verdict, why) = match row.verdict {
            rows::Verdict::Better => (Verdict::Better, None),
            rows::Verdict::Worse => (Verdict::Worse, None),
            rows::Verdict::NotTold => (Verdict::NotTold, None),
            rows::Verdict::NotComparable(why) => (Verdict::NotComparable, Some(why_not(why))),
        };
        Row {
            kind,
            what,
            of: match row.of {
                rows::Of::All => Of::All,
                rows::Of::Slow => Of::Slow,
            },
            function,
            callers: match row.what {
                What::Call(node) => super::tree::callers(parts, node),
                _ => Vec::new(),
            },
            before: values.map(|[before, _]| before),
            after: values.map(|[_, after]| after),
            change,
            low: interval.map(|[low, _]| low),
            high: interval.map(|[_, high]| high),
            p: row.p,
            verdict,
            why: why.map(str::to_owned),
            passes_on: row.passes_on,
            at,
        }
    }

    /// After without before, ns.
    pub fn difference(&self) -> f64 {
        self.after.unwrap_or_default() - self.before.unwrap_or_default()
    }
}

/// Findings and calls by what they change in the slowest 1 %, those that are told first.
pub(super) fn rank(rows: &mut [Row]) {
    let sizes: Vec<(RowKind, usize, Of, f64, bool)> = rows
        .iter()
        .map(|row| {
            (
                row.kind,
                row.at,
                row.of,
                row.difference().abs(),
                row.verdict.is_told(),
            )
        })
        .collect();
    let key = |row: &Row| {
        let own = |it: &&(RowKind, usize, Of, f64, bool)| (it.0, it.1) == (row.kind, row.at);
        let all = sizes.iter().filter(own);
        let slow = all
            .clone()
            .map(|it| if it.2 == Of::Slow { it.3 } else { 0.0 });
        let any = all.clone().map(|it| it.3);
        let told = all.clone().any(|it| it.4);
        let largest = slow.fold(0.0, f64::max);
        let size = if largest > 0.0 {
            largest
        } else {
            any.fold(0.0, f64::max)
        };
        (told, size)
    };
    let keys: Vec<(bool, f64)> = rows.iter().map(key).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let kind = |at: usize| rows[at].kind as usize;
    order.sort_by(|&a, &b| {
        let by_kind = kind(a).cmp(&kind(b));
        let by_size = match rows[a].kind {
            RowKind::Latency | RowKind::Machine => std::cmp::Ordering::Equal,
            RowKind::Finding | RowKind::Call => keys[b]
                .0
                .cmp(&keys[a].0)
                .then(keys[b].1.total_cmp(&keys[a].1))
                .then(rows[a].at.cmp(&rows[b].at)),
        };
        by_kind.then(by_size)
    });
    let sorted: Vec<Row> = order.into_iter().map(|at| rows[at].clone()).collect();
    rows.clone_from_slice(&sorted);
}

/// Why a row cannot be compared.
pub(super) fn why_not(why: WhyNot) -> &'static str {
    match why {
        WhyNot::OtherInterval => "the intervals are of another kind",
        WhyNot::OtherLoad => "another load: rate and concurrency both changed",
        WhyNot::OtherMix => "another mix of classes",
        WhyNot::TimedOnlyBeforeOrAfter(0) => "timed before only",
        WhyNot::TimedOnlyBeforeOrAfter(_) => "timed after only",
        WhyNot::FewIntervals => "too few intervals",
        WhyNot::SingleInterval => "a maximum is a single interval",
        WhyNot::SumsOnly => "recordings of sums (--summary) do not show it",
        WhyNot::NoKernel => "not recorded: record both with --waits",
        WhyNot::NotFound => "neither side has it",
    }
}
