//! The subject of a directory's tables: an interval of a program. Shares, tails and factors refer to one interval's
//! latency. Tables of two intervals, or of two programs that name theirs alike, would give every engine meaningless
//! numbers.

use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::schema::{PROGRAM_KEY, Table};
use super::{Error, Run};

/// Folders above a table's files: day and host.
const DEPTH: u32 = 2;

/// Interval and program, as far as the files have them.
#[derive(Debug, Default)]
pub struct RunSubject {
    interval: Option<String>,
    program: Option<String>,
}

impl RunSubject {
    /// The subject of a directory's tables, if it has any. All its files have one subject, so the first one decides.
    pub fn of_tables(directory: &Path) -> RunSubject {
        first_file(directory)
            .and_then(|file| RunSubject::of(&file))
            .unwrap_or_default()
    }

    /// A damaged file is left to its reader to refuse.
    fn of(file: &Path) -> Option<RunSubject> {
        let reader = SerializedFileReader::new(File::open(file).ok()?).ok()?;
        let about = reader.metadata().file_metadata().key_value_metadata();
        let mut pairs = about.into_iter().flatten();
        let program = pairs
            .find(|pair| pair.key == PROGRAM_KEY)
            .and_then(|pair| pair.value.clone());
        let rows = reader.get_row_iter(None).ok()?;
        let interval = rows
            .map_while(Result::ok)
            .find_map(|row| path_of_root(&row));
        Some(RunSubject { interval, program })
    }

    /// Whether a run's rows may lie beside those of the directory.
    ///
    /// # Errors
    /// They are of another interval, or of another program.
    pub fn check(&self, run: &Run, directory: &Path) -> Result<(), Error> {
        let pairs = [
            ("interval", &self.interval, &run.interval),
            ("program", &self.program, &run.program),
        ];
        for (what, there, here) in pairs {
            let there = there.as_deref().unwrap_or_default();
            if there != here && !there.is_empty() && !here.is_empty() {
                return Err(Error::Other {
                    path: directory.to_owned(),
                    what,
                    there: there.to_owned(),
                    here: here.clone(),
                });
            }
        }
        Ok(())
    }
}

fn first_file(directory: &Path) -> Option<std::path::PathBuf> {
    let mut open = vec![(directory.join(Table::Nodes.name()), 0)];
    while let Some((path, depth)) = open.pop() {
        let entries = fs::read_dir(&path).ok()?.flatten();
        let mut paths = entries.map(|entry| entry.path());
        if depth < DEPTH {
            open.extend(
                paths
                    .filter(|path| path.is_dir())
                    .map(|path| (path, depth + 1)),
            );
        } else if let Some(file) = paths.find(|path| is_table(path)) {
            return Some(file);
        }
    }
    None
}

fn is_table(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "parquet")
}

/// The path that has none above it is the interval's.
fn path_of_root(row: &Row) -> Option<String> {
    match (column(row, "depth")?, column(row, "path")?) {
        (Field::Int(0) | Field::Long(0), Field::Str(path)) => Some(path.clone()),
        _ => None,
    }
}

fn column<'a>(row: &'a Row, name: &str) -> Option<&'a Field> {
    let mut columns = row.get_column_iter();
    columns.find_map(|(known, field)| (known == name).then_some(field))
}
