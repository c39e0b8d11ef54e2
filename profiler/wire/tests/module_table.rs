//! The table of modules: each file once, also while others add and are killed at it.

use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_wire::module_table::File;
use evenkeel_wire::{Control, MODULES_MAX, Module, ModuleState, ModuleTable, TableLock, now_ticks};

/// A control page and a table, as in an arena.
struct Memory {
    control: Control,
    modules: UnsafeCell<Vec<Module>>,
}
// SAFETY: threads go to the modules through `ModuleTable`.
unsafe impl Sync for Memory {}

impl Memory {
    fn new() -> Box<Memory> {
        // SAFETY: all zero bytes are a valid arena.
        let modules = (0..MODULES_MAX).map(|_| unsafe { std::mem::zeroed() });
        Box::new(Memory {
            // SAFETY: the same.
            control: unsafe { std::mem::zeroed() },
            modules: UnsafeCell::new(modules.collect()),
        })
    }

    fn table(&self) -> ModuleTable<'_> {
        // SAFETY: MODULES_MAX entries.
        unsafe { ModuleTable::new(&self.control, (*self.modules.get()).as_mut_ptr()) }
    }

    fn enter(&self, path: &str, build_id: Option<&[u8]>) -> Option<usize> {
        self.enter_as(path, build_id, false)
    }

    fn enter_as(&self, path: &str, build_id: Option<&[u8]>, executable: bool) -> Option<usize> {
        let file = File {
            path: path.as_bytes(),
            build_id,
            pid: 1,
            executable,
        };
        self.table().enter(&file, std::thread::yield_now)
    }
}

#[test]
fn a_build_id_tells_files_apart_or_else_the_path() {
    let memory = Memory::new();
    assert_eq!(memory.enter("/a", Some(b"one")), Some(0));
    assert_eq!(memory.enter("/b", Some(b"one")), Some(0));
    assert_eq!(memory.enter("/a", Some(b"two")), Some(1));
    assert_eq!(memory.enter("/a", None), Some(2));
    assert_eq!(memory.enter("/b", None), Some(3));
    assert_eq!(memory.enter("/a", None), Some(2));
    let modules = memory.table().modules();
    assert_eq!(modules.len(), 4);
    assert_eq!(modules[0].path(), b"/a");
    assert_eq!(modules[0].build_id(), Some(&b"one"[..]));
    assert_eq!(modules[2].build_id(), None);
}

#[test]
fn a_full_table_knows_what_it_has() {
    let memory = Memory::new();
    for number in 0..MODULES_MAX {
        assert_eq!(memory.enter(&format!("/{number}"), None), Some(number));
    }
    assert_eq!(memory.enter("/more", None), None);
    assert_eq!(memory.enter("/7", None), Some(7));
}

#[test]
fn of_many_at_once_each_file_is_there_once_and_complete() {
    let memory = Memory::new();
    let name = |number: usize| format!("/library-{number}");
    std::thread::scope(|scope| {
        for first in 0..8 {
            let memory = &memory;
            scope.spawn(move || {
                for number in (0..100).map(|step| (first * 13 + step) % 100) {
                    let index = memory.enter(&name(number), None).expect("there is room");
                    assert_eq!(
                        memory.table().modules()[index].path(),
                        name(number).as_bytes()
                    );
                }
            });
        }
    });
    let modules = memory.table().modules();
    let paths: HashSet<&[u8]> = modules.iter().map(Module::path).collect();
    assert_eq!((modules.len(), paths.len()), (100, 100));
    let announced = |module: &Module| module.state.load(Acquire) == ModuleState::Announced as u32;
    assert!(modules.iter().all(announced));
}

#[test]
fn a_library_that_is_run_is_an_executable_from_then_on() {
    let memory = Memory::new();
    for (executable, expected) in [(false, 0), (true, 1), (false, 1)] {
        let index = memory.enter_as("/lib/libc.so.6", None, executable).unwrap();
        let module = &memory.table().modules()[index];
        assert_eq!(module.executable.load(Acquire), expected);
    }
}

/// What is longer than the table keeps is told apart by its beginning.
#[test]
fn a_long_build_id_is_known_again() {
    let memory = Memory::new();
    assert_eq!(memory.enter("/a", Some(&[7; 32])), Some(0));
    assert_eq!(memory.enter("/a", Some(&[7; 32])), Some(0));
    assert_eq!(memory.table().modules()[0].build_id(), Some(&[7; 20][..]));
}

/// A process was killed before it had counted its entry. Of that entry nothing is left in the next one: all of an entry is
/// written before it is counted, as the session judges it from then on.
#[test]
fn an_entry_that_was_not_completed_is_written_anew() {
    let memory = Memory::new();
    memory.enter_as("/killed-with-a-long-name", Some(b"one"), true);
    memory.control.modules.store(0, Release);
    assert_eq!(memory.enter("/b", None), Some(0));
    let module = &memory.table().modules()[0];
    assert_eq!((module.path(), module.build_id()), (&b"/b"[..], None));
    assert_eq!(module.executable.load(Acquire), 0);
}

/// The clock of a machine that was moved may go back.
#[test]
fn a_lock_from_the_future_is_taken_over() {
    let memory = Memory::new();
    // SAFETY: the lock is one word, the time.
    let word = unsafe { &*(&raw const memory.control.modules_lock).cast::<AtomicU64>() };
    word.store(u64::MAX, Relaxed);
    assert_eq!(memory.enter("/a", None), Some(0));
}

/// A process that was killed with the table in its hands does not keep it. A process that only stood still does not release what
/// is another's by now.
#[test]
fn what_a_killed_process_held_is_taken_over() {
    let memory = Memory::new();
    let before = now_ticks();
    let stopped = memory.control.modules_lock.take(|| {});
    assert_eq!(memory.enter("/a", None), Some(0));
    assert!(now_ticks() - before > TableLock::HELD_MAX_TICKS);
    let ticket = memory.control.modules_lock.take(|| {});
    memory.control.modules_lock.release(stopped);
    let mut looks = std::cell::Cell::new(0);
    let another = memory.control.modules_lock.take(|| {
        looks.set(looks.get() + 1);
        if looks.get() == 3 {
            memory.control.modules_lock.release(ticket);
        }
    });
    assert_eq!(*looks.get_mut(), 3);
    assert_ne!(another, ticket);
}
