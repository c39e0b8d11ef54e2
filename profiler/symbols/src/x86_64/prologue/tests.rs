//! Entries moved by hand.

use super::*;

const AT: u64 = 0x1000;

/// The entry of a function that ends with `code`, and whose next function begins behind `padding`.
fn displace(code: &[u8], padding: &[u8]) -> Result<Displaced, Unpatchable> {
    let all = [code, padding].concat();
    Entry {
        address: AT,
        code: &all,
        bytes: code.len(),
        free_bytes: all.len(),
    }
    .displaced()
}

fn pieces(displaced: &Displaced) -> Vec<Piece> {
    displaced.pieces[..displaced.count as usize].to_vec()
}

fn plain(bytes: &[u8], origin: u8) -> Piece {
    Piece::new(bytes, origin, PieceFix::None, 0, 0)
}

fn relative(bytes: &[u8], origin: u8, at: u8, target: u64) -> Piece {
    Piece::new(bytes, origin, PieceFix::Relative, at, target)
}

#[test]
fn ordinary_instructions_move_unchanged() {
    // endbr64; push rbp; mov rbp, rsp; ret
    let moved = displace(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xc3], &[]).unwrap();
    assert_eq!(
        pieces(&moved),
        [plain(&[0xf3, 0x0f, 0x1e, 0xfa], 0), plain(&[0x55], 4)]
    );
    assert_eq!(
        (moved.len, moved.resume, moved.boundaries),
        (5, AT + 5, 0b1_0001)
    );
}

#[test]
fn relative_operands_keep_their_target() {
    // mov rax, [rip+0x10]: ends at 0x1007, means 0x1017; the field is at 3.
    let load = [0x48, 0x8b, 0x05, 0x10, 0, 0, 0];
    let moved = displace(&[&load[..], &[0xc3]].concat(), &[]).unwrap();
    assert_eq!(pieces(&moved), [relative(&load, 0, 3, AT + 0x17)]);
    // cmp dword [rip+0x10], 7 has a byte after the field: 83 3d 10 00 00 00 07 ends at 0x1007, means 0x1017.
    let compare = [0x83, 0x3d, 0x10, 0, 0, 0, 0x07];
    let moved = displace(&[&compare[..], &[0xc3]].concat(), &[]).unwrap();
    assert_eq!(pieces(&moved), [relative(&compare, 0, 2, AT + 0x17)]);
}

#[test]
fn short_branches_become_near_ones() {
    // test edi, edi; jne +0x20 (ends at 0x1004, means 0x1024); xor eax, eax; ret
    let moved = displace(&[0x85, 0xff, 0x75, 0x20, 0x31, 0xc0, 0xc3], &[]).unwrap();
    let expected = [
        plain(&[0x85, 0xff], 0),
        relative(&[0x0f, 0x85, 0, 0, 0, 0], 2, 2, AT + 0x24),
        plain(&[0x31, 0xc0], 4),
    ];
    assert_eq!(pieces(&moved), expected);
    assert_eq!(
        (moved.len, moved.resume, moved.boundaries),
        (6, AT + 6, 0b1_0101)
    );
    // push rax; pop rax; nop; jmp +0x20 (ends at 0x1005, means 0x1025)
    let moved = displace(&[0x50, 0x58, 0x90, 0xeb, 0x20], &[]).unwrap();
    assert_eq!(
        pieces(&moved)[3],
        relative(&[0xe9, 0, 0, 0, 0], 3, 1, AT + 0x25)
    );
    assert_eq!((moved.len, moved.resume), (5, 0));
}

