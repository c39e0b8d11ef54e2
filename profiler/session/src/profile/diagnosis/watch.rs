//! Looking at the target's processes while no interval ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::processes::Process;
use crate::agent;

/// First look, and the longest time between two: it is doubled each time.
const FIRST_LOOK: Duration = Duration::from_millis(200);
const LOOKS_APART_MAX: Duration = Duration::from_secs(2);

/// What was seen so far.
#[derive(Debug)]
pub struct Watch {
    next: Instant,
    apart: Duration,
    /// File name of the agent.
    agent: String,
    /// Processes with the agent.
    hooked: BTreeMap<i32, Used>,
    /// Processes without it at the last look, with the program: one that has just begun has loaded nothing yet.
    suspects: BTreeSet<(i32, PathBuf)>,
    /// Programs that ran without it for two looks, and whether their environment names it.
    strangers: BTreeMap<PathBuf, bool>,
    /// Files that are mapped and whose names begin as the interval's library's.
    libraries: BTreeSet<String>,
    /// Libraries that processes with the agent have mapped, those that were opened at run time among them.
    pub mapped: BTreeSet<String>,
    /// A process had less address space left than the agent takes.
    pub lacks_room: bool,
    /// Intervals that have begun and not ended.
    pub in_flight: u64,
}

/// Processor time of a process between two looks, seconds.
#[derive(Clone, Copy, Debug)]
struct Used {
    since: Instant,
    first: f64,
    until: Instant,
    last: f64,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            next: Instant::now() + FIRST_LOOK,
            apart: FIRST_LOOK,
            agent: agent::file_name(),
            hooked: BTreeMap::new(),
            suspects: BTreeSet::new(),
            strangers: BTreeMap::new(),
            libraries: BTreeSet::new(),
            mapped: BTreeSet::new(),
            lacks_room: false,
            in_flight: 0,
        }
    }
}

impl Watch {
    /// Looks at `pid` and what descends from it, if it is time. `library`: the one in which the interval is to lie.
    pub fn look(&mut self, pid: i32, library: Option<&str>) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + self.apart;
        self.apart = (2 * self.apart).min(LOOKS_APART_MAX);
        let processes = Process::tree(pid, &self.agent);
        self.take(now, &processes, library);
    }

    fn take(&mut self, now: Instant, processes: &[Process], library: Option<&str>) {
        let before = std::mem::take(&mut self.suspects);
        for process in processes {
            self.lacks_room |= process.lacks_room;
            if process.has_agent {
                self.use_of(now, process);
                let named = process.files.iter().filter(|file| {
                    let name = Path::new(file).file_name().unwrap_or_default();
                    library.is_some_and(|library| name.to_string_lossy().starts_with(library))
                });
                self.libraries.extend(named.cloned());
                let libraries = process.files.iter().filter(|file| file.contains(".so"));
                self.mapped.extend(libraries.cloned());
                continue;
            }
            let suspect = (process.pid, process.program.clone());
            if before.contains(&suspect) {
                let program = process.program.clone();
                self.strangers.insert(program, process.names_agent);
            }
            self.suspects.insert(suspect);
        }
    }

    fn use_of(&mut self, now: Instant, process: &Process) {
        let seconds = process.used_seconds;
        let used = self.hooked.entry(process.pid).or_insert(Used {
            since: now,
            first: seconds,
            until: now,
            last: seconds,
        });
        (used.until, used.last) = (now, seconds);
    }

    /// The part of a processor that the processes with the agent used; nothing where none was seen twice.
    pub fn busy(&self) -> Option<f64> {
        let used = self.hooked.values().filter(|used| used.until > used.since);
        let parts: Vec<f64> = used
            .map(|used| (used.last - used.first) / (used.until - used.since).as_secs_f64())
            .collect();
        (!parts.is_empty()).then(|| parts.iter().sum())
    }

    /// A program that runs without the agent, and whether its environment names it.
    pub fn stranger(&self) -> Option<(PathBuf, bool)> {
        let (program, &is_named) = self.strangers.first_key_value()?;
        Some((program.clone(), is_named))
    }

    /// A mapped file of this library, which no agent has announced.
    pub fn unannounced(&self, library: &str) -> Option<String> {
        let is_it = |file: &&String| {
            let name = Path::new(file).file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(library)
        };
        self.libraries.iter().find(is_it).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, has_agent: bool, used_seconds: f64) -> Process {
        Process {
            pid,
            program: format!("/bin/{pid}").into(),
            files: BTreeSet::from(["/srv/libwork.so.1".to_owned()]),
            has_agent,
            names_agent: false,
            lacks_room: false,
            used_seconds,
        }
    }

    /// Process 1 uses half a second in two; 2 has no agent yet at first; 3 never.
    #[test]
    fn what_is_seen_twice_counts() {
        let mut watch = Watch::default();
        let start = Instant::now();
        let first = [
            process(1, true, 1.0),
            process(2, false, 0.0),
            process(3, false, 0.0),
        ];
        watch.take(start, &first, Some("libwork.so"));
        assert_eq!((watch.busy(), watch.stranger()), (None, None));
        let second = [
            process(1, true, 1.5),
            process(2, true, 0.0),
            process(3, false, 0.0),
        ];
        watch.take(start + Duration::from_secs(2), &second, Some("libwork.so"));
        assert_eq!(watch.busy(), Some(0.25));
        assert_eq!(watch.stranger(), Some(("/bin/3".into(), false)));
        let mapped = watch.unannounced("libwork.so");
        assert_eq!(mapped.as_deref(), Some("/srv/libwork.so.1"));
        assert_eq!(watch.unannounced("libother.so"), None);
        assert!(watch.mapped.contains("/srv/libwork.so.1"));
    }
}
