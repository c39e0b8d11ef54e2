//! Kinds of a function's time, by its name: the blocking calls of the C library and of the servers with presets.

use std::collections::HashMap;
use std::sync::LazyLock;

use evenkeel_analysis::sites::Kind;
use evenkeel_symbols::INFERRED;

/// Functions of each kind, separated by spaces.
const FUNCTIONS: &[(Kind, &[&str])] = &[
    // Calls that wait for a lock, latch, semaphore or condition.
    (
        Kind::Lock,
        &[
            "pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_cond_wait",
            "pthread_cond_timedwait pthread_cond_clockwait pthread_spin_lock pthread_barrier_wait pthread_join sem_wait",
            "sem_timedwait sem_clockwait semop semtimedop mtx_lock mtx_timedlock cnd_wait cnd_timedwait",
            // PostgreSQL
            "LWLockAcquire LWLockAcquireOrWait LWLockWaitForVar PGSemaphoreLock ProcSleep LockAcquire LockAcquireExtended",
            "XactLockTableWait LockBuffer LockBufferForCleanup s_lock perform_spin_delay ConditionVariableSleep",
            "ConditionVariableTimedSleep heap_acquire_tuplock",
            // MySQL, MariaDB
            "os_event_wait_low os_event_wait_time_low lock_wait_suspend_thread lock_wait",
        ],
    ),
    // Calls that read, write or flush a device.
    (
        Kind::Io,
        &[
            "fsync fdatasync sync_file_range syncfs sync msync read pread pread64 readv preadv preadv64 write pwrite",
            "pwrite64 writev pwritev pwritev64 open open64 openat fallocate posix_fallocate ftruncate posix_fadvise",
            "io_getevents io_submit unlink rename",
            // PostgreSQL
            "issue_xlog_fsync FileRead FileWrite FileSync FileReadV FileWriteV mdread mdwrite mdextend smgrread smgrwrite",
            "smgrextend BufFileRead BufFileWrite pg_fsync pg_fdatasync ReadBuffer_common",
            // MySQL, MariaDB
            "fil_flush os_file_flush_func",
        ],
    ),
    // Calls that wait for bytes. The sender may be a client, or a server that the program is a client of.
    (Kind::Socket, &["recv recvfrom recvmsg"]),
    // Calls that wait for a client.
    (
        Kind::Client,
        &["accept accept4 secure_read pq_getbyte pq_recvbuf vio_read my_net_read"],
    ),
    // Calls that wait for time to pass.
    (
        Kind::Timer,
        &["nanosleep clock_nanosleep usleep sleep pg_usleep os_thread_sleep"],
    ),
    // Calls that wait for an event.
    (
        Kind::Event,
        &[
            "epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect sigsuspend sigwait sigwaitinfo sigtimedwait",
            "wait waitpid wait4",
            // PostgreSQL
            "WaitLatch WaitLatchOrSocket WaitEventSetWait",
        ],
    ),
];

static KINDS: LazyLock<HashMap<&str, Kind>> = LazyLock::new(|| {
    let of_kind = |&(kind, names): &(Kind, &'static [&'static str])| {
        let names = names.iter().flat_map(|names| names.split(' '));
        names.map(move |name| (name, kind))
    };
    FUNCTIONS.iter().flat_map(of_kind).collect()
});

/// Kind of a call of the function `name`, which may be an inferred one.
pub fn of(name: &str) -> Kind {
    let name = name.strip_prefix(INFERRED).unwrap_or(name);
    KINDS.get(name).copied().unwrap_or(Kind::Call)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other end of a proxy's `recv` may be a server: that is no think time.
    #[test]
    fn only_what_receives_requests_waits_for_a_client() {
        assert_eq!(of("recv"), Kind::Socket);
        assert_eq!(of("~secure_read"), Kind::Client);
        assert_eq!(of("handle"), Kind::Call);
    }
}
