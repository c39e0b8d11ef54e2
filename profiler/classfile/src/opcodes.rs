//! Opcodes (JVMS 6.5): those that rewriting looks at by name, and how long the others are.

pub(crate) const ICONST_M1: u8 = 2;
pub(crate) const SIPUSH: u8 = 17;
pub(crate) const LDC_W: u8 = 19;
pub(crate) const ILOAD: u8 = 21;
pub(crate) const LLOAD: u8 = 22;
pub(crate) const ALOAD: u8 = 25;
pub(crate) const ISTORE: u8 = 54;
pub(crate) const ASTORE: u8 = 58;
pub(crate) const POP: u8 = 87;
pub(crate) const POP2: u8 = 88;
pub(crate) const DUP: u8 = 89;
pub(crate) const IINC: u8 = 132;
pub(crate) const I2L: u8 = 133;
pub(crate) const IFEQ: u8 = 153;
pub(crate) const IF_ACMPNE: u8 = 166;
pub(crate) const GOTO: u8 = 167;
pub(crate) const JSR: u8 = 168;
pub(crate) const RET: u8 = 169;
pub(crate) const TABLESWITCH: u8 = 170;
pub(crate) const LOOKUPSWITCH: u8 = 171;
pub(crate) const IRETURN: u8 = 172;
pub(crate) const RETURN: u8 = 177;
pub(crate) const INVOKEVIRTUAL: u8 = 182;
pub(crate) const INVOKESPECIAL: u8 = 183;
pub(crate) const INVOKESTATIC: u8 = 184;
pub(crate) const INVOKEINTERFACE: u8 = 185;
pub(crate) const INVOKEDYNAMIC: u8 = 186;
pub(crate) const NEW: u8 = 187;
pub(crate) const ATHROW: u8 = 191;
pub(crate) const WIDE: u8 = 196;
pub(crate) const IFNULL: u8 = 198;
pub(crate) const IFNONNULL: u8 = 199;
pub(crate) const GOTO_W: u8 = 200;
pub(crate) const JSR_W: u8 = 201;

/// Bytes that an instruction takes with its operands, if that is always the same; `None` also for what is no instruction.
pub(crate) fn length(opcode: u8) -> Option<usize> {
    Some(match opcode {
        // bipush, ldc, loads and stores by index, ret, newarray
        16 | 18 | 21..=25 | 54..=58 | RET | 188 => 2,
        // sipush, ldc_w, ldc2_w, iinc, branches, fields and calls, new, anewarray, checkcast, instanceof, ifnull, ifnonnull
        17
        | 19
        | 20
        | IINC
        | IFEQ..=JSR
        | 178..=184
        | NEW
        | 189
        | 192
        | 193
        | IFNULL
        | IFNONNULL => 3,
        // multianewarray
        197 => 4,
        INVOKEINTERFACE | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
        TABLESWITCH | LOOKUPSWITCH | WIDE | 202.. => return None,
        _ => 1,
    })
}

/// A branch that is taken or not.
pub(crate) fn is_conditional(opcode: u8) -> bool {
    matches!(opcode, IFEQ..=IF_ACMPNE | IFNULL | IFNONNULL)
}

/// Whether the method returns here (`ireturn` to `return`).
pub(crate) fn is_return(opcode: u8) -> bool {
    matches!(opcode, IRETURN..=RETURN)
}

/// Whether a method is called here.
pub(crate) fn is_call(opcode: u8) -> bool {
    matches!(opcode, INVOKEVIRTUAL..=INVOKEDYNAMIC)
}

/// Whether the next instruction is never reached from this one.
pub(crate) fn ends_flow(opcode: u8) -> bool {
    matches!(opcode, GOTO | GOTO_W | TABLESWITCH | LOOKUPSWITCH | ATHROW) || is_return(opcode)
}
