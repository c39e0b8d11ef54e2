//! The states of a probe's site in one process, and the transitions between them.
//!
//! A site is *absent* until its module is mapped and holds the file's bytes, and again once the module is unmapped. In between its code
//! [`Stands`] in one of four states. The plan's word for the probe decides which:
//!
//! | instruction | `Off` | `On` | `Discover` |
//! |---|---|---|---|
//! | call, tail jump, long call through a pointer | original | redirected to its trampoline | trapped |
//! | short call through a pointer, tail jump through one | original | refused | trapped |
//! | entry of a function | original | redirected to a pad; entered by a breakpoint where no pad fits | refused |
//!
//! A call under the hook at its function's entry has no separate code. If it can be timed, it is a part of that hook;
//! if not, the same table holds for its copy among the displaced instructions.
//!
//! Invariants:
//!
//! 1. The next state ([`Goal::of`]) depends on the instruction and on the plan's present word alone. So a process that starts under a late
//!    plan reaches the same state as one that followed every step. Whatever a state needs is built on the way to it.
//! 2. A site stands redirected or entered only if its target is built.
//! 3. Trap handlers find a site only once they can let a thread continue from each of its boundaries. The data they need does not change
//!    afterwards, so each breakpoint that a thread can meet has a continuation.
//! 4. A withdrawn site stays findable until its module is unmapped or the session ends. Its trampoline is never freed: a thread may be
//!    inside. A thread whose breakpoint is gone before its handler runs executes the original instruction (`Patcher::is_withdrawn`).
//! 5. A refusal leaves the site unchanged, and holds until the plan says another word.
//! 6. A frozen process changes no site, and no site there is trapped or entered by a breakpoint.

use evenkeel_wire::{Form, Probe, Refusal, Wanted};

/// The goal of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The program's own instruction.
    Original,
    /// Leads to its trampoline.
    Hooked,
    /// A breakpoint, whose handler carries out the instruction.
    Trapped,
}

impl Goal {
    /// The meaning of the plan's word for an instruction of this form.
    pub fn of(form: Form, wanted: u32) -> Result<Goal, Refusal> {
        const OFF: u32 = Wanted::Off as u32;
        const ON: u32 = Wanted::On as u32;
        const DISCOVER: u32 = Wanted::Discover as u32;
        match (wanted, form) {
            (OFF, _) => Ok(Goal::Original),
            (ON, Form::Call | Form::TailJump | Form::IndirectCall | Form::Entry) => {
                Ok(Goal::Hooked)
            }
            (DISCOVER, Form::Call | Form::TailJump | Form::IndirectCall) => Ok(Goal::Trapped),
            (DISCOVER, Form::ShortIndirectCall | Form::IndirectJump) => Ok(Goal::Trapped),
            _ => Err(Refusal::NotOfForm),
        }
    }
}

/// The present code at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stands {
    /// The program's own instruction.
    Original = 0,
    /// A jump or call to what was made.
    Redirected = 1,
    /// A breakpoint, whose handler leads to the trampoline of the function's entry.
    Entered = 2,
    /// A breakpoint, whose handler carries out the instruction.
    Trapped = 3,
}

impl Stands {
    /// Whether nothing is to be changed.
    pub fn is(self, goal: Goal) -> bool {
        match self {
            Stands::Original => goal == Goal::Original,
            Stands::Redirected | Stands::Entered => goal == Goal::Hooked,
            Stands::Trapped => goal == Goal::Trapped,
        }
    }
}

/// A thread's way from a function's entry to its trampoline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Way {
    /// No jump can lead there, as in programs that lie at a low address: the trap handler does.
    Breakpoint = 0,
    /// A jump leads to the pad at this address, which leads there.
    Pad(u64) = 1,
}

/// The code made for the entry of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct EntryCode {
    /// The trampoline.
    pub trampoline: u64,
    /// The displaced instructions.
    pub body: u64,
    /// A thread's way to the trampoline.
    pub way: Way,
    /// The trampoline of the call with which the displaced instructions end; 0 for none.
    pub call: u64,
}

/// The code made for a site. All zeros are the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Made {
    /// Nothing yet: a site that was only trapped needs nothing.
    Nothing = 0,
    /// The trampoline of a call.
    Call(u64) = 1,
    /// All that an entry needs.
    Entry(EntryCode) = 2,
}

/// A site in this process. All zeros are one that is absent.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Site {
    /// Address of the instruction; 0: absent.
    pub address: u64,
    /// Where the code is changed: the same, or in the copy of the displaced instructions that the site belongs to.
    pub place: u64,
    /// Bias of its module.
    pub bias: u64,
    /// The code that it leads to when hooked. For an entry it is complete before trap handlers can find the site, and
    /// does not change while they can.
    pub made: Made,
    /// The present code.
    pub stands: Stands,
    /// A [`Refusal`].
    refusal: u32,
    /// The plan's word that was refused.
    refused: u32,
}

impl Site {
    /// An absent site.
    pub const ABSENT: Site = Site {
        address: 0,
        place: 0,
        bias: 0,
        made: Made::Nothing,
        stands: Stands::Original,
        refusal: 0,
        refused: 0,
    };

    /// Whether its module is mapped, and it was looked at.
    pub fn is_here(&self) -> bool {
        self.address != 0
    }

    /// Whether this word was refused, and no other came since.
    pub fn has_refused(&self, wanted: u32) -> bool {
        self.refusal != Refusal::None as u32 && self.refused == wanted
    }

