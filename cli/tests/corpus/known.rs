//! As known.c.
use std::arch::x86_64::_rdtsc;

fn spin(ticks: u64) {
    let begin = unsafe { _rdtsc() };
    while unsafe { _rdtsc() } - begin < ticks {}
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn work_fast(n: u32) -> u32 {
    spin(50_000);
    n + 1
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn work_slow(n: u32) -> u32 {
    spin(if n & 1 == 1 { 450_000 } else { 50_000 });
    n + 2
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn run_interval(n: u32) -> u32 {
    // So that no call lies under the hook at the entry.
    unsafe { std::arch::asm!("nop", "nop", "nop", "nop", "nop") };
    work_fast(n) ^ work_slow(n)
}

fn main() {
    let mut sum = 0;
    for n in 0..400 {
        sum ^= std::hint::black_box(run_interval(std::hint::black_box(n)));
    }
    std::hint::black_box(sum);
    println!("400 intervals");
}
