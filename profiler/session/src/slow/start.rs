//! Names threads by the function that they run. A worker of a library's pool often inherits the program's name, which does not
//! identify it.
//!
//! The outermost functions on a stack belong to the C library, which started the thread. Wrappers of the language follow (`std::thread`
//! in C++ and Rust), then the function that identifies the thread. The stack is read where the thread is blocked.

use std::time::{Duration, Instant};

use evenkeel_attach::{CodeAddress, is_agent};

use super::look::{self, Look};
use super::paths::{Files, file_name};
use crate::arena::Arena;
use crate::modules::Modules;
use crate::processes::Processes;

/// Threads that are looked at in one window, at most: a look takes a fraction of a millisecond once the program's files are read.
const LOOKS_MAX: usize = 8;
const WINDOW: Duration = Duration::from_millis(200);
/// Functions without a name behind which none is asked for: one further in says what the thread does now.
const UNNAMED_MAX: usize = 3;
/// Files of the C library, which starts threads, and its loader.
const C_LIBRARIES: [&str; 4] = ["libc.", "libc-", "libpthread", "ld-"];
/// Files of C++'s library, whose function that begins a thread has no name in a stripped one.
const CPP_LIBRARIES: [&str; 2] = ["libstdc++.", "libc++."];
/// How names of functions begin that start a thread or call a function passed to them.
const WRAPPERS: [&str; 7] = [
    "std::",
    "core::",
    "alloc::",
    "boost::",
    "__rust",
    "execute_native_thread_routine",
    "g_thread_proxy",
];

/// Looks at threads' stacks, a bounded number in each window of time.
#[derive(Default)]
pub struct ThreadStarts {
    files: Files,
    window: Option<Instant>,
    looks: usize,
}

impl ThreadStarts {
    /// Whether another thread may be looked at.
    fn is_time(&mut self) -> bool {
        let is_over = |began: Instant| began.elapsed() >= WINDOW;
        if self.window.is_none_or(is_over) {
            self.window = Some(Instant::now());
            self.looks = 0;
        }
        self.looks += 1;
        self.looks <= LOOKS_MAX
    }

    /// The function that the thread of a ring runs; the file, if no symbol names it. Nothing where the thread runs at this moment, or
    /// its stack cannot be followed to its beginning, or too many were looked at just now.
    pub fn function(
        &mut self,
        ring: usize,
        (pid, tid): (u32, u32),
        arena: &Arena,
        modules: &Modules,
        processes: &mut Processes,
    ) -> Option<String> {
        if !self.is_time() {
            return None;
        }
        let look = look::at_blocked(arena, ring, pid, tid, processes, || true);
        match look {
            Ok(Look::Stack(calls)) => {
                let mut name = |call: &CodeAddress| self.files.name_if_known(call, arena, modules);
                start(&calls.calls, &mut name)
            }
            Ok(Look::Runs | Look::MovedOn) => None,
            Err(_) => {
                processes.forget(pid);
                None
            }
        }
    }
}

/// What names a thread with these calls, innermost first.
fn start(
    calls: &[CodeAddress],
    name: &mut dyn FnMut(&CodeAddress) -> Option<String>,
) -> Option<String> {
    let is_of = |call: &CodeAddress, files: &[&str]| {
        let file = file_name(&call.file);
        files.iter().any(|known| file.starts_with(known))
    };
    let is_c_library = |call: &&CodeAddress| is_of(call, &C_LIBRARIES);
    // Otherwise the stack was not followed to its beginning.
    calls.last().filter(is_c_library)?;
    let outermost = calls.iter().rev();
    let own = outermost.filter(|call| {
        let is_runtime = is_c_library(call) || is_of(call, &CPP_LIBRARIES);
        !is_runtime && !is_agent(&call.file.loaded.path.to_string_lossy())
    });
    let mut file = None;
    let mut unnamed = 0;
    for call in own {
        let name = name(call);
        match name {
            // A C function says no more of a thread than the calls below it.
            Some(name) if !is_wrapper(&name) => {
                return name.contains("::").then(|| as_function(&name));
            }
            Some(_) => file = Some(file_name(&call.file)), // what it calls may be a part of it
            None => {
                file = Some(file_name(&call.file));
                unnamed += 1;
                if unnamed == UNNAMED_MAX {
                    break;
                }
            }
        }
    }
    file.filter(|name| name.contains(".so"))
}

/// A function's name is told from a thread's own by its parameters.
fn as_function(name: &str) -> String {
    match name.ends_with(')') || name.ends_with(" const") {
        true => name.to_owned(),
        false => format!("{name}()"),
    }
}

/// Whether a function starts a thread or calls a function passed to it. Its path decides, without return type and arguments.
fn is_wrapper(name: &str) -> bool {
    let path = name.trim_start_matches(['<', '&', '*']);
    let path = path.split(['<', '(']).next().unwrap_or_default();
    let path = path.rsplit(' ').next().unwrap_or_default();
    WRAPPERS.iter().any(|known| path.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As they stand on the stacks of threads of Kùzu and polars.
    #[test]
    fn wrappers_of_threads_are_told_from_what_they_run() {
        for name in [
            "execute_native_thread_routine",
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<kuzu::common::TaskScheduler::TaskScheduler(unsigned long)::{lambda()#1}> > >::_M_run()",
            "void std::__invoke_impl<void, void (*)(int), int>(std::__invoke_other, void (*&&)(int), int&&)",
            "std::sys::thread::unix::Thread::new::thread_start",
            "<alloc::boxed::Box<dyn core::ops::function::FnOnce<(), Output = ()>> as core::ops::function::FnOnce<()>>::call_once",
            "std::sys::backtrace::__rust_begin_short_backtrace::<<rayon_core::registry::DefaultSpawn as rayon_core::registry::ThreadSpawn>::spawn::{closure#0}, ()>",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            "__rustc::__rust_try",
        ] {
            assert!(is_wrapper(name), "{name}");
        }
        for name in [
            "kuzu::common::TaskScheduler::runWorkerThread()",
            "<rayon_core::registry::ThreadBuilder>::run",
            "rayon_core::registry::main_loop",
            "void ns::run<int>(std::vector<int>)",
            "(anonymous namespace)::run()",
            "worker_main",
        ] {
            assert!(!is_wrapper(name), "{name}");
        }
        assert_eq!(as_function("worker_main"), "worker_main()");
        assert_eq!(as_function("ns::run(int) const"), "ns::run(int) const");
    }
}