    /// The word was refused.
    pub fn refuse(&mut self, wanted: u32, refusal: Refusal) {
        (self.refusal, self.refused) = (refusal as u32, wanted);
    }

    /// Another word has come, or this one was followed.
    pub fn accept(&mut self) {
        // Most sites of a plan are not written to, and take no memory.
        if self.refusal != Refusal::None as u32 {
            self.refusal = Refusal::None as u32;
        }
    }

    /// Whether it leads to its trampoline by a breakpoint only.
    pub fn is_entered_by_breakpoint(&self) -> bool {
        matches!(self.made, Made::Entry(code) if code.way == Way::Breakpoint)
    }

    /// The continuation of a thread that has executed a breakpoint at `at`. `None`: there is no such breakpoint here.
    pub fn met<'a>(&self, probe: &'a Probe, form: Form, at: u64) -> Option<Met<'a>> {
        let offset = at.checked_sub(self.place)?;
        match (form, self.made) {
            (Form::Entry, Made::Entry(code)) => Some(match code.way {
                Way::Breakpoint => Met::Entered(code.trampoline),
                Way::Pad(_) => Met::Displaced {
                    body: code.body,
                    offset: offset as u8,
                },
            }),
            (Form::Entry, Made::Nothing | Made::Call(_)) => None,
            (Form::Call | Form::TailJump, _) => Some(Met::Branch(Branch {
                to: To::Address(probe.target.wrapping_add(self.bias)),
                next: self.address + u64::from(probe.len),
                is_call: form == Form::Call,
            })),
            (Form::IndirectCall | Form::ShortIndirectCall | Form::IndirectJump, _) => {
                Some(Met::Branch(Branch {
                    to: To::Pointer(&probe.operand),
                    next: self.address + u64::from(probe.len),
                    is_call: form != Form::IndirectJump,
                }))
            }
        }
    }
}

/// The continuation of a thread that has met a breakpoint of the agent.
#[derive(Clone, Copy, Debug)]
pub enum Met<'a> {
    /// In the trampoline of its function's entry.
    Entered(u64),
    /// In the copy of the displaced instructions, at the one with this offset from the entry.
    Displaced {
        /// Where the copy is.
        body: u64,
        /// Where the thread stood.
        offset: u8,
    },
    /// As if the call or jump had been executed.
    Branch(Branch<'a>),
}

/// A call, or a jump that leaves its function.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    /// Where it goes.
    pub to: To<'a>,
    /// Address of the next instruction.
    pub next: u64,
    /// Whether it returns there.
    pub is_call: bool,
}

/// Where a branch goes.
#[derive(Clone, Copy, Debug)]
pub enum To<'a> {
    /// To this address.
    Address(u64),
    /// To where the operand leads.
    Pointer(&'a evenkeel_wire::Operand),
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Form; 6] = [
        Form::Call,
        Form::TailJump,
        Form::IndirectCall,
        Form::ShortIndirectCall,
        Form::Entry,
        Form::IndirectJump,
    ];

    fn probe(form: Form) -> Probe {
        // SAFETY: all zeros are a valid probe.
        let mut probe: Probe = unsafe { core::mem::zeroed() };
        (probe.form, probe.len, probe.target) = (form as u8, 5, 0x7000);
        probe
    }

    /// The memory of the table is zeros at first.
    #[test]
    fn zeros_are_an_absent_site() {
        // SAFETY: what is tested.
        let site: Site = unsafe { core::mem::zeroed() };
        assert!(!site.is_here() && site.made == Made::Nothing && site.stands == Stands::Original);
        assert!((0..4).all(|wanted| !site.has_refused(wanted)));
    }

    /// Whatever word a session says, now or in another version: a goal that the form can reach, or a refusal.
    #[test]
    fn every_word_has_an_answer_for_every_form() {
        for form in FORMS {
            assert_eq!(Goal::of(form, Wanted::Off as u32), Ok(Goal::Original));
            let entry = form == Form::Entry;
            let trapped_only = matches!(form, Form::ShortIndirectCall | Form::IndirectJump);
            assert_eq!(Goal::of(form, Wanted::On as u32).is_ok(), !trapped_only);
            assert_eq!(Goal::of(form, Wanted::Discover as u32).is_ok(), !entry);
            assert_eq!(Goal::of(form, 7), Err(Refusal::NotOfForm));
        }
    }

    /// An entry without made code is no site of the agent; every other instruction can be carried out without it.
    #[test]
    fn nothing_is_evaluated_that_is_not_there() {
        let here = Site {
            address: 0x1000,
            place: 0x1000,
            ..Site::ABSENT
        };
        for form in FORMS {
            let probe = probe(form);
            let met = here.met(&probe, form, 0x1000);
            assert_eq!(met.is_none(), form == Form::Entry, "{form:?}");
        }
        let made = Made::Entry(EntryCode {
            trampoline: 0x5000,
            body: 0x6000,
            way: Way::Pad(0x4000),
            call: 0,
        });
        let probe = probe(Form::Entry);
        let met = Site { made, ..here }.met(&probe, Form::Entry, 0x1003);
        assert!(matches!(
            met,
            Some(Met::Displaced {
                body: 0x6000,
                offset: 3
            })
        ));
    }

    #[test]
    fn a_refusal_holds_until_another_word_comes() {
        let mut site = Site::ABSENT;
        site.refuse(Wanted::Discover as u32, Refusal::NotOfForm);
        assert!(site.has_refused(Wanted::Discover as u32) && !site.has_refused(Wanted::On as u32));
        site.accept();
        assert!(!site.has_refused(Wanted::Discover as u32));
    }
}
