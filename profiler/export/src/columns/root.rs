//! Which interval a directory's tables are of. Shares, tails and factors are of one interval's latency: of the tables of two, every engine would
//! make numbers that mean nothing.

use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::schema::Table;

/// Folders above a table's files: day and host.
const DEPTH: u32 = 2;

/// The interval; nothing where there is no file that says so. All files of a directory are of one, so that the first tells.
pub fn root(directory: &Path) -> Option<String> {
    let mut open = vec![(directory.join(Table::Nodes.name()), 0)];
    while let Some((path, depth)) = open.pop() {
        let entries = fs::read_dir(&path).ok()?.flatten();
        let paths = entries.map(|entry| entry.path());
        if depth < DEPTH {
            open.extend(
                paths
                    .filter(|path| path.is_dir())
                    .map(|path| (path, depth + 1)),
            );
        } else if let Some(root) = paths
            .filter(|path| is_table(path))
            .find_map(|file| root_of(&file))
        {
            return Some(root);
        }
    }
    None
}

fn is_table(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "parquet")
}

/// The path that has none above it. A damaged file is for whoever reads it to refuse.
fn root_of(file: &Path) -> Option<String> {
    let reader = SerializedFileReader::new(File::open(file).ok()?).ok()?;
    let mut rows = reader.get_row_iter(None).ok()?.map_while(Result::ok);
    rows.find_map(
        |row| match (column(&row, "depth")?, column(&row, "path")?) {
            (Field::Int(0) | Field::Long(0), Field::Str(path)) => Some(path.clone()),
            _ => None,
        },
    )
}

fn column<'a>(row: &'a Row, name: &str) -> Option<&'a Field> {
    let mut columns = row.get_column_iter();
    columns.find_map(|(known, field)| (known == name).then_some(field))
}
