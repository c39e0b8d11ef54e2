//! The machine's resources, on which the values of some knobs depend.

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Memory that may be used, in bytes.
    pub memory_bytes: u64,
    /// Processors.
    pub processors: u64,
}

/// Where nothing says how much memory there is.
const MEMORY_UNKNOWN: u64 = 1 << 30;

impl Machine {
    /// This one: the less of its memory and what its control group allows.
    pub fn this() -> Machine {
        let installed = || {
            let text = std::fs::read_to_string("/proc/meminfo").ok()?;
            let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
            let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
            Some(kib << 10)
        };
        let allowed = || {
            let text = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?;
            text.trim().parse::<u64>().ok()
        };
        let memory = [installed(), allowed()].into_iter().flatten().min();
        Machine {
            memory_bytes: memory.unwrap_or(MEMORY_UNKNOWN),
            processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        }
    }
}
