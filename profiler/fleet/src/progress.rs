//! Progress of an answer, in words: shared by the computation and the display.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use datafusion::catalog::memory::DataSourceExec;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_plan::ExecutionPlan;
use evenkeel_report::units;

/// The present stage and its progress.
#[derive(Default)]
pub struct Progress {
    stage: Mutex<Stage>,
    /// Files that the stage has dealt with.
    files: AtomicU64,
}

#[derive(Default)]
enum Stage {
    #[default]
    Beginning,
    /// The files of a table are listed.
    Finding(&'static str),
    /// The ends of this many files have been read.
    Looking(&'static str, u64),
    /// The engine thinks about how to answer.
    Planning(String),
    /// The engine reads tables and computes.
    Answering(String, Arc<dyn ExecutionPlan>),
}

impl Progress {
    /// The files of a table are being listed.
    pub(crate) fn finding(&self, table: &'static str) {
        self.enter(Stage::Finding(table));
    }

    /// Starts to read this many files of a table.
    pub(crate) fn looking(&self, table: &'static str, files: u64) {
        self.enter(Stage::Looking(table, files));
    }

    /// Another file was found, or looked at.
    pub(crate) fn file_done(&self) {
        self.files.fetch_add(1, Relaxed);
    }

    /// A query is being planned.
    pub(crate) fn planning(&self, query: &str) {
        self.enter(Stage::Planning(query.to_owned()));
    }

    /// A query is being answered by this plan.
    pub(crate) fn answering(&self, query: &str, plan: Arc<dyn ExecutionPlan>) {
        self.enter(Stage::Answering(query.to_owned(), plan));
    }

    fn enter(&self, stage: Stage) {
        let mut current = self.stage.lock().expect("no panic with the lock held");
        self.files.store(0, Relaxed);
        *current = stage;
    }

    /// In a line.
    pub fn text(&self) -> String {
        let files = || units::count(self.files.load(Relaxed));
        match &*self.stage.lock().expect("no panic with the lock held") {
            Stage::Beginning => "opening the tables".to_owned(),
            Stage::Finding(table) => format!("finding the files of {table}: {}", files()),
            Stage::Looking(table, of) => format!(
                "looking at {table}: {} of {} files",
                files(),
                units::count(*of)
            ),
            Stage::Planning(query) => format!("{query}: planning"),
            Stage::Answering(query, plan) => {
                let mut read = Read::default();
                read.add(plan);
                read.text(query)
            }
        }
    }
}

/// Reading of a plan. A plan that reads a file twice counts it twice.
#[derive(Default)]
struct Read {
    files: u64,
    of: u64,
    rows: u64,
}

impl Read {
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        plan.children()
            .into_iter()
            .for_each(|child| self.add(child));
        let scan = plan.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let Some(scan) = scan else { return };
        let metrics = plan.metrics().unwrap_or_default();
        let files = metrics.sum_by_name("files_processed");
        let of: usize = scan.file_groups.iter().map(|group| group.len()).sum();
        self.files += files.map_or(0, |files| files.as_usize()) as u64;
        self.of += of as u64;
        self.rows += metrics.output_rows().unwrap_or_default() as u64;
    }

    fn text(&self, query: &str) -> String {
        let [files, of, rows] = [self.files, self.of, self.rows].map(units::count);
        match self.files >= self.of {
            true => format!("{query}: {files} files read, {rows} rows, computing"),
            false => format!("{query}: {files} of {of} files read, {rows} rows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_counts_from_its_beginning() {
        let progress = Progress::default();
        assert_eq!(progress.text(), "opening the tables");
        progress.finding("moments");
        (0..1200).for_each(|_| progress.file_done());
        assert_eq!(progress.text(), "finding the files of moments: 1,200");
        progress.looking("moments", 1200);
        progress.file_done();
        assert_eq!(progress.text(), "looking at moments: 1 of 1,200 files");
        progress.planning("tails");
        assert_eq!(progress.text(), "tails: planning");
    }

    #[test]
    fn bytes_read_by_a_plan_are_counted() {
        let read = |files| Read {
            files,
            of: 3000,
            rows: 22_400_000,
        };
        assert_eq!(
            read(1500).text("tails"),
            "tails: 1,500 of 3,000 files read, 22,400,000 rows"
        );
        assert_eq!(
            read(3000).text("tails"),
            "tails: 3,000 files read, 22,400,000 rows, computing"
        );
    }
}
