//! `p99 > +10%`: a change that is not to be.

use std::str::FromStr;

use super::fieller::{Beyond, Pair};

/// A bound of a figure's change.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// As it was written.
    pub text: String,
    /// The bounded value.
    pub subject: BoundSubject,
    /// It is not to be above it; else not below.
    pub above: bool,
    /// The change, as a fraction.
    pub fraction: f64,
}

/// Subject of a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundSubject {
    /// `mean`, `sd`, or a percentile as `p99` and `p99.9`.
    Latency(String),
    /// Intervals a second.
    Rate,
    /// The time of a function, as findings name it.
    Finding(String),
}

/// Figures of the latency that a bound may have.
const FIGURES: [&str; 7] = ["mean", "sd", "p50", "p90", "p95", "p99", "p999"];

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Bound, String> {
        let wrong = |what: &str| {
            format!("{what}; write it as 'p99 > +10%', 'rate < -5%' or 'finding XLogFlush > +5%'")
        };
        // A name may contain the signs, as operators of C++ do: the last one divides.
        let at = text
            .rfind(['>', '<'])
            .ok_or_else(|| wrong("there is no > or <"))?;
        let (subject, change) = (text[..at].trim(), text[at + 1..].trim());
        let number = change
            .strip_suffix('%')
            .ok_or_else(|| wrong("the change is no percentage"))?;
        let percent: f64 = number
            .trim()
            .parse()
            .map_err(|_| wrong(&format!("{number:?} is no number")))?;
        if !percent.is_finite() || percent <= -100.0 {
            return Err(wrong(&format!("nothing can change by {number} %")));
        }
        let subject = match subject.split_once(char::is_whitespace) {
            Some(("finding", name)) => BoundSubject::Finding(name.trim().to_owned()),
            None if subject == "rate" => BoundSubject::Rate,
            None if FIGURES.contains(&subject.replace('.', "").as_str()) => {
                BoundSubject::Latency(subject.replace('.', ""))
            }
            _ => {
                let figures = FIGURES.join(", ");
                return Err(wrong(&format!(
                    "{subject:?} is neither one of {figures} and rate nor a finding"
                )));
            }
        };
        Ok(Bound {
            text: text.trim().to_owned(),
            subject,
            above: text.as_bytes()[at] == b'>',
            fraction: percent / 100.0,
        })
    }
}

impl Bound {
    /// Whether the change is beyond it.
    pub fn beyond(&self, pair: &Pair) -> Beyond {
        match (self.above, pair.above(self.fraction)) {
            (true, beyond) => beyond,
            (false, Beyond::Surely) => Beyond::SurelyNot,
            (false, Beyond::SurelyNot) => Beyond::Surely,
            (false, Beyond::NotTold) => Beyond::NotTold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::fieller::Estimate;

    #[test]
    fn bounds_are_read() {
        let bound: Bound = "p99 > +10%".parse().unwrap();
        assert_eq!(bound.subject, BoundSubject::Latency("p99".to_owned()));
        assert!(bound.above && (bound.fraction - 0.1).abs() < 1e-12);
        let bound: Bound = "p99.9>5 %".parse().unwrap();
        assert_eq!(bound.subject, BoundSubject::Latency("p999".to_owned()));
        let bound: Bound = "finding operator->(int) > +5%".parse().unwrap();
        assert_eq!(
            bound.subject,
            BoundSubject::Finding("operator->(int)".to_owned())
        );
        let bound: Bound = "rate < -5%".parse().unwrap();
        assert!(!bound.above && bound.subject == BoundSubject::Rate);
        for wrong in [
            "p99",
            "p99 > 10",
            "p98 > 1%",
            "p99 > x%",
            "p99 < -100%",
            "finding > 5%",
        ] {
            let error = wrong.parse::<Bound>().unwrap_err();
            assert!(error.contains("write it as"), "{error}");
        }
    }

    #[test]
    fn both_directions() {
        let estimate = |value| Estimate {
            value,
            se: 1.0,
            df: 100.0,
            drift: crate::comparison::fieller::Drift::default(),
        };
        let pair = Pair {
            before: estimate(100.0),
            after: estimate(120.0),
            df: 100.0,
        };
        let beyond = |text: &str| text.parse::<Bound>().unwrap().beyond(&pair);
        assert_eq!(beyond("mean > +10%"), Beyond::Surely);
        assert_eq!(beyond("mean > +20%"), Beyond::NotTold);
        assert_eq!(beyond("mean > +30%"), Beyond::SurelyNot);
        assert_eq!(beyond("mean < -5%"), Beyond::SurelyNot);
        assert_eq!(beyond("mean < +30%"), Beyond::Surely);
    }
}
