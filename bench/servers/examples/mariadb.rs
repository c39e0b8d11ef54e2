//! Runs a private MariaDB in the foreground, under a command, for scripts that profile it:
//!
//! ```text
//! mariadb --release 10.2.11 --port-file port --set innodb-buffer-pool-size=512M evenkeel profile --preset mariadb --
//! ```
//!
//! The command gets the words that start the server, as the account that it may run as, for its last arguments, and its exit status is
//! passed on. The server listens on a free port of 127.0.0.1, which is written to a file before it starts. Its folder is removed
//! once the command has ended.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser;
use evenkeel_servers::{MariaDb, Options, Release};

#[derive(Parser)]
struct Arguments {
    /// An official build that scripts/install.sh has installed, instead of the system's.
    #[arg(long)]
    release: Option<String>,
    /// Where to write the port.
    #[arg(long)]
    port_file: Option<PathBuf>,
    /// A setting of the server, NAME=VALUE.
    #[arg(long = "set")]
    settings: Vec<String>,
    /// The command before the server's own words.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    wrap: Vec<OsString>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    let settings = arguments.settings.iter().map(|setting| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, "ON"));
        (name.to_owned(), value.to_owned())
    });
    let options = Options {
        loopback: true,
        settings: settings.collect(),
        release: arguments
            .release
            .as_deref()
            .map(Release::find)
            .transpose()?,
        ..Options::default()
    };
    let server = MariaDb::prepare(&options)?;
    if let (Some(path), Some(port)) = (&arguments.port_file, server.port()) {
        std::fs::write(path, port.to_string())?;
    }
    let launch = server.launch();
    let mut words: Vec<OsString> = arguments.wrap;
    if let Some((uid, gid)) = launch.user() {
        words.extend(["setpriv".into(), format!("--reuid={uid}").into()]);
        words.extend([format!("--regid={gid}").into(), "--clear-groups".into()]);
    }
    words.push("env".into());
    words.extend(launch.env.iter().map(|(name, value)| {
        let mut word = name.clone();
        word.push("=");
        word.push(value);
        word
    }));
    words.push(launch.program.into());
    words.extend(launch.args);
    let status = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(&launch.working_directory)
        .status()?;
    Ok(ExitCode::from(status.code().unwrap_or(1) as u8))
}
