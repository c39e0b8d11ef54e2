//! Sources of variance in MySQL, Postgres and Apache: tables 2.1 to 2.3.

use super::{Source, claim, findings, profiled};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::Verdict;

pub(super) const MARIADB: &str = "evenkeel profile --preset mariadb --json @ -- evenkeel bench tpcc --target mariadb --scale 2 --set innodb_buffer_pool_size=128M --clients 32";
pub(super) const POSTGRES: &str = "evenkeel profile --preset postgres --json @ -- evenkeel bench tpcc --target postgres --scale 2 --set default_transaction_isolation=serializable --clients 32";

/// Tables 2.1 and 3.1.
pub const MYSQL: Experiment = Experiment {
    id: "table-2.1",
    item: "Tables 2.1 and 3.1 (table 1 of SIGMOD 2017), sources of variance in MySQL",
    says: "128 warehouses: os_event_wait under lock waits 37.5 % and 21.7 %, row_ins_clust_index_entry_low 9.3 %. 2 warehouses and a pool of 128 MB: buf_pool_mutex_enter 32.92 %, btr_cur_search_to_nth_level 8.3 %, fil_flush 5 %.",
    method: "A profile of MariaDB under TPC-C with 2 warehouses, a pool of 128 MB and 32 clients. The interval is the statement (the preset's), the paper's the transaction. 128 warehouses with a pool of 30 GB need a machine of that memory. MariaDB replaced the pool's mutex and fil_flush long ago: what stands in their places is named.",
    command: MARIADB,
    run: mysql,
};

fn mysql(context: &Context) -> Result<Finding, Error> {
    let sources = [
        Source {
            paper: "os_event_wait under lock waits",
            share: 0.592,
            here: &["lock_wait", "lock_wait_suspend_thread"],
        },
        Source {
            paper: "buf_pool_mutex_enter",
            share: 0.3292,
            here: &[
                "buf_LRU_get_free_block",
                "buf_page_get_low",
                "buf_read_page",
            ],
        },
        Source {
            paper: "btr_cur_search_to_nth_level",
            share: 0.083,
            here: &["btr_cur_search_to_nth_level", "btr_cur_t::search_leaf"],
        },
        Source {
            paper: "fil_flush",
            share: 0.05,
            here: &["fil_flush", "fil_space_t::flush", "log_write_up_to"],
        },
    ];
    shares(context, MARIADB, &sources)
}

/// Tables 2.2 and 3.2.
pub const OF_POSTGRES: Experiment = Experiment {
    id: "table-2.2",
    item: "Tables 2.2 and 3.2 (table 2 of SIGMOD 2017), sources of variance in Postgres",
    says: "LWLockAcquireOrWait (the log's write lock) 76.8 %, ReleasePredicateLocks 6 %.",
    method: "A profile of PostgreSQL, serializable, under TPC-C with 2 warehouses and 32 clients; the paper's has 32 warehouses. The interval is the statement (the preset's), the paper's the transaction.",
    command: POSTGRES,
    run: postgres,
};

fn postgres(context: &Context) -> Result<Finding, Error> {
    let sources = [
        Source {
            paper: "LWLockAcquireOrWait",
            share: 0.768,
            here: &["LWLockAcquireOrWait"],
        },
        Source {
            paper: "ReleasePredicateLocks",
            share: 0.06,
            here: &["ReleasePredicateLocks"],
        },
    ];
    shares(context, POSTGRES, &sources)
}

fn shares(context: &Context<'_>, command: &str, sources: &[Source]) -> Result<Finding, Error> {
    Ok(match profiled(context, command)? {
        Ok(profile) => Finding {
            claims: sources
                .iter()
                .map(|source| claim(&profile, source))
                .collect(),
            why: findings(&profile),
            ..Finding::default()
        },
        Err(why) => Finding::without(
            Verdict::CannotTell,
            &format!("`{command}` did not succeed: {why}."),
        ),
    })
}