#[test]
fn a_call_returns_to_the_original() {
    // push rbx; call +0x100 (ends at 0x1006, means 0x1106); pop rbx; ret
    let moved = displace(&[0x53, 0xe8, 0x00, 0x01, 0, 0, 0x5b, 0xc3], &[]).unwrap();
    let expected = [
        plain(&[0x53], 0),
        Piece::new(&[0x68, 0, 0, 0, 0], 1, PieceFix::AbsoluteLow, 1, AT + 6),
        Piece::new(
            &[0xc7, 0x44, 0x24, 0x04, 0, 0, 0, 0],
            1,
            PieceFix::AbsoluteHigh,
            4,
            AT + 6,
        ),
        relative(&[0xe9, 0, 0, 0, 0], 1, 1, AT + 0x106),
    ];
    assert_eq!(pieces(&moved), expected);
    assert_eq!((moved.len, moved.resume, moved.boundaries), (6, 0, 0b11));
    // sub rsp, 8; call [rip+0x10] (ends at 0x100a, means 0x101a): ff /2 is 15, ff /4 is 25.
    let moved = displace(
        &[0x48, 0x83, 0xec, 0x08, 0xff, 0x15, 0x10, 0, 0, 0, 0xc3],
        &[],
    )
    .unwrap();
    assert_eq!(
        pieces(&moved)[3],
        relative(&[0xff, 0x25, 0x10, 0, 0, 0], 4, 2, AT + 0x1a)
    );
    assert_eq!((moved.count, moved.len, moved.resume), (4, 10, 0));
    // The most pieces there can be: push x 4; call.
    let moved = displace(&[0x53, 0x55, 0x50, 0x51, 0xe8, 0, 1, 0, 0, 0xc3], &[]).unwrap();
    assert_eq!((moved.count, moved.len), (7, 9));
}

#[test]
fn calls_that_cannot_move() {
    // call rax ends at byte 2.
    assert_eq!(
        displace(&[0xff, 0xd0, 0x31, 0xc0, 0xc3], &[]),
        Err(Unpatchable::CallEndsEarly)
    );
    // push x 3; call [rsp+8]: the operand would see the return address.
    let code = [0x53, 0x55, 0x50, 0xff, 0x54, 0x24, 0x08, 0xc3];
    assert_eq!(displace(&code, &[]), Err(Unpatchable::ImmovableInstruction));
}

#[test]
fn short_functions_need_padding() {
    // ret, then nops (66 90 is one), then int3
    let moved = displace(&[0xc3], &[0x66, 0x90, 0xcc, 0x90]).unwrap();
    assert_eq!(pieces(&moved), [plain(&[0xc3], 0)]);
    assert_eq!((moved.len, moved.resume, moved.boundaries), (5, 0, 1));
    // A long nop may reach beyond the jump.
    assert!(displace(&[0xc3], &[0x0f, 0x1f, 0x44, 0, 0]).is_ok());
    // Another function begins too early, or what follows is no padding.
    assert_eq!(
        displace(&[0xc3], &[0x90, 0x90, 0x90]),
        Err(Unpatchable::TooShort)
    );
    assert_eq!(
        displace(&[0xc3], &[0x55, 0x90, 0x90, 0x90]),
        Err(Unpatchable::TooShort)
    );
    // A function that falls through into its padding has no end.
    assert_eq!(
        displace(&[0x31, 0xc0], &[0x90, 0x90, 0x90]),
        Err(Unpatchable::TooShort)
    );
    // jmp +0x10, then other code of the function
    assert_eq!(
        displace(&[0xeb, 0x10, 0x31, 0xc0, 0xc3], &[]),
        Err(Unpatchable::EndsEarly)
    );
}

#[test]
fn branches_with_only_a_short_form() {
    for opcode in [0xe0, 0xe1, 0xe2, 0xe3] {
        let code = [0x31, 0xc0, opcode, 0x10, 0x90, 0xc3];
        assert_eq!(displace(&code, &[]), Err(Unpatchable::ImmovableBranch));
    }
    assert_eq!(
        displace(&[0x06, 0x90, 0x90, 0x90, 0x90], &[]),
        Err(Unpatchable::Undecodable)
    );
    // The instruction is cut by the end of the function.
    assert_eq!(
        displace(&[0x90, 0x48, 0x8b], &[]),
        Err(Unpatchable::TooShort)
    );
}
