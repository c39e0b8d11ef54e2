//! `evenkeel report`.

mod between;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use evenkeel_analysis::Options;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::{Pick, SLOWEST};
use evenkeel_recording::{KeptWhole, Meta, Replayed, replay_between, replay_some};
use evenkeel_report::terminal::{self, Style};
use evenkeel_report::{advice, html, json};

use between::Between;

use crate::output::{self, Failure};
use crate::progress::Reading;
use crate::values;

/// Show the report of a recording
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel report run.keel
  evenkeel report run.keel --tail p99.9 --by class --html run.html
  evenkeel report run.keel --timeline p99 --timeline max
  evenkeel report run.keel --cohorts
  evenkeel report run.keel --slowest=20 --timeline slowest:3
  evenkeel report monday.keel tuesday.keel
  evenkeel report --since 14:00 --until 14:10 /var/lib/evenkeel/postgresql
  evenkeel report run.keel --json | jq '.factors[0]'")]
pub struct Arguments {
    /// A recording made by `evenkeel profile -o`, or a directory of recordings; several are reported as one
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    #[command(flatten)]
    between: Between,
    #[command(flatten)]
    view: View,
}

/// Options of the report.
#[derive(Args)]
pub struct View {
    #[command(flatten)]
    forms: Forms,
    /// Also draw the critical path of one interval: max, slowest:3 (the third slowest of the run) or id:N; of a recording made with --waits
    /// also a percentile (p50, p99.9), and thread by thread. May be repeated
    #[arg(long, value_name = "PICK")]
    timeline: Vec<Pick>,
    #[command(flatten)]
    ranking: Ranking,
}

/// Forms of a report, and what it shows at length.
#[derive(Args)]
pub struct Forms {
    #[command(flatten)]
    pub json: output::Json,
    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Tail shown with the variance: p95, p99 or p99.9
    #[arg(long, value_name = "PERCENTILE", default_value = "p99", value_parser = values::tail)]
    pub tail: String,
    /// Also list the slowest intervals of the run: when each was, and where its time went [without N: 10]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    slowest: Option<usize>,
    /// Show this part at length
    #[arg(long, value_name = "WHAT", value_parser = ["class"])]
    by: Option<String>,
    /// Show the whole comparison of the slowest 1 % with the middle half, node by node
    #[arg(long)]
    cohorts: bool,
}

impl Forms {
    /// Checks that the requested files can be written, so that long work does not fail at its end.
    pub fn check(&self) -> Result<(), Failure> {
        self.json.check()?;
        self.html.as_deref().map_or(Ok(()), output::check)
    }

    /// The style of the text. `factors`: the number of them that it lists.
    pub fn style(&self, is_terminal: bool, factors: usize) -> Style<'_> {
        let by_class = self.by.is_some();
        let mut style = output::style(is_terminal, &self.tail, by_class, factors);
        style.cohorts = self.cohorts;
        style.slowest = self.slowest.unwrap_or_default();
        style
    }
}

/// Options of the ranking of factors.
#[derive(Args)]
pub struct Ranking {
    /// Factors reported
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    k: usize,
    /// Smallest contribution of a reported factor
    #[arg(long, value_name = "FRACTION", default_value = "1%", value_parser = values::fraction)]
    threshold: f64,
    /// Exponent of the specificity
    #[arg(long, value_name = "1|2|3", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3))]
    specificity: u32,
}

impl Default for Ranking {
    fn default() -> Ranking {
        let Options {
            k,
            threshold,
            specificity,
            ..
        } = Options::default();
        Ranking {
            k,
            threshold,
            specificity,
        }
    }
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments {
        recordings,
        between,
        view,
    } = &arguments;
    let recordings = between.files(recordings)?;
    view.show_between(&recordings, between)?;
    Ok(ExitCode::SUCCESS)
}

impl View {
    /// Checks that the requested files can be written, so that long work does not fail at its end.
    pub fn check(&self) -> Result<(), Failure> {
        self.forms.check()
    }

    /// Shows the profile of the recordings.
    pub fn show(&self, recordings: &[PathBuf]) -> Result<(), Failure> {
        self.show_between(recordings, &Between::default())
    }

    fn show_between(&self, recordings: &[PathBuf], between: &Between) -> Result<(), Failure> {
        let is_output =
            |path: &&PathBuf| path.extension().is_some_and(|it| it == "json") && !path.exists();
        if let Some(path) = recordings
            .iter()
            .find(is_output)
            .filter(|_| self.forms.json.is_printed())
        {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is no recording: to write JSON to it, write --json={path}"
            )));
        }
        let profile = match between.moments()? {
            Some(moments) => load_between(recordings, &self.ranking, moments)?,
            None => {
                let defaults = Options::default().timelines;
                let slowest = self.forms.slowest.unwrap_or_default().max(SLOWEST);
                let picked = (&self.timeline[..], &defaults[..]);
                load_of(recordings, &self.ranking, picked, slowest, &|_| true)?.profile
            }
        };
        let forms = &self.forms;
        if let Some(path) = &forms.html {
            output::write(path, &html::render(&profile))?;
        }
        if let Some(path) = &forms.json.json {
            output::write(path, &json::profile(&profile))?;
        }
        if forms.json.is_printed() {
            return Ok(());
        }
        let style = forms.style(output::stdout_is_terminal(), self.ranking.k);
        let mut text = terminal::render(&profile, &style);
        if !self.timeline.is_empty() {
            text.push('\n');
            text.push_str(&terminal::timeline::render(&profile, &style));
        }
        output::print(&text)
    }
}

