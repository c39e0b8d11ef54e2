//! Recordings as columns: Parquet files that any engine reads, in folders by day and host.
//!
//! ```text
//! schema    tables and columns, with their version
//! identity  names of runs and call paths that are the same in every export
//! moments   sums by class and minute
//! rows      rows gathered to columns, and written
//! subject   of which interval and program the tables of a directory are
//! place     files that appear all at once, or not at all
//! ```
//!
//! Unlike other formats this one is no picture of a profile. It holds single intervals, and sums that add up over
//! hosts and minutes; SQL can compute the profile from them.

mod identity;
mod moments;
pub mod place;
mod rows;
pub mod schema;
mod subject;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use evenkeel_analysis::findings::factors::described::DescribedNode;
use evenkeel_analysis::fleet::observed::{Observed, ObservedMinute};
use evenkeel_analysis::intervals::classes::ClassTable;
use evenkeel_analysis::sites::{Kind, SiteTable};
use evenkeel_analysis::sums::histogram::bucket_start;
use evenkeel_analysis::sums::paths::{Paths, ROOT};
use thiserror::Error;

use self::identity::hash;
use self::identity::{NodeIds, folder_value};
use self::moments::{Moments, NodeSums};
use self::place::Staged;
use self::rows::{Cell, Rows};
use self::schema::Table;
use self::subject::RunSubject;

/// Name on the command line.
pub const NAME: &str = "parquet";
/// Its readers, in a line.
pub const ABOUT: &str =
    "tables for SQL engines, by day and host: intervals, call paths, times, sums (-o DIRECTORY)";

const MINUTE_US: i64 = 60_000_000;
const DAY_US: i64 = 24 * 60 * MINUTE_US;

/// A recording that is exported.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Identity of the recording: exported again, it replaces its earlier tables.
    pub identity: String,
    /// Where it was recorded; empty where that is not known.
    pub host: String,
    /// Build id of the program; empty where that is not known.
    pub build: String,
    /// File name of the program; empty where that is not known.
    pub program: String,
    /// Its interval, as call paths begin with it; empty where that is not known.
    pub interval: String,
    /// When it began: on the clock of its intervals, and in nanoseconds since 1970.
    pub started: (u64, u64),
}

/// Why nothing was exported.
#[derive(Debug, Error)]
pub enum Error {
    /// Two of the recordings are one.
    #[error(
        "{host} recorded the same run twice (same host, build, command and beginning): its intervals would count twice"
    )]
    Twice {
        /// Its host.
        host: String,
    },
    /// The directory has tables of another interval, or of another program.
    #[error(
        "{} has tables of the {what} {there}, and these recordings are of {here}. Shares only make sense for one interval of one program: export them to another directory",
        path.display()
    )]
    Other {
        /// Which.
        path: PathBuf,
        /// Interval or program.
        what: &'static str,
        /// The subject of the tables.
        there: String,
        /// The subject of the recordings.
        here: String,
    },
    /// The directory cannot be written.
    #[error("cannot write below {}: {source}; check the directory and the free space", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Intervals.
    pub intervals: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Files.
    pub files: u64,
}

/// An export that is being written.
pub struct Columns {
    directory: PathBuf,
    staged: Staged,
    runs: Vec<Exported>,
    ticks_per_ns: f64,
    ids: NodeIds,
    classes: BTreeMap<usize, String>,
    /// By run and day, the two tables that are written as intervals come.
    files: BTreeMap<(usize, i64), (Rows, Rows)>,
    /// By run, minute and class; of recordings of sums also of all classes together.
    moments: BTreeMap<(usize, i64, Option<usize>), Moments>,
    written: Written,
}

struct Exported {
    run: Run,
    /// Its name in the tables.
    name: String,
}

impl Columns {
    /// Begins an export of runs, whose clock has `ticks_per_ns`, to a directory.
    ///
    /// # Errors
    /// Two runs are one, the directory has tables of another interval or program, or cannot be written.
    pub fn begin(directory: &Path, runs: Vec<Run>, ticks_per_ns: f64) -> Result<Columns, Error> {
        let mut names = BTreeSet::new();
        let mut exported = Vec::new();
        let there = RunSubject::of_tables(directory);
        for run in runs {
            there.check(&run, directory)?;
            let name = format!("{:016x}", hash(run.identity.as_bytes()));
            if !names.insert(name.clone()) {
                return Err(Error::Twice { host: run.host });
            }
            exported.push(Exported { run, name });
        }
        let staged = Staged::begin(directory).map_err(|source| Error::Io {
            path: directory.to_owned(),
            source,
        })?;
        Ok(Columns {
            directory: directory.to_owned(),
            staged,
            runs: exported,
            ticks_per_ns,
            ids: NodeIds::default(),
            classes: BTreeMap::new(),
            files: BTreeMap::new(),
            moments: BTreeMap::new(),
            written: Written::default(),
        })
    }

