//! Processes that run already: the agent is brought into them, and into those that start later, at the pace that
//! `--max-overhead` permits ([`pace`]).

mod pace;
mod postponed;

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use evenkeel_attach::process::Image;
use evenkeel_attach::{AgentFile, Injected, Loaded, Refused, State, namespace, process};
use evenkeel_wire::module_table::File;

use crate::agent::Agent;
use crate::arena::Arena;
use crate::clock::own_time;
use crate::ending::Ending;
use crate::error::Error;
use pace::Pace;
use postponed::Postponed;

/// Time for processes to remove their hooks by themselves, at their next interval.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often a process is made to look at its session until its hooks are out.
const POLLS: usize = 20;

/// A process and all that descends from it.
pub struct Attached {
    root: i32,
    root_started: Option<u64>,
    agent: AgentFile,
    /// Processes that were looked at, with what they ran then: one that executes a program is looked at again.
    seen: HashMap<i32, Image>,
    /// Those that were not, oldest first.
    waiting: VecDeque<Waiting>,
    /// Those that could not be stopped at a safe point, to be tried again.
    postponed: Postponed,
    /// Program files of processes that were looked at: a new one does not wait.
    programs: HashSet<(u64, u64)>,
    /// Those of processes that have the agent.
    profiled: HashSet<(u64, u64)>,
    overhead_max: f64,
    /// From the time on when all were attached to that ran at the beginning.
    pace: Option<Pace>,
    /// Processes that ended or executed a program while they waited, as far as their intervals would have counted.
    unseen: u64,
}

/// A process that was found, and is to be looked at.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    pid: i32,
    image: Image,
    program: Option<(u64, u64)>,
}

impl Waiting {
    fn is_unchanged(&self) -> bool {
        process::image(self.pid) == Some(self.image)
    }
}

impl Attached {
    /// Makes ready to attach to a process, and later to what descends from it within `overhead_max` of the processors.
    /// Nothing is done to it yet.
    ///
    /// # Errors
    /// It may not be attached to, or the agent is missing.
    pub fn to(root: i32, overhead_max: f64) -> Result<Attached, Error> {
        evenkeel_attach::check(root)?;
        let root = namespace::enter(root)?;
        let agent = Agent::find()?;
        let agent = agent
            .bytes()
            .and_then(|bytes| AgentFile::of(&bytes, &agent.to_string()))
            .map_err(Error::AgentUnreadable)?;
        let root_started = process::started(root);
        Ok(Attached {
            root,
            root_started,
            agent,
            seen: HashMap::new(),
            waiting: VecDeque::new(),
            postponed: Postponed::default(),
            programs: HashSet::new(),
            profiled: HashSet::new(),
            overhead_max,
            pace: None,
            unseen: 0,
        })
    }

    /// The process that was named.
    pub fn pid(&self) -> i32 {
        self.root
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        process::started(self.root).is_some_and(|now| Some(now) == self.root_started)
    }

    /// Its end, once it came.
    pub fn ending(&self) -> Option<Ending> {
        (!self.is_running()).then_some(Ending::Gone)
    }

    /// A process that was not looked at yet, or runs another program by now, and has no agent that belongs to this
    /// session, oldest first. None also where further ones have to wait. `drained`: processor time of this thread for
    /// draining records so far.
    pub fn next(&mut self, arena: &Arena, drained: Duration) -> Option<i32> {
        let worked = || own_time().saturating_sub(drained);
        loop {
            let Some(pace) = &mut self.pace else {
                // At the beginning all are looked at, and then what they have started.
                if self.waiting.is_empty() {
                    self.look();
                }
                match self.take(arena, worked()) {
                    None => self.pace = Some(Pace::new(self.overhead_max, worked())),
                    found => return found,
                }
                continue;
            };
            if pace.may_look(Instant::now()) {
                let before = own_time();
                self.look();
                let used = own_time().saturating_sub(before);
                self.pace.as_mut()?.looked(Instant::now(), used);
            }
            return self.take(arena, worked());
        }
    }

    /// Finds the processes that were not looked at.
    fn look(&mut self) {
        let before = std::mem::take(&mut self.waiting);
        let mut before: HashMap<i32, Waiting> =
            before.into_iter().map(|one| (one.pid, one)).collect();
        for pid in process::family(self.root) {
            let Some(image) = process::image(pid) else {
                continue;
            };
            if self.seen.get(&pid) == Some(&image) || self.postponed.rests(pid, Instant::now()) {
                continue;
            }
            let known = before.remove(&pid).filter(|known| known.image == image);
            self.waiting.push_back(known.unwrap_or_else(|| Waiting {
                pid,
                image,
                program: process::program_file(pid),
            }));
        }
        for gone in before.into_values() {
            self.missed(&gone);
        }
    }

    /// The next of them that may be attached to now. `worked` as in [`Pace::new`].
    fn take(&mut self, arena: &Arena, worked: Duration) -> Option<i32> {
        let mut at = 0;
        while let Some(&one) = self.waiting.get(at) {
            let is_new = one
                .program
                .is_none_or(|file| !self.programs.contains(&file));
            let may = |pace: &mut Pace| pace.may_attach(Instant::now(), worked);
            if !is_new && !self.pace.as_mut().is_none_or(may) {
                at += 1;
                continue;
            }
            self.waiting.remove(at);
            if !one.is_unchanged() {
                self.missed(&one);
                continue;
            }
            self.seen.insert(one.pid, one.image);
            self.programs.extend(one.program);
            if self.inherited(one.pid, arena) {
                self.profiled.extend(one.program);
                continue;
            }
            return Some(one.pid);
        }
        None
    }

