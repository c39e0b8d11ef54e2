//! Where results go: the terminal, files, standard output.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use evenkeel_report::terminal::{Style, WIDTH_MIN};
use thiserror::Error;

/// An error that ends a command.
#[derive(Debug, Error)]
pub enum Failure {
    /// An error of a profiling session.
    #[error(transparent)]
    Session(#[from] evenkeel_session::Error),
    /// An error of a recording.
    #[error(transparent)]
    Recording(#[from] evenkeel_recording::Error),
    /// An error of an interval's specification.
    #[error(transparent)]
    Interval(#[from] evenkeel_intervals::Error),
    /// An error of a private server.
    #[error(transparent)]
    Server(#[from] evenkeel_servers::ServerError),
    /// An error of a benchmark.
    #[error(transparent)]
    Bench(#[from] evenkeel_drive::Error),
    /// An error of a simulation.
    #[error(transparent)]
    Simulation(#[from] evenkeel_simulate::Error),
    /// An error of an experiment.
    #[error(transparent)]
    Experiment(#[from] evenkeel_experiments::Error),
    /// An error of the tuner.
    #[error(transparent)]
    Tune(#[from] evenkeel_tune::Error),
    /// An error of an export.
    #[error(transparent)]
    Export(evenkeel_export::Error),
    /// An error of exporting tables.
    #[error(transparent)]
    Columns(evenkeel_export::columns::Error),
    /// A file that cannot be written.
    #[error("cannot write {}: {source}; check the directory and the free space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Options that conflict, or that name a missing thing.
    #[error("{0}")]
    Usage(String),
}

/// `--json`, the same in every command.
#[derive(Args, Clone, Debug, Default)]
pub struct Json {
    /// Print JSON, or write it to a file (--json=FILE)
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-"
    )]
    pub json: Option<PathBuf>,
}

impl Json {
    /// Checks that the file can be written, so that a long run does not fail at its end.
    pub fn check(&self) -> Result<(), Failure> {
        self.json.as_deref().map_or(Ok(()), check)
    }

    /// Whether standard output is JSON.
    pub fn is_printed(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Prints the text and writes the JSON. JSON on standard output replaces the text.
    pub fn output(
        &self,
        json: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            write(path, &json())?;
        }
        if self.is_printed() {
            return Ok(());
        }
        print(&text())
    }
}

/// Prints on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Sends bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(bytes).and_then(|()| out.flush());
    match printed {
        // A reader that went away (`| head`) has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|source| Failure::Write {
            path: "standard output".into(),
            source,
        }),
    }
}

/// Writes `text` to `path`; `-` is standard output.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes to `path`; `-` is standard output.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print_bytes(bytes);
    }
    std::fs::write(path, bytes).map_err(|source| Failure::Write {
        path: path.to_owned(),
        source,
    })
}

/// Checks that [`write()`] will succeed, so that a long run does not fail at its end.
pub fn check(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Ok(());
    }
    // A file that is not there yet is not made, since Ctrl-C at this moment would leave it behind, empty.
    let checked = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path.file_name().is_some() => {
            let directory = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            tempfile::tempfile_in(directory.unwrap_or(Path::new("."))).map(|_| ())
        }
        Err(error) => Err(error),
        Ok(_) => {
            let mut options = std::fs::OpenOptions::new();
            options.append(true).create(true).open(path).map(|_| ())
        }
    };
    checked.map_err(|source| Failure::Write {
        path: path.to_owned(),
        source,
    })
}

/// The style for a stream: colours and width on a terminal, plain text elsewhere.
pub fn style<'a>(is_terminal: bool, tail: &'a str, by_class: bool, rows: usize) -> Style<'a> {
    let width = terminal_size::terminal_size()
        .map_or(100, |(width, _)| usize::from(width.0))
        .clamp(WIDTH_MIN, 140);
    let colour = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style {
        width: if is_terminal { width } else { 100 },
        colour,
        tail,
        by_class,
        rows,
        slowest: 0,
        cohorts: false,
    }
}

/// Whether standard error, which `profile` reports on, is a terminal.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether standard output, which `report` and `compare` print on, is a terminal.
pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_told_without_writing() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("run.json");
        check(&file).unwrap();
        assert!(!file.exists());
        std::fs::write(&file, "kept").unwrap();
        check(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
        for refused in [
            place.path().join("none/run.json"),
            place.path().to_owned(),
            file.join("below"),
            place.path().join("n".repeat(300)),
            PathBuf::new(),
        ] {
            let said = check(&refused).map_err(|error| error.to_string());
            assert!(
                said.is_err_and(|said| said.contains("cannot write")),
                "{}",
                refused.display()
            );
        }
    }
}
