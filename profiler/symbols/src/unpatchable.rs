//! Why an instruction or an entry must be left alone.

use thiserror::Error;

/// Why a call site or a function entry cannot be redirected. The texts are for reports: what is the case, in plain
/// words.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unpatchable {
    /// An indirect call of two to four bytes.
    #[error(
        "a call through a pointer too short to be redirected; its callees can only be discovered"
    )]
    ShortIndirectCall,
    /// A conditional jump to another function.
    #[error("a conditional tail call, which cannot be redirected")]
    ConditionalTailJump,
    /// A jump through a pointer to another function.
    #[error(
        "a tail call through a pointer, which cannot be redirected; its callees can only be discovered"
    )]
    IndirectTailJump,
    /// A two-byte jump to another function.
    #[error("a tail call of two bytes, too short to be redirected")]
    ShortTailJump,
    /// The callee returns more than once.
    #[error("the callee returns twice into this frame (setjmp, vfork)")]
    ReturnsTwice,
    /// The callee looks at its return address, or expects its registers untouched.
    #[error("the callee depends on who calls it (dlopen, thread-local storage)")]
    CallerSensitive,
    /// The callee never returns.
    #[error("the callee never returns")]
    NeverReturns,
    /// A call of the next instruction, which computes an address.
    #[error("not a call: it loads the instruction pointer")]
    ReadsInstructionPointer,
    /// An operand in another segment, or of another address size, or a far call.
    #[error("a call in an unusual form (segment, address size, far)")]
    UnusualForm,
    /// No instruction begins here.
    #[error("the code from here on cannot be decoded")]
    Undecodable,
    /// No function begins at the address.
    #[error("no function begins there")]
    NoEntry,
    /// The resolver of an indirect function.
    #[error("the loader calls it to choose another function, before any agent runs")]
    Resolver,
    /// A part of a function.
    #[error("a part of another function: it is jumped to, not called")]
    Fragment,
    /// Code of the Haskell compiler.
    #[error("code of GHC (Haskell), which is jumped to and returns by a jump")]
    Haskell,
    /// The first instruction of the program.
    #[error("the program's first instruction, which nobody calls")]
    ProgramStart,
    /// Fewer than five bytes, without padding after them.
    #[error("the function is shorter than the five bytes of a jump")]
    TooShort,
    /// The code path ends, and other code follows.
    #[error("its first path ends before the five bytes of a jump, and other code follows")]
    EndsEarly,
    /// A branch into the first instructions.
    #[error("a branch leads into its first instructions")]
    BranchInside,
    /// A branch that has only a short form.
    #[error("its first instructions hold a branch that cannot be moved (loop, jrcxz, xbegin)")]
    ImmovableBranch,
    /// An indirect call before the fifth byte.
    #[error("a call through a pointer ends before the five bytes of a jump")]
    CallEndsEarly,
    /// An instruction that works only where it is.
    #[error("its first instructions hold one that cannot be moved")]
    ImmovableInstruction,
    /// Nobody has written it for this processor.
    #[error("not supported on this architecture")]
    Architecture,
}
