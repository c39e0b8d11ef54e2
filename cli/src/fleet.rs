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

/// Ask the recordings of many hosts: which call paths vary, and who differs from the others
///
/// Runs the program evenkeel-fleet with the same arguments: `make fleet` in the sources builds it, `make install-fleet` puts it beside evenkeel. Where
/// it is installed, `evenkeel fleet --help` lists its options.
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
    /// A directory of tables that `evenkeel export --format parquet` wrote, or s3://BUCKET/PREFIX, and what is asked
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// Becomes the other program. Where that is not installed, `definition`, of all of evenkeel, has the help.
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

/// The one that was installed with this program; otherwise the search path has it or it is nowhere.
fn beside() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}
