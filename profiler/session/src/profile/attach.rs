//! Bringing the agent into processes that run already, and out again.

use std::sync::atomic::Ordering::*;

use evenkeel_attach::Refused;
use evenkeel_wire::ModuleState;

use super::left_out::Kind;
use super::records::Records;
use super::{Event, Observer, Session};
use crate::attached;
use crate::error::Error;
use crate::target::Target;

impl Session<'_> {
    /// Attaches to what is there and was not looked at yet: the process that was named, and what descends from it. Those without
    /// the interval's functions are left alone.
    pub(super) fn attach(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        loop {
            let Target::Attached(target) = &mut self.target else {
                return Ok(());
            };
            let Some(pid) = target.next(&self.records.arena) else {
                return Ok(());
            };
            let program = match attached::announce(&mut self.records.arena, pid) {
                Ok(Some(program)) => program,
                Ok(None) => continue,
                Err(why) => {
                    self.not_attached(pid, why, observer)?;
                    continue;
                }
            };
            self.judge(observer)?;
            let wanted = self.records.arena.modules()[program].state.load(Acquire);
            let Target::Attached(target) = &self.target else {
                return Ok(());
            };
            if wanted != ModuleState::Wanted as u32 {
                continue;
            }
            self.filters.before(pid);
            match target.attach(pid, &self.records.arena) {
                Ok(injected) => {
                    self.injected += 1;
                    // A server that starts processes all the while would fill the screen.
                    if self.injected.is_power_of_two() {
                        observer.event(&Event::Attached {
                            pid,
                            processes: self.injected,
                            stood_still: injected.stood_still,
                        });
                    }
                }
                Err(why) => self.not_attached(pid, why, observer)?,
            }
        }
    }

    /// It may have ended or executed another program; otherwise the report must have a warning. Without the process
    /// that was named there is no report.
    fn not_attached(
        &mut self,
        pid: i32,
        why: Refused,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        if pid == self.target.pid() {
            return Err(why.into());
        }
        let Target::Attached(target) = &self.target else {
            return Ok(());
        };
        // A process that has executed a program in between is examined again, as that program.
        if target.is_unchanged(pid) {
            let why = why.to_string();
            if self.left_out.add(Kind::NotAttached, why.clone()) {
                observer.event(&Event::LeftOut { why: &why });
            }
        }
        Ok(())
    }

    /// Sees to it that the hooks are out of all processes that are attached to.
    pub(super) fn leave(&mut self) {
        let Target::Attached(target) = &self.target else {
            return;
        };
        let Records {
            arena, drain, sink, ..
        } = &mut self.records;
        let left = target.leave(arena, || {
            drain.run(arena, sink, true);
            sink.pass_ended();
        });
        for why in left {
            self.left_out.add(Kind::HooksLeft, why.to_string());
        }
    }
}
