//! Several groups of recordings side by side, one profile each: which hosts differ from the rest, and is the canary worse?
//!
//! Compares each group's mean, variance and each finding's part of it (ns²) with the average of the groups that do
//! not differ, weighted by intervals. The group that is farthest off is set aside and the others are compared again,
//! so that one bad host does not make all others look good. Of a thousand comparisons fifty are beyond two standard
//! errors by chance alone. Therefore p-values are corrected for the number of comparisons: the chance of one false
//! difference among all is at most [`LEVEL`] (Holm 1979, "A simple sequentially rejective multiple test procedure").
//! A difference below [`CHANGE_MIN`] is ignored, however sure it is.
//!
//! Errors are those of the recordings: what they cannot know is how much one machine differs from an equal one, or
//! today from tomorrow. Recordings of several hosts or hours of one build show that.

mod figures;
mod group;
mod holm;
mod terminal;

use evenkeel_analysis::profile::{PROFILE_VERSION, Profile};
use serde::Serialize;

use super::changes::Change;
use figures::{Figure, Figures};
pub use group::{Group, What};

/// Chance that any of the shown differences is false.
pub const LEVEL: f64 = 0.05;
/// Smallest difference that counts: of the mean as a fraction of the others' mean, of the rest as one of their variance.
pub const CHANGE_MIN: f64 = 0.02;

/// A figure of one group beside that of the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The group's name.
    pub group: String,
    /// The compared subject.
    #[serde(flatten)]
    pub what: What,
    /// The others (before) and the group (after), with the errors of both.
    pub figures: Change,
    /// The change as a fraction: of the others' mean, else of their variance. Absent where that is nought.
    pub change_fraction: Option<f64>,
    /// Chance of such a difference between equal groups (two-sided, normal).
    pub p: f64,
    /// The p-value, corrected for the number of comparisons.
    pub p_corrected: f64,
    /// It counts: beyond chance, and not too small.
    pub differs: bool,
}

/// Groups and where they differ.
#[derive(Clone, Debug, Serialize)]
pub struct Groups {
    /// Version of the JSON, that of the profile's.
    pub version: u32,
    /// The attribute that groups the recordings.
    pub by: String,
    /// The outcome in a few sentences.
    pub summary: String,
    /// Reasons to doubt it.
    pub warnings: Vec<String>,
    /// The groups, the slowest first.
    pub groups: Vec<Group>,
    /// Number of compared figures.
    pub comparisons: usize,
    /// The figures of each group: groups that differ first, the largest change first.
    pub differences: Vec<Difference>,
}

impl Groups {
    /// Compares groups, each with its profile. `canary`: only the group of this name is compared with the others.
    pub fn new(by: &str, members: &[(Group, &Profile)], canary: Option<&str>) -> Groups {
        let all: Vec<Figures> = figures::of(members);
        let mut groups: Vec<Group> = members.iter().map(|(group, _)| group.clone()).collect();
        let subjects: Vec<usize> = (0..members.len())
            .filter(|&at| canary.is_none_or(|name| groups[at].name == name))
            .collect();
        let mut differences = compare(&all, &groups, &subjects);
        for group in &mut groups {
            group.differs = differences
                .iter()
                .any(|one| one.differs && one.group == group.name);
        }
        let order = |one: &Difference| {
            let size = one.change_fraction.unwrap_or(f64::INFINITY).abs();
            (!one.differs, -size)
        };
        differences.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        groups.sort_by(|a, b| b.sd_ns.total_cmp(&a.sd_ns));
        Groups {
            version: PROFILE_VERSION,
            by: by.to_owned(),
            summary: summary(by, &groups, &differences, canary),
            warnings: warnings(&groups),
            groups,
            comparisons: differences.len(),
            differences,
        }
    }
}

