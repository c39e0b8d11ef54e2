//! Items that this command does not measure, each with the true reason: what cannot be had at all, and what is measured elsewhere in the
//! project, with the command that does.

use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::Verdict;

/// An item that is not measured. The function is written out for each, as a constant takes no closure that captures.
macro_rules! absent {
    ($id:literal, $item:literal, $says:literal, $method:literal, $command:literal, $verdict:ident, $why:literal) => {{
        fn run(_: &Context) -> Result<Finding, Error> {
            Ok(Finding::without(Verdict::$verdict, $why))
        }
        Experiment {
            id: $id,
            item: $item,
            says: $says,
            method: $method,
            command: $command,
            run,
        }
    }};
}

/// Chapter 1 and 2: profiles of servers.
pub const PROFILES: &[Experiment] = &[
    absent!(
        "figure-1.1",
        "Figure 1.1, mean, standard deviation and 99th percentile of three engines",
        "Orders of magnitude lie between the mean and high percentiles of MySQL, Postgres and VoltDB.",
        "Standard deviation and p99 over the mean, TPC-C, each engine that is installed.",
        "evenkeel bench compare --with '--target postgres' --with '--target mariadb' --with '--target sqlite' --with '--target embedded' tpcc --clients 16 --round-trip 500us --json",
        CannotTell,
        "Not measured by this command yet: it starts no servers. VoltDB is a JVM's, which the profiler does not follow."
    ),
    absent!(
        "figure-2.1",
        "Figure 2.1, a call graph and its variance tree",
        "An illustration of var(A) = sum of variances and covariances.",
        "The sum is exact in every profile: `closure.max_abs_error_ticks` of its JSON is zero.",
        "evenkeel demo",
        CannotBeHad,
        "An illustration has no number to compare. That trees add up exactly is tested in profiler/analysis."
    ),
    absent!(
        "figure-2.2",
        "Figure 2.2, a critical path over threads",
        "An illustration of a semantic interval that other threads work for.",
        "Programs with planted critical paths, whose profiles are known (cli/tests/waits.rs).",
        "make test",
        CannotBeHad,
        "An illustration has no number to compare."
    ),
    absent!(
        "figure-2.3",
        "Figure 2.3, profiling overhead, and number of runs",
        "Overhead below 6 % with up to 100 instrumented children and below 14 % with 500; DTrace's is 10 to 20 times as much. Tens of runs where a naive search needs more than 10^14.",
        "Throughput of PostgreSQL, MariaDB and others with and without `evenkeel profile`, beside bpftrace.",
        "make bench",
        CannotTell,
        "Measured by a benchmark of its own (cli/benches/overhead, results in BENCHMARKS.md), not by this command yet; by number of sites it is not measured at all."
    ),
    absent!(
        "table-2.1",
        "Tables 2.1 and 3.1 (table 1 of SIGMOD 2017), sources of variance in MySQL",
        "128 warehouses: os_event_wait under lock waits 37.5 % and 21.7 %, row_ins_clust_index_entry_low 9.3 %. 2 warehouses and a pool of 128 MB: buf_pool_mutex_enter 32.92 %, btr_cur_search_to_nth_level 8.3 %, fil_flush 5 %.",
        "A profile of MariaDB under TPC-C with 2 warehouses and a pool of 128 MB.",
        "evenkeel profile --preset mariadb --edges -- evenkeel bench tpcc --target mariadb --scale 2 --set innodb_buffer_pool_size=128M",
        CannotTell,
        "Not measured by this command yet: it starts no profile. 128 warehouses with a pool of 30 GB need a machine of that memory."
    ),
    absent!(
        "table-2.2",
        "Tables 2.2 and 3.2 (table 2 of SIGMOD 2017), sources of variance in Postgres",
        "LWLockAcquireOrWait (the log's write lock) 76.8 %, ReleasePredicateLocks 6 %.",
        "A profile of PostgreSQL, serializable, under TPC-C.",
        "evenkeel profile --preset postgres --edges -- postgres -D DATA",
        CannotTell,
        "Not measured by this command yet: it starts no profile."
    ),
    absent!(
        "table-2.3",
        "Table 2.3, sources of variance in Apache",
        "(ap_pass_brigade, apr_file_open) 22 %, (ap_pass_brigade, basic_http_header) 15.5 %, apr_bucket_alloc 11.8 %.",
        "A profile of Apache with static files.",
        "evenkeel profile --preset apache -- apache2 -X",
        CannotTell,
        "Not measured by this command yet: it starts no profile."
    ),
    absent!(
        "table-2.4",
        "Table 2.4, manual effort",
        "4 to 9 lines of annotations, 6 to 12 minutes of inspection a run, 45 to 355 modified lines.",
        "Lines of annotation are none where a preset or --interval names the interval.",
        "evenkeel profile --help",
        CannotBeHad,
        "Minutes of a person's inspection are not measured by a program."
    ),
    absent!(
        "table-2.5",
        "Table 2.5, statistics of the final variance trees",
        "MySQL 37 runs, height 19, breadth 245025; Postgres 16, 8, 16900; Apache 17, 15, 36.",
        "Rounds, height and breadth of a profile's tree (`rounds` and `tree` of its JSON); here runs are rounds within one run.",
        "evenkeel profile --preset postgres --json -",
        CannotTell,
        "Not measured by this command yet: it starts no profile."
    ),
];

