//! The critical path of one interval, walked backwards: an exact partition of its time (dissertation 2.3.3.3, algorithm 2).
//!
//! The walk stands at a moment `now`, at first the interval's end, and on a stack of **strands**, each a thread read backwards.
//! The topmost strand spends the time down to the next thing it meets, and `now` moves down to it:
//! ```text
//! running             to the innermost call on the stack of the thread
//! a wait [t0, t1]     ended by a wake at w:  [w, t1] woken, not yet running
//!                                            [t0, w] a new strand: the waker, from w back to t0; then this one goes on at t0
//!                     ended by nobody seen:  [t0, t1] to the wait
//! a task taken up     [enqueued, taken up] queued; the strand goes on at whoever enqueued it
//! a turn to another   the interval's thread does something else, back to where the interval's last segment ended, on
//! interval            whichever thread that was; the strand goes on there
//! ```
//! Each moment is spent once, so what is spent adds up to the latency exactly.
//!
//! **Deviations from algorithm 2.** It is recursive; this is iterative and bounded ([`HOPS_MAX`], [`STEPS_MAX`]). It stops where
//! the waker turned to another interval and looks for that one's earlier segments; here the question is what the waker's
//! *thread* did while the waiter was blocked, so its time before is told under the interval (or none) that it served then. It drops a
//! segment that does not work for the interval; here what the interval's thread did instead is told under "waiting for its
//! turn", with the waits that ended in between followed like any other: so the path leads along wake-ups to an interval's
//! last segment even if no task queue was told, and need not touch the segment in which the interval began (figure 2.2).

use evenkeel_wire::Kind;
use evenkeel_wire::record::Record;

use super::Past;
use super::path::{Path, Piece};
use super::strand::{
    Enclosing, Frame, Item, Releases, Standing, Strand, open_probe, running_at,
};
use super::timeline::{Mark, Object, Serving, What};
use super::wakes::Release;
use super::who::{Holder, WaitSeen};
use crate::intervals::Reason;
use crate::paths::Paths;
use crate::states::State;
use crate::vectors::{Place, Vectoriser};

/// Waits followed into one another, at most: a lock whose holder waits for a lock whose holder waits ...
pub const HOPS_MAX: usize = 12;
/// Steps of one walk, at most; what is left then is "not seen". Enough for as many calls as one thread keeps.
pub const STEPS_MAX: u32 = 1 << 22;

/// The interval to walk.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Begin, ticks.
    pub begin: u64,
    /// End, ticks.
    pub end: u64,
    /// What a thread serves that works for it.
    pub serving: Serving,
    /// For an interval that stays on its thread, the number of the mark at its beginning.
    pub begin_mark: Option<u64>,
    /// The thread on which it ended.
    pub thread: u64,
    /// Number of the mark there.
    pub mark: u64,
}

/// A walk.
pub struct Walk<'a> {
    past: &'a Past,
    subject: Subject,
    paths: &'a mut Paths,
    vectoriser: &'a mut Vectoriser,
    path: &'a mut Path,
    /// The interval's own place.
    root: Place,
    /// Everything later is spent, ticks.
    now: u64,
    steps: u32,
    hops: usize,
}

/// What a step of a strand leads to.
enum Next<'a> {
    Again,
    Done,
    Follow(Strand<'a>),
}

impl<'a> Walk<'a> {
    /// Walks `subject`: its times go into `vectoriser`, begun here, what else there is to tell into `path`.
    ///
    /// # Errors
    /// Where the interval has to be left out: its own calls do not nest, or its own records were lost.
    pub fn run(
        past: &'a Past,
        subject: Subject,
        paths: &'a mut Paths,
        vectoriser: &'a mut Vectoriser,
        path: &'a mut Path,
    ) -> Result<(), Reason> {
        path.clear();
        let root = vectoriser.start();
        let mut walk = Walk {
            past,
            subject,
            paths,
            vectoriser,
            path,
            root,
            now: subject.end,
            steps: 0,
            hops: 0,
        };
        let first = walk.own_strand()?;
        walk.strands(first)?;
        walk.spend_unseen(subject.begin, subject.thread, root);
        Ok(())
    }

