//! Sources of variance in MySQL and Postgres: tables 2.1 and 2.2.

use super::{Source, found, profiled, taken};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const MARIADB: &str = "evenkeel bench tpcc --target mariadb --scale 2 --set innodb_buffer_pool_size=128M --clients 32 --no-check --profile @";
const POSTGRES: &str = "evenkeel bench tpcc --target postgres --scale 4 --set default_transaction_isolation=serializable --clients 16 --no-check --profile @";

/// Tables 2.1 and 3.1.
pub const MYSQL: Experiment = Experiment {
    id: "table-2.1",
    item: "Tables 2.1 and 3.1 (table 1 of SIGMOD 2017), sources of variance in MySQL",
    says: "128 warehouses: os_event_wait under lock waits 37.5 % and 21.7 %, row_ins_clust_index_entry_low 9.3 %. 2 warehouses and a pool of 128 MB: buf_pool_mutex_enter 32.92 %, btr_cur_search_to_nth_level 8.3 %, fil_flush 5 %.",
    method: "A profile of MariaDB under TPC-C with 2 warehouses, a pool of 128 MB and 32 clients, while the load is measured. The interval is the statement; the paper's is the transaction. A transaction here contains waits for clients that run on the same two processors. The paper's 128 warehouses with a pool of 30 GB need more memory. MariaDB has replaced the pool's mutex and fil_flush, so their successors are named. Interval and warehouses were chosen after other profiles had been seen. So the function matters more than the size of its share.",
    command: MARIADB,
    takes: taken,
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
    method: "A profile of serializable PostgreSQL under TPC-C with 4 warehouses and 16 clients, during the measurement. The paper has 32 warehouses. The interval is the statement; the paper's is the transaction. Interval, warehouses and clients were chosen after other profiles had been seen. So the function matters more than the size of its share.",
    command: POSTGRES,
    takes: taken,
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
        Ok((command, profile)) => Finding {
            commands: vec![command],
            ..found(&profile, sources)
        },
        Err(why) => Finding::failed(&format!("`{command}` gave no result: {why}.")),
    })
}
