//! Programs of the target that do not have the interval's function.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// Further programs that an error names, at most.
const NAMED_MAX: usize = 6;

/// Why none of them is profiled, by the one that is most likely meant.
#[derive(Debug, Default)]
pub struct Passed {
    likely: Option<(Error, PathBuf)>,
    others: Vec<PathBuf>,
}

impl Passed {
    /// Adds a program. `is_command`: the command has become this program. A program with similar names is probably
    /// meant, else the command: the programs that it starts are tools, and the last of them is not informative.
    pub fn add(&mut self, error: Error, program: PathBuf, is_command: bool) {
        let alike = |error: &Error| {
            let missing = error.missing_function();
            missing.is_some_and(|(_, closest)| !closest.is_empty())
        };
        let replaces = match &self.likely {
            None => true,
            Some((likely, _)) => alike(&error) || (is_command && !alike(likely)),
        };
        let other = match replaces {
            true => self
                .likely
                .replace((error, program))
                .map(|(_, before)| before),
            false => Some(program),
        };
        let is_likely = |path: &PathBuf| self.likely.iter().any(|(_, likely)| likely == path);
        let other = other.filter(|path| !is_likely(path) && !self.others.contains(path));
        self.others.extend(other);
    }

    /// The error, the program that it is about, and which others were looked at.
    pub fn take(&mut self) -> Option<(Error, PathBuf, String)> {
        let (error, program) = self.likely.take()?;
        Some((error, program, in_words(&self.others)))
    }
}

fn in_words(others: &[PathBuf]) -> String {
    let name = |path: &PathBuf| {
        Path::new(path.file_name().unwrap_or_default())
            .display()
            .to_string()
    };
    let named: Vec<String> = others.iter().take(NAMED_MAX).map(name).collect();
    match others.len() {
        0 => String::new(),
        many if many > NAMED_MAX => {
            format!(
                "; nor is it in {} and {} more",
                named.join(", "),
                many - NAMED_MAX
            )
        }
        _ => format!("; nor is it in {}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_symbols::FindError;

    use super::*;

    fn passed(programs: &[(&str, &[&str], bool)]) -> (String, String) {
        let mut passed = Passed::default();
        for &(path, closest, is_command) in programs {
            let source = FindError::NoSuchFunction {
                name: "work".into(),
                closest: closest.iter().map(|&name| name.to_owned()).collect(),
            };
            let path = PathBuf::from(path);
            let error = Error::from(evenkeel_intervals::Error::NotFound {
                path: path.clone(),
                source,
            });
            passed.add(error, path, is_command);
        }
        let (error, _, others) = passed.take().unwrap();
        (error.to_string(), others)
    }

    /// A server that compiles its configuration does not learn that the linker lacks the function.
    #[test]
    fn the_command_is_meant_and_not_the_last_tool() {
        let tools: &[(&str, &[&str], bool)] = &[
            ("/bin/sh", &[], true),
            ("/srv/server", &[], true),
            ("/bin/cc", &[], false),
            ("/bin/ld", &[], false),
            ("/bin/cc", &[], false),
        ];
        let (error, others) = passed(tools);
        assert!(error.starts_with("in /srv/server: "), "{error}");
        assert_eq!(others, "; nor is it in sh, cc, ld");
    }

    #[test]
    fn a_name_that_is_spelt_alike_decides() {
        let (error, others) = passed(&[
            ("/bin/sh", &[], true),
            ("/srv/worker", &["works"], false),
            ("/bin/ls", &[], true),
        ]);
        assert!(error.starts_with("in /srv/worker: ") && error.ends_with("did you mean works?"));
        assert_eq!(others, "; nor is it in sh, ls");
    }
}
