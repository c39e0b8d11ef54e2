//! Load on PostgreSQL by its own `pgbench`, and its report read.

use std::path::PathBuf;

use crate::error::ServerError;
use crate::launch::run;
use crate::postgresql::RunningPostgreSql;

/// Progress reports are what makes pgbench measure the standard deviation; one this rare is never written.
const PROGRESS_INTERVAL_S: &str = "1000000";
/// Database that the tables are in.
const DATABASE: &str = "postgres";

/// A `pgbench` run.
#[derive(Debug, Clone)]
pub struct Pgbench {
    /// Connections, each with one transaction at a time.
    pub clients: u32,
    /// Threads of pgbench that serve them.
    pub jobs: u32,
    /// Branches of the bank; 100,000 accounts each. Used by [`Self::initialize`].
    pub scale: u32,
    /// When to end.
    pub length: Length,
    /// The transaction.
    pub script: Script,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After this many seconds.
    Seconds(u32),
    /// After this many transactions of each client.
    Transactions(u32),
}

/// Transactions of pgbench.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// pgbench's own "TPC-B (sort of)": three updates, a select and an insert.
    TpcB,
    /// TPC-B without the updates of the few tellers and branches, where clients meet.
    SimpleUpdate,
    /// A select by primary key.
    SelectOnly,
    /// A script file in pgbench's language.
    File(PathBuf),
}

/// Results that pgbench reported.
#[derive(Debug, Clone, PartialEq)]
pub struct PgbenchResult {
    /// Transactions that succeeded.
    pub transactions: u64,
    /// Transactions that failed for good (serialization and deadlock errors); 0 before PostgreSQL 15, which does not say.
    pub failed: u64,
    /// Mean time of a transaction as its client saw it.
    pub latency_mean_ms: f64,
    /// Its standard deviation.
    pub latency_sd_ms: f64,
    /// Transactions a second, without the time to connect.
    pub transactions_per_s: f64,
    /// All that pgbench wrote to its output.
    pub output: String,
}

impl Default for Pgbench {
    /// TPC-B with 16 clients on two threads for 10 s, 10 branches.
    fn default() -> Self {
        Self {
            clients: 16,
            jobs: 2,
            scale: 10,
            length: Length::Seconds(10),
            script: Script::TpcB,
        }
    }
}

impl Pgbench {
    /// Makes and fills pgbench's tables.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with what pgbench said.
    pub fn initialize(&self, server: &RunningPostgreSql) -> Result<(), ServerError> {
        let mut command = server.client("pgbench");
        command.args([
            "--initialize",
            "--quiet",
            "--scale",
            &self.scale.to_string(),
            DATABASE,
        ]);
        run(&mut command).map(drop)
    }

    /// Runs the load to its end.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with what pgbench said, [`ServerError::Unreadable`] if its report is not as expected.
    pub fn run(&self, server: &RunningPostgreSql) -> Result<PgbenchResult, ServerError> {
        let mut command = server.client("pgbench");
        command.args([
            "-c",
            &self.clients.to_string(),
            "-j",
            &self.jobs.to_string(),
            "-P",
            PROGRESS_INTERVAL_S,
        ]);
        match self.length {
            Length::Seconds(seconds) => command.args(["-T", &seconds.to_string()]),
            Length::Transactions(transactions) => command.args(["-t", &transactions.to_string()]),
        };
        match &self.script {
            Script::TpcB => command.args(["-b", "tpcb-like"]),
            Script::SimpleUpdate => command.args(["-b", "simple-update"]),
            Script::SelectOnly => command.args(["-b", "select-only"]),
            // The caller's script may have other tables, or none: nothing to vacuum.
            Script::File(path) => command.arg("-n").arg("-f").arg(path),
        };
        parse(run(command.arg(DATABASE))?)
    }
}

/// Reads the report; the form is in PostgreSQL's documentation of pgbench, section "Transaction Processing".
fn parse(output: String) -> Result<PgbenchResult, ServerError> {
    // The number that follows the text on its line, up to what cannot belong to it.
    let number = |before: &'static str| -> Option<f64> {
        let rest = output
            .lines()
            .find_map(|line| line.strip_prefix(before))?
            .trim_start();
        rest.split(|c: char| c != '.' && !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let need = |before: &'static str| {
        number(before).ok_or_else(|| ServerError::Unreadable {
            program: "pgbench",
            what: before,
            output: output.clone(),
        })
    };
    Ok(PgbenchResult {
        transactions: need("number of transactions actually processed:")? as u64,
        failed: number("number of failed transactions:").unwrap_or(0.0) as u64,
        latency_mean_ms: need("latency average =")?,
        latency_sd_ms: need("latency stddev =")?,
        transactions_per_s: need("tps =")?,
        output: output.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: simple
number of clients: 10
number of threads: 1
maximum number of tries: 1
number of transactions per client: 1000
number of transactions actually processed: 9998/10000
number of failed transactions: 2 (0.020%)
latency average = 11.013 ms
latency stddev = 7.351 ms
initial connection time = 45.758 ms
tps = 896.967014 (without initial connection time)
";

    #[test]
    fn a_report_is_read() {
        let result = parse(REPORT.into()).unwrap();
        assert_eq!((result.transactions, result.failed), (9998, 2));
        assert_eq!(
            (result.latency_mean_ms, result.latency_sd_ms),
            (11.013, 7.351)
        );
        assert_eq!(result.transactions_per_s, 896.967014);
    }

    #[test]
    fn a_report_without_a_number_says_which() {
        let text = REPORT.replace("tps", "spt");
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains("tps ="), "{error}");
    }
}
