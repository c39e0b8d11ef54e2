//! Several recordings replayed as one ([`evenkeel_analysis::fleet::joint`] says how).

use std::ops::Range;
use std::path::{Path, PathBuf};

use evenkeel_analysis::Analysis;
use evenkeel_analysis::sites::SiteTable;

use crate::Meta;
use crate::error::Error;
use crate::part::Part;
use crate::progress::Progress;
use crate::read::{KeptWhole, Replay, Replayed};
use crate::union::{self, Union};

/// Recordings after their first replay.
pub(crate) struct Recordings {
    paths: Vec<PathBuf>,
    all: Vec<Part>,
    /// The only one that is wanted, if it is.
    only: Option<Replayed>,
    /// Intervals that are handed on come with their critical paths.
    pub(crate) pieces: bool,
    between: Option<[u64; 2]>,
    progress: Progress,
}

/// Sees an analysis as it goes: the number of the recording at hand, the call sites of all, and the analysis.
pub(crate) type Observer<'a> = dyn FnMut(u64, &SiteTable, &mut Analysis) -> Result<(), Error> + 'a;

/// What explains each recording of the files, in their order.
///
/// # Errors
/// A file cannot be read.
pub fn attributes(paths: &[PathBuf]) -> Result<Vec<Meta>, Error> {
    let mut all = Vec::new();
    for path in paths {
        let mut replay = Replay::open(path)?;
        while let Some(meta) = replay.next_meta()? {
            all.push(meta);
        }
    }
    Ok(all)
}

impl Replay {
    /// Replays everything; where the file is of several recordings, all together ([`replay_files`]).
    ///
    /// # Errors
    /// The file is damaged.
    pub fn run(self) -> Result<Replayed, Error> {
        replay_files(&[self.path().to_owned()], self.kept())
    }
}

/// Replays recordings together, each file of one or several. `kept`: the interval whose critical path is kept in any case.
///
/// # Errors
/// A file cannot be read, or they are not of the same.
pub fn replay_files(paths: &[PathBuf], kept: Option<u64>) -> Result<Replayed, Error> {
    let kept = KeptWhole {
        id: kept,
        ..KeptWhole::default()
    };
    replay_some(paths, kept, &|_| true, &Progress::default())
}

/// The same of those recordings only that are `wanted`; `progress` counts what is read.
///
/// # Errors
/// As [`replay_files`].
pub fn replay_some(
    paths: &[PathBuf],
    kept: KeptWhole,
    wanted: &dyn Fn(&Meta) -> bool,
    progress: &Progress,
) -> Result<Replayed, Error> {
    let wanted = Wanted {
        of: wanted,
        kept,
        ..Wanted::default()
    };
    let mut scouted = scout(paths, &wanted, progress)?;
    match scouted.only.take() {
        Some(replayed) => Ok(replayed),
        None => scouted.together(kept.id, None),
    }
}

/// The same for all recordings. Of their minutes of sums, only those that overlap the time between two moments count,
/// nanoseconds since 1970.
///
/// # Errors
/// As [`replay_files`].
pub fn replay_between(
    paths: &[PathBuf],
    between: [u64; 2],
    progress: &Progress,
) -> Result<Replayed, Error> {
    let wanted = Wanted {
        between: Some(between),
        ..Wanted::default()
    };
    let mut scouted = scout(paths, &wanted, progress)?;
    match scouted.only.take() {
        Some(replayed) => Ok(replayed),
        None => scouted.together(None, None),
    }
}

/// What a file says first of its first recording; nothing where it says nothing.
///
/// # Errors
/// The file cannot be read.
pub fn first_meta(path: &Path) -> Result<Option<Meta>, Error> {
    Replay::open(path)?.first_meta()
}

/// Whether recordings may be of different programs and intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alike {
    /// They are added up: each must be there once, and all must be of the same.
    MustBe,
    /// They are compared.
    MayDiffer,
}

/// Which recordings are replayed, and how.
pub(crate) struct Wanted<'a> {
    /// Only these.
    pub(crate) of: &'a dyn Fn(&Meta) -> bool,
    /// Intervals kept whole.
    pub(crate) kept: KeptWhole,
    /// They will be read a second time in any case.
    pub(crate) again: bool,
    pub(crate) alike: Alike,
    /// Waits are not followed where they could be.
    pub(crate) without_waits: bool,
    /// Of sums, the minutes between two moments alone, nanoseconds since 1970.
    pub(crate) between: Option<[u64; 2]>,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Wanted {
            of: &|_| true,
            kept: KeptWhole::default(),
            again: false,
            alike: Alike::MustBe,
            without_waits: false,
            between: None,
        }
    }
}

