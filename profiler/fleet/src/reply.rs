//! An answer with what it answers: as text, as JSON and as a page.

use evenkeel_export::columns::schema::Table;
use evenkeel_report::html;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::error::Error;
use crate::overview::Overview;
use crate::questions::{How, Question, Shown};
use crate::tables::Fleet;
use crate::terminal::{self, Layout};

/// Rows of a page, at most: browsers draw them all.
const PAGE_ROWS: usize = 5_000;
/// Integers beyond it are no numbers in a browser, which has doubles alone.
const SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The displayed answer.
pub struct Reply {
    question: Option<&'static Question>,
    by: Option<&'static str>,
    /// The question, in a line.
    about: String,
    sql: String,
    answer: Answer,
    shown: Vec<Shown>,
    repeated: usize,
}

impl Reply {
    /// Asks a question that the program knows; with `by`, for these members of `groups` alone.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn to_question(
        fleet: &Fleet,
        question: &'static Question,
        by: Option<&'static str>,
    ) -> Result<Reply, Error> {
        needs(fleet, question)?;
        are_of_one_subject(fleet, question).await?;
        let sql = match by {
            Some(dimension) => question.of_dimension(dimension),
            None => question.sql.to_owned(),
        };
        let answer = fleet.ask(question.name, &sql).await?;
        let mut shown = question.shown();
        let known = shown.len();
        shown.retain(|shown| by.is_none() || shown.column != "dimension");
        Ok(Reply {
            repeated: question.repeated() - (known - shown.len()),
            question: Some(question),
            by,
            about: question.about.to_owned(),
            sql,
            answer,
            shown,
        })
    }

    /// Asks a query of the user's, which messages call `name`.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn to_query(fleet: &Fleet, name: &str, sql: &str) -> Result<Reply, Error> {
        let answer = fleet.ask(name, sql).await?;
        Ok(Reply {
            question: None,
            by: None,
            about: format!("answer to {name}"),
            sql: sql.to_owned(),
            shown: terminal::all_columns(&answer),
            answer,
            repeated: 0,
        })
    }

    /// All rows with all columns.
    pub fn json(&self) -> String {
        let question = self.question.map(|question| question.name);
        let all = json!({ "question": question, "by": self.by, "rows": self.answer.json() });
        format!("{all:#}\n")
    }

    /// A table, below what the fleet is and what is asked.
    pub fn text(&self, overview: Option<&Overview>, layout: Layout) -> String {
        let layout = Layout {
            repeated: self.repeated,
            ..layout
        };
        let Some(question) = self.question else {
            return terminal::table(&self.answer, &self.shown, layout);
        };
        let overview = overview.map(|overview| format!("{}\n", overview.line()));
        let table = match self.answer.rows.is_empty() {
            true => format!("{}\n", question.nothing),
            false => terminal::table(&self.answer, &self.shown, layout),
        };
        format!("{}{}\n\n{table}", overview.unwrap_or_default(), self.about)
    }

    /// An HTML page; `command` is what the user asked by.
    pub fn page(&self, command: &str, overview: &Overview, warnings: &[String]) -> String {
        let shown = self.shown.iter();
        let shown: Vec<(usize, &Shown)> = shown
            .filter_map(|shown| Some((self.answer.column(&shown.column)?, shown)))
            .collect();
        let columns = shown
            .iter()
            .map(|(_, shown)| json!({ "title": shown.title, "how": word(shown.how) }));
        let cells =
            |row: &Vec<Value>| -> Value { shown.iter().map(|&(at, _)| exact(&row[at])).collect() };
        let rows = self.answer.rows.iter().take(PAGE_ROWS).map(cells);
        html::answer(&json!({
            "about": capital(&self.about),
            "command": command,
            "sql": self.sql,
            "nothing": self.question.map_or("the answer has no rows", |question| question.nothing),
            "warnings": warnings,
            "figures": overview.figures(),
            "columns": columns.collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
            "repeated": self.repeated,
            "left_out": self.answer.rows.len().saturating_sub(PAGE_ROWS),
        }))
    }
}

/// Without rows in its tables, a question would be answered by nothing, as if nothing varied.
fn needs(fleet: &Fleet, question: &Question) -> Result<(), Error> {
    let empty = question.needs.iter().find(|&&table| fleet.rows(table) == 0);
    let Some(&table) = empty else { return Ok(()) };
    Err(Error::Empty {
        question: question.name.to_owned(),
        table: table.name(),
        advice: match table {
            Table::Intervals | Table::Times => {
                "recordings made with --summary have no single intervals; add one that was made without"
            }
            _ => {
                "the recordings hold no complete interval; record for longer, or with the server under load"
            }
        },
    })
}

/// # Errors
/// The tables are of several intervals or programs, for which the questions have no answer. Earlier versions exported
/// such tables to one directory.
async fn are_of_one_subject(fleet: &Fleet, question: &Question) -> Result<(), Error> {
    const QUERY: &str = "SELECT DISTINCT path FROM nodes WHERE depth = 0";
    let found = fleet.ask(question.name, QUERY).await?;
    let names = found.rows.iter().filter_map(|row| row.first()?.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let programs: Vec<&str> = fleet.programs().iter().map(String::as_str).collect();
    let (what, names) = match (names.len(), programs.len()) {
        (..2, ..2) => return Ok(()),
        (..2, _) => ("programs", programs),
        _ => ("intervals", names),
    };
    Err(Error::Usage(format!(
        "the tables are of several {what} ({}), and shares are of one interval's latency in one program: export the recordings of each to a directory \
         of its own, or ask by --sql",
        names.join(", ")
    )))
}

/// The page's name of a format.
fn word(how: How) -> &'static str {
    match how {
        How::Text => "text",
        How::Count => "count",
        How::Duration => "duration",
        How::Percent => "percent",
        How::Calls => "calls",
        How::Number => "number",
    }
}

/// A value that a browser shows exactly.
fn exact(value: &Value) -> Value {
    match value.as_i64() {
        Some(number) if number.unsigned_abs() > SAFE_INTEGER => number.to_string().into(),
        _ => value.clone(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_exact_in_a_browser() {
        assert_eq!(
            exact(&json!(9_007_199_254_740_991_i64)),
            json!(9_007_199_254_740_991_i64)
        );
        assert_eq!(exact(&json!(i64::MIN)), json!("-9223372036854775808"));
        assert_eq!(exact(&json!(0.25)), json!(0.25));
        assert_eq!(capital("élan vital"), "Élan vital");
    }
}
