//! As known.c.

/// The time stamp counter. Without optimisation `_rdtsc` is a call, which is timed like any other. The cost of that
/// timing is subtracted from a time on the same clock, and on a quick processor little is left.
macro_rules! ticks {
    () => {{
        let (low, high): (u64, u64);
        unsafe { std::arch::asm!("rdtsc", out("rax") low, out("rdx") high, options(nomem, nostack)) };
        high << 32 | low
    }};
}

fn spin(ticks: u64) {
    let begin = ticks!();
    while ticks!() - begin < ticks {}
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
