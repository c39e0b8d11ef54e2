//! `evenkeel compare` of recordings before and after a change.

use std::path::PathBuf;
use std::process::ExitCode;

use evenkeel_analysis::comparison::bounds::BoundSubject;
use evenkeel_analysis::profile::Profile;
use evenkeel_recording::{Compared, compared};
use evenkeel_report::compare::{Comparison, Input, Told};
use evenkeel_report::json;

use super::{Arguments, Format, differing};
use crate::output::{self, Failure};
use crate::progress::Reading;
use crate::report;

/// Exit code where a change is surely beyond its bound.
const BEYOND: u8 = 3;
/// Exit code where the data does not tell whether a change is beyond its bound.
const NOT_TOLD: u8 = 4;

/// Compares both sides.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = sides(arguments)?;
    arguments.json.check()?;
    let load = |files: &[PathBuf]| report::load(files, &arguments.ranking, &[]);
    let [before, after] = [load(files[0])?.profile, load(files[1])?.profile];
    let profiles = [&before, &after];
    let reading = Reading::of(&files.concat());
    let named = named(arguments, profiles);
    let compared = compared(files, profiles, &named, &reading.progress())?;
    drop(reading);
    exist(arguments, &compared)?;
    let [first, other] = [0, 1].map(|side: usize| compared.metas[side].first());
    let same_interval = first.map(|meta| &meta.interval) == other.map(|meta| &meta.interval);
    let comparison = Comparison::new(&Input {
        profiles,
        sides: &compared.sides,
        parts: &compared.parts,
        classes: &compared.classes,
        differing: &differing::of(&compared.metas),
        same_interval,
        has_waits: compared.metas.iter().flatten().all(|meta| meta.waits),
        timed_in_some: compared.timed_in_some.as_ref(),
        bounds: &arguments.fail_if,
    });
    if let Some(path) = &arguments.html {
        output::write(path, &comparison.html())?;
    }
    let json = || json::render(&comparison);
    arguments.json.output(json, || match arguments.format {
        Format::Markdown => comparison.markdown(),
        Format::Text => {
            let style = output::style(output::stdout_is_terminal(), "p99", false, 15);
            comparison.terminal(&style)
        }
    })?;
    Ok(exit_code(&comparison, arguments.strict))
}

/// The files of both sides.
fn sides(arguments: &Arguments) -> Result<[&[PathBuf]; 2], Failure> {
    match (&arguments.recordings[..], &arguments.after[..]) {
        ([before, after], []) => Ok([std::slice::from_ref(before), std::slice::from_ref(after)]),
        (before, after @ [_, ..]) => Ok([before, after]),
        (recordings, []) => Err(Failure::Usage(format!(
            "compare takes two recordings, {} are named: put -- between those before and those after (compare before*.keel -- after*.keel); \
             with --by host (build, server, options, day) it takes any number",
            recordings.len()
        ))),
    }
}

/// Functions that bounds name and that are a finding in neither profile.
fn named(arguments: &Arguments, profiles: [&Profile; 2]) -> Vec<String> {
    let findings = || profiles.iter().flat_map(|profile| &profile.findings);
    let bounds = arguments.fail_if.iter();
    let names = bounds.filter_map(|bound| match &bound.subject {
        BoundSubject::Finding(name) => Some(name),
        BoundSubject::Latency(_) | BoundSubject::Rate => None,
    });
    let is_new = |name: &&String| {
        !findings().any(|finding| &finding.function == *name || &finding.headline == *name)
    };
    names.filter(is_new).cloned().collect()
}

/// Refuses a bound whose name occurs on neither side: it is probably misspelt, and would always hold.
fn exist(arguments: &Arguments, compared: &Compared) -> Result<(), Failure> {
    for bound in &arguments.fail_if {
        let BoundSubject::Finding(name) = &bound.subject else {
            continue;
        };
        let mut findings = compared.parts.findings.iter().enumerate();
        let is_met = |(at, finding): (usize, &evenkeel_analysis::comparison::parts::Named)| {
            let is_it = &finding.function == name || &finding.headline == name;
            is_it && (finding.found != [false; 2] || compared.parts.is_met(at))
        };
        if !findings.any(is_met) {
            let there = compared.parts.findings.iter();
            let mut there: Vec<&str> = there
                .filter(|finding| finding.found != [false; 2])
                .map(|finding| finding.function.as_str())
                .collect();
            there.dedup();
            return Err(Failure::Usage(format!(
                "--fail-if {:?}: neither side has a call of {name}; findings are: {}",
                bound.text,
                there.join(", ")
            )));
        }
    }
    Ok(())
}

fn exit_code(comparison: &Comparison, strict: bool) -> ExitCode {
    let any = |told: Told| comparison.bounds.iter().any(|bound| bound.told == told);
    if any(Told::Beyond) {
        ExitCode::from(BEYOND)
    } else if strict && any(Told::NotTold) {
        ExitCode::from(NOT_TOLD)
    } else {
        ExitCode::SUCCESS
    }
}
