//! Finds the descriptor of an event of `epoll_wait`, which returns the value that the target registered the descriptor
//! with.
//!
//! Registrations are recorded when they are made. The kernel supplies earlier ones, and those made by system calls that
//! bypass the C library: a set is queried once, when it returns an unknown descriptor.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::*};

use super::fdinfo::FdInfo;
use super::mix::mix;

/// Registrations remembered.
const REGISTERED_MAX: usize = 8192;
/// Places looked at for one.
const STEPS_MAX: usize = 16;
/// Sets that the kernel is asked for have smaller numbers.
const SETS_MAX: usize = 1 << 16;

struct Registered {
    /// Hash of the epoll descriptor and the data; 0: free.
    tag: AtomicU64,
    number: AtomicI32,
}

static REGISTERED: [Registered; REGISTERED_MAX] = [const {
    Registered {
        tag: AtomicU64::new(0),
        number: AtomicI32::new(0),
    }
}; REGISTERED_MAX];

/// By number of an epoll descriptor, a bit each: the kernel was asked.
static ASKED: [AtomicU64; SETS_MAX / 64] = [const { AtomicU64::new(0) }; SETS_MAX / 64];

fn places(tag: u64) -> impl Iterator<Item = &'static Registered> {
    (0..STEPS_MAX).map(move |step| &REGISTERED[(tag as usize + step) % REGISTERED_MAX])
}

fn tag(epoll: c_int, data: u64) -> u64 {
    mix(epoll as u64, data) | 1
}

/// Remembers what `number` is registered with. What no place is left for takes another's.
pub fn register(epoll: c_int, number: c_int, data: u64) {
    let tag = tag(epoll, data);
    let usable = |place: &&Registered| {
        let there = place.tag.load(Relaxed);
        there == 0 || there == tag
    };
    let first = &REGISTERED[tag as usize % REGISTERED_MAX];
    let place = places(tag).find(usable).unwrap_or(first);
    place.number.store(number, Relaxed);
    place.tag.store(tag, Release);
}

/// The descriptor that was registered with `data`.
pub fn number(epoll: c_int, data: u64) -> Option<c_int> {
    remembered(epoll, data).or_else(|| {
        ask_once(epoll);
        remembered(epoll, data)
    })
}

fn remembered(epoll: c_int, data: u64) -> Option<c_int> {
    let tag = tag(epoll, data);
    let place = places(tag).find(|place| place.tag.load(Acquire) == tag)?;
    Some(place.number.load(Relaxed))
}

/// Remembers what the kernel says of a set, unless it was asked before.
fn ask_once(epoll: c_int) {
    let Some(asked) = ASKED.get(epoll as usize / 64) else {
        return;
    };
    let bit = 1 << (epoll % 64);
    if asked.fetch_or(bit, Relaxed) & bit != 0 {
        return;
    }
    let Some(mut info) = FdInfo::open(epoll) else {
        return;
    };
    for _ in 0..REGISTERED_MAX {
        let Some(line) = info.next() else { return };
        if let Some((number, data)) = target(line) {
            register(epoll, number, data);
        }
    }
}

/// `tfd: 8 events: 19 data: 55e2b7c98e18 ..` (proc(5)).
fn target(line: &[u8]) -> Option<(c_int, u64)> {
    let mut words = line
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty());
    if words.next()? != b"tfd:" {
        return None;
    }
    let number = parse(words.next()?, 10)?;
    words.find(|word| word == b"data:")?;
    Some((number as c_int, parse(words.next()?, 16)?))
}

fn parse(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, radix).ok()
}

/// Another session joins: what was registered since the last one left is not known.
pub fn forget_all() {
    REGISTERED
        .iter()
        .for_each(|place| place.tag.store(0, Release));
    ASKED.iter().for_each(|asked| asked.store(0, Relaxed));
}
