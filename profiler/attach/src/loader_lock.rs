//! Whether the loader of a process would wait for ever.
//!
//! `dlopen` takes locks of the loader that other threads hold while they open or close a library, or iterate over its
//! list of files. A forked child has only the thread that forked. A lock that another thread held at that moment has
//! no owner there, and opening a library waits without end. (glibc resets some of these locks in the child, but not
//! the list's: posix/fork.c.)
//!
//! The locks have no exported names. They are recursive mutexes in the loader's memory, which store their holder.

use std::time::Duration;

use crate::process::{self, Mapping};
use crate::tracer::Memory;

/// glibc's mutex (bits/struct_mutex.h), in words of 32 bits: lock, count, owner, users, kind, spins, and two pointers.
const WORDS: usize = 10;
/// Most times that one thread may hold a mutex; a larger number is no count.
const TIMES_MAX: u32 = 64;
/// `PTHREAD_MUTEX_RECURSIVE_NP`.
const RECURSIVE: u32 = 1;
/// Looks until a lock is taken for abandoned, and the pause between them: a thread that holds one may end right after it has released it.
const LOOKS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(10);

/// Whether a lock of the loader's is held by a thread that the process does not have.
pub fn is_abandoned(pid: i32, mappings: &[Mapping], memory: &Memory) -> bool {
    (0..LOOKS).all(|look| {
        if look > 0 {
            std::thread::sleep(PAUSE);
        }
        let owners = owners(mappings, memory);
        !owners.is_empty() && {
            let threads = own_numbers(pid);
            owners.iter().any(|owner| !threads.contains(owner))
        }
    })
}

/// Holders of locks in the loader's memory.
fn owners(mappings: &[Mapping], memory: &Memory) -> Vec<u32> {
    let of_mapping = |mapping: &Mapping| {
        let mut bytes = vec![0; (mapping.range.end - mapping.range.start) as usize];
        let read = memory.read(mapping.range.start, &mut bytes);
        read.map(|()| owners_in(&bytes)).unwrap_or_default()
    };
    let loaders = mappings
        .iter()
        .filter(|mapping| mapping.writable && process::is_loader(&mapping.path));
    loaders.flat_map(of_mapping).collect()
}

fn owners_in(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().copied().map(u32::from_le_bytes).collect();
    // A mutex holds pointers: it begins at a multiple of eight.
    let places = words.windows(WORDS).step_by(2);
    places.filter_map(owner).collect()
}

/// The holder of the mutex in these words; `None` if the words are no mutex, or it is free.
fn owner(words: &[u32]) -> Option<u32> {
    let &[lock, count, owner, 1, RECURSIVE, 0, 0, 0, 0, 0] = words else {
        return None;
    };
    let is_held = matches!(lock, 1 | 2) && (1..=TIMES_MAX).contains(&count) && owner != 0;
    is_held.then_some(owner)
}

/// The numbers of the threads as the process itself knows them, in its own namespace.
fn own_numbers(pid: i32) -> Vec<u32> {
    let threads = process::threads(pid).unwrap_or_default();
    let own = |tid: i32| {
        let numbers = process::status(tid, "NSpid");
        let innermost = numbers.and_then(|text| text.split_whitespace().last()?.parse().ok());
        innermost.unwrap_or(tid as u32)
    };
    threads.into_iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_held_mutex_says_by_whom() {
        let held = [9, 9, 2, 1, 4711, 1, RECURSIVE, 0, 0, 0, 0, 0];
        assert_eq!(owners_in(&bytes(&held)), [4711]);
    }

    #[test]
    fn free_mutexes_and_other_words_are_passed_over() {
        let free = [0, 0, 0, 0, RECURSIVE, 0, 0, 0, 0, 0];
        let normal = [1, 0, 4711, 1, 0, 0, 0, 0, 0, 0];
        let numbers = [1, 1, 4711, 1, RECURSIVE, 7, 0, 0, 0, 0];
        for words in [free, normal, numbers] {
            assert!(owners_in(&bytes(&words)).is_empty(), "{words:?}");
        }
    }

    #[test]
    fn nothing_is_abandoned_here() {
        let pid = std::process::id() as i32;
        let mappings = process::mappings(pid).expect("one's own");
        let memory = Memory::to_read(pid).expect("one's own");
        assert!(!is_abandoned(pid, &mappings, &memory));
    }
}
