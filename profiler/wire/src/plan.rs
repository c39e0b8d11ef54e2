//! The plan: which instructions to redirect, in a form that an agent can apply without decoding anything.
//!
//! Addresses are virtual addresses of the ELF file; an agent adds the bias at which the module is loaded.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::arch::code::{Operand, PieceFix};

/// Different callees that one discovery remembers.
pub(crate) const SEEN_MAX: usize = 64;
/// Pieces of a displaced entry: five one-byte instructions, a call in three pieces, and the way back.
pub const PIECES_MAX: usize = 8;

/// The session's wish for a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Wanted {
    /// The original instruction.
    Off = 0,
    /// Redirected to its trampoline.
    On = 1,
    /// Trapped, to learn the callees of an indirect call.
    Discover = 2,
}

/// The kind of instruction at a probe's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// A direct call.
    Call = 0,
    /// A direct jump that leaves the function: a tail call.
    TailJump = 1,
    /// An indirect call with room for a direct one.
    IndirectCall = 2,
    /// An indirect call too short to be redirected: it can only be discovered.
    ShortIndirectCall = 3,
    /// The first instructions of a function (see [`Displaced`]).
    Entry = 4,
    /// A jump through a pointer that leaves the function, a tail call: it can only be discovered.
    IndirectJump = 5,
}

/// The meaning of a probe for the interval of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// A call inside the interval.
    Inner = 0,
    /// The call is the interval.
    Whole = 1,
    /// The interval begins when this call begins.
    Begin = 2,
    /// The interval ends when this call returns.
    End = 3,
    /// A call inside the interval that also admits its thread: where the plan has gates, intervals begin only on threads
    /// that have passed one.
    Gate = 4,
    /// A call inside the interval that has its label: the first such call gives the interval its class.
    Label = 5,
    /// The call acquires a lock ([`crate::ObjectKind::Named`]); the key is its address. Of this and the following roles,
    /// [`Probe::key_argument`] says where the key is; they are followed only where waits are.
    Acquire = 6,
    /// The call releases a lock.
    Release = 7,
    /// The call puts a task into a queue.
    Enqueue = 8,
    /// The call takes a task out of a queue: it has it when it returns.
    Dequeue = 9,
    /// From this call on, the thread works on the interval. It may have its label.
    Work = 10,
    /// The interval of this key begins when this call begins; it may end on another thread. It may have a label.
    BeginKeyed = 11,
    /// The interval of this key ends when this call returns. It may have a label, as the call begins.
    EndKeyed = 12,
    /// A step of several before the interval's subject, which is a [`Role::Label`]: the interval begins with the
    /// first step. After its label it ends where the next interval's first step begins, unless it has met a
    /// [`Role::End`] before.
    Step = 13,
}

impl Role {
    /// All roles; a role's discriminant is its index here.
    pub const ALL: [Role; 14] = [
        Role::Inner,
        Role::Whole,
        Role::Begin,
        Role::End,
        Role::Gate,
        Role::Label,
        Role::Acquire,
        Role::Release,
        Role::Enqueue,
        Role::Dequeue,
        Role::Work,
        Role::BeginKeyed,
        Role::EndKeyed,
        Role::Step,
    ];

    /// The role of a [`Probe`].
    pub fn of(probe: &Probe) -> Role {
        Role::ALL
            .get(probe.role as usize)
            .copied()
            .unwrap_or(Role::Inner)
    }

    /// Whether an interval begins with the call, one that ends on the thread that began it.
    pub fn begins(self) -> bool {
        matches!(self, Role::Whole | Role::Begin | Role::Step)
    }

    /// Whether it is about a lock, a task or an interval with a key.
    pub fn is_keyed(self) -> bool {
        (Role::Acquire as u8..=Role::EndKeyed as u8).contains(&(self as u8))
    }
}

/// In [`Probe::key_argument`]: the key is what the call returns. For [`Role::Dequeue`], [`Role::Work`] and
/// [`Role::BeginKeyed`], which then take effect when the call returns.
pub const KEY_RETURNED: u8 = 0xff;
/// In place of an argument's number: the object whose method is called.
pub const KEY_THIS: u8 = 0xfe;

/// The label of an interval: how the value is read that a probe's argument or variable leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Label {
    /// No label.
    None = 0,
    /// The value is an integer of eight bytes.
    Integer = 1,
    /// The value points to a zero-terminated string.
    Text = 2,
    /// The low four bytes of the value are an integer.
    Int = 3,
    /// The value points to text. The label is its first word, in lower case: what follows a command is data.
    Word = 4,
    /// The value points to the first line of an HTTP request. The label ends before the query string, which may hold secrets.
    Request = 5,
}

impl Label {
    /// The label of a [`Probe`].
    pub fn of(probe: &Probe) -> Label {
        const ALL: [Label; 5] = [
            Label::Integer,
            Label::Text,
            Label::Int,
            Label::Word,
            Label::Request,
        ];
        let index = (probe.label as usize).checked_sub(1);
        index
            .and_then(|index| ALL.get(index).copied())
            .unwrap_or(Label::None)
    }
}

/// Members that lead from one place to another, at most.
pub const MEMBERS_MAX: usize = 4;

/// A way through the target's structures, from one pointer to the next: each step reads the word at an offset from where the last
/// word points to. All zeros are a way without steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Members([u16; MEMBERS_MAX]);

impl Members {
    /// A way without steps.
    pub const NONE: Members = Members([0; MEMBERS_MAX]);

