//! Every displaced entry of a large program (this test itself) does what the original did.

use evenkeel_symbols::{DebugSources, Function, FunctionKind, Module, Unpatchable};
use evenkeel_wire::{Displaced, Piece, PieceFix};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::{Object, ObjectSection};

/// Where the pieces are decoded: within two gigabytes of the module.
const ELSEWHERE: u64 = 0x4000_0000;

/// The instruction of a piece put at `at`, its field fixed as an agent would.
fn put(piece: &Piece, at: u64) -> Instruction {
    let mut bytes = piece.bytes[..piece.len as usize].to_vec();
    let value = match piece.fix {
        fix if fix == PieceFix::Relative as u8 => {
            piece.target.wrapping_sub(at + bytes.len() as u64) as u32
        }
        fix if fix == PieceFix::AbsoluteLow as u8 => piece.target as u32,
        fix if fix == PieceFix::AbsoluteHigh as u8 => (piece.target >> 32) as u32,
        _ => return decode(&bytes, at),
    };
    bytes[piece.at as usize..piece.at as usize + 4].copy_from_slice(&value.to_le_bytes());
    decode(&bytes, at)
}

fn decode(bytes: &[u8], at: u64) -> Instruction {
    let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
    assert!(
        !instruction.is_invalid() && instruction.len() == bytes.len(),
        "{bytes:x?}"
    );
    instruction
}

/// Compares the pieces with the original instructions: same operations, same targets.
fn check(entry: u64, code: &[u8], displaced: &Displaced) {
    assert!(displaced.len >= 5 && displaced.boundaries & 1 == 1);
    let mut original = Decoder::with_ip(64, code, entry, DecoderOptions::NONE);
    let mut pieces = displaced.pieces[..displaced.count as usize].iter();
    let mut at = ELSEWHERE;
    let mut boundaries = 0;
    let mut falls_through = true;
    while let Some(piece) = pieces.next() {
        let instruction = original.decode();
        let origin = instruction.ip() - entry;
        assert_eq!(u64::from(piece.origin), origin);
        boundaries |= 1 << origin;
        let mut moved = put(piece, at);
        at += u64::from(piece.len);
        let flow = instruction.flow_control();
        let is_call = instruction.is_call_near() || flow == FlowControl::IndirectCall;
        if is_call {
            assert_eq!(
                (moved.mnemonic(), piece.target),
                (Mnemonic::Push, instruction.next_ip())
            );
            let high = pieces.next().unwrap();
            assert_eq!(
                (put(high, at).mnemonic(), high.target),
                (Mnemonic::Mov, instruction.next_ip())
            );
            let jump = pieces.next().unwrap();
            moved = put(jump, at + u64::from(high.len));
            assert_eq!(moved.mnemonic(), Mnemonic::Jmp);
            assert!(pieces.as_slice().is_empty(), "a call is the last to move");
        } else {
            assert_eq!(moved.mnemonic(), instruction.mnemonic());
            assert_eq!(moved.op_count(), instruction.op_count());
        }
        assert_eq!(moved.near_branch_target(), instruction.near_branch_target());
        if instruction.is_ip_rel_memory_operand() {
            assert_eq!(
                moved.ip_rel_memory_address(),
                instruction.ip_rel_memory_address()
            );
        }
        falls_through =
            !is_call && matches!(flow, FlowControl::Next | FlowControl::ConditionalBranch);
    }
    let moved_bytes = original.ip() - entry;
    assert_eq!(displaced.boundaries, boundaries);
    if falls_through {
        assert_eq!(displaced.resume, entry + moved_bytes);
    } else {
        assert_eq!(displaced.resume, 0);
    }
    assert_eq!(u64::from(displaced.len), moved_bytes.max(5));
}

#[test]
fn every_entry_of_this_test_keeps_its_meaning() {
    let path = std::env::current_exe().unwrap();
    let module = Module::load(&path, &DebugSources::none()).unwrap();
    let data = std::fs::read(&path).unwrap();
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*data).unwrap();
    let ordinary = |function: &&Function| function.kind == FunctionKind::Ordinary;
    let mut done = 0;
    for function in module.functions().iter().filter(ordinary) {
        let entry = function.entry;
        match module.displaced(entry) {
            Ok(displaced) => {
                let section = file.sections().find(|section| {
                    (section.address()..section.address() + section.size()).contains(&entry)
                });
                let section = section.unwrap();
                let code = &section.data().unwrap()[(entry - section.address()) as usize..];
                check(entry, code, &displaced);
                done += 1;
            }
            Err(reason) => assert!(
                !matches!(
                    reason,
                    Unpatchable::NoEntry | Unpatchable::Resolver | Unpatchable::Fragment
                ),
                "{entry:#x}: {reason}"
            ),
        }
    }
    assert!(done > 1000, "only {done} entries could be displaced");
}

/// Sites do not overlap, lie in their function, and hold the bytes of the file.
#[test]
fn every_call_site_of_this_test_is_where_it_says() {
    let module = Module::load(&std::env::current_exe().unwrap(), &DebugSources::none()).unwrap();
    for function in module.functions() {
        let sites = module.call_sites(function.entry);
        for pair in sites.windows(2) {
            assert!(pair[0].address + u64::from(pair[0].len) <= pair[1].address);
        }
        for site in sites {
            assert!(function.contains(site.address));
            assert_eq!(
                module.function_at(site.address).unwrap().entry,
                function.entry
            );
            let instruction =
                Decoder::with_ip(64, &site.bytes, site.address, DecoderOptions::NONE).decode();
            if site.form != Err(Unpatchable::Undecodable) {
                assert_eq!(instruction.len(), usize::from(site.len));
            }
        }
    }
}
