//! Changes that are not to be: are they?

use evenkeel_analysis::comparison::bounds::{Bound, BoundSubject};
use evenkeel_analysis::comparison::fieller::{Beyond, Pair};
use evenkeel_analysis::comparison::parts::Parts;
use evenkeel_analysis::comparison::rows::{Of, Row, Verdict, What};
use serde::Serialize;

use super::row::why_not;

/// Whether a change is beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Told {
    /// Surely.
    #[serde(rename = "beyond")]
    Beyond,
    /// Surely not.
    #[serde(rename = "within")]
    Within,
    /// The change's interval includes the bound, or the figure cannot be compared.
    #[serde(rename = "not told")]
    NotTold,
}

/// The result of a bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundResult {
    /// As it was written.
    pub bound: String,
    /// Whether it is kept.
    pub told: Told,
    /// The change.
    pub change: Option<f64>,
    /// Its interval of 95 %: from.
    pub low: Option<f64>,
    /// To.
    pub high: Option<f64>,
    /// Why it cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl BoundResult {
    /// The worst of all figures that a bound is of: a function may be a finding in several callers.
    pub(super) fn of(bound: &Bound, rows: &[Row], parts: &Parts, rate: Option<&Pair>) -> Self {
        let absent = || BoundResult {
            bound: bound.text.clone(),
            told: Told::NotTold,
            change: None,
            low: None,
            high: None,
            why: Some("neither side has it".to_owned()),
        };
        if bound.subject == BoundSubject::Rate {
            return rate.map_or_else(absent, |rate| result(bound, Some(rate), None));
        }
        let is_it = |row: &&Row| match (&bound.subject, &row.what) {
            (BoundSubject::Latency(name), What::Mean) => name == "mean",
            (BoundSubject::Latency(name), What::Sd) => name == "sd",
            (BoundSubject::Latency(name), What::Percentile(of)) => name == of,
            (BoundSubject::Finding(name), What::Finding(at)) => {
                let finding = &parts.findings[*at];
                row.of == Of::All && (&finding.function == name || &finding.headline == name)
            }
            _ => false,
        };
        let of_row = |row: &Row| match row.verdict {
            Verdict::NotComparable(why) => result(bound, None, Some(why_not(why))),
            _ => result(bound, row.pair.as_ref(), None),
        };
        let all = rows.iter().filter(is_it).map(of_row);
        all.min_by_key(|one| match one.told {
            Told::Beyond => 0,
            Told::NotTold => 1,
            Told::Within => 2,
        })
        .unwrap_or_else(absent)
    }
}

fn result(bound: &Bound, pair: Option<&Pair>, why: Option<&str>) -> BoundResult {
    let interval = pair.and_then(Pair::interval);
    BoundResult {
        bound: bound.text.clone(),
        told: match pair.map(|pair| bound.beyond(pair)) {
            Some(Beyond::Surely) => Told::Beyond,
            Some(Beyond::SurelyNot) => Told::Within,
            Some(Beyond::NotTold) | None => Told::NotTold,
        },
        change: pair.and_then(Pair::change),
        low: interval.map(|[low, _]| low),
        high: interval.map(|[_, high]| high),
        why: why.map(str::to_owned),
    }
}
