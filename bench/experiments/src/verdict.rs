//! The verdict of a measurement on a claim.

use serde::{Deserialize, Serialize};

/// A result within this factor of the paper's is the same: its machine, system and data were others.
const SAME_WITHIN: f64 = 2.0;
/// A result within this factor of 1 is no effect.
const NONE_WITHIN: f64 = 1.25;
/// Ratio of an interval's ends above which the interval is too wide: it spans more than equal values on both sides,
/// so it could hardly have disagreed.
const WIDTH_MAX: f64 = SAME_WITHIN * SAME_WITHIN;

/// The verdict on a claim, best first; of several claims the worst counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// The paper's effect, in its size.
    #[serde(rename = "agrees")]
    Agrees,
    /// An effect in the paper's direction, of another size.
    #[serde(rename = "direction")]
    Direction,
    /// No such effect, or the opposite one.
    #[serde(rename = "differs")]
    Differs,
    /// The measurement is too imprecise, or has not been made.
    #[serde(rename = "cannot tell")]
    CannotTell,
    /// It cannot be measured here at all.
    #[serde(rename = "cannot be had")]
    CannotBeHad,
}

impl Verdict {
    /// As a reader reads it.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Direction => "agrees in direction",
            Verdict::Differs => "differs",
            Verdict::CannotTell => "cannot be told",
            Verdict::CannotBeHad => "cannot be had",
        }
    }
}

/// A number of the paper's, and what was found in its place. Both are positive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The number's name.
    pub what: String,
    /// The paper's.
    pub paper: f64,
    /// Ours.
    pub found: f64,
    /// Its 95 % interval; both ends are `found` where the result is exact.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl Claim {
    /// A factor by which something is greater than something else: 1 is no effect.
    pub fn factor(what: impl Into<String>, paper: f64, found: f64, [low, high]: [f64; 2]) -> Claim {
        let what = what.into();
        Claim {
            verdict: of_factor(paper, found, [low, high]),
            what,
            paper,
            found,
            low,
            high,
        }
    }

    /// A factor that the paper says, or draws, to be more than 1, without a number.
    pub fn more(what: impl Into<String>, found: f64, [low, high]: [f64; 2]) -> Claim {
        let verdict = match (low > 1.0, high < 1.0) {
            (true, _) => Verdict::Agrees,
            (_, true) => Verdict::Differs,
            _ => Verdict::CannotTell,
        };
        Claim {
            what: what.into() + " (more than 1)",
            paper: 1.0,
            found,
            low,
            high,
            verdict,
        }
    }

    /// A share of the variance.
    pub fn share(what: impl Into<String>, paper: f64, found: f64, [low, high]: [f64; 2]) -> Claim {
        let same = (low..=high).contains(&paper)
            || (paper / SAME_WITHIN..=paper * SAME_WITHIN).contains(&found);
        let verdict = match (low > 0.0, high < paper / SAME_WITHIN) {
            (true, _) if same && !can_disagree([low, high]) => Verdict::CannotTell,
            (true, _) if same => Verdict::Agrees,
            (_, true) => Verdict::Differs,
            (true, _) => Verdict::Direction,
            _ => Verdict::CannotTell,
        };
        Claim {
            what: what.into(),
            paper,
            found,
            low,
            high,
            verdict,
        }
    }

    /// A number that belongs to the paper's system and not to a law: the same within a factor of two, or another.
    pub fn number(what: impl Into<String>, paper: f64, found: f64) -> Claim {
        let same = (paper / SAME_WITHIN..=paper * SAME_WITHIN).contains(&found);
        Claim {
            what: what.into(),
            paper,
            found,
            low: found,
            high: found,
            verdict: if same {
                Verdict::Agrees
            } else {
                Verdict::Differs
            },
        }
    }

    /// Something that is proved and was checked: `found` is how often it held out of `paper` times.
    pub fn held(what: impl Into<String>, tried: u64, held: u64) -> Claim {
        Claim {
            what: what.into(),
            paper: tried as f64,
            found: held as f64,
            low: held as f64,
            high: held as f64,
            verdict: if held == tried {
                Verdict::Agrees
            } else {
                Verdict::Differs
            },
        }
    }

    /// A bound that the paper proves: `found` must not exceed it.
    pub fn at_most(what: impl Into<String>, bound: f64, found: f64) -> Claim {
        let holds = found <= bound * (1.0 + 1e-9);
        Claim {
            what: what.into(),
            paper: bound,
            found,
            low: found,
            high: found,
            verdict: if holds {
                Verdict::Agrees
            } else {
                Verdict::Differs
            },
        }
    }
}

/// Whether an interval is narrow enough to exclude the paper's number, had it been elsewhere.
fn can_disagree([low, high]: [f64; 2]) -> bool {
    high <= low * WIDTH_MAX
}