/// Chapter 3: engines under load.
pub const ENGINES: &[Experiment] = &[
    absent!(
        "figure-3.1",
        "Figure 3.1 (figure 7 of SIGMOD 2017), worker threads of VoltDB",
        "99.9 % of the variance is waiting in queues; the right number of workers has 2.6 times less variance, 1.4 times less p99 and 5.7 times less mean.",
        "The embedded store's workers in place of VoltDB's, TPC-C at 70 % of one worker's saturation.",
        "evenkeel bench compare --with '--set workers=1' --with '--set workers=2' --with '--set workers=8' tpcc --load 70% --clients 64",
        CannotTell,
        "Not measured by this command yet; bench/drive/RESULTS.md has an older measurement."
    ),
    absent!(
        "figure-3.2",
        "Figure 3.2 (figure 8 of SIGMOD 2017), correlation of age and remaining time",
        "Near zero for every type of TPC-C's transactions.",
        "Pearson's correlation at each lock that was waited for, on the embedded store.",
        "evenkeel bench tpcc --schedule fifo --clients 32 --round-trip 500us --grants --for 20s",
        CannotTell,
        "Not measured by this command yet; bench/drive/RESULTS.md has an older measurement."
    ),
    absent!(
        "figure-3.3",
        "Figure 3.3 (figure 2 of SIGMOD 2017), scheduling algorithms in MySQL",
        "VATS has 6.3 times less mean, 5.6 times less variance and 2 times less p99 than FCFS under TPC-C; RS (sorted at random) is between them, and about 100 times worse for SEATS.",
        "FIFO, random and VATS on the embedded store at 95 % of saturation with round trips. `random` here draws a waiter and shares with all readers; the paper's RS sorts at random and stops at the first conflict.",
        "evenkeel bench compare --with '--schedule fifo' --with '--schedule random' --with '--schedule vats' tpcc --load 95% --clients 64 --round-trip 500us",
        CannotTell,
        "Not measured by this command yet; bench/drive/RESULTS.md has an older measurement without round trips."
    ),
    absent!(
        "figure-3.4",
        "Figure 3.4 (figure 3 of SIGMOD 2017), LLU, size of the pool, flush policy",
        "LLU: 1.1, 1.6 and 1.4 times less mean, variance and p99. A larger pool and deferred flushes lower all three.",
        "The same settings of the embedded store.",
        "evenkeel bench compare --with '--set replacement=lru' --with '--set replacement=llu' ycsb-b -o records=80000 --set pool-mb=41 --set flush=lazy-write --clients 8",
        CannotTell,
        "Not measured by this command yet; bench/drive/RESULTS.md has an older measurement."
    ),
    absent!(
        "figure-3.5",
        "Figure 3.5 (figure 4 of SIGMOD 2017), parallel logging and block size in Postgres",
        "Two disks: 2.4, 1.8 and 1.3 times less mean, variance and p99. Larger blocks reduce variance up to a point.",
        "The embedded store's log on one or two simulated devices.",
        "evenkeel bench compare --with '--set log-streams=1' --with '--set log-streams=2 --set log-devices=2' tpcc --set log-device=exponential:2ms --clients 32",
        CannotTell,
        "Not measured by this command yet; bench/drive/RESULTS.md has an older measurement on one device."
    ),
    absent!(
        "table-3.3",
        "Table 3.3 (table 3 of SIGMOD 2017), impact of each modification",
        "Variance, p99, mean: VATS 5.6, 2.0, 6.3 times less; spin lock for the LRU list 1.6, 1.4, 1.1; flush parameters 1.4, 1.2, 1.2; parallel logging 1.8, 1.3, 2.4; worker threads 2.6, 1.4, 5.7.",
        "The sum of figures 3.1 and 3.3 to 3.5.",
        "evenkeel experiments figure-3.1 figure-3.3 figure-3.4 figure-3.5",
        CannotTell,
        "See the figures of its rows."
    ),
    absent!(
        "table-3.4",
        "Table 3.4 (table 4 of SIGMOD 2017), VATS in MySQL on five workloads",
        "Mean, variance, p99 of FCFS over VATS: TPC-C 6.3, 5.6, 2.0; SEATS 1.1, 1.3, 1.1; TATP 1.2, 1.6, 1.3; Epinions 1.4, 2.6, 1.0; YCSB 1.0, 1.1, 1.1.",
        "MariaDB 10.2.11 has innodb_lock_schedule_algorithm=fcfs|vats.",
        "evenkeel bench compare --with '--schedule fifo' --with '--schedule vats' tatp --load 95% --round-trip 500us",
        CannotTell,
        "Not measured: the MariaDB that has VATS is not installed, and this command starts no servers yet."
    ),
    absent!(
        "figure-4.13",
        "Figure 4.13, scheduling overhead of various algorithms",
        "With 100 clients LDSF's and bLDSF's overhead is much less than FIFO's, whose queues are longer, and more than VATS'.",
        "Time of a decision by length of the queue and schedule.",
        "cargo bench -p evenkeel-locks --bench decisions",
        CannotTell,
        "A benchmark of its own times decisions; it is not part of this command, as timing needs a machine with nothing else to do."
    ),
    absent!(
        "figure-4.18",
        "Figure 4.18, scheduling overhead with and without the batch heuristic",
        "The approximation costs up to 80 times less than the exact choice of a batch.",
        "Time of bLDSF's decision by length of the queue.",
        "cargo bench -p evenkeel-locks --bench decisions",
        CannotBeHad,
        "The exact choice of a batch (exponential in the readers) is not in the lock manager; what the heuristic loses against it is theorem 4.6's experiment."
    ),
    absent!(
        "figure-4.21",
        "Figures 4.21 and 4.22, latency of hLDSF and FIFO in MySQL",
        "hLDSF fails to improve on FIFO reliably, in the mean and in the 99th percentile.",
        "The hybrid load on the embedded store.",
        "evenkeel bench compare --with '--schedule fifo' --with '--schedule hldsf' htap --load 85% --round-trip 500us",
        CannotTell,
        "Not measured by this command yet. In the simulator it is figure 4.23."
    ),
];
