//! Texts of warnings and reasons, which are types everywhere else: what happened, why, and what to do.

mod java;
mod reasons;
mod spans;
mod warnings;

use evenkeel_analysis::findings::reasons::{NotSplit, NotTimed};
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::{LeftOut, Profile, Reason};

use crate::chains;

pub use reasons::{not_split, not_timed};
pub use warnings::warning;

/// The profile with its warnings and reasons in words, as in JSON.
pub fn in_words(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    for it in &mut profile.warnings {
        *it = Warning::Said(warning(it));
    }
    for call in &mut profile.unpatched {
        call.reason = NotTimed::Said(not_timed(&call.reason));
    }
    for unseen in profile.unseen.iter_mut().flatten() {
        unseen.why = NotSplit::Said(not_split(&unseen.why));
    }
    for chain in profile
        .findings
        .iter_mut()
        .filter_map(|it| it.chain.as_mut())
    {
        chain.says = chains::says(chain);
    }
    profile.discarded_by_reason = std::mem::take(&mut profile.discarded_by_reason)
        .into_iter()
        .map(|(reason, n)| (LeftOut::Said(left_out(&reason)), n))
        .collect();
    profile
}

/// Why intervals were left out.
pub fn left_out(reason: &LeftOut) -> String {
    match reason {
        LeftOut::Known(reason) => discarded(*reason).to_owned(),
        LeftOut::Said(text) => text.clone(),
    }
}

fn discarded(reason: Reason) -> &'static str {
    match reason {
        Reason::LeftEarly => {
            "left early (longjmp, exception or error), or begun again before the end"
        }
        Reason::RecordsLost => "records lost",
        Reason::Abandoned => "its stack was switched (coroutines, ucontext)",
        Reason::PlanChanged => "plan changed under it",
        Reason::Malformed => "malformed records",
        Reason::TooManyCalls => "too many calls to keep",
        Reason::BeforeFirstRound => "began before the first round",
        Reason::NeverEnded => "end never seen",
        Reason::RingFull => "the ring was full at the beginning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile that was written is read, and written again, in the same words.
    #[test]
    fn finished_texts_stay() {
        let profile = Profile {
            warnings: vec![Warning::NoWakers, Warning::Said("as it was".into())],
            discarded_by_reason: [(LeftOut::Known(Reason::RecordsLost), 3)].into(),
            ..Profile::default()
        };
        let said = in_words(&profile);
        let json = serde_json::to_string(&said).unwrap();
        assert!(json.contains("\"records lost\":3") && json.contains("\"as it was\""));
        let read: Profile = serde_json::from_str(&json).unwrap();
        assert_eq!((&read, &in_words(&read)), (&said, &said));
    }
}
