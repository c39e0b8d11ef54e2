//! A method's code with its probes.
//!
//! A token lies in a local variable that is an int at every instruction, so the types of nothing else need to be known: frames only
//! become wider. The order is: find out what there is, decide what is inserted where, lay out the code, move what holds offsets.

use std::collections::{BTreeMap, BTreeSet};

use crate::annotations::move_type_annotations;
use crate::class::{Attribute, Class, Member};
use crate::code::{Code, Covered};
use crate::constants::Constants;
use crate::constructor::{Constructor, Place};
use crate::descriptor;
use crate::error::Error;
use crate::frames::{self, StackMapFrame, TYPES_MAX, Type};
use crate::instructions::{self, Instruction};
use crate::layout::{CODE_MAX, Insertions, Layout};
use crate::opcodes::{self, JSR, JSR_W, RET, WIDE};
use crate::probes::{Helper, Limits, MethodProbes};
use crate::refusal::Reason;
use crate::snippets::{Guarded, LABEL_SLOTS, Locals, Snippets};
use crate::tables;

const STATIC: u16 = 0x0008;
/// The first version whose verifier reads frames, and the one that goes without where they are missing (JVMS 4.10).
const WITH_FRAMES: u16 = 50;

/// Facts about a method before it is changed.
struct Known<'c, 'a> {
    class: &'c Class<'a>,
    code: &'c Code<'c>,
    instructions: Vec<Instruction<'c>>,
    /// Frames by offset; none where the verifier works without.
    frames: Option<Vec<StackMapFrame>>,
    /// The stretches of code that a handler can be put around.
    stretches: Vec<(Place, Place)>,
}

/// A piece that was inserted where frames are needed: in front of a handler, or at the end of the code.
struct Placed {
    at: usize,
    piece: Guarded,
    /// Local variables there.
    locals: Vec<Type>,
    /// The exception that is kept.
    exception: Type,
    /// Whether a frame is needed where the piece begins. A handler of the method's has one already.
    is_new: bool,
}

/// The content of the `Code` attribute with probes, and the bytes of code.
pub(crate) fn instrument(
    class: &Class<'_>,
    member: &Member<'_>,
    code: &Code<'_>,
    probes: &MethodProbes,
    helper: &Helper<'_>,
    limits: &Limits,
    constants: &mut Constants<'_>,
) -> Result<(Vec<u8>, usize), Reason> {
    let known = known(class, member, code, constants)?;
    let locals = Locals::behind(
        code.max_locals,
        !probes.calls.is_empty(),
        probes.body.is_some(),
    );
    let locals = locals.ok_or(Reason::NoRoom)?;
    let max_stack = code.max_stack.checked_add(1).ok_or(Reason::NoRoom)?;
    // The method's own operands are not on the stack where its label is.
    let max_stack = max_stack.max(1 + LABEL_SLOTS * u16::from(probes.label.is_some()));
    let snippets = Snippets::new(helper, locals, probes.label, constants)?;
    let handlers: BTreeSet<usize> = code
        .exceptions
        .iter()
        .map(|covered| covered.handler.into())
        .collect();
    let handler = snippets.handler();
    let inserted = insertions(
        &known,
        probes,
        &snippets,
        &handlers,
        handler.as_ref(),
        constants,
    )?;
    let layout = Layout::of(&known.instructions, &inserted)
        .map_err(|far| Reason::FarBranch { pc: far.0 })?;

    let throwable = Type::Object(constants.class(b"java/lang/Throwable")?);
    let mut placed = Vec::new();
    for &pc in handlers.iter().filter(|_| handler.is_some()) {
        let frame = known.frame(pc)?;
        let at = layout.begins(pc).expect("checked with the exception table");
        placed.push(Placed {
            at,
            piece: handler.clone().expect("filtered"),
            locals: frame.map_or_else(Vec::new, |frame| frame.locals.clone()),
            exception: frame.map_or(throwable, |frame| frame.stack[0]),
            is_new: false,
        });
    }
    if !known.stretches.is_empty() {
        let piece = snippets.outer_handler();
        placed.push(Placed {
            at: layout.end(),
            piece,
            locals: Vec::new(),
            exception: throwable,
            is_new: true,
        });
    }
    let outer = placed.last().filter(|placed| placed.is_new);
    let outer_bytes = outer.map_or(&[][..], |outer| &outer.piece.bytes);
    let bytes_after = layout.end() + outer_bytes.len();
    check_size(code.bytes.len(), bytes_after, limits)?;

    let mut bytes = layout.write(&known.instructions, &inserted);
    debug_assert_eq!(bytes.len(), layout.end());
    bytes.extend_from_slice(outer_bytes);
    let exceptions = exceptions(&known, &placed, &layout)?;
    let mut attributes = moved_attributes(&known, &layout, placed.len())?;
    if let Some(content) = moved_frames(&known, &locals, &layout, &placed, throwable)? {
        attributes.push(Attribute {
            name: constants.utf8(b"StackMapTable")?,
            content: content.into(),
        });
    }
    let rewritten = Code {
        max_stack,
        max_locals: locals.exception + 1,
        bytes: &bytes,
        exceptions,
        attributes,
    };
    Ok((rewritten.write(), bytes_after))
}