    /// Reads the word at each of `offsets`, bytes, in turn. `None` if there are too many, or one is too far.
    pub const fn through(offsets: &[u16]) -> Option<Members> {
        let mut steps = [0; MEMBERS_MAX];
        let mut at = 0;
        while at < offsets.len() {
            if at == MEMBERS_MAX || offsets[at] == u16::MAX {
                return None;
            }
            steps[at] = offsets[at] + 1;
            at += 1;
        }
        Some(Members(steps))
    }

    /// The offset in bytes of a step, `None` behind the last.
    #[inline]
    pub fn offset(self, step: usize) -> Option<u16> {
        match self.0.get(step) {
            None | Some(0) => None,
            Some(more) => Some(more - 1),
        }
    }
}

/// Why an agent could not do what the plan wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// It could.
    None = 0,
    /// The bytes in memory are not those of the file.
    BytesDiffer = 1,
    /// No memory within two gigabytes of the site.
    NoNearMemory = 2,
    /// The kernel refused to make the code writable.
    NotWritable = 3,
    /// Other threads run and the kernel has no `membarrier` to change code under them.
    NoBarrier = 4,
    /// Other threads run, and no trampoline could be placed so that a jump at the entry is safe under them.
    NoSafeJump = 5,
    /// Code cannot be redirected on this architecture.
    Architecture = 6,
    /// The plan wants what an instruction of this form cannot be.
    NotOfForm = 7,
}

/// A site of the plan. The session writes all but `planted`, `refused` and `seen`, before it raises
/// [`crate::Control::probes`]; afterwards it changes only `wanted` and `traps`. Agents turn a [`Wanted::Discover`]
/// into [`Wanted::Off`] once the call was trapped often enough.
#[repr(C)]
pub struct Probe {
    /// A [`Wanted`].
    pub wanted: AtomicU32,
    /// Index into the module table, or [`UNDER_ENTRY`].
    pub module: u32,
    /// Address of the instruction.
    pub address: u64,
    /// Address the instruction calls or jumps to, 0 for indirect calls and entries.
    pub target: u64,
    /// A [`Form`].
    pub form: u8,
    /// Length of the instruction.
    pub len: u8,
    /// A [`Role`].
    pub role: u8,
    /// A [`Label`].
    pub label: u8,
    /// Which argument leads to the label, 0 for the first, unless a variable does.
    pub label_argument: u8,
    /// Which argument is the key of a [`Role::Acquire`] and its like, or [`KEY_RETURNED`].
    pub key_argument: u8,
    /// Arguments of the call that are callbacks, a bit each, the lowest for the first. Discovery records these
    /// instead of the callee.
    pub callbacks: u8,
    _align: u8,
    /// Address in the module's file of the variable that leads to the label; 0 if an argument does.
    pub label_variable: u64,
    /// The way from there to the label.
    pub label_members: Members,
    /// The instruction's bytes in the file.
    pub bytes: [u8; 16],
    /// Operand of an indirect call.
    pub operand: Operand,
    /// Index of the [`Displaced`] of an entry.
    pub displaced: u32,
    /// Agent: in how many processes it is planted.
    pub planted: AtomicU32,
    /// Agent: a [`Refusal`].
    pub refused: AtomicU32,
    /// Agent: how often the call was trapped since the session asked for that.
    pub traps: AtomicU32,
    /// Agent: callees met while discovering, as module index << 48 | address; all ones where it lies in no known
    /// module; 0 for an unused entry.
    pub seen: [AtomicU64; SEEN_MAX],
}

/// An instruction of a displaced entry, rewritten to work anywhere near its module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Piece {
    /// The instruction.
    pub bytes: [u8; 16],
    /// Its length.
    pub len: u8,
    /// A [`PieceFix`].
    pub fix: u8,
    /// Offset of the 32-bit field.
    pub at: u8,
    /// Offset of the original instruction from the function's entry: a thread that stopped before it continues there.
    pub origin: u8,
    _pad: u32,
    /// Address (in the file) that the field means.
    pub target: u64,
}

impl Piece {
    /// A piece of `bytes` that replaces the instruction at `origin`.
    pub fn new(bytes: &[u8], origin: u8, fix: PieceFix, at: u8, target: u64) -> Piece {
        let mut piece = Piece {
            len: bytes.len() as u8,
            fix: fix as u8,
            at,
            origin,
            target,
            ..Piece::default()
        };
        piece.bytes[..bytes.len()].copy_from_slice(bytes);
        piece
    }
}

/// The first instructions of a function, to be run elsewhere and followed by a jump to `resume`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Displaced {
    /// The instructions.
    pub pieces: [Piece; PIECES_MAX],
    /// Number of pieces.
    pub count: u32,
    /// Bytes of original code they replace, at least [`crate::arch::code::JUMP_BYTES`].
    pub len: u32,
    /// Where the function continues; 0 where the last piece never falls through.
    pub resume: u64,
    /// Offsets from the entry, as a bit set, at which an original instruction begins.
    pub boundaries: u32,
    /// The probe that times the call with which they end, plus one; 0 for none. Its module is [`UNDER_ENTRY`].
    pub call: u32,
}

/// The module of probes of displaced instructions: there is no code of theirs to change, the entry's hook has them.
pub const UNDER_ENTRY: u32 = u32::MAX;

const _: () = assert!(size_of::<Probe>() == 600 && size_of::<Displaced>() == 280);
