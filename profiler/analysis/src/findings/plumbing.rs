//! Functions that carry out waiting, reading and copying for whoever calls them: their callers explain more.
//! Lists are separated by spaces.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::sites;

/// Of the C library, the runtimes of C++ and Rust, and thin wrappers that servers put around them.
const PREFIXED: &[&str] = &[
    "pthread_ sem_ mtx_ cnd_ epoll_ io_uring_ __libc_ __GI_ std:: core:: alloc:: parking_lot lock_api::",
    // MariaDB's wrappers of locks, conditions and files.
    "psi_ inline_mysql_ safe_mutex_ safe_cond_ my_cond_ srw_lock_impl ssux_lock_impl srw_mutex_impl os_file_",
    // What the JDK's locks are built on.
    "java.util.concurrent.locks. jdk.internal.misc.Unsafe.",
];

const NAMED: &[&str] = &[
    "accept accept4 calloc clock_nanosleep close fallocate fdatasync free fsync ftruncate futex io_getevents",
    "io_submit lseek lseek64 malloc memcmp memcpy memmove memset mmap msync munmap nanosleep open open64 openat",
    "poll posix_fadvise posix_fallocate ppoll pread pread64 preadv preadv64 pselect pwrite pwrite64 pwritev",
    "pwritev64 read readv realloc recv recvfrom recvmsg select semop semtimedop send sendfile sendfile64 sendmsg",
    "sendto sync_file_range syscall usleep write writev",
    // What threads begin in.
    "clone clone3 execute_native_thread_routine start_thread",
    // PostgreSQL
    "FileRead FileReadV FileSync FileWrite FileWriteV LockAcquire LockAcquireExtended PGSemaphoreLock ProcSleep",
    "ResourceOwnerEnlargeBuffers WaitEventSetWait WaitEventSetWaitBlock WaitLatch WaitLatchOrSocket WaitOnLock",
    "mdread mdwrite perform_spin_delay pg_fdatasync pg_fsync pg_pread pg_pwrite pg_usleep s_lock smgrread",
    "smgrwrite",
    // MariaDB
    "fil_flush my_pread my_pwrite my_read my_sync my_write vio_read vio_write",
    // Apache, nginx, Redis
    "apr_pollset_poll apr_poll apr_socket_recv apr_socket_send apr_socket_sendv apr_thread_cond_wait",
    "apr_thread_mutex_lock aeApiPoll",
    // Java
    "java.lang.Object.wait java.lang.Object.wait0",
];

// Looked up for every path of the tree after every round: the lists are split once.
static PREFIXES: LazyLock<Vec<&str>> = LazyLock::new(|| words(PREFIXED).collect());
static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| words(NAMED).collect());

fn words(lines: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    lines.iter().flat_map(|line| line.split(' '))
}

/// Whether the function's callers explain more than it does.
pub(crate) fn is_plumbing(name: &str) -> bool {
    let name = base(name);
    // The C library exports some under two names, as `send` and `__send`.
    let is_named = NAMES.contains(name.trim_start_matches('_'));
    is_named || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the function has no name but its address, or is not known before the call.
pub(crate) fn is_unnamed(name: &str) -> bool {
    sites::is_unnamed(name) || name.starts_with(sites::INDIRECT)
}

/// Whether a function that a thread runs says what the thread is for.
pub fn says_what_runs(name: &str) -> bool {
    !is_plumbing(name) && !is_unnamed(name)
}

/// A name as patterns have it: without parameters, clones of the compiler (`.isra.0`), and the mark of an inferred
/// name.
pub fn base(name: &str) -> &str {
    let name = name.strip_prefix('~').unwrap_or(name);
    let name = name.split_once('(').map_or(
        name,
        |(before, _)| {
            if before.is_empty() { name } else { before }
        },
    );
    let clone = [".isra.", ".part.", ".constprop.", ".cold"]
        .iter()
        .filter_map(|mark| name.find(mark))
        .min();
    clone.map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_again() {
        for name in [
            "sem_wait",
            "PGSemaphoreLock",
            "pthread_cond_wait",
            "std::mutex::lock()",
            "fdatasync",
            "__send",
            "java.util.concurrent.locks.ReentrantLock.lock",
        ] {
            assert!(is_plumbing(name), "{name}");
        }
        for name in [
            "XLogFlush",
            "trans_commit(THD*)",
            "~XLogWrite",
            "readQueryFromClient",
        ] {
            assert!(!is_plumbing(name), "{name}");
        }
        assert_eq!(base("~XLogWrite"), "XLogWrite");
        assert_eq!(base("trans_commit(THD*)"), "trans_commit");
        assert_eq!(base("LWLockAcquire.part.0"), "LWLockAcquire");
        assert_eq!(base("(indirect) at f+0x1"), "(indirect) at f+0x1");
        assert!(is_unnamed("0x1234") && !is_unnamed("XLogFlush"));
    }

    #[test]
    fn what_a_thread_begins_in_does_not_say_what_it_is_for() {
        for name in ["clone3", "start_thread", "std::thread::run()", "0x1f80"] {
            assert!(!says_what_runs(name), "{name}");
        }
        assert!(says_what_runs("pool::work(void*)"));
    }
}
