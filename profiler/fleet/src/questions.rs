//! The questions that the program knows: the files of `sql/`, and how their answers are shown to people.

use evenkeel_export::columns::schema::Table;

/// Formats of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The text itself.
    Text,
    /// A whole number.
    Count,
    /// Nanoseconds.
    Duration,
    /// A fraction.
    Percent,
    /// A mean of calls.
    Calls,
    /// Another number.
    Number,
}

/// A column that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name in the answer.
    pub column: String,
    /// The column's title.
    pub title: String,
    /// The format of its values.
    pub how: How,
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Name on the command line.
    pub name: &'static str,
    /// The question, in a line.
    pub about: &'static str,
    /// The query.
    pub sql: &'static str,
    /// The tables that must have rows.
    pub needs: &'static [Table],
    /// The meaning of an answer without rows.
    pub nothing: &'static str,
    /// Columns that a terminal shows, their titles, and how. Those before the bar are left out where they are as in the row above.
    shown: &'static [(&'static str, &'static str, How)],
    repeated: usize,
}

use How::{Calls, Count, Duration, Number, Percent, Text};

/// All of them.
pub static QUESTIONS: [Question; 5] = [
    Question {
        name: "shares",
        about: "which call paths make the latency vary, with their means and deviations",
        sql: include_str!("../../../sql/shares.sql"),
        needs: &[Table::Moments, Table::Nodes],
        nothing: "no interval was recorded",
        shown: &[
            ("share", "share", Percent),
            ("mean_ns", "mean", Duration),
            ("sd_ns", "sd", Duration),
            ("calls_mean", "calls", Calls),
            ("name", "call path", Text),
        ],
        repeated: 0,
    },
    Question {
        name: "factors",
        about: "which functions, and which pairs of functions, vary",
        sql: include_str!("../../../sql/factors.sql"),
        needs: &[Table::Moments, Table::Nodes],
        nothing: "no calls were timed below the interval",
        shown: &[
            ("score", "score", Number),
            ("contribution", "of variance", Percent),
            ("function", "function", Text),
            ("other_function", "with", Text),
        ],
        repeated: 0,
    },
    Question {
        name: "tails",
        about: "where the slowest 5, 1 and 0.1 % spend what they exceed the mean by",
        sql: include_str!("../../../sql/tails.sql"),
        needs: &[Table::Intervals, Table::Times, Table::Nodes],
        nothing: "the slowest are no slower than the mean",
        shown: &[
            ("tail", "tail", Text),
            ("threshold_ns", "from", Duration),
            ("tail_share", "share", Percent),
            ("tail_mean_ns", "there", Duration),
            ("mean_ns", "mean", Duration),
            ("name", "call path", Text),
        ],
        repeated: 2,
    },
    Question {
        name: "classes",
        about: "what lies between classes of intervals, and within them",
        sql: include_str!("../../../sql/classes.sql"),
        needs: &[Table::Moments],
        nothing: "no interval was recorded",
        shown: &[
            ("intervals", "intervals", Count),
            ("mean_ns", "mean", Duration),
            ("sd_ns", "sd", Duration),
            ("within_fraction", "within", Percent),
            ("between_fraction", "between", Percent),
            ("class", "class", Text),
        ],
        repeated: 0,
    },
    Question {
        name: "groups",
        about: "which hosts, builds, classes or periods differ from the others, and in which call paths (--by)",
        sql: include_str!("../../../sql/groups.sql"),
        needs: &[Table::Moments, Table::Nodes],
        nothing: "there is nothing to set beside one another: add recordings of other hosts, builds, classes or days",
        shown: &[
            ("dimension", "by", Text),
            ("member", "which", Text),
            ("intervals", "intervals", Count),
            ("mean_ns", "mean", Duration),
            ("others_mean_ns", "others", Duration),
            ("z", "z", Number),
            ("own_ns", "own time", Duration),
            ("others_own_ns", "others", Duration),
            ("part_of_difference", "explains", Percent),
            ("name", "call path", Text),
        ],
        repeated: 6,
    },
];

/// The question of this name.
pub fn named(name: &str) -> Option<&'static Question> {
    QUESTIONS.iter().find(|question| question.name == name)
}

impl Question {
    /// Columns that a terminal shows.
    pub fn shown(&self) -> Vec<Shown> {
        let shown = |&(column, title, how): &(&str, &str, How)| Shown {
            column: column.to_owned(),
            title: title.to_owned(),
            how,
        };
        self.shown.iter().map(shown).collect()
    }

    /// Number of columns, from the left, that are omitted where they repeat the row above.
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// The query of those rows whose column `dimension` is this.
    pub fn of_dimension(&self, dimension: &str) -> String {
        format!(
            "SELECT * FROM (\n{}\n) WHERE dimension = '{dimension}'\n\
             ORDER BY ABS(mean_ns - others_mean_ns) DESC, member, place",
            self.sql
        )
    }
}
