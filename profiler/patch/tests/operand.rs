//! Operands of indirect calls against an independent decoder, and against the processor.

use evenkeel_patch::arch::fault;
use evenkeel_patch::arch::operand::{CALL, JUMP, Value, encode, evaluate};
use evenkeel_wire::Operand;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Register};
use proptest::prelude::*;

const AT: u64 = 0x5555_0000_1000;

fn decode(code: &[u8]) -> Instruction {
    let instruction = Decoder::with_ip(64, code, AT, DecoderOptions::NONE).decode();
    assert_eq!(instruction.len(), code.len(), "{code:x?}");
    instruction
}

fn number(register: Register) -> u8 {
    match register {
        Register::None => Operand::NONE,
        Register::RIP => Operand::RIP,
        register => register.number() as u8,
    }
}

fn memory() -> impl Strategy<Value = Operand> {
    let register = || prop_oneof![1 => Just(Operand::NONE), 8 => 0u8..16];
    let scale = prop::sample::select(vec![1u8, 2, 4, 8]);
    (register(), register(), scale, any::<i32>()).prop_map(|(base, index, scale, displacement)| {
        Operand {
            base,
            index: if index == 4 { Operand::NONE } else { index }, // rsp cannot be an index
            scale,
            register: 0,
            displacement,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]
    #[test]
    fn memory_operands_come_back(operand in memory(), jump: bool, lifted in prop::sample::select(vec![0, 8])) {
        let digit = if jump { JUMP } else { CALL };
        let expected = if operand.base == 4 { operand.displacement.checked_add(lifted) } else { Some(operand.displacement) };
        let encoded = encode(digit, &operand, AT, AT + 6, lifted);
        prop_assert_eq!(encoded.is_some(), expected.is_some());
        let (Some((bytes, len)), Some(displacement)) = (encoded, expected) else { return Ok(()) };
        let instruction = decode(&bytes[..len]);
        prop_assert_eq!(instruction.code(), if jump { Code::Jmp_rm64 } else { Code::Call_rm64 });
        prop_assert_eq!(number(instruction.memory_base()), operand.base);
        prop_assert_eq!(number(instruction.memory_index()), operand.index);
        if operand.index != Operand::NONE {
            prop_assert_eq!(instruction.memory_index_scale(), u32::from(operand.scale));
        }
        prop_assert_eq!(instruction.memory_displacement64(), i64::from(displacement) as u64);
    }

    #[test]
    fn rip_relative_operands_name_the_same_word(slot_from_next: i32, next_from_at in -0x7000_0000i64..0x7000_0000) {
        let operand = Operand { base: Operand::RIP, index: Operand::NONE, scale: 1, register: 0, displacement: slot_from_next };
        let next_ip = AT.wrapping_add_signed(next_from_at);
        let slot = next_ip.wrapping_add_signed(i64::from(slot_from_next));
        let reachable = i32::try_from(slot.wrapping_sub(AT + 6) as i64).is_ok();
        let encoded = encode(CALL, &operand, AT, next_ip, 0);
        prop_assert_eq!(encoded.is_some(), reachable);
        if let Some((bytes, len)) = encoded {
            prop_assert_eq!(len, 6);
            prop_assert_eq!(decode(&bytes[..len]).ip_rel_memory_address(), slot);
        }
    }

    #[test]
    fn operands_are_evaluated_as_the_processor_does(operand in memory(), registers: [u64; 16], word: u64, high in 1u64..64) {
        // The operand's address is computed as the processor does; the base (or displacement) is chosen so that it
        // leads to `word`.
        let address = &raw const word as u64;
        let mut registers = registers;
        if operand.base == Operand::NONE || operand.base == operand.index {
            return Ok(());
        }
        let index = if operand.index == Operand::NONE { 0 } else { registers[operand.index as usize].wrapping_mul(u64::from(operand.scale)) };
        registers[operand.base as usize] = address.wrapping_sub(index).wrapping_sub(i64::from(operand.displacement) as u64);
        let found = evaluate(&operand, high, |n| registers[n as usize]);
        prop_assert_eq!(found, Value::At(address));
        prop_assert_eq!(unsafe { fault::read(address) }, Ok(word));
    }
}

#[test]
fn register_operands_come_back() {
    for base in (0..16).filter(|&base| base != 4) {
        let operand = Operand {
            base,
            index: Operand::NONE,
            scale: 1,
            register: 1,
            displacement: 0,
        };
        for (digit, code) in [(CALL, Code::Call_rm64), (JUMP, Code::Jmp_rm64)] {
            let (bytes, len) = encode(digit, &operand, AT, AT + 2, 0).unwrap();
            let instruction = decode(&bytes[..len]);
            assert_eq!(
                (instruction.code(), number(instruction.op0_register())),
                (code, base)
            );
        }
        assert_eq!(
            evaluate(&operand, 0, |n| 100 + u64::from(n)),
            Value::Target(100 + u64::from(base))
        );
    }
}

#[test]
fn rip_relative_operands_are_read_from_the_next_instruction() {
    let word = 0x1234_5678_9abc_u64;
    let operand = Operand {
        base: Operand::RIP,
        index: Operand::NONE,
        scale: 1,
        register: 0,
        displacement: -64,
    };
    assert_eq!(
        evaluate(&operand, &raw const word as u64 + 64, |_| unreachable!()),
        Value::At(&raw const word as u64)
    );
}
