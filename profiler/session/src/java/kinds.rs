//! Kinds of the JDK's methods, by their names: those that block.

use evenkeel_analysis::sites::Kind;

/// The kind of a call of a method of this class (with slashes).
pub(super) fn of(class: &str, method: &str) -> Kind {
    match (class, method) {
        ("java/lang/Thread", "sleep" | "sleep0" | "sleepNanos" | "sleepNanos0") => Kind::Timer,
        ("java/lang/Object", "wait" | "wait0")
        | ("java/lang/Thread", "join")
        | ("jdk/internal/misc/Unsafe" | "sun/misc/Unsafe", "park")
        | ("java/util/concurrent/locks/LockSupport", "park" | "parkNanos" | "parkUntil") => {
            Kind::Lock
        }
        (class, "read0" | "readv0" | "pread0" | "write0" | "writev0" | "pwrite0" | "force0")
            if class.contains("FileDispatcher") =>
        {
            Kind::Io
        }
        ("sun/nio/ch/SocketDispatcher" | "sun/nio/ch/UnixDispatcher", _)
        | ("sun/nio/ch/Net", "poll" | "connect0") => Kind::Socket,
        ("sun/nio/ch/EPoll", "wait") => Kind::Event,
        ("java/io/FileInputStream", "readBytes" | "read0" | "readBytes0")
        | ("java/io/FileOutputStream", "writeBytes")
        | ("java/io/RandomAccessFile", "readBytes" | "readBytes0" | "writeBytes" | "writeBytes0")
        | ("java/io/FileDescriptor", "sync" | "sync0") => Kind::Io,
        _ => Kind::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_block_say_what_for() {
        assert_eq!(of("java/lang/Thread", "sleep"), Kind::Timer);
        assert_eq!(of("jdk/internal/misc/Unsafe", "park"), Kind::Lock);
        assert_eq!(of("sun/nio/ch/FileDispatcherImpl", "force0"), Kind::Io);
        assert_eq!(of("com/example/Checkout", "read0"), Kind::Call);
    }
}