    fn strands(&mut self, first: Strand<'a>) -> Result<(), Reason> {
        let mut strands = vec![first];
        while let Some(strand) = strands.last_mut() {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return Ok(());
            }
            match self.step(strand)? {
                Next::Again => {}
                Next::Done => {
                    strands.pop();
                }
                Next::Follow(waker) => strands.push(waker),
            }
            self.hops = strands.len().saturating_sub(1);
        }
        Ok(())
    }

    fn own_strand(&mut self) -> Result<Strand<'a>, Reason> {
        let subject = self.subject;
        let past = self.past.threads.get(&subject.thread);
        let past = past.ok_or(Reason::RecordsLost)?;
        let timeline = &past.reader.timeline;
        let mark = *timeline.mark(subject.mark).ok_or(Reason::RecordsLost)?;
        let mut strand = Strand {
            thread: subject.thread,
            past,
            mark: subject.mark,
            call: mark.calls_before,
            at: subject.end,
            lower: subject.begin,
            serving: mark.serving,
            standing: Standing::Own,
            root: self.root,
            base: self.root,
            frames: Vec::new(),
        };
        let strict = self.is_home();
        if !self.enclose(&mut strand, timeline.opens(&mark)) && strict {
            return Err(Reason::Malformed);
        }
        Ok(strand)
    }

    /// Whether the interval stays on its thread.
    fn is_home(&self) -> bool {
        self.subject.begin_mark.is_some()
    }

    /// Enters calls that are open at `strand.at`, outermost first. Says whether all of them nest.
    fn enclose<'o>(
        &mut self,
        strand: &mut Strand<'a>,
        opens: impl Iterator<Item = &'o Record>,
    ) -> bool {
        let mut nest = true;
        for open in opens.filter(|open| open.start != 0) {
            let since = strand.frames.last().map_or(0, |frame| frame.start);
            if open.start > strand.at || open.start < since {
                nest = false;
                continue;
            }
            self.enter_call(strand, open.start, open_probe(open));
        }
        nest
    }

    fn enter_call(&mut self, strand: &mut Strand<'a>, start: u64, probe: u32) {
        let above = strand.innermost();
        let place = self.vectoriser.call(above, probe, self.paths);
        strand.frames.push(Frame {
            start,
            what: Enclosing::Call(probe),
            place,
        });
    }

    fn state(&mut self, above: Place, state: State) -> Place {
        self.vectoriser.state(above, state, self.paths)
    }

    // One step of the topmost strand.

    fn step(&mut self, strand: &mut Strand<'a>) -> Result<Next<'a>, Reason> {
        let item = strand.peek();
        let is_begin = matches!(item, Item::Mark(_))
            && strand.standing == Standing::Own
            && self.subject.begin_mark == Some(strand.mark - 1);
        let bounded_by_time = !(strand.standing == Standing::Own && self.is_home());
        if strand.at <= strand.lower && (bounded_by_time || is_begin) {
            return self.reached_lower(strand);
        }
        let target = match item {
            Item::Call(call) if call.end() > strand.at => return self.beyond(strand, &call),
            Item::Call(call) => call.end(),
            Item::Mark(mark) => mark.time.min(strand.at),
            Item::Nothing => strand.timeline().known_since(),
        };
        let target = target.max(strand.lower);
        if strand.at > target {
            return Ok(self.unwind(strand, target));
        }
        match item {
            Item::Call(call) => self.meet_call(strand, &call),
            Item::Mark(mark) => self.meet_mark(strand, &mark),
            Item::Nothing => {
                self.spend_unseen(strand.lower, strand.thread, strand.root);
                strand.at = strand.lower;
                Ok(Next::Done)
            }
        }
    }

    /// A call that was recorded before `at` and ended later: a signal handler's, or it does not nest.
    fn beyond(&mut self, strand: &mut Strand<'a>, call: &Record) -> Result<Next<'a>, Reason> {
        if call.start < strand.at && self.is_home() && strand.standing == Standing::Own {
            return Err(Reason::Malformed);
        }
        strand.call -= 1;
        Ok(Next::Again)
    }

    fn meet_call(&mut self, strand: &mut Strand<'a>, call: &Record) -> Result<Next<'a>, Reason> {
        strand.call -= 1;
        let strict = self.is_home() && strand.standing == Standing::Own;
        let end = call.end();
        strand.leave(end);
        let since = strand.frames.last().map_or(0, |frame| frame.start);
        let nests = call.start >= since && !(strict && end < self.subject.begin);
        match (nests, strict) {
            (true, _) => self.enter_call(strand, call.start, call.id()),
            (false, true) => return Err(Reason::Malformed),
            (false, false) => {}
        }
        Ok(Next::Again)
    }

    fn meet_mark(&mut self, strand: &mut Strand<'a>, mark: &Mark) -> Result<Next<'a>, Reason> {
        strand.mark -= 1;
        match mark.what {
            What::Wait { start, objects } => self.meet_wait(strand, start, mark.time, objects),
            What::Anchor => {}
            What::Dequeue(task) => self.meet_dequeue(strand, task),
            What::Turn => self.meet_turn(strand, mark),
            What::Gap if strand.standing == Standing::Own => return Err(Reason::RecordsLost),
            What::Gap => {
                let lower = strand.lower;
                self.spend_unseen(lower, strand.thread, strand.root);
                strand.at = lower;
                strand.leave(lower);
                if strand.standing != Standing::Gap {
                    return Ok(Next::Done);
                }
            }
        }
        Ok(Next::Again)
    }

    // Waits.

    fn meet_wait(
        &mut self,
        strand: &mut Strand<'a>,
        start: u64,
        end: u64,
        objects: [Option<Object>; 2],
    ) {
        if start >= end || end > strand.at {
            return;
        }
        strand.leave(end);
        let since = strand.frames.last().map_or(0, |frame| frame.start);
        let Some(object) = objects[0].filter(|_| start >= since) else {
            return;
        };
        let last = |object| self.past.wakes.last(object, strand.thread, start, end);
        let mut releases = objects.map(|object| object.and_then(last));
        let time = |release: &Option<Release>| release.map_or(0, |release| release.time);
        releases.sort_by_key(time);
        if strand.standing == Standing::Own && !strand.is_waiting() {
            self.see_wait(strand, object, releases[1], start.max(strand.lower));
        }
        let place = self.state(strand.innermost(), State::Waits(object.kind));
        strand.frames.push(Frame {
            start,
            what: Enclosing::Wait(object.kind, releases),
            place,
        });
    }

    /// For the view of who waits for whom.
    fn see_wait(
        &mut self,
        strand: &Strand<'a>,
        object: Object,
        release: Option<Release>,
        start: u64,
    ) {
        let holder = release.and_then(|release| {
            let thread = self.past.threads.get(&release.thread)?;
            let timeline = &thread.reader.timeline;
            let mark = timeline.mark(release.mark)?;
            let mut calls = Vec::new();
            calls.extend(timeline.opens(mark).map(open_probe));
            Some(Holder {
                calls,
                serving: self.other(mark.serving, mark.time),
            })
        });
        self.path.wait(WaitSeen {
            site: strand.innermost_probe(),
            object,
            holder,
            ticks: strand.at.min(self.now).saturating_sub(start) as i64,
        });
    }

    /// What a thread is to the interval while it serves somebody.
    fn other(&self, serving: Serving, time: u64) -> State {
        match serving {
            _ if serving == self.subject.serving => State::Helper,
            Serving::Nobody => State::Background,
            Serving::Interval(serial) => State::Other(self.past.serials.class_of(serial)),
            Serving::Keyed(key) => {
                State::Other(self.past.keyed.class_at(key, time).unwrap_or_default())
            }
        }
    }

    /// A strand for the waker of a wait whose place is `wait`; nothing where it cannot be followed.
    fn follow(&mut self, release: Release, wait: Place, lower: u64) -> Option<Strand<'a>> {
        if self.hops >= HOPS_MAX {
            return None;
        }
        let past = self.past.threads.get(&release.thread)?;
        let timeline = &past.reader.timeline;
        let mark = *timeline.mark(release.mark)?;
        let mut strand = Strand {
            thread: release.thread,
            past,
            mark: release.mark,
            call: mark.calls_before,
            at: mark.time,
            lower,
            serving: mark.serving,
            standing: Standing::Foreign,
            root: wait,
            base: wait,
            frames: Vec::new(),
        };
        strand.base = self.base(&strand);
        self.enclose(&mut strand, timeline.opens(&mark));
        Some(strand)
    }

    // Turns, queues and hand-overs.

    /// Where the outermost call of a strand hangs.
    fn base(&mut self, strand: &Strand<'a>) -> Place {
        let other = self.other(strand.serving, strand.at);
        match strand.standing {
            Standing::Own => self.root,
            Standing::Foreign => self.state(strand.root, other),
            Standing::Origin => self.state(self.root, other),
            Standing::Gap => {
                let turn = self.state(self.root, State::Turn);
                match strand.serving {
                    Serving::Nobody => turn,
                    _ => self.state(turn, other),
                }
            }
        }
    }

    /// Hangs what encloses the present moment under what the thread serves now. A call counts once under each.
    fn rebase(&mut self, strand: &mut Strand<'a>) {
        strand.base = self.base(strand);
        let mut above = strand.base;
        for frame in &mut strand.frames {
            frame.place = match frame.what {
                Enclosing::Call(probe) => self.vectoriser.call(above, probe, self.paths),
                Enclosing::Wait(kind, _) => {
                    self.vectoriser
                        .state(above, State::Waits(kind), self.paths)
                }
            };
            above = frame.place;
        }
    }

    fn meet_turn(&mut self, strand: &mut Strand<'a>, mark: &Mark) {
        if self.is_home() && strand.standing == Standing::Own {
            return; // between its begin and its end the thread is its own
        }
        if strand.serving == mark.serving && strand.standing != Standing::Own {
            return;
        }
        strand.leave(mark.time);
        strand.serving = mark.serving;
        let Serving::Keyed(key) = self.subject.serving else {
            return self.rebase(strand);
        };
        let serves = strand.serving == self.subject.serving;
        match strand.standing {
            Standing::Foreign | Standing::Gap | Standing::Origin => self.rebase(strand),
            Standing::Own if serves => {}
            // The segment begins with a task: the walk goes on where it was enqueued.
            Standing::Own if self.takes_up_task(strand) => {}
            Standing::Own => {
                let begin = self.subject.begin;
                let until = mark.time.saturating_sub(1);
                let last = self.past.keyed.last_segment(key, strand.thread, begin, until);
                strand.standing = Standing::Gap;
                strand.lower = last.map_or(begin, |segment| segment.end);
                self.rebase(strand);
            }
        }
    }

    /// Whether the thread took up a task that somebody enqueued, between `strand.at` and its turn before.
    fn takes_up_task(&self, strand: &Strand<'a>) -> bool {
        let timeline = strand.timeline();
        let marks = (0..strand.mark).rev().map_while(|at| timeline.mark(at));
        let mut marks = marks.take_while(|mark| mark.what != What::Turn && mark.time >= strand.lower);
        marks.any(|mark| match mark.what {
            What::Dequeue(task) => self.past.enqueued.last_of_any(task, mark.time).is_some(),
            _ => false,
        })
    }

    /// Follows created-by. Inside an interval that stays on its thread the thread's own waits tell why it waited.
    fn meet_dequeue(&mut self, strand: &mut Strand<'a>, task: Object) {
        let own = strand.standing != Standing::Foreign;
        if strand.standing == Standing::Gap || own && self.is_home() {
            return;
        }
        let Some(origin) = self.past.enqueued.last_of_any(task, strand.at) else {
            return;
        };
        let until = origin.time.max(strand.lower);
        let queued = self.state(strand.root, State::Queued);
        self.spend(until, strand.thread, queued);
        strand.at = until;
        strand.leave(0);
        if origin.time <= strand.lower {
            return;
        }
        let past = self.past.threads.get(&origin.thread);
        let mark = past.and_then(|past| past.reader.timeline.mark(origin.mark));
        let (Some(past), Some(&mark)) = (past, mark) else {
            self.spend_unseen(strand.lower, origin.thread, strand.root);
            strand.at = strand.lower;
            return;
        };
        self.go_to(strand, origin.thread, past, origin.mark, &mark);
        if own {
            let free = matches!(mark.serving, Serving::Nobody);
            let same = free || mark.serving == self.subject.serving;
            strand.standing = if same { Standing::Own } else { Standing::Origin };
        }
        strand.base = self.base(strand);
        self.enclose(strand, past.reader.timeline.opens(&mark));
    }

    /// Goes on with another part of the past, below a mark; nothing encloses it yet.
    fn go_to(
        &mut self,
        strand: &mut Strand<'a>,
        thread: u64,
        past: &'a super::Thread,
        number: u64,
        mark: &Mark,
    ) {
        strand.thread = thread;
        strand.past = past;
        strand.mark = number;
        strand.call = mark.calls_before;
        strand.serving = mark.serving;
        strand.frames.clear();
    }

    /// A strand is at its end; after a gap it goes on at the interval's segment before.
    fn reached_lower(&mut self, strand: &mut Strand<'a>) -> Result<Next<'a>, Reason> {
        let begin = self.subject.begin;
        let Serving::Keyed(key) = self.subject.serving else {
            return Ok(Next::Done);
        };
        if strand.standing != Standing::Gap || strand.lower <= begin {
            return Ok(Next::Done);
        }
        let at = strand.lower;
        let segment = self.past.keyed.last_segment(key, strand.thread, begin, at);
        let segment = segment.filter(|segment| segment.end == at);
        let past = segment.and_then(|segment| self.past.threads.get(&segment.thread));
        let mark = segment.zip(past).and_then(|(segment, past)| {
            let mark = past.reader.timeline.mark(segment.end_mark)?;
            Some((segment, past, *mark))
        });
        strand.standing = Standing::Own;
        strand.lower = begin;
        let Some((segment, past, mark)) = mark else {
            return Ok(Next::Done); // dropped since: what is left is "not seen"
        };
        let stayed = segment.thread == strand.thread;
        strand.leave(at);
        let enclosing = std::mem::take(&mut strand.frames);
        self.go_to(strand, segment.thread, past, segment.end_mark, &mark);
        if stayed {
            strand.frames = enclosing;
            self.rebase(strand);
        } else {
            strand.base = self.root;
            for (start, probe) in running_at(&past.reader.timeline, segment.end_mark) {
                self.enter_call(strand, start, probe);
            }
        }
        Ok(Next::Again)
    }

    // Time.

    /// Spends the innermost frame's time, or a part of it, on the way down to `target`.
    fn unwind(&mut self, strand: &mut Strand<'a>, target: u64) -> Next<'a> {
        strand.leave(strand.at);
        let frame = strand.frames.last().copied();
        let floor = frame.map_or(target, |frame| frame.start.max(target));
        let place = strand.innermost();
        match frame.map(|frame| frame.what) {
            _ if floor >= self.now => strand.at = floor,
            Some(Enclosing::Wait(kind, releases)) => {
                return self.unwind_wait(strand, floor, place, kind, releases);
            }
            _ => {
                self.spend_running(strand, floor, place);
                strand.at = floor;
            }
        }
        Next::Again
    }

    fn unwind_wait(
        &mut self,
        strand: &mut Strand<'a>,
        floor: u64,
        place: Place,
        kind: Kind,
        releases: Releases,
    ) -> Next<'a> {
        let mut known = releases.into_iter().flatten();
        let until = self.now.min(strand.at);
        // The first release at or after this moment is what it was waited for; a release before it came too early.
        let Some(release) = known.find(|release| release.time >= until) else {
            let latest = releases[1].map_or(floor, |release| release.time.max(floor));
            match releases[1] {
                _ if kind == Kind::Spin => self.spend_running(strand, latest, place),
                Some(_) => {
                    let woken = self.state(place, State::Woken);
                    self.spend_waiting(strand, latest, woken);
                }
                None => self.spend_waiting(strand, latest, place),
            }
            strand.at = latest;
            return Next::Again;
        };
        let earlier = releases[0].filter(|earlier| earlier.time < until);
        let lower = earlier.map_or(floor, |earlier| earlier.time.max(floor));
        strand.at = lower;
        if lower >= until {
            return Next::Again;
        }
        match self.follow(release, place, lower) {
            Some(waker) => Next::Follow(waker),
            None => {
                self.spend_unseen(lower, release.thread, place);
                Next::Again
            }
        }
    }

    /// Spends down to `floor` on a thread that runs, but for when the kernel says that it did not.
    fn spend_running(&mut self, strand: &Strand<'a>, floor: u64, place: Place) {
        self.spend_around(strand, floor, place, |preempted| {
            Some(if preempted { State::Preempted } else { State::Asleep })
        });
    }

    /// The same on a thread of which it is known that it does not run: only that it could have is news.
    fn spend_waiting(&mut self, strand: &Strand<'a>, floor: u64, place: Place) {
        self.spend_around(strand, floor, place, |preempted| {
            preempted.then_some(State::Preempted)
        });
    }

    fn spend_around(
        &mut self,
        strand: &Strand<'a>,
        floor: u64,
        place: Place,
        state: impl Fn(bool) -> Option<State>,
    ) {
        while self.now > floor {
            let span = strand.past.spans.last_before(self.now);
            let Some(span) = span.filter(|span| span.end > floor) else {
                self.spend(floor, strand.thread, place);
                return;
            };
            self.spend(span.end, strand.thread, place);
            let off = match state(span.preempted) {
                Some(state) => self.state(place, state),
                None => place,
            };
            self.spend(span.start.max(floor), strand.thread, off);
        }
    }

    fn spend_unseen(&mut self, floor: u64, thread: u64, above: Place) {
        if floor < self.now {
            let unseen = self.state(above, State::Unseen);
            self.spend(floor, thread, unseen);
        }
    }

    /// Everything down to `floor` that is not yet spent goes to `place`.
    fn spend(&mut self, floor: u64, thread: u64, place: Place) {
        if floor >= self.now {
            return;
        }
        let ticks = (self.now - floor) as i64;
        self.vectoriser.spend(place, ticks);
        self.path.piece(Piece {
            thread,
            from: floor,
            to: self.now,
            node: self.vectoriser.node(place),
        });
        self.now = floor;
    }
}