impl Known<'_, '_> {
    /// The frame at an offset where there must be one; none where the verifier works without.
    fn frame(&self, pc: usize) -> Result<Option<&StackMapFrame>, Error> {
        let Some(frames) = &self.frames else {
            return Ok(None);
        };
        let found = frames
            .binary_search_by_key(&pc, |frame| frame.pc)
            .ok()
            .map(|nth| &frames[nth]);
        let found = found.filter(|frame| frame.stack.len() == 1);
        found.map(Some).ok_or(Error::Malformed {
            what: "stack map frame of a handler",
            at: pc,
        })
    }
}

/// Takes a method apart, and refuses what cannot be rewritten.
fn known<'c, 'a>(
    class: &'c Class<'a>,
    member: &Member<'_>,
    code: &'c Code<'c>,
    constants: &mut Constants<'_>,
) -> Result<Known<'c, 'a>, Reason> {
    let instructions = instructions::decode(code.bytes)?;
    for instruction in &instructions {
        if matches!(
            *instruction.bytes,
            [JSR | JSR_W | RET, ..] | [WIDE, RET, ..]
        ) {
            return Err(Reason::Subroutine { pc: instruction.pc });
        }
    }
    check_exceptions(code, &instructions)?;
    let frames = frames_of(class, member, code, &instructions, constants)?;
    let constructor = class.pool.utf8(member.name)? == b"<init>" && class.super_name().is_some();
    let stretches = match &frames {
        Some(frames) if constructor => {
            let classes = [Some(class.this_name()), class.super_name()];
            let pool = &class.pool;
            Constructor {
                instructions: &instructions,
                frames,
                pool,
                classes,
            }
            .initialised()
        }
        _ => vec![(Place::Before(0), Place::Before(code.bytes.len()))],
    };
    Ok(Known {
        class,
        code,
        instructions,
        frames,
        stretches,
    })
}

fn begins(instructions: &[Instruction<'_>], pc: usize) -> bool {
    instructions
        .binary_search_by_key(&pc, |instruction| instruction.pc)
        .is_ok()
}

fn check_exceptions(code: &Code<'_>, instructions: &[Instruction<'_>]) -> Result<(), Error> {
    for covered in &code.exceptions {
        let (start, end, handler) = (
            covered.start.into(),
            usize::from(covered.end),
            covered.handler.into(),
        );
        let ends = end == code.bytes.len() || begins(instructions, end);
        if start >= end || !ends || !begins(instructions, start) || !begins(instructions, handler) {
            return Err(Error::Malformed {
                what: "exception table",
                at: start,
            });
        }
    }
    Ok(())
}

