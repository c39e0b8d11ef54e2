//! `evenkeel fleet`: another program, because the engine that it carries takes longer to build than all the rest.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Args, Command as Definition};

use crate::output::{self, Failure};

const PROGRAM: &str = "evenkeel-fleet";

/// Ask questions about recordings of many hosts: which call paths vary, and which group differs from the others
///
/// Runs the separate program evenkeel-fleet with the same arguments. `make fleet` in the sources builds it, and `make
/// install-fleet` installs it next to evenkeel. Where it is installed, `evenkeel fleet --help` lists its options.
#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  evenkeel export web1.keel web2.keel --format parquet -o fleet
  evenkeel fleet fleet
  evenkeel fleet fleet --by host
  evenkeel fleet fleet --by build --json"
)]
pub struct Arguments {
    /// A directory of tables written by `evenkeel export --format parquet`, or s3://BUCKET/PREFIX, and options of
    /// evenkeel-fleet
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// Replaces this process by evenkeel-fleet. If it is not installed, prints the help that `definition` has.
pub fn run(arguments: Arguments, mut definition: Definition) -> Result<ExitCode, Failure> {
    let program = beside().unwrap_or_else(|| PROGRAM.into());
    let error = Command::new(&program).args(&arguments.words).exec();
    if error.kind() != ErrorKind::NotFound {
        return Err(Failure::Usage(format!(
            "cannot run {}: {error}",
            program.display()
        )));
    }
    if arguments
        .words
        .iter()
        .any(|word| word == "--help" || word == "-h")
    {
        definition.build();
        let fleet = definition
            .find_subcommand_mut("fleet")
            .expect("the command that was asked for");
        output::print(&fleet.render_long_help().to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Usage(format!(
        "{PROGRAM} is not installed: `make fleet` in the sources builds it, `make install-fleet` puts it beside evenkeel"
    )))
}

/// The program in evenkeel's own directory; without it, the search path decides.
fn beside() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}
