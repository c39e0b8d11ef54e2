//! The path of a finding, from the interval down. It becomes text where it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sites::{Site, shown};

/// A path: `root > f [f+0x10] > g`. JSON has this text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct CallPath(pub Vec<Step>);

/// One call of it; the first step is the interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The function that is called.
    pub function: String,
    /// The call site, if it is known.
    pub site: Option<CallSite>,
}

/// Where a call is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function that contains the call.
    pub caller: String,
    /// The place in it: [`Site::site`].
    pub place: String,
}

impl Step {
    /// A call whose site is not known.
    pub fn of(function: impl Into<String>) -> Step {
        Step {
            function: function.into(),
            site: None,
        }
    }

    /// The call that a probe times.
    pub fn at(site: &Site) -> Step {
        let place = CallSite {
            caller: shown(&site.caller, site.caller_file.as_deref()),
            place: site.site.clone(),
        };
        Step {
            function: site.callee_shown(),
            site: (!site.site.is_empty()).then_some(place),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.site {
            Some(site) => write!(f, "{} [{}]", self.function, site.place),
            None => f.write_str(&self.function),
        }
    }
}

impl fmt::Display for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            let separator = if at > 0 { " > " } else { "" };
            write!(f, "{separator}{step}")?;
        }
        Ok(())
    }
}

impl From<CallPath> for String {
    fn from(path: CallPath) -> String {
        path.to_string()
    }
}

/// Reads the text back: a profile's JSON.
impl From<&str> for CallPath {
    fn from(text: &str) -> CallPath {
        let step = |step: &str| {
            let (function, place) = match step.split_once(" [") {
                Some((function, place)) => (function, Some(place.trim_end_matches(']'))),
                None => (step, None),
            };
            let site = place.map(|place| CallSite {
                caller: place
                    .rsplit_once('+')
                    .map_or(place, |(caller, _)| caller)
                    .to_owned(),
                place: place.to_owned(),
            });
            Step {
                site,
                ..Step::of(function)
            }
        };
        CallPath(text.split(" > ").map(step).collect())
    }
}

impl From<String> for CallPath {
    fn from(text: String) -> CallPath {
        CallPath::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let step = |function: &str, caller: &str, place: &str| Step {
            function: function.to_owned(),
            site: Some(CallSite {
                caller: caller.to_owned(),
                place: place.to_owned(),
            }),
        };
        let path = CallPath(vec![
            Step::of("root"),
            step("f", "main", "main+0x10"),
            Step::of("g"),
        ]);
        assert_eq!(path.to_string(), "root > f [main+0x10] > g");
        assert_eq!(CallPath::from(path.to_string().as_str()), path);
    }
}
