//! Tables of text: each column as wide as it needs to be.

/// Rows of equally many cells, a line each. The first column is to the left, and so is the last one if it is of words;
/// the others are to the right.
pub fn grid<R: AsRef<[String]>>(rows: &[R], last_is_words: bool) -> String {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row.as_ref()[at].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &R| {
        let cells = row.as_ref().iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, &width))| match at {
            0 => format!("{cell:<width$}"),
            _ if last_is_words && at + 1 == columns => format!("  {cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        });
        let line: String = cells.collect();
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_apart_however_wide_they_are() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [
            row(["a", "1.12 (0.13–233.25)", "ok"]),
            row(["longer", "2", ""]),
        ];
        assert_eq!(
            grid(&rows, true),
            "a       1.12 (0.13–233.25)  ok\nlonger                   2\n"
        );
        assert_eq!(
            grid(&[row(["a", "b", "c"]), row(["d", "e", "ff"])], false),
            "a  b   c\nd  e  ff\n"
        );
    }
}