/// The frames that the verifier reads, or none where it works without. HotSpot drops the frames of a class that it does
/// not verify. Those are the JDK's, unless they come from its archive. It does not verify them when they are loaded
/// again, either.
fn frames_of(
    class: &Class<'_>,
    member: &Member<'_>,
    code: &Code<'_>,
    instructions: &[Instruction<'_>],
    constants: &mut Constants<'_>,
) -> Result<Option<Vec<StackMapFrame>>, Reason> {
    let mut table = None;
    for attribute in &code.attributes {
        if class.pool.utf8(attribute.name)? == b"StackMapTable"
            && table.replace(&attribute.content).is_some()
        {
            return Err(Error::Malformed {
                what: "second StackMapTable attribute",
                at: 0,
            }
            .into());
        }
    }
    let straight = code.exceptions.is_empty()
        && instructions
            .iter()
            .all(|instruction| instruction.leads == instructions::Leads::Nowhere);
    if class.major < WITH_FRAMES || (table.is_none() && !straight) {
        return Ok(None);
    }
    let Some(table) = table else {
        return Ok(Some(Vec::new()));
    };
    let mut locals = Vec::new();
    if member.flags & STATIC == 0 {
        let constructor =
            class.pool.utf8(member.name)? == b"<init>" && class.super_name().is_some();
        locals.push(if constructor {
            Type::UninitializedThis
        } else {
            Type::Object(constants.class(class.this_name())?)
        });
    }
    for parameter in descriptor::parameters(class.pool.utf8(member.descriptor)?)? {
        locals.push(Type::of(parameter, |name| constants.class(name))?);
    }
    let frames = frames::read(table, locals)?;
    let slots = |frame: &StackMapFrame| frame.locals.iter().map(|of| of.slots()).sum::<usize>();
    for frame in &frames {
        if !begins(instructions, frame.pc) || slots(frame) > code.max_locals.into() {
            return Err(Error::Malformed {
                what: "stack map frame",
                at: frame.pc,
            }
            .into());
        }
    }
    Ok(Some(frames))
}

/// Everything that goes between the instructions.
fn insertions(
    known: &Known<'_, '_>,
    probes: &MethodProbes,
    snippets: &Snippets,
    handlers: &BTreeSet<usize>,
    handler: Option<&Guarded>,
    constants: &mut Constants<'_>,
) -> Result<Insertions, Reason> {
    let mut inserted = Insertions {
        head: snippets.head(probes.body, constants)?,
        ..Insertions::default()
    };
    if let Some(handler) = handler {
        for &pc in handlers {
            inserted.before.insert(pc, handler.bytes.clone());
        }
    }
    for (&pc, &id) in &probes.calls {
        let place = usize::from(pc);
        let found = known
            .instructions
            .binary_search_by_key(&place, |instruction| instruction.pc);
        let instruction = found
            .map(|nth| &known.instructions[nth])
            .map_err(|_| Reason::NoCall { pc })?;
        let (true, Some(local)) = (
            opcodes::is_call(instruction.opcode()),
            snippets.locals.calls,
        ) else {
            return Err(Reason::NoCall { pc });
        };
        snippets.enter(
            local,
            id,
            constants,
            inserted.before.entry(place).or_default(),
        )?;
        snippets.exit(local, inserted.after.entry(place).or_default());
    }
    if let Some(local) = snippets.locals.body {
        for instruction in &known.instructions {
            if opcodes::is_return(instruction.opcode()) {
                snippets.exit(local, inserted.before.entry(instruction.pc).or_default());
            }
        }
    }
    Ok(inserted)
}

fn check_size(before: usize, after: usize, limits: &Limits) -> Result<(), Reason> {
    if after > CODE_MAX {
        return Err(Reason::TooLong { bytes: after });
    }
    if after > limits.compiled_bytes && before <= limits.compiled_bytes {
        return Err(Reason::NotCompiled {
            bytes: after,
            limit: limits.compiled_bytes,
        });
    }
    Ok(())
}

/// An offset in code whose size was checked.
fn offset(at: usize) -> u16 {
    u16::try_from(at).expect("the size was checked")
}

/// The exception table. Guards of inserted pieces come first, since the method's own entries may cover the same bytes.
fn exceptions(
    known: &Known<'_, '_>,
    placed: &[Placed],
    layout: &Layout,
) -> Result<Vec<Covered>, Reason> {
    let guards = placed.iter().map(|Placed { at, piece, .. }| Covered {
        start: offset(at + piece.covered.start),
        end: offset(at + piece.covered.end),
        handler: offset(at + piece.swallow),
        catches: 0,
    });
    let begins = |pc: u16| {
        offset(
            layout
                .begins(pc.into())
                .expect("checked with the exception table"),
        )
    };
    let moved = known.code.exceptions.iter().map(|covered| Covered {
        start: begins(covered.start),
        end: begins(covered.end),
        handler: begins(covered.handler),
        catches: covered.catches,
    });
    let outer = known.stretches.iter().filter_map(|&(begin, end)| {
        let (start, end) = (offset(place(begin, layout)), offset(place(end, layout)));
        // Empty where `this` is initialised right in front of code that another way reaches before that.
        (start < end).then_some(Covered {
            start,
            end,
            handler: offset(layout.end()),
            catches: 0,
        })
    });
    let exceptions: Vec<Covered> = guards.chain(moved).chain(outer).collect();
    if exceptions.len() > usize::from(u16::MAX) {
        return Err(Reason::NoRoom);
    }
    Ok(exceptions)
}

fn place(place: Place, layout: &Layout) -> usize {
    /// Bytes of an `invokespecial`.
    const CALL: usize = 3;
    match place {
        Place::Before(pc) => layout.begins(pc),
        Place::AfterCall(pc) => layout.own(pc).map(|at| at + CALL),
    }
    .expect("a place between instructions")
}

/// All attributes of the code but the frames.
fn moved_attributes<'c>(
    known: &Known<'c, '_>,
    layout: &Layout,
    guards: usize,
) -> Result<Vec<Attribute<'c>>, Reason> {
    let mut moved = Vec::new();
    for attribute in &known.code.attributes {
        let content = &attribute.content;
        let content = match known.class.pool.utf8(attribute.name)? {
            b"LineNumberTable" => tables::move_lines(content, layout)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                tables::move_variables(content, layout)?
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                move_type_annotations(content, layout, guards)?
            }
            b"StackMapTable" => continue,
            unknown => {
                return Err(Reason::UnknownAttribute(
                    crate::utf8::decode(unknown).into_owned(),
                ));
            }
        };
        moved.push(Attribute {
            name: attribute.name,
            content: content.into(),
        });
    }
    Ok(moved)
}

