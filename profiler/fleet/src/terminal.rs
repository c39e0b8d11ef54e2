//! Answers as tables for people.

use evenkeel_report::{fit, units};
use serde_json::Value;

use crate::answer::Answer;
use crate::questions::{How, Shown};

/// Between columns.
const GAP: usize = 2;
/// A column of text is not made narrower than this.
const TEXT_MIN: usize = 12;

/// The layout of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Columns of the terminal; nothing where lines may be of any length.
    pub width: Option<usize>,
    /// Rows, at most.
    pub rows: usize,
    /// Columns, from the left, that are left out where they are as in the row above.
    pub repeated: usize,
}

/// The columns of a user's own query: all.
pub fn all_columns(answer: &Answer) -> Vec<Shown> {
    let shown = |(at, column): (usize, &String)| {
        let mut values = answer.rows.iter().map(|row| &row[at]);
        let is_number = values.clone().any(Value::is_number)
            && values.all(|value| value.is_number() || value.is_null());
        Shown {
            column: column.clone(),
            title: column.clone(),
            how: if is_number { How::Number } else { How::Text },
        }
    };
    answer.columns.iter().enumerate().map(shown).collect()
}

/// The answer as lines.
pub fn table(answer: &Answer, shown: &[Shown], layout: Layout) -> String {
    let shown: Vec<(usize, &Shown)> = shown
        .iter()
        .filter_map(|shown| Some((answer.column(&shown.column)?, shown)))
        .collect();
    let written = |row: &Vec<Value>| -> Vec<String> {
        let cells = shown.iter().map(|(at, shown)| write(&row[*at], shown.how));
        cells.collect()
    };
    let rows: Vec<Vec<String>> = answer.rows.iter().take(layout.rows).map(written).collect();
    let titles: Vec<String> = shown.iter().map(|(_, it)| it.title.clone()).collect();
    let widths = widths(&titles, &rows, &shown, layout.width);
    let mut out = line(&titles, &shown, &widths);
    let mut above: Option<&Vec<String>> = None;
    for row in &rows {
        let same = |above: &&Vec<String>| above.iter().zip(row).take_while(|(a, b)| a == b).count();
        let blank = above.as_ref().map_or(0, same).min(layout.repeated);
        let mut cells = row.clone();
        cells[..blank].iter_mut().for_each(String::clear);
        out.push_str(&line(&cells, &shown, &widths));
        above = Some(row);
    }
    let more = answer.rows.len() - rows.len();
    if more > 0 {
        let all = answer.rows.len();
        out.push_str(&format!(
            "and {} more rows: --rows {all} shows all\n",
            units::count(more as u64)
        ));
    }
    out
}

/// Text gives way where lines would be too long: the widest first.
fn widths(
    titles: &[String],
    rows: &[Vec<String>],
    shown: &[(usize, &Shown)],
    most: Option<usize>,
) -> Vec<usize> {
    let mut widths: Vec<usize> = titles.iter().map(|title| fit::columns(title)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(fit::columns(cell));
        }
    }
    let Some(most) = most else {
        return widths;
    };
    while widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1) > most {
        let texts = (0..widths.len()).filter(|&at| shown[at].1.how == How::Text);
        let widest = texts.max_by_key(|&at| widths[at]);
        match widest.filter(|&at| widths[at] > TEXT_MIN) {
            Some(at) => widths[at] -= 1,
            None => break,
        }
    }
    widths
}

fn line(cells: &[String], shown: &[(usize, &Shown)], widths: &[usize]) -> String {
    let fitted = cells.iter().zip(shown).zip(widths);
    let fitted = fitted.map(|((cell, (_, shown)), &width)| match shown.how {
        How::Text => fit::left(cell, width),
        _ => fit::right(cell, width),
    });
    let line = fitted.collect::<Vec<_>>().join(&" ".repeat(GAP));
    format!("{}\n", line.trim_end())
}

fn write(value: &Value, how: How) -> String {
    let number = value.as_f64();
    match (how, number) {
        (How::Text, _) => match value {
            Value::Null => String::new(),
            Value::String(text) => fit::plain(text),
            value => value.to_string(),
        },
        (_, None) => units::ABSENT.to_owned(),
        (How::Count, Some(number)) if number >= 0.0 => units::count(number as u64),
        (How::Duration, Some(number)) => units::duration(number),
        (How::Percent, Some(number)) => units::percent(number),
        (How::Calls, Some(number)) => units::calls(number),
        (How::Count | How::Number, Some(number)) => match value.as_i64() {
            Some(whole) => whole.to_string(),
            None if number != 0.0 && !(1e-3..1e9).contains(&number.abs()) => {
                format!("{number:.3e}")
            }
            None => format!("{number:.3}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Answer {
        let row = |host: &str, ns: f64, path: &str| vec![json!(host), json!(ns), json!(path)];
        Answer {
            columns: ["host", "mean_ns", "path"].map(String::from).to_vec(),
            rows: vec![
                row("db1", 1500.0, "request > parse [request+0x1]"),
                row("db1", 1500.0, "disk"),
                row("db2", 1500.0, "disk\u{1b}[2J"),
            ],
        }
    }

    fn drawn(width: Option<usize>, rows: usize) -> String {
        let shown = [
            ("host", How::Text),
            ("mean_ns", How::Duration),
            ("path", How::Text),
        ];
        let shown: Vec<Shown> = shown
            .into_iter()
            .map(|(column, how)| Shown {
                column: column.into(),
                title: column.into(),
                how,
            })
            .collect();
        let layout = Layout {
            width,
            rows,
            repeated: 2,
        };
        table(&answer(), &shown, layout)
    }

    /// Repeated values are omitted up to the first difference; control sequences are not passed to the terminal.
    #[test]
    fn rows_as_above_are_left_out() {
        let expected = "host  mean_ns  path\n\
                        db1   1.50 µs  request > parse [request+0x1]\n               disk\n\
                        db2   1.50 µs  disk·[2J\n";
        assert_eq!(drawn(None, 9), expected);
    }

    #[test]
    fn text_gives_way_and_rows_that_are_not_shown_are_counted() {
        let drawn = drawn(Some(30), 1);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(fit::columns(lines[1]), 30, "{drawn}");
        assert_eq!(lines[2], "and 2 more rows: --rows 3 shows all");
    }
}
