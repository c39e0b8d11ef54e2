//! `evenkeel compare`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use evenkeel_report::compare::Comparison;
use evenkeel_report::json;

use crate::output::{self, Failure};
use crate::report::{self, Ranking};

/// Show two recordings side by side: what changed, node by node, with its error
#[derive(Args)]
#[command(after_help = "\
Example:
  evenkeel compare before.keel after.keel --html change.html")]
pub struct Arguments {
    /// The recording before the change
    before: PathBuf,
    /// The recording after it
    after: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Also write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    ranking: Ranking,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let before = report::load(&[arguments.before], &arguments.ranking, &[])?;
    let after = report::load(&[arguments.after], &arguments.ranking, &[])?;
    let comparison = Comparison::new(&before.profile, &after.profile);
    if let Some(path) = &arguments.html {
        output::write(path, &comparison.html())?;
    }
    if arguments.json {
        println!("{}", json::render(&comparison));
    } else {
        let style = output::style(output::stdout_is_terminal(), "p99", false, 15);
        print!("{}", comparison.terminal(&style));
    }
    Ok(ExitCode::SUCCESS)
}