    /// Adds an interval of a run over `paths`, which only grow.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn add(
        &mut self,
        run: usize,
        interval: &Observed,
        paths: &Paths,
        sites: &SiteTable,
        classes: &ClassTable,
    ) -> Result<(), Error> {
        self.ids.extend(paths, sites, classes);
        self.name_class(interval.class, classes);
        let begin_us = self.runs[run].begin_us(interval.begin, self.ticks_per_ns);
        let key = (run, begin_us.div_euclid(MINUTE_US), Some(interval.class));
        self.moments.entry(key).or_default().add(interval, paths);
        self.write_interval(run, interval, begin_us)
            .map_err(|source| self.failed(source))
    }

    /// Adds a minute of sums of a run over `paths`, which only grow. The run's tables of intervals are empty.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn add_minute(
        &mut self,
        run: usize,
        minute: &ObservedMinute,
        paths: &Paths,
        sites: &SiteTable,
        classes: &ClassTable,
    ) -> Result<(), Error> {
        if minute.sums.intervals == 0 {
            return Ok(());
        }
        self.ids.extend(paths, sites, classes);
        let begin_us = (minute.began_unix_ns / 1000) as i64;
        let at = begin_us.div_euclid(MINUTE_US);
        let classes_met = (0..).zip(&minute.classes);
        let mut parts = vec![(None, Moments::of_sums(&minute.sums, paths))];
        for (id, class) in classes_met.filter(|(_, class)| class.intervals > 0) {
            self.name_class(id, classes);
            parts.push((Some(id), Moments::of_class(class, paths)));
        }
        for (class, moments) in parts {
            let key = (run, at, class);
            self.moments.entry(key).or_default().merge(&moments);
        }
        self.written.intervals += minute.sums.intervals;
        self.open_files(run, begin_us.div_euclid(DAY_US))
            .map_err(|source| self.failed(source))
    }

    fn name_class(&mut self, class: usize, classes: &ClassTable) {
        let named = self.classes.entry(class);
        named.or_insert_with(|| classes.name(class).to_owned());
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io {
            path: self.directory.clone(),
            source,
        }
    }

    fn write_interval(&mut self, run: usize, interval: &Observed, begin_us: i64) -> io::Result<()> {
        let id = interval.id as i64;
        let day = begin_us.div_euclid(DAY_US);
        self.written.intervals += 1;
        self.open_files(run, day)?;
        let trace_id = interval.trace.map(|it| format!("{:032x}", it.trace));
        let span_id = interval.trace.map(|it| format!("{:016x}", it.span));
        let exported = &self.runs[run];
        let (intervals, times) = self.files.get_mut(&(run, day)).expect("just opened");
        intervals.push(&[
            exported.name.as_str().into(),
            exported.run.build.as_str().into(),
            id.into(),
            begin_us.into(),
            self.classes[&interval.class].as_str().into(),
            self.ticks_per_ns.into(),
            interval.latency.into(),
            (bucket_start(interval.latency as u64) as i64).into(),
            trace_id.as_deref().into(),
            span_id.as_deref().into(),
            (interval.weight as i64).into(),
        ])?;
        for spent in &interval.spent {
            times.push(&[
                exported.name.as_str().into(),
                id.into(),
                self.ids.id(spent.node).into(),
                spent.calls.into(),
                spent.exclusive.into(),
                spent.inclusive.into(),
            ])?;
        }
        Ok(())
    }

    /// Opens the two tables that are written as intervals come.
    fn open_files(&mut self, run: usize, day: i64) -> io::Result<()> {
        if let Entry::Vacant(new) = self.files.entry((run, day)) {
            let exported = &self.runs[run];
            new.insert((
                exported.open(&self.staged, Table::Intervals, day)?,
                exported.open(&self.staged, Table::Times, day)?,
            ));
        }
        Ok(())
    }

    /// Everything was added: the files take their places. `nodes` are those of all the intervals together.
    ///
    /// # Errors
    /// The directory has tables of another interval or program by now, or cannot be written; then it is as it was before.
    pub fn finish(mut self, nodes: &[DescribedNode]) -> Result<Written, Error> {
        // Another export may have been there first.
        let there = RunSubject::of_tables(&self.directory);
        for exported in &self.runs {
            there.check(&exported.run, &self.directory)?;
        }
        let finished = self.write_rest(nodes).and_then(|()| self.staged.finish());
        match finished {
            Ok(()) => Ok(self.written),
            Err(source) => Err(Error::Io {
                path: self.directory,
                source,
            }),
        }
    }

    fn write_rest(&mut self, nodes: &[DescribedNode]) -> io::Result<()> {
        let days: Vec<(usize, i64)> = self.files.keys().copied().collect();
        for (intervals, times) in std::mem::take(&mut self.files).into_values() {
            self.end(intervals)?;
            self.end(times)?;
        }
        for (run, day) in days {
            let mut rows = self.runs[run].open(&self.staged, Table::Nodes, day)?;
            for node in nodes {
                self.push_node(&mut rows, run, node)?;
            }
            self.end(rows)?;
            let mut rows = self.runs[run].open(&self.staged, Table::Moments, day)?;
            self.push_moments(&mut rows, run, day)?;
            self.end(rows)?;
        }
        Ok(())
    }

    fn end(&mut self, rows: Rows) -> io::Result<()> {
        self.written.rows += rows.written;
        self.written.files += 1;
        rows.finish()
    }

    fn push_node(&self, rows: &mut Rows, run: usize, node: &DescribedNode) -> io::Result<()> {
        let Exported { run, name, .. } = &self.runs[run];
        let parent = node.parent.map(|parent| self.ids.id(parent));
        let word = |kind: Kind| {
            let word = serde_json::to_value(kind).expect("a word");
            word.as_str().unwrap_or_default().to_owned()
        };
        let (kind, own_kind) = (word(node.kind), word(node.own_kind));
        rows.push(&[
            name.as_str().into(),
            run.build.as_str().into(),
            self.ids.id(node.node).into(),
            parent.into(),
            node.depth.into(),
            self.ids.text(node.node).into(),
            node.name.as_str().into(),
            node.site.as_str().into(),
            node.file.as_deref().into(),
            node.line.into(),
            kind.as_str().into(),
            node.function.as_str().into(),
            node.height.into(),
            node.is_ranked.into(),
            node.is_nested.into(),
            node.has_children.into(),
            node.own_name.as_str().into(),
            own_kind.as_str().into(),
            node.own_function.as_str().into(),
            node.is_own_ranked.into(),
        ])
    }

    /// For each minute of the day the sums of all classes together, then of each.
    fn push_moments(&self, rows: &mut Rows, run: usize, day: i64) -> io::Result<()> {
        let minutes_a_day = DAY_US / MINUTE_US;
        let first = day * minutes_a_day;
        let of_day = (run, first, None)..(run, first + minutes_a_day, None);
        let mut by_minute: BTreeMap<i64, BTreeMap<Option<usize>, &Moments>> = BTreeMap::new();
        for (&(_, minute, class), moments) in self.moments.range(of_day) {
            by_minute.entry(minute).or_default().insert(class, moments);
        }
        for (minute, mut classes) in by_minute {
            let mut of_classes = Moments::default();
            let all = classes.remove(&None).unwrap_or_else(|| {
                let each = classes.values();
                each.for_each(|moments| of_classes.merge(moments));
                &of_classes
            });
            self.push_minute(rows, run, minute, None, all)?;
            for (class, moments) in classes {
                let class = class.map(|class| self.classes[&class].as_str());
                self.push_minute(rows, run, minute, class, moments)?;
            }
        }
        Ok(())
    }

    fn push_minute(
        &self,
        rows: &mut Rows,
        run: usize,
        minute: i64,
        class: Option<&str>,
        moments: &Moments,
    ) -> io::Result<()> {
        let Exported { run, name, .. } = &self.runs[run];
        let head = |node: i64, other: Option<i64>| -> [Cell<'_>; 7] {
            [
                name.as_str().into(),
                run.build.as_str().into(),
                (minute * MINUTE_US).into(),
                class.into(),
                self.ticks_per_ns.into(),
                node.into(),
                other.into(),
            ]
        };
        const SUMS: usize = std::mem::size_of::<NodeSums>() / std::mem::size_of::<i128>();
        for (&node, sums) in &moments.nodes {
            let intervals = (node == ROOT).then_some(moments.intervals);
            let mut row: Vec<Cell<'_>> = head(self.ids.id(node), None).to_vec();
            row.push(intervals.into());
            row.extend(sums.iter().enumerate().map(|(place, &sum)| {
                let is_known = moments.is_known(node, place);
                if is_known { Cell::Sum(sum) } else { Cell::Null }
            }));
            row.push(Cell::Null);
            rows.push(&row)?;
        }
        for (&(node, other), &product) in moments.pairs.iter().filter(|(_, it)| **it != 0) {
            let (node, other) = self.ids.pair(node, other);
            let mut row: Vec<Cell<'_>> = head(node, Some(other)).to_vec();
            row.extend([Cell::Null; SUMS + 1]);
            row.push(Cell::Sum(product));
            rows.push(&row)?;
        }
        Ok(())
    }
}

impl Exported {
    /// A file of a table and a day.
    fn open(&self, staged: &Staged, table: Table, day: i64) -> io::Result<Rows> {
        let seconds = day.max(0) as u64 * (DAY_US / 1_000_000) as u64;
        let day = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds));
        let place = format!(
            "{}/day={}/host={}/{}.parquet",
            table.name(),
            &day.to_string()[..10],
            folder_value(&self.run.host),
            self.name
        );
        let file = staged.create(Path::new(&place))?;
        Rows::new(table, &self.run.program, file)
    }

    /// A moment in microseconds since 1970.
    fn begin_us(&self, ticks: u64, ticks_per_ns: f64) -> i64 {
        let (ticks_then, unix_ns) = self.run.started;
        let passed_ns = (ticks as i128 - i128::from(ticks_then)) as f64 / ticks_per_ns;
        let since = i128::from(unix_ns) + passed_ns.round() as i128;
        // An interval may have begun before the session, but none did before 1970.
        (since.max(0) / 1000) as i64
    }
}
