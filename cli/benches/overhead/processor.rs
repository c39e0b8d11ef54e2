//! Processor time of a process, from `/proc` (proc(5)).

use std::fs;

/// The process that started `pid`.
pub fn parent(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// Processor time that the process used so far, its system calls' included, s.
pub fn used_s(pid: u32) -> f64 {
    seconds(&fields(pid).expect("the process runs")[11..13])
}

/// The same with that of its children, those that have ended included, s.
pub fn used_with_children_s(pid: u32) -> f64 {
    let own = fields(pid).expect("the process runs");
    let children = fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
        let child = entry.ok()?.file_name().to_str()?.parse().ok()?;
        (parent(child) == Some(pid)).then_some(child)
    });
    // One that ends between the two looks is counted by neither; sessions that worked have ended before.
    let running = children.filter_map(fields);
    seconds(&own[11..15]) + running.map(|child| seconds(&child[11..13])).sum::<f64>()
}

/// Processor time that this process' children used that have ended, s.
pub fn ended_children_s() -> f64 {
    // SAFETY: all zeros is a valid usage, and the kernel writes no more than one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let time_s = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    time_s(usage.ru_utime) + time_s(usage.ru_stime)
}

/// Processor time that the machine has in so many seconds, s.
pub fn available_s(seconds: u32) -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    f64::from(seconds) * processors as f64
}

/// Counts of clock ticks, s.
fn seconds(ticks: &[String]) -> f64 {
    let ticks = ticks.iter().map(|ticks| ticks.parse::<f64>());
    let ticks: f64 = ticks.map(|ticks| ticks.expect("a count")).sum();
    // SAFETY: no arguments that could be wrong.
    ticks / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64
}

/// The fields of `/proc/PID/stat` behind the name, which may hold anything.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}