/// Replays each recording of the files for the first time.
///
/// # Errors
/// As [`replay_files`].
pub(crate) fn scout(
    paths: &[PathBuf],
    wanted: &Wanted<'_>,
    progress: &Progress,
) -> Result<Recordings, Error> {
    let mut all: Vec<Part> = Vec::new();
    let mut only = None;
    progress.expect(paths);
    let mut again = wanted.again || paths.len() > 1;
    if again {
        progress.expect(paths);
    }
    for (file, path) in paths.iter().enumerate() {
        if wanted.alike == Alike::MustBe && paths[..file].contains(path) {
            return Err(Error::Twice { path: path.clone() });
        }
        let mut replay = Replay::open_counted(path, progress)?;
        replay.keep_whole(wanted.kept);
        if wanted.without_waits {
            replay.ignore_waits();
        }
        replay.keep_between(wanted.between);
        while let Some(replayed) = replay.next(None)? {
            let part = Part {
                path: path.clone(),
                file,
                follows_waits: replayed.meta.waits && !wanted.without_waits,
                meta: replayed.meta.clone(),
                sites: replayed.sites.clone(),
                scouted: replayed.analysis.scouted(),
                cut: replayed.cut,
                covered: replayed.covered.clone(),
                wanted: (wanted.of)(&replayed.meta),
            };
            if part.wanted {
                let is_first = all.iter().all(|part| !part.wanted);
                only = is_first.then_some(replayed);
            }
            all.push(part);
            check(&all, wanted.alike)?;
            // One file that holds several.
            if only.is_none() && !again {
                again = true;
                progress.expect(paths);
            }
        }
    }
    Ok(Recordings {
        paths: paths.to_vec(),
        all,
        only,
        pieces: false,
        between: wanted.between,
        progress: progress.clone(),
    })
}

/// Whether the newest recording may be taken together with the first.
fn check(parts: &[Part], alike: Alike) -> Result<(), Error> {
    let (first, last) = (&parts[0], &parts[parts.len() - 1]);
    let with = |option: bool| if option { "with" } else { "without" };
    let summaries = (
        "options",
        format!("{} --summary", with(first.meta.summary)),
        format!("{} --summary", with(last.meta.summary)),
    );
    let all = [
        (
            "programs",
            first.meta.program().to_owned(),
            last.meta.program().to_owned(),
        ),
        (
            "intervals",
            first.meta.interval.clone(),
            last.meta.interval.clone(),
        ),
        (
            "options",
            format!(
                "{} --waits, {} --summary",
                with(first.meta.waits),
                with(first.meta.summary)
            ),
            format!(
                "{} --waits, {} --summary",
                with(last.meta.waits),
                with(last.meta.summary)
            ),
        ),
    ];
    let pairs = match alike {
        Alike::MustBe => all.to_vec(),
        Alike::MayDiffer => vec![summaries],
    };
    for (what, one, other) in pairs {
        // A recording that was cut before its first word says nothing.
        if one != other && !last.meta.root.is_empty() && !first.meta.root.is_empty() {
            return Err(Error::Different {
                one: first.path.clone(),
                other: last.path.clone(),
                what: format!("their {what} differ ({one}, {other})"),
            });
        }
    }
    Ok(())
}

impl Recordings {
    fn parts(&self) -> Vec<&Part> {
        self.all.iter().filter(|part| part.wanted).collect()
    }

    /// What explains each recording that is wanted, and the file that it is in.
    pub(crate) fn metas(&self) -> Vec<(&Path, &Meta)> {
        let parts = self.parts().into_iter();
        parts
            .map(|part| (part.path.as_path(), &part.meta))
            .collect()
    }

    /// The only recording that is wanted, as it was replayed for the first time.
    pub(crate) fn only(&self) -> Option<&Replayed> {
        self.only.as_ref()
    }

    /// The recording whose clock all others are converted to. A recording without intervals may lack even its
    /// subject.
    pub(crate) fn first(&self) -> &Meta {
        &union::first(&self.parts()).meta
    }

    /// All of them taken together. `observer` sees the analysis as it goes, with the number of the recording.
    pub(crate) fn together(
        &self,
        kept: Option<u64>,
        mut observer: Option<&mut Observer<'_>>,
    ) -> Result<Replayed, Error> {
        let union = Union::of(self.parts());
        let mut analysis = union.analysis();
        if let Some(id) = kept {
            analysis.keep_interval(id);
        }
        match &observer {
            Some(_) if self.pieces => analysis.observe_pieces(),
            Some(_) => analysis.observe(),
            None => {}
        }
        let meta = union.meta();
        let mut rest = self.all.iter().peekable();
        let mut at = 0;
        for (file, path) in self.paths.iter().enumerate() {
            let mut replay = self.reopen(path)?;
            while let Some(part) = rest.next_if(|part| part.file == file) {
                if !part.wanted {
                    replay.next_meta()?;
                    continue;
                }
                let translation = union.translation(at, meta.ticks_per_ns);
                part.begin(&mut analysis, translation.clock);
                let joint = Some((std::mem::take(&mut analysis), &translation));
                let next = match &mut observer {
                    Some(observer) => {
                        let at = at as u64;
                        replay.next_observed(joint, &mut |analysis| {
                            observer(at, &union.sites, analysis)
                        })?
                    }
                    None => replay.next(joint)?,
                };
                match next {
                    Some(replayed) => analysis = replayed.analysis,
                    // It was there before, so another has changed the file.
                    None => return Err(changed(path)),
                }
                at += 1;
            }
        }
        Ok(Replayed {
            meta,
            cut: union.parts.iter().any(|part| part.cut),
            covered: covered(&union.parts),
            sites: union.sites,
            analysis,
        })
    }

    /// Opens one of the files once more.
    pub(crate) fn reopen(&self, path: &Path) -> Result<Replay, Error> {
        let mut replay = Replay::open_counted(path, &self.progress)?;
        replay.keep_between(self.between);
        Ok(replay)
    }
}

/// From the first beginning to the last end.
fn covered(parts: &[&Part]) -> Option<Range<u64>> {
    let all = parts.iter().filter_map(|part| part.covered.clone());
    all.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
}

pub(crate) fn changed(path: &Path) -> Error {
    Error::File {
        path: path.to_owned(),
        source: std::io::Error::other("it was changed while it was read"),
    }
}
