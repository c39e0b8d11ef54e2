//! `evenkeel completions` and `evenkeel man`: files of a package that are generated from the command line's
//! definition.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output::{self, Failure};

/// Print the completions of a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel completions bash > /usr/share/bash-completion/completions/evenkeel
  evenkeel completions zsh > /usr/share/zsh/vendor-completions/_evenkeel
  evenkeel completions fish > ~/.config/fish/completions/evenkeel.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Write the manual pages, one for each command
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel man ~/.local/share/man/man1
  evenkeel man /usr/share/man/man1")]
pub struct Pages {
    /// The directory, which is created if necessary
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints completions for `command`.
pub fn completions(arguments: &Completions, mut command: Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "evenkeel", &mut script);
    output::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the manual pages of `command` and the commands below it.
pub fn pages(arguments: &Pages, command: Command) -> Result<ExitCode, Failure> {
    write_pages(&arguments.folder, command).map_err(|source| Failure::Write {
        path: arguments.folder.clone(),
        source,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn write_pages(folder: &Path, mut command: Command) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    command.build();
    write_page(folder, &command)
}

fn write_page(folder: &Path, command: &Command) -> std::io::Result<()> {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        write_page(folder, below)?;
    }
    // `evenkeel bench compare` is described in evenkeel-bench-compare(1); its name was made so by building the command.
    let name = command
        .get_display_name()
        .unwrap_or(command.get_name())
        .to_owned();
    let man = Man::new(command.clone())
        .title(name.clone())
        .manual("Evenkeel");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(notes) = command.get_after_long_help().or(command.get_after_help()) {
        write_notes(&mut page, &notes.to_string())?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    fs::write(folder.join(format!("{name}.1")), page)
}

/// The examples, line by line as in the help.
fn write_notes(page: &mut Vec<u8>, notes: &str) -> std::io::Result<()> {
    writeln!(page, ".SH NOTES\n.nf")?;
    for line in notes.lines() {
        // A backslash, and a point or an apostrophe at the beginning, mean something to troff.
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if line.starts_with(['.', '\'']) {
            "\\&"
        } else {
            ""
        };
        writeln!(page, "{guard}{line}")?;
    }
    writeln!(page, ".fi")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Names of the manual pages of `evenkeel` and of every command that its help lists.
    fn names(command: &Command, above: &str) -> Vec<String> {
        let name = format!("{above}{}", command.get_name());
        let below = command
            .get_subcommands()
            .filter(|below| !below.is_hide_set() && below.get_name() != "help");
        let below = below.flat_map(|below| names(below, &format!("{name}-")));
        let below: Vec<String> = below.collect();
        [vec![name], below].concat()
    }

    #[test]
    fn every_command_has_its_page() {
        let folder = tempfile::tempdir().unwrap();
        write_pages(folder.path(), crate::Cli::command()).unwrap();
        let names = names(&crate::Cli::command(), "");
        assert!(
            names.contains(&"evenkeel-bench-compare".to_owned()),
            "{names:?}"
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), names.len());
        for name in names {
            let page = fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
            for section in [
                ".TH",
                ".SH NAME",
                ".SH SYNOPSIS",
                ".SH OPTIONS",
                ".SH NOTES",
            ] {
                assert!(page.contains(section), "{section} of {name}: {page}");
            }
            assert!(
                page.contains("Examples:") || name == "evenkeel",
                "{name}: {page}"
            );
        }
    }

    #[test]
    fn notes_are_text_for_troff() {
        let mut page = Vec::new();
        write_notes(&mut page, ".x\na \\ -b").unwrap();
        assert_eq!(
            String::from_utf8(page).unwrap(),
            ".SH NOTES\n.nf\n\\&.x\na \\e \\-b\n.fi\n"
        );
    }

    #[test]
    fn completions_name_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut crate::Cli::command(), "evenkeel", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in crate::Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {script}");
            }
        }
    }
}
