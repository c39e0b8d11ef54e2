//! `evenkeel compare --by`: groups of recordings.

use std::process::ExitCode;

use clap::ValueEnum;
use evenkeel_analysis::profile::Profile;
use evenkeel_recording::Meta;
use evenkeel_report::compare::groups::{Group, Groups};
use evenkeel_report::{json, messages};

use super::Arguments;
use crate::output::{self, Failure};
use crate::report;

/// Attributes that group recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The machine
    Host,
    /// The build id of the program
    Build,
    /// The version of the server, where a preset knows it
    Server,
    /// The command line
    Options,
    /// The day (UTC) on which the recording began
    Day,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Host => "host",
            By::Build => "build",
            By::Server => "server",
            By::Options => "options",
            By::Day => "day",
        }
    }

    /// The group of a recording, or a text that says the recording does not have the attribute.
    fn of(self, meta: &Meta) -> String {
        let known = match self {
            By::Host => meta.host.clone(),
            By::Build => meta.build.clone(),
            By::Server => meta.server.clone(),
            By::Options => meta.target.clone(),
            By::Day => {
                let since_1970 = std::time::Duration::from_nanos(meta.started.unix_ns);
                let began = std::time::UNIX_EPOCH + since_1970;
                let text = humantime::format_rfc3339_seconds(began).to_string();
                text[..10].to_owned()
            }
        };
        if known.is_empty() {
            format!("({} unknown)", self.name())
        } else {
            known
        }
    }
}

/// Compares the groups.
pub fn run(arguments: &Arguments, by: By) -> Result<ExitCode, Failure> {
    let paths = &arguments.recordings;
    let metas = evenkeel_recording::attributes(paths)?;
    let mut names: Vec<String> = metas.iter().map(|meta| by.of(meta)).collect();
    names.sort();
    names.dedup();
    if names.len() < 2 {
        return Err(Failure::Usage(format!(
            "all of {} have the same {}, {}: there is nothing to compare; name recordings of others",
            report::names(paths),
            by.name(),
            names.concat()
        )));
    }
    let canary = arguments.canary.as_deref();
    let canary = canary.map(|text| begins(&names, text, by)).transpose()?;
    let mut members: Vec<(Group, Profile)> = Vec::new();
    for name in &names {
        match member(arguments, by, name, &metas) {
            Ok(member) => members.push(member),
            // One host without load is no reason to say nothing of the others.
            Err(Failure::Usage(why)) => {
                tell!("evenkeel: {} {name} is left out: {why}", by.name());
            }
            Err(error) => return Err(error),
        }
    }
    if members.len() < 2 {
        return Err(Failure::Usage(format!(
            "fewer than two groups by {} have intervals: there is nothing to compare",
            by.name()
        )));
    }
    let members: Vec<(Group, &Profile)> = members
        .iter()
        .map(|(group, profile)| (group.clone(), profile))
        .collect();
    let groups = Groups::new(by.name(), &members, canary.as_deref());
    let text = || {
        let style = output::style(output::stdout_is_terminal(), "p99", false, 15);
        groups.terminal(&style)
    };
    arguments.json.output(|| json::render(&groups), text)?;
    Ok(ExitCode::SUCCESS)
}

/// The recordings of one group as one profile.
fn member(
    arguments: &Arguments,
    by: By,
    name: &str,
    metas: &[Meta],
) -> Result<(Group, Profile), Failure> {
    let is_its = |meta: &Meta| by.of(meta) == name;
    let loaded = report::load_some(&arguments.recordings, &arguments.ranking, &is_its)?;
    let profile = loaded.profile;
    for warning in &profile.warnings {
        tell!("evenkeel: {name}: {}", messages::warning(warning));
    }
    let own = || metas.iter().filter(|meta| is_its(meta));
    let p99_ns = profile.percentiles_ns.get("p99").copied();
    let group = Group {
        name: name.to_owned(),
        recordings: own().count(),
        started_unix_ns: own().map(|meta| meta.started.unix_ns).min(),
        intervals: profile.intervals,
        mean_ns: profile.mean_ns,
        sd_ns: profile.sd_ns,
        p99_ns: p99_ns.unwrap_or_default(),
        differs: false,
    };
    Ok((group, profile))
}

/// The one group whose name begins with `text`.
fn begins(names: &[String], text: &str, by: By) -> Result<String, Failure> {
    let fits: Vec<&String> = names.iter().filter(|name| name.starts_with(text)).collect();
    let exact = names.iter().find(|name| *name == text);
    match (exact, &fits[..]) {
        (Some(name), _) => Ok(name.clone()),
        (None, [name]) => Ok((*name).clone()),
        _ => Err(Failure::Usage(format!(
            "{} groups by {} begin with {text:?}; there are: {}",
            fits.len(),
            by.name(),
            names.join(", ")
        ))),
    }
}
