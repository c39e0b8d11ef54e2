// Calls that a panic leaves took time as well: theirs, up to the moment at which it left them.
// build: rustc -O -g --edition 2021 left_panics.rs
//
// The same calls and times as in left_calls.cpp, and the same answer: catch_unwind and resume_unwind where that catches
// and throws.
use std::arch::x86_64::_rdtsc;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[inline(always)]
fn spin(ticks: u64) {
    // SAFETY: every x86-64 processor has it.
    let begin = unsafe { _rdtsc() };
    while unsafe { _rdtsc() } - begin < ticks {}
}

#[inline(never)]
#[no_mangle]
fn recover() {
    spin(10_000);
}

#[inline(never)]
#[no_mangle]
fn log_error() {
    spin(60_000);
}

#[inline(never)]
#[no_mangle]
fn release() {
    spin(120_000);
}

/// Past the hook, which would print.
fn fail() -> ! {
    resume_unwind(Box::new(()))
}

#[inline(never)]
#[no_mangle]
fn validate(choice: u32) -> u32 {
    spin(if choice == 1 { 150_000 } else { 5_000 });
    if choice == 1 {
        fail();
    }
    choice + 1
}

#[inline(never)]
#[no_mangle]
fn fetch(choice: u32) -> u32 {
    spin(if choice == 0 { 400_000 } else { 20_000 });
    if choice < 4 {
        fail();
    }
    choice + 2
}

struct Lease(u32);

impl Drop for Lease {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0 == 3 {
            release();
        }
    }
}

#[inline(never)]
#[no_mangle]
fn query(choice: u32) -> u32 {
    let _lease = Lease(choice);
    if choice != 2 {
        return fetch(choice) + 1;
    }
    match catch_unwind(|| fetch(choice)) {
        Ok(row) => row + 1,
        Err(first) => {
            log_error();
            let _ = catch_unwind(|| fail());
            resume_unwind(first)
        }
    }
}

#[inline(never)]
#[no_mangle]
fn service(choice: u32) -> u32 {
    query(choice) + 1
}

#[inline(never)]
#[no_mangle]
fn handle_request(choice: u32) -> u64 {
    let served = catch_unwind(AssertUnwindSafe(|| validate(choice) + service(choice)));
    served.map_or_else(
        |_| {
            recover();
            0
        },
        u64::from,
    )
}

/// See `drains` in spin.h.
fn drains() -> Option<u64> {
    let parent = std::os::unix::process::parent_id();
    let status = std::fs::read_to_string(format!("/proc/{parent}/status")).ok()?;
    let sleeps = |line: &str| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok();
    status.lines().find_map(sleeps)
}

/// See spin.h: a panic with every call of the unwinder timed.
const PACE_INTERVALS: u64 = 50;

/// See `pace` in spin.h.
fn pace(done: u64, at: &mut [u64; 4]) {
    if done % PACE_INTERVALS != 0 || std::env::var_os("PACED").is_none() {
        return;
    }
    let then = &mut at[(done / PACE_INTERVALS % 4) as usize];
    while let Some(now) = drains() {
        if *then == 0 || now >= *then + 2 {
            *then = now;
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// See spin.h: until the count is done, and then as many again until the file is there, and once more.
fn more(done: u64, count: &mut u64, block: u64, is_last: &mut bool) -> bool {
    if done < *count {
        return true;
    }
    let Some(until) = std::env::var_os("UNTIL").filter(|_| !*is_last) else {
        return false;
    };
    *is_last = std::path::Path::new(&until).exists();
    *count += block;
    true
}

fn main() {
    let block: u64 = std::env::args().nth(1).map_or(16_000, |count| count.parse().unwrap());
    let (mut count, mut done, mut sum) = (block, 0, 0);
    let (mut at, mut is_last) = ([0; 4], false);
    while more(done, &mut count, block, &mut is_last) {
        pace(done, &mut at);
        // 5 and 16 have no common factor: sixteen in a row are each choice once.
        sum += handle_request((5 * done % 16) as u32);
        done += 1;
    }
    println!("left_panics: {count} intervals, checksum {sum:x}");
}