/// Agrees: an effect on the paper's side of 1. It is within [`SAME_WITHIN`] of the paper's and at least half of it on
/// a logarithmic scale, or its interval has the paper's value. A paper's factor of 1 (no effect) is agreed with if
/// the interval has 1, or the result is within [`NONE_WITHIN`] of it. An interval that could not have disagreed
/// agrees with nothing.
fn of_factor(paper: f64, found: f64, [low, high]: [f64; 2]) -> Verdict {
    if (0.9..=1.1).contains(&paper) {
        let none = (low..=high).contains(&1.0) && high < SAME_WITHIN && low > 1.0 / SAME_WITHIN;
        return match none || (1.0 / NONE_WITHIN..=NONE_WITHIN).contains(&found) {
            true if can_disagree([low, high]) => Verdict::Agrees,
            true => Verdict::CannotTell,
            false if (low..=high).contains(&1.0) => Verdict::CannotTell,
            false => Verdict::Differs,
        };
    }
    let near = (paper / SAME_WITHIN..=paper * SAME_WITHIN).contains(&found);
    let same = (low..=high).contains(&paper) || near && reaches_half(paper, [found, found]);
    let significant = if paper >= 1.0 { low > 1.0 } else { high < 1.0 };
    let opposite = if paper >= 1.0 { high < 1.0 } else { low > 1.0 };
    match (significant, opposite) {
        (true, _) if same && !can_disagree([low, high]) => Verdict::CannotTell,
        (true, _) if same => Verdict::Agrees,
        (true, _) => Verdict::Direction,
        (_, true) => Verdict::Differs,
        // An interval about 1 without room for half of the effect shows that there is no effect.
        _ if !reaches_half(paper, [low, high]) => Verdict::Differs,
        _ => Verdict::CannotTell,
    }
}

/// Whether the interval reaches half of the paper's effect, on a logarithmic scale.
fn reaches_half(paper: f64, [low, high]: [f64; 2]) -> bool {
    let half = paper.sqrt();
    if paper >= 1.0 {
        high >= half
    } else {
        low <= half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_on_factors() {
        for (paper, found, interval, expected) in [
            (4.0, 5.0, [3.0, 8.0], Verdict::Agrees),
            (4.0, 1.5, [1.2, 1.8], Verdict::Direction),
            (4.0, 300.0, [200.0, 400.0], Verdict::Direction),
            (4.0, 0.8, [0.7, 0.9], Verdict::Differs),
            (4.0, 1.0, [0.9, 1.1], Verdict::Differs),
            (4.0, 1.5, [0.5, 4.5], Verdict::CannotTell),
            (2.0, 1.04, [1.01, 1.08], Verdict::Direction),
            (2.0, 1.5, [1.2, 1.8], Verdict::Agrees),
            (1.0, 1.6, [1.5, 1.7], Verdict::Differs),
            (1.0, 1.6, [0.9, 1.9], Verdict::Agrees),
            (1.0, 1.6, [0.4, 5.0], Verdict::CannotTell),
            (0.25, 0.3, [0.2, 0.4], Verdict::Agrees),
            (0.25, 0.8, [0.7, 0.9], Verdict::Direction),
            (0.25, 1.0, [0.9, 1.1], Verdict::Differs),
            (1.0, 1.02, [1.01, 1.03], Verdict::Agrees),
            (1.0, 3.0, [2.5, 3.5], Verdict::Differs),
            // Intervals that hold the paper's number, and nearly every other.
            (10.0, 1.65, [1.47, 30.8], Verdict::CannotTell),
            (4.0, 5.0, [1.1, 30.0], Verdict::CannotTell),
            (1.0, 1.1, [0.1, 9.0], Verdict::CannotTell),
        ] {
            assert_eq!(
                of_factor(paper, found, interval),
                expected,
                "{paper} {found} {interval:?}"
            );
        }
    }

    #[test]
    fn verdicts_on_shares_and_on_what_has_no_number() {
        let share = |found, interval| Claim::share("", 0.4, found, interval).verdict;
        assert_eq!(share(0.3, [0.2, 0.4]), Verdict::Agrees);
        assert_eq!(share(0.95, [0.9, 1.0]), Verdict::Direction);
        assert_eq!(share(0.01, [0.0, 0.02]), Verdict::Differs);
        assert_eq!(share(0.1, [-0.3, 0.5]), Verdict::CannotTell);
        assert_eq!(share(0.4, [0.05, 0.9]), Verdict::CannotTell);
        let more = |found, interval| Claim::more("", found, interval).verdict;
        assert_eq!(more(1.5, [1.2, 1.8]), Verdict::Agrees);
        assert_eq!(more(0.5, [0.2, 0.8]), Verdict::Differs);
        assert_eq!(more(1.5, [0.8, 1.8]), Verdict::CannotTell);
    }

    #[test]
    fn the_worst_verdict_is_the_greatest() {
        let worst = [Verdict::Direction, Verdict::Differs, Verdict::Agrees]
            .into_iter()
            .max();
        assert_eq!(worst, Some(Verdict::Differs));
    }

    #[test]
    fn proofs_are_held_or_not() {
        assert_eq!(Claim::held("", 5, 5).verdict, Verdict::Agrees);
        assert_eq!(Claim::held("", 5, 4).verdict, Verdict::Differs);
        assert_eq!(Claim::at_most("", 2.0, 2.0).verdict, Verdict::Agrees);
        assert_eq!(Claim::at_most("", 2.0, 2.1).verdict, Verdict::Differs);
    }
}
