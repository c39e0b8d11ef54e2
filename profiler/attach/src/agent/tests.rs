//! When a process can be visited, and when not.

use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;

use super::*;

/// A forked process, killed in the end.
struct Child(i32);

impl Child {
    fn that(does: impl FnOnce()) -> Child {
        // SAFETY: the child calls what may be called after a fork, and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            does();
            // SAFETY: the end of this process.
            unsafe { libc::_exit(0) };
        }
        Child(pid)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: our own child.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// Calls of the C library that are little more than a system call of the file system.
#[test]
fn a_process_that_opens_or_locks_a_file_is_at_a_safe_point() {
    let directory = tempfile::tempdir().unwrap();
    let text = |name: &str| {
        let path = directory.path().join(name);
        CString::new(path.into_os_string().into_vec()).unwrap()
    };
    let (pipe, locked) = (text("pipe"), text("locked"));
    // SAFETY: texts that end with a zero, and descriptors of our own.
    let descriptor = unsafe {
        assert_eq!(libc::mkfifo(pipe.as_ptr(), 0o600), 0);
        libc::open(locked.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600)
    };
    // SAFETY: zero is a valid `flock`.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = libc::F_WRLCK as i16;
    // SAFETY: the same.
    unsafe { libc::fcntl(descriptor, libc::F_SETLK, &whole) };
    let held = std::fs::File::open(directory.path().join("locked")).unwrap();
    // SAFETY: the same.
    unsafe { libc::flock(held.as_raw_fd(), libc::LOCK_EX) };
    // SAFETY: the same; none of them returns, except for the last.
    let children = [
        Child::that(|| unsafe { _ = libc::open(pipe.as_ptr(), libc::O_RDONLY) }),
        Child::that(|| unsafe { _ = libc::openat(libc::AT_FDCWD, pipe.as_ptr(), 0) }),
        Child::that(|| unsafe { _ = libc::fcntl(descriptor, libc::F_SETLKW, &whole) }),
        Child::that(|| unsafe { _ = libc::flock(descriptor, libc::LOCK_EX) }),
        Child::that(|| while unsafe { libc::access(pipe.as_ptr(), libc::F_OK) } == 0 {}),
    ];
    std::thread::sleep(Duration::from_millis(100));
    for Child(pid) in &children {
        let target = Target::open(*pid).expect("our own child");
        let refused = target.visit(&seccomp::counts(*pid), SEARCH_LIMIT).err();
        assert!(refused.is_none(), "{refused:?}");
    }
    // SAFETY: our own.
    unsafe { libc::close(descriptor) };
}

/// A process that waits inside of `system` is at no safe point. It is stopped some tens of times within the second.
#[test]
fn a_process_at_no_safe_point_is_not_stopped_all_the_while() {
    // SAFETY: a text that ends with a zero.
    let child = Child::that(|| unsafe { _ = libc::system(c"sleep 60".as_ptr()) });
    let pid = child.0;
    let children = || process::family(pid).len() > 1;
    while !children() {
        std::thread::sleep(SEARCH_PAUSES[0]);
    }
    let target = Target::open(pid).expect("our own child");
    let refused = target.visit(&seccomp::counts(pid), SEARCH_LIMIT).err();
    let switches = process::status(pid, "voluntary_ctxt_switches");
    for child in process::family(pid) {
        // SAFETY: what was made for this.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    drop(child);
    assert!(
        matches!(refused, Some(Refused::NoSafePoint { .. })),
        "{refused:?}"
    );
    let switches: u64 = switches.expect("a number").parse().expect("a number");
    assert!(switches < 300, "{switches}");
}

/// Between its first instruction and its program's the loader maps the libraries.
#[test]
fn a_program_without_its_c_library_has_just_begun() {
    let mapped = |path: &str| Mapping {
        path: path.to_owned(),
        ..Mapping::default()
    };
    let [program, loader, library, musl] = [
        "/usr/bin/short",
        "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/ld-musl-x86_64.so.1",
    ]
    .map(mapped);
    assert!(is_loading(&[program.clone(), loader.clone()]));
    assert!(!is_loading(&[program.clone(), loader, library]));
    assert!(!is_loading(&[program.clone(), musl]));
    assert!(!is_loading(&[program]), "it is linked statically");
}
