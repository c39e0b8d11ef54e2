//! What a thread is for that serves no interval: by the title of its process, or by its own name.

/// A thread's role; by default none is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadRole(u16);

/// How a title or name begins (behind `postgres: ` and the like), and what the role is called.
const ROLES: &[(&str, &str)] = &[
    // PostgreSQL: `init_ps_display` and `set_ps_display` in src/backend.
    ("autovacuum worker", "autovacuum worker"),
    ("autovacuum launcher", "autovacuum launcher"),
    (WALSENDER, WALSENDER),
    ("walreceiver", "walreceiver"),
    ("checkpointer", "checkpointer"),
    ("background writer", "background writer"),
    ("walwriter", "walwriter"),
    ("startup", "recovery"),
    ("archiver", "archiver"),
    ("parallel worker", "parallel worker"),
    ("logical replication worker", "logical replication worker"),
    (
        "logical replication apply worker",
        "logical replication worker",
    ),
    ("slotsync worker", "slot synchronisation"),
    ("io worker", "I/O worker"),
    // MySQL and MariaDB name their threads by these.
    ("ib_pg_flush", "page cleaner"),
    ("page_cleaner", "page cleaner"),
    ("ib_srv_purge", "purge thread"),
    ("ib_srv_wkr", "purge thread"),
    ("ib_log_flush", "redo log flusher"),
    ("ib_log_wr", "redo log writer"),
    ("ib_buf_dump", "buffer pool dump"),
    // Redis and Valkey.
    ("bio_aof", "append only file's thread"),
    ("bio_close", "file closing thread"),
    ("bio_lazy_free", "lazy free thread"),
    ("io_thd_", "I/O thread"),
    // nginx.
    ("cache manager", "cache manager"),
    ("cache loader", "cache loader"),
];

const WALSENDER: &str = "walsender";
/// A PostgreSQL process with any other title serves a client.
const SESSIONS: &str = "postgres";

impl ThreadRole {
    /// Nothing is known of the thread.
    pub const UNKNOWN: ThreadRole = ThreadRole(0);
    /// It serves a client's connection.
    pub const SESSION: ThreadRole = ThreadRole(1);
    /// Number of the first of [`ROLES`].
    const FIRST: usize = 2;

    /// The role of a thread, by its name.
    pub fn of(name: &str) -> ThreadRole {
        let starts =
            |(known, _): &(&str, &str)| name.split(": ").any(|part| part.starts_with(known));
        match ROLES.iter().position(starts) {
            Some(at) => ThreadRole((ThreadRole::FIRST + at) as u16),
            None if name.split(": ").next() == Some(SESSIONS) && name.contains(": ") => {
                ThreadRole::SESSION
            }
            None => ThreadRole::UNKNOWN,
        }
    }

    /// As a number, for a step of a path.
    pub(crate) fn number(self) -> u32 {
        self.0.into()
    }

    /// The role with this number.
    pub(crate) fn of_number(number: u32) -> ThreadRole {
        ThreadRole(number as u16)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match usize::from(self.0).checked_sub(ThreadRole::FIRST) {
            Some(at) => ROLES.get(at).map_or(OUTSIDE, |(_, name)| name),
            None if self == ThreadRole::SESSION => "session in no recorded interval",
            None => OUTSIDE,
        }
    }

    /// Whether the thread passes on what comes from another machine: a wait for it is a wait for that machine.
    pub(crate) fn is_relay(self) -> bool {
        self.name() == WALSENDER
    }

    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = ThreadRole> {
        (0..(ThreadRole::FIRST + ROLES.len()) as u16).map(ThreadRole)
    }
}

/// What a thread that serves no interval is called; its own name may follow.
pub const OUTSIDE: &str = "thread outside of intervals";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_by_title_and_name() {
        for (name, role) in [
            ("postgres: autovacuum worker shop 4711", "autovacuum worker"),
            ("postgres: main: checkpointer 12", "checkpointer"),
            (
                "postgres: walsender rep 10.0.0.7(4000) streaming 0/3000148 99",
                "walsender",
            ),
            (
                "postgres: app shop [local] idle in transaction 31",
                "session in no recorded interval",
            ),
            ("bio_lazy_free 8", "lazy free thread"),
            ("mariadbd 17", "thread outside of intervals"),
            ("", "thread outside of intervals"),
            ("postgres", "thread outside of intervals"),
        ] {
            assert_eq!(ThreadRole::of(name).name(), role, "{name}");
        }
        assert!(ThreadRole::of("postgres: walsender rep").is_relay());
        assert_eq!(ThreadRole::all().filter(|role| role.is_relay()).count(), 1);
    }
}
