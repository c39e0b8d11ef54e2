//! Examines the target's processes. While no interval ends, it looks for the reason. Later it looks for processes
//! whose intervals are missing, since a server may execute its program with a clean environment (nginx, to upgrade
//! it).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::processes::{Absence, Life, Process, trees};
use crate::agent;

/// First look, and the longest time between two: it is doubled each time.
const FIRST_LOOK: Duration = Duration::from_millis(200);
const LOOKS_APART_MAX: Duration = Duration::from_secs(2);

/// Observations so far.
#[derive(Debug)]
pub struct Watch {
    next: Instant,
    apart: Duration,
    /// File name of the agent.
    agent: String,
    /// Processes with the agent.
    hooked: BTreeMap<i32, Used>,
    /// Processes that ran at the last look. Nothing changes in them: only new processes are examined while intervals
    /// end.
    known: BTreeMap<i32, Life>,
    /// Processes without it at the last look, with the program: one that has just begun has loaded nothing yet.
    suspects: BTreeSet<(i32, PathBuf)>,
    /// Programs that ran without it for two looks, and why.
    strangers: BTreeMap<PathBuf, Absence>,
    /// Processes that have the interval's file.
    without_agent: BTreeSet<PathBuf>,
    /// Files that are mapped and whose names begin as the interval's library's.
    libraries: BTreeSet<String>,
    /// Libraries that processes with the agent have mapped, those that were opened at run time among them.
    pub mapped: BTreeSet<String>,
    /// A process had less address space left than the agent takes.
    pub lacks_room: bool,
    /// Intervals that have begun and not ended.
    pub in_flight: u64,
    /// Mean latency of intervals at the last look at them, nanoseconds.
    pub mean_ns: f64,
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
            known: BTreeMap::new(),
            suspects: BTreeSet::new(),
            strangers: BTreeMap::new(),
            without_agent: BTreeSet::new(),
            libraries: BTreeSet::new(),
            mapped: BTreeSet::new(),
            lacks_room: false,
            in_flight: 0,
            mean_ns: 0.0,
        }
    }
}

impl Watch {
    /// Whether it is time for a look.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Looks at these processes and at what descends from them: at `all`, or at what was not known to have the agent.
    /// `library`: the one in which the interval is to lie; `file`: that which has its functions. Returns the programs
    /// that have it and run without the agent, as far as they were not known, each with the reason.
    pub fn look(
        &mut self,
        roots: Vec<i32>,
        all: bool,
        library: Option<&str>,
        file: Option<&str>,
    ) -> Vec<(PathBuf, Absence)> {
        let now = Instant::now();
        let processes = self.read(roots, all);
        let found = self.take(now, &processes, library, file);
        self.next = now + self.apart;
        self.apart = (2 * self.apart).min(LOOKS_APART_MAX);
        found
    }

    fn read(&mut self, roots: Vec<i32>, all: bool) -> Vec<Process> {
        let before = std::mem::take(&mut self.known);
        let mut processes = Vec::new();
        for pid in trees(roots) {
            // Read first: if it executes another program in between, that is new at the next look.
            let Some(life) = Life::of(pid) else {
                continue;
            };
            let is_known = !all && before.get(&pid) == Some(&life);
            let process = (!is_known).then(|| Process::read(pid, &self.agent));
            let process = process.flatten();
            if is_known || process.as_ref().is_some_and(|process| process.has_agent) {
                self.known.insert(pid, life);
            }
            processes.extend(process);
        }
        processes
    }

    fn take(
        &mut self,
        now: Instant,
        processes: &[Process],
        library: Option<&str>,
        file: Option<&str>,
    ) -> Vec<(PathBuf, Absence)> {
        let mut found = Vec::new();
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
                let absence = &process.absence;
                self.strangers.insert(program.clone(), absence.clone());
                let has_file = file.is_some_and(|file| process.files.contains(file));
                if has_file && self.without_agent.insert(program.clone()) {
                    found.push((program, absence.clone()));
                }
            }
            self.suspects.insert(suspect);
        }
        found
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

    /// Looks at the processes with the agent once more, for what they used.
    pub fn look_at_last(&mut self, roots: Vec<i32>) {
        let processes = self.read(roots, true);
        let now = Instant::now();
        let hooked = processes.iter().filter(|process| process.has_agent);
        hooked.for_each(|process| self.use_of(now, process));
    }

    /// The part of a processor that the processes with the agent used; nothing where none was seen twice.
    pub fn busy(&self) -> Option<f64> {
        let used = self.hooked.values().filter(|used| used.until > used.since);
        let parts: Vec<f64> = used
            .map(|used| (used.last - used.first) / (used.until - used.since).as_secs_f64())
            .collect();
        (!parts.is_empty()).then(|| parts.iter().sum())
    }

    /// A program that runs without the agent, and why.
    pub fn stranger(&self) -> Option<(PathBuf, Absence)> {
        let (program, absence) = self.strangers.first_key_value()?;
        Some((program.clone(), absence.clone()))
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
            absence: Absence::NotNamed,
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
        let take = |watch: &mut Watch, at: u64, processes: &[Process]| {
            let at = start + Duration::from_secs(at);
            watch.take(at, processes, Some("libwork.so"), Some("/srv/libwork.so.1"))
        };
        assert!(take(&mut watch, 0, &first).is_empty());
        assert_eq!((watch.busy(), watch.stranger()), (None, None));
        let second = [
            process(1, true, 1.5),
            process(2, true, 0.0),
            process(3, false, 0.0),
        ];
        let stranger = ("/bin/3".into(), Absence::NotNamed);
        assert_eq!(take(&mut watch, 2, &second), [stranger]);
        // It is reported once.
        assert!(take(&mut watch, 4, &second).is_empty());
        assert_eq!(watch.busy(), Some(0.125));
        assert_eq!(watch.stranger(), Some(("/bin/3".into(), Absence::NotNamed)));
        let mapped = watch.unannounced("libwork.so");
        assert_eq!(mapped.as_deref(), Some("/srv/libwork.so.1"));
        assert_eq!(watch.unannounced("libother.so"), None);
        assert!(watch.mapped.contains("/srv/libwork.so.1"));
    }
}