/// Compares each subject with the others; who differs is set aside, the farthest off first.
fn compare(all: &[Figures], groups: &[Group], subjects: &[usize]) -> Vec<Difference> {
    let mut aside: Vec<usize> = Vec::new();
    loop {
        let compared = against(all, groups, subjects, &aside);
        let farthest = |at: &usize| {
            let own = compared.iter().filter(|one| one.group == groups[*at].name);
            let sure = own.filter(|one| one.differs).map(Difference::distance);
            sure.fold(0.0, f64::max)
        };
        let next = subjects
            .iter()
            .filter(|at| !aside.contains(at))
            .map(|at| (*at, farthest(at)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match next {
            // The last two have only each other.
            Some((at, distance)) if distance > 0.0 && all.len() - aside.len() > 2 => aside.push(at),
            _ => return compared,
        }
    }
}

/// Each subject against the groups that are not set aside.
fn against(
    all: &[Figures],
    groups: &[Group],
    subjects: &[usize],
    aside: &[usize],
) -> Vec<Difference> {
    let mut compared: Vec<Difference> = Vec::new();
    for &at in subjects {
        let others = |other: &usize| *other != at && !aside.contains(other);
        let others: Vec<usize> = (0..all.len()).filter(others).collect();
        let weight = |other: usize| groups[other].intervals as f64;
        let base = figures::average(all, &others, weight);
        for (number, figure) in all[at].iter().enumerate() {
            compared.push(difference(&groups[at].name, figure, number, &base));
        }
    }
    let p: Vec<f64> = compared.iter().map(|one| one.p).collect();
    for (one, corrected) in compared.iter_mut().zip(holm::corrected(&p)) {
        one.p_corrected = corrected;
        let large = one
            .change_fraction
            .is_none_or(|part| part.abs() >= CHANGE_MIN);
        one.differs = corrected < LEVEL && large;
    }
    compared
}

fn difference(group: &str, figure: &Figure, number: usize, base: &Figures) -> Difference {
    let figures = Change::new(base[number].measured, figure.measured);
    let whole = match figure.what {
        What::Mean => base[figures::MEAN].measured.value,
        _ => base[figures::VARIANCE].measured.value,
    };
    Difference {
        group: group.to_owned(),
        what: figure.what.clone(),
        figures,
        change_fraction: (whole > 0.0).then(|| figures.change / whole),
        p: holm::two_sided(figures.change, figures.se),
        p_corrected: 1.0,
        differs: false,
    }
}

impl Difference {
    /// In standard errors.
    fn distance(&self) -> f64 {
        let Change { change, se, .. } = self.figures;
        if se > 0.0 { change.abs() / se } else { 0.0 }
    }
}

fn summary(by: &str, groups: &[Group], differences: &[Difference], canary: Option<&str>) -> String {
    let sentence = |group: &Group| {
        let own = || {
            differences
                .iter()
                .filter(|one| one.group == group.name && one.differs)
        };
        let variance = own().find(|one| one.what == What::Variance);
        let mean = own().find(|one| one.what == What::Mean);
        let finding = own().find_map(|one| match &one.what {
            What::Finding { headline, .. } => Some((one, headline)),
            _ => None,
        });
        let mut parts = Vec::new();
        let percent = |one: &Difference| one.change_fraction.map(crate::units::signed_percent);
        if let Some(change) = variance.and_then(percent) {
            parts.push(format!("variance {change}"));
        }
        if let Some(change) = mean.and_then(percent) {
            parts.push(format!("mean {change}"));
        }
        if let Some((one, headline)) = finding {
            let part = percent(one).map_or_else(String::new, |part| {
                format!(" {part} of the others' variance")
            });
            parts.push(format!("most of all in {headline}{part}"));
        }
        let worse = variance.or(mean).or(finding.map(|(one, _)| one));
        let word = match worse.map(|one| one.figures.change > 0.0) {
            Some(true) => "is worse than the others",
            _ => "is better than the others",
        };
        format!("{} {word}: {}.", group.name, parts.join(", "))
    };
    let differing: Vec<String> = groups
        .iter()
        .filter(|group| group.differs)
        .map(sentence)
        .collect();
    match (differing.is_empty(), canary) {
        (true, Some(name)) => format!(
            "{name} cannot be told from the others: no difference of {} or more is beyond chance.",
            crate::units::whole_percent(CHANGE_MIN)
        ),
        (true, None) => format!(
            "No {by} can be told from the rest: no difference of {} or more is beyond chance.",
            crate::units::whole_percent(CHANGE_MIN)
        ),
        (false, _) => differing.join(" "),
    }
}

fn warnings(groups: &[Group]) -> Vec<String> {
    let mut warnings = Vec::new();
    let few: Vec<&str> = groups
        .iter()
        .filter(|group| group.intervals < evenkeel_analysis::findings::warnings::INTERVALS_FEW)
        .map(|group| group.name.as_str())
        .collect();
    if !few.is_empty() {
        warnings.push(format!(
            "Few intervals of {}: small differences are not seen there; record for longer.",
            few.join(", ")
        ));
    }
    if groups.iter().all(|group| group.recordings == 1) {
        warnings.push(
            "One recording of each: how much equal ones differ from each other, or from one hour to the next, is not known. \
             Several of each tell."
                .to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests;
