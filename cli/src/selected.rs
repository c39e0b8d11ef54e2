//! Which interval is profiled: as the options say, or the one that is known of the program.

use std::ffi::OsString;
use std::path::PathBuf;

use evenkeel_attach::process;
use evenkeel_intervals::presets::{JavaPreset, PRESETS, Preset};
use evenkeel_intervals::spec::NamedCall;
use evenkeel_session::profile::IntervalSelector;
use evenkeel_session::{Subject, launch};

use crate::doctor;
use crate::no_interval;
use crate::output::Failure;

/// The interval, and what comes with it.
pub struct Selected {
    pub selector: IntervalSelector,
    /// Ends the program.
    pub stop_signal: i32,
    /// What a preset names with the interval.
    pub named: Vec<NamedCall>,
    /// The preset of the program, which the options do not name.
    pub implied: Option<&'static Preset>,
}

impl Selected {
    /// `preset` and `interval` as typed. Without a preset, a program that has one has its intervals, and the first if none is typed.
    ///
    /// # Errors
    /// There is no such preset, or no interval.
    pub fn of(
        preset: Option<&str>,
        interval: Option<&str>,
        subject: &Subject,
    ) -> Result<Selected, Failure> {
        let java = preset.and_then(JavaPreset::named);
        if let Some(known) = java.and_then(|preset| preset.interval(interval)) {
            let (spec, named) = known.typed()?;
            return Ok(Selected {
                selector: IntervalSelector::Spec(spec),
                stop_signal: libc::SIGTERM,
                named,
                implied: None,
            });
        }
        let typed = match (java, preset) {
            (None, Some(name)) => Some(Preset::named(name)?),
            _ => None,
        };
        let has_it = |preset: &&Preset| preset.interval(interval).is_some();
        let implied = match preset {
            None => of_program(subject).filter(has_it),
            Some(_) => None,
        };
        let preset = typed.or(implied);
        let known = preset.and_then(|preset| Some((preset, preset.interval(interval)?)));
        let selector = match (known, interval) {
            (Some((preset, interval)), _) => IntervalSelector::Preset(preset, interval),
            (None, Some(text)) => IntervalSelector::Spec(text.parse()?),
            (None, None) => {
                return Err(Failure::Usage(no_interval::message(&program(subject))));
            }
        };
        Ok(Selected {
            selector,
            stop_signal: preset.map_or(libc::SIGTERM, |preset| preset.stop_signal),
            named: Vec::new(),
            implied,
        })
    }

    /// What was chosen that nobody asked for.
    pub fn notice(&self) -> Option<String> {
        let preset = self.implied?;
        let IntervalSelector::Preset(_, chosen) = self.selector else {
            return None;
        };
        let names = preset.intervals.iter().map(|known| known.name);
        let others: Vec<&str> = names.filter(|&name| name != chosen.name).collect();
        let others = match &others[..] {
            [] => String::new(),
            others => format!(" (it has others: {})", others.join(", ")),
        };
        Some(format!(
            "--preset {} fits this program; the interval is --interval {}{others}",
            preset.name, chosen.name
        ))
    }
}

/// The preset of the subject's program.
fn of_program(subject: &Subject) -> Option<&'static Preset> {
    let program = match subject {
        Subject::Process(pid) => std::fs::read_link(process::program(*pid)).ok()?,
        Subject::Command(command) => PathBuf::from(command.words.first()?),
    };
    PRESETS.iter().find(|preset| preset.fits(&program))
}

/// The file of the subject's program, as it can be read here.
fn program(subject: &Subject) -> PathBuf {
    match subject {
        Subject::Process(pid) => doctor::program(*pid),
        Subject::Command(command) => {
            let name = command
                .words
                .first()
                .map(OsString::as_os_str)
                .unwrap_or_default();
            launch::file_of(&name.to_string_lossy()).unwrap_or_else(|| name.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_session::launch::CommandLine;

    use super::*;

    fn of(command: &str, preset: Option<&str>, interval: Option<&str>) -> Option<Selected> {
        let command = CommandLine {
            words: command.split(' ').map(Into::into).collect(),
            ..CommandLine::default()
        };
        Selected::of(preset, interval, &Subject::Command(command)).ok()
    }

    #[test]
    fn a_program_with_a_preset_has_its_first_interval() {
        let selected = of("/usr/sbin/mariadbd --datadir=data", None, None).unwrap();
        let notice = selected.notice().unwrap();
        let words = ["--preset mariadb", "--interval statement", "transaction"];
        assert!(words.iter().all(|word| notice.contains(word)), "{notice}");
        assert!(of("/usr/bin/sleep 5", None, None).is_none());
        // This process is not a server.
        let ourselves = Subject::Process(std::process::id() as i32);
        assert!(Selected::of(None, None, &ourselves).is_err());
    }

    #[test]
    fn another_interval_of_the_program_s_preset_needs_its_name_alone() {
        let selected = of("/usr/bin/redis-server", None, Some("turn")).unwrap();
        let notice = selected.notice().unwrap();
        let words = "the interval is --interval turn (it has others: command)";
        assert!(notice.ends_with(words), "{notice}");
        let function = of("/usr/bin/redis-server", None, Some("processCommand")).unwrap();
        assert!(matches!(function.selector, IntervalSelector::Spec(_)));
        assert!(function.notice().is_none());
    }

    #[test]
    fn what_is_typed_is_taken() {
        for (preset, interval) in [(Some("postgres"), None), (None, Some("exec_simple_query"))] {
            let selected = of("postgres -D data", preset, interval).unwrap();
            assert!(selected.notice().is_none());
            let is_preset = matches!(selected.selector, IntervalSelector::Preset(..));
            assert_eq!(is_preset, preset.is_some());
        }
        assert!(of("postgres -D data", Some("oracle"), None).is_none());
    }
}