/// The frames of the rewritten code, if it needs any.
fn moved_frames(
    known: &Known<'_, '_>,
    added: &Locals,
    layout: &Layout,
    placed: &[Placed],
    throwable: Type,
) -> Result<Option<Vec<u8>>, Reason> {
    let Some(old) = &known.frames else {
        return Ok(None);
    };
    let slots = usize::from(known.code.max_locals) + added.tokens() + 1;
    let count = old.len() + 3 * placed.len() + layout.islands().len();
    let types = count.saturating_mul(slots);
    if types > TYPES_MAX || count > usize::from(u16::MAX) {
        return Err(Reason::FramesTooLarge { types });
    }
    let widen = Widen {
        slots: known.code.max_locals.into(),
        tokens: added.tokens(),
        layout,
    };
    // Sorted by offset, as the table must be.
    let mut frames = BTreeMap::new();
    let mut put =
        |pc, locals: &[Type], exception: Option<Type>, stack: &[Type]| -> Result<(), Error> {
            let frame = StackMapFrame {
                pc,
                locals: widen.locals(locals, exception)?,
                stack: widen.types(stack)?,
            };
            frames.insert(pc, frame);
            Ok(())
        };
    for frame in old {
        put(
            layout.begins(frame.pc).expect("checked"),
            &frame.locals,
            None,
            &frame.stack,
        )?;
    }
    for island in layout.islands() {
        let found = old.binary_search_by_key(&island.target, |frame| frame.pc);
        let frame = &old[found.map_err(|_| Error::Malformed {
            what: "stack map frame of a branch",
            at: island.target,
        })?];
        put(island.at, &frame.locals, None, &frame.stack)?;
    }
    for Placed {
        at,
        piece,
        locals,
        exception,
        is_new,
    } in placed
    {
        if *is_new {
            put(*at, locals, None, &[throwable])?;
        }
        put(at + piece.swallow, locals, Some(*exception), &[throwable])?;
        put(at + piece.resume, locals, Some(*exception), &[])?;
    }
    let frames: Vec<StackMapFrame> = frames.into_values().collect();
    Ok(Some(frames::write(&frames)))
}

/// Makes the frames of rewritten code out of those of the method.
struct Widen<'l> {
    /// Slots of local variables that the method has.
    slots: usize,
    /// Ints that follow those slots.
    tokens: usize,
    layout: &'l Layout,
}

impl Widen<'_> {
    fn types(&self, types: &[Type]) -> Result<Vec<Type>, Error> {
        let moved = |&of: &Type| match of {
            Type::Uninitialized(pc) => {
                let own = self.layout.own(pc.into());
                let own = own.ok_or(Error::Malformed {
                    what: "stack map frame",
                    at: pc.into(),
                })?;
                Ok(Type::Uninitialized(offset(own)))
            }
            other => Ok(other),
        };
        types.iter().map(moved).collect()
    }

    fn locals(&self, locals: &[Type], exception: Option<Type>) -> Result<Vec<Type>, Error> {
        let mut wide = self.types(locals)?;
        let used: usize = wide.iter().map(|of| of.slots()).sum();
        wide.resize(wide.len() + self.slots.saturating_sub(used), Type::Top);
        wide.resize(wide.len() + self.tokens, Type::Int);
        wide.extend(exception);
        Ok(wide)
    }
}