/// Contents of a recording.
pub struct Loaded {
    /// Its profile.
    pub profile: Profile,
    /// The facts of the session.
    pub meta: Meta,
}

/// The profile of a recording, with the critical paths of the picked intervals, or of a default selection if none is
/// picked.
pub fn load(paths: &[PathBuf], ranking: &Ranking, timelines: &[Pick]) -> Result<Loaded, Failure> {
    let defaults = Options::default().timelines;
    load_or(paths, ranking, timelines, &defaults)
}

/// Like [`load`], with `otherwise` as the default selection.
pub fn load_or(
    paths: &[PathBuf],
    ranking: &Ranking,
    timelines: &[Pick],
    otherwise: &[Pick],
) -> Result<Loaded, Failure> {
    load_of(paths, ranking, (timelines, otherwise), SLOWEST, &|_| true)
}

/// The profile of the recordings that `wanted` selects.
pub fn load_some(
    paths: &[PathBuf],
    ranking: &Ranking,
    wanted: &dyn Fn(&Meta) -> bool,
) -> Result<Loaded, Failure> {
    load_of(paths, ranking, (&[], &[]), SLOWEST, wanted)
}

/// The profile of the minutes of sums between two moments, nanoseconds since 1970.
fn load_between(
    paths: &[PathBuf],
    ranking: &Ranking,
    moments: [u64; 2],
) -> Result<Profile, Failure> {
    let reading = Reading::of(paths);
    let replayed = replay_between(paths, moments, &reading.progress())?;
    reading.then("putting the profile together");
    let name = names(paths);
    let Some(covered) = &replayed.covered else {
        return Err(between::nothing(&replayed.meta, &name));
    };
    let profile = finished(&replayed, ranking, &[], &[], &name)?;
    between::say(covered);
    Ok(profile)
}

fn load_of(
    paths: &[PathBuf],
    ranking: &Ranking,
    (timelines, otherwise): (&[Pick], &[Pick]),
    slowest: usize,
    wanted: &dyn Fn(&Meta) -> bool,
) -> Result<Loaded, Failure> {
    // The last one asked for is kept.
    let id = timelines.iter().rev().find_map(|pick| match pick {
        Pick::Id(id) => Some(*id),
        _ => None,
    });
    let kept = KeptWhole { id, slowest };
    let reading = Reading::of(paths);
    let replayed = replay_some(paths, kept, wanted, &reading.progress())?;
    reading.then("putting the profile together");
    let name = names(paths);
    let needs_waits = |pick: &&Pick| matches!(pick, Pick::Percentile(_));
    if let Some(pick) = timelines.iter().find(needs_waits)
        && !replayed.meta.waits
    {
        return Err(Failure::Usage(format!(
            "{name} keeps its slowest intervals whole, and none at {pick}: write --timeline slowest:1, or record it with `evenkeel profile --waits -o FILE`",
        )));
    }
    let profile = finished(&replayed, ranking, timelines, otherwise, &name)?;
    Ok(Loaded {
        profile,
        meta: replayed.meta,
    })
}

/// The profile of replayed recordings.
pub fn profile_of(
    replayed: &Replayed,
    paths: &[PathBuf],
    ranking: &Ranking,
) -> Result<Profile, Failure> {
    finished(replayed, ranking, &[], &[], &names(paths))
}

fn finished(
    replayed: &Replayed,
    ranking: &Ranking,
    timelines: &[Pick],
    otherwise: &[Pick],
    name: &str,
) -> Result<Profile, Failure> {
    let options = Options {
        k: ranking.k,
        threshold: ranking.threshold,
        specificity: ranking.specificity,
        timelines: if timelines.is_empty() {
            otherwise.to_vec()
        } else {
            timelines.to_vec()
        },
        ..Options::default()
    };
    let mut profile = replayed.profile(&options);
    if replayed.analysis.intervals_seen() == 0 {
        return Err(Failure::Usage(format!(
            "{} holds no complete interval: record for longer, or with the server under load",
            name
        )));
    }
    for pick in timelines {
        if !profile
            .timelines
            .iter()
            .any(|timeline| timeline.pick == pick.to_string())
        {
            return Err(Failure::Usage(format!(
                "{} holds no interval for --timeline {pick}: it was not in the last round, or was not kept",
                name
            )));
        }
    }
    advice::add(&mut profile);
    if replayed.cut {
        profile.warnings.push(Warning::RecordingCut);
    }
    Ok(profile)
}

/// The files' names in a message.
pub fn names(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(" and ")
}