    /// One that waited is gone.
    fn missed(&mut self, one: &Waiting) {
        self.unseen += u64::from(self.counts(one));
    }

    fn counts(&self, one: &Waiting) -> bool {
        one.program
            .is_some_and(|file| self.profiled.contains(&file))
    }

    /// Processes that started and were not attached to, since others had used the time up.
    pub fn unseen(&self) -> u64 {
        let waiting = self.waiting.iter().filter(|one| self.counts(one));
        self.unseen + waiting.count() as u64
    }

    /// No thread of a process could be stopped where it is safe: it is looked at again, as if it had just started.
    pub fn postpone(&mut self, pid: i32) {
        self.seen.remove(&pid);
        self.postponed.add(pid, Instant::now());
    }

    /// Whether a process still runs what it ran when [`Attached::next`] returned it.
    pub fn is_unchanged(&self, pid: i32) -> bool {
        process::image(pid).is_some_and(|image| self.seen.get(&pid) == Some(&image))
    }

    /// Whether a process has the arena mapped: its parent had it when it was forked.
    fn inherited(&self, pid: i32, arena: &Arena) -> bool {
        let mappings = process::mappings(pid).unwrap_or_default();
        mappings
            .iter()
            .any(|mapping| mapping.inode == arena.inode() && arena.is_at(&mapping.path))
    }

    /// Announces the files of a process as its agent would, so that all is judged before a thread is stopped. The index
    /// of its program; `None` when the table is full.
    ///
    /// # Errors
    /// The process is gone, or may not be looked at.
    pub fn announce(&mut self, arena: &mut Arena, pid: i32) -> Result<Option<usize>, Refused> {
        self.paying(|_| announce(arena, pid).map(|program| (program, Duration::ZERO)))
    }

    /// Brings the agent into a process.
    ///
    /// # Errors
    /// Says why not.
    pub fn attach(&mut self, pid: i32, arena: &Arena) -> Result<Injected, Refused> {
        let injected = self.paying(|this| {
            let limit = this.postponed.limit(pid);
            let injected = evenkeel_attach::inject(pid, &this.agent, arena.descriptor(), limit)?;
            Ok((injected, injected.used))
        })?;
        self.profiled.extend(process::program_file(pid));
        Ok(injected)
    }

    /// Does something for one process: the time of this thread, and what the process itself used, is taken from the
    /// allowance.
    fn paying<T>(
        &mut self,
        work: impl FnOnce(&Attached) -> Result<(T, Duration), Refused>,
    ) -> Result<T, Refused> {
        let before = own_time();
        let done = work(self);
        let theirs = done.as_ref().map_or(Duration::ZERO, |(_, used)| *used);
        if let Some(pace) = &mut self.pace {
            pace.spend(Instant::now(), own_time().saturating_sub(before), theirs);
        }
        done.map(|(result, _)| result)
    }

    /// Waits until the hooks are out of all processes; one that is idle is made to take them out. Those that could not.
    pub fn leave(&self, arena: &Arena, mut meanwhile: impl FnMut()) -> Vec<Refused> {
        let is_hooked = |pid: &i32| {
            self.inherited(*pid, arena)
                && evenkeel_attach::state(*pid, &self.agent) == Some(State::Hooked)
        };
        let mut left: Vec<i32> = process::family(self.root);
        let began = Instant::now();
        while !left.is_empty() && began.elapsed() < PATIENCE {
            left.retain(is_hooked);
            meanwhile();
            std::thread::sleep(Duration::from_millis(5));
        }
        let polled = left.into_iter().map(|pid| {
            let is_hooked = || is_hooked(&pid);
            self.poll(pid, is_hooked, &mut meanwhile)
        });
        let refused = polled.filter_map(Result::err);
        refused
            .filter(|why| !matches!(why, Refused::Gone { .. }))
            .collect()
    }

    /// Lets a process look at its session until its hooks are out. It does nothing while another thread forks, or changes the code itself.
    fn poll(
        &self,
        pid: i32,
        is_hooked: impl Fn() -> bool,
        mut meanwhile: impl FnMut(),
    ) -> Result<(), Refused> {
        for _ in 0..POLLS {
            evenkeel_attach::poll(pid, &self.agent)?;
            if !is_hooked() {
                return Ok(());
            }
            meanwhile();
            std::thread::sleep(Duration::from_millis(5));
        }
        let why = "another thread is at work on its code all the while".to_owned();
        Err(Refused::Failed { pid, why })
    }
}

pub fn announce(arena: &mut Arena, pid: i32) -> Result<Option<usize>, Refused> {
    let files = evenkeel_attach::loaded(pid)?;
    let mut program = None;
    for (at, file) in files.iter().enumerate() {
        let executable = at == 0;
        let Some(index) = enter(arena, pid, file, executable) else {
            return Ok(None);
        };
        if executable {
            program = Some(index);
        }
    }
    Ok(program)
}

fn enter(arena: &Arena, pid: i32, file: &Loaded, executable: bool) -> Option<usize> {
    let file = File {
        path: file.path.as_os_str().as_bytes(),
        build_id: file.build_id.as_deref(),
        pid: pid as u32,
        executable,
    };
    let pause = || std::thread::sleep(Duration::from_micros(50));
    arena.module_table().enter(&file, pause)
}
