//! Processor time of a process, from `/proc` (proc(5)).

use std::fs;

/// The process that started `pid`.
pub fn parent(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// Processor time that the process used so far, its system calls' included, s.
pub fn used_s(pid: u32) -> f64 {
    let fields = fields(pid).expect("the process runs");
    let ticks: f64 = fields[11..13]
        .iter()
        .map(|ticks| ticks.parse::<f64>().expect("a count"))
        .sum();
    // SAFETY: no arguments that could be wrong.
    ticks / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64
}

/// Processor time that the machine offers in this many seconds, s.
pub fn available_s(seconds: u32) -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    f64::from(seconds) * processors as f64
}

/// The fields of `/proc/PID/stat` that follow the name; the name may contain any character.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}
