//! Recordings before and after a change, replayed together on what both timed.
//!
//! Programs, builds and options may differ. Call sites are matched as in [`crate::merge`], and a call that only one
//! side timed is its caller's own time on both. Where one side was recorded without `--waits`, waits are followed on
//! neither.

use std::path::PathBuf;

use evenkeel_analysis::comparison::gather::{Gathering, Member};
use evenkeel_analysis::comparison::parts::Parts;
use evenkeel_analysis::comparison::sides::Side;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::Profile;

use crate::Meta;
use crate::error::Error;
use crate::progress::Progress;
use crate::several::{Alike, Wanted, attributes, scout};

/// Both sides, gathered.
#[derive(Debug)]
pub struct Compared {
    /// Their recordings, in blocks of time.
    pub sides: [Side; 2],
    /// The parts that time is divided into.
    pub parts: Parts,
    /// Names of classes, by id.
    pub classes: Vec<String>,
    /// Facts of each recording of a side.
    pub metas: [Vec<Meta>; 2],
    /// Number of calls that only some recordings timed, and names of some of them; `None` where all timed the same.
    pub timed_in_some: Option<(usize, Vec<String>)>,
}

/// Gathers the recordings of both sides, whose profiles are these. `also`: functions that are looked for although no profile has them as a
/// finding. A file may be on both sides.
///
/// # Errors
/// A file cannot be read, one is named twice on a side, or one has sums and another has intervals.
pub fn compared(
    files: [&[PathBuf]; 2],
    profiles: [&Profile; 2],
    also: &[String],
    progress: &Progress,
) -> Result<Compared, Error> {
    let mut metas: [Vec<Meta>; 2] = [Vec::new(), Vec::new()];
    let mut members = Vec::new();
    for (side, files) in files.into_iter().enumerate() {
        for (at, path) in files.iter().enumerate() {
            if files[..at].contains(path) {
                return Err(Error::Twice { path: path.clone() });
            }
            for meta in attributes(std::slice::from_ref(path))? {
                members.push(Member {
                    side,
                    ended_for_one: ended_for_one(profiles[side]),
                });
                metas[side].push(meta);
            }
        }
    }
    let wanted = Wanted {
        alike: Alike::MayDiffer,
        without_waits: !metas.iter().flatten().all(|meta| meta.waits),
        again: true,
        ..Wanted::default()
    };
    let recordings = scout(&files.concat(), &wanted, progress)?;
    let mut parts = Parts::of(&profiles[0].findings, &profiles[1].findings);
    for function in also {
        parts.also(function);
    }
    let ticks_per_ns = recordings.first().ticks_per_ns;
    let mut gathering = Gathering::new(&members, profiles, parts, ticks_per_ns);
    let replayed = recordings.together(
        None,
        Some(&mut |recording, sites, analysis| {
            let recording = recording as usize;
            let (observed, minutes) = (analysis.take_observed(), analysis.take_minutes());
            let Some(paths) = analysis.joint_paths() else {
                return Ok(());
            };
            let names = (paths, sites, analysis.classes());
            for observed in &observed {
                gathering.add(recording, observed, names);
            }
            for minute in &minutes {
                gathering.add_minute(recording, minute, names);
            }
            Ok(())
        }),
    )?;
    let timed_in_some = replayed.meta.facts.warnings.iter().find_map(|it| match it {
        Warning::TimedInSome { sites, callees } => Some((*sites, callees.clone())),
        _ => None,
    });
    Ok(Compared {
        sides: gathering.sides(),
        parts: gathering.parts,
        classes: replayed.analysis.classes().names().to_vec(),
        metas,
        timed_in_some,
    })
}

/// Intervals that ended for one that has records: sampling skips some, the whole run over.
fn ended_for_one(profile: &Profile) -> f64 {
    let recorded = profile.intervals_seen.saturating_sub(profile.sampled_out);
    profile.intervals_seen.max(1) as f64 / recorded.max(1) as f64
}
