//! Where trampolines find memory.

mod harness;

use std::os::unix::process::CommandExt;
use std::process::Command;

use evenkeel_patch::arch::REACH_BYTES;
use evenkeel_patch::arch::jump::Targets;
use evenkeel_patch::region::{Part, Region};

const PAGE: u64 = 4096;

fn take(low: u64, high: u64) -> u64 {
    let region = Region::create(low, high);
    assert!(!region.is_null());
    unsafe { (*region).take(Part::Constant, 400) }.unwrap() as u64
}

fn assert_near(at: u64, low: u64, high: u64) {
    assert!(
        at.abs_diff(low) < REACH_BYTES && at.abs_diff(high) < REACH_BYTES,
        "{at:#x} for {low:#x}..{high:#x}"
    );
}

#[test]
fn below_a_module_if_possible() {
    let (low, high) = (0x4555_0000_0000, 0x4555_0080_0000);
    let at = take(low, high);
    assert!(at < low);
    assert_near(at, low, high);
}

/// The lowest gigabytes of address space leave no room below.
#[test]
fn far_above_a_module_at_a_low_address() {
    let (low, high) = (0x40_0000, 0x80_0000);
    let at = take(low, high);
    assert!(at > high + (1 << 29), "room for the heap: {at:#x}");
    assert_near(at, low, high);
}

#[test]
fn above_where_everything_below_is_taken() {
    let (low, high) = (0x4666_0000_0000u64, 0x4666_0010_0000u64);
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let below = low - (2 << 30);
    let taken = unsafe { libc::mmap(below as *mut _, 2 << 30, libc::PROT_NONE, flags, -1, 0) };
    assert_eq!(taken as u64, below);
    let at = take(low, high);
    assert!(at >= high);
    assert_near(at, low, high);
}

#[test]
fn nowhere_if_nothing_is_in_reach() {
    let (low, high) = (0x4777_0000_0000u64, 0x4777_0010_0000u64);
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let below = low - (3 << 30);
    let taken = unsafe { libc::mmap(below as *mut _, 6 << 30, libc::PROT_NONE, flags, -1, 0) };
    assert_eq!(taken as u64, below);
    assert!(Region::create(low, high).is_null());
    assert!(
        Region::create(0x1000, u64::MAX / 2).is_null(),
        "a module larger than any jump"
    );
}

#[test]
fn a_full_part_says_so() {
    let region = Region::create(0x4888_0000_0000, 0x4888_0010_0000);
    let region = unsafe { &mut *region };
    let mut last = 0;
    let mut taken = 0;
    while let Some(at) = region.take(Part::Loose, 100_000) {
        assert!(at as u64 > last && (at as u64).is_multiple_of(16));
        unsafe { at.write_bytes(0x90, 100_000) };
        last = at as u64;
        taken += 1;
    }
    assert!(taken >= 10);
    assert!(
        region.take(Part::Moving, 400).is_some(),
        "the other parts are not"
    );
    region.seal();
    assert!(
        region.take(Part::Loose, 16).is_some(),
        "what is left can be had"
    );
}

/// Pads lie where the breakpoints inside the jump allow, and can be jumped through.
#[test]
fn pads_lead_to_their_targets() {
    let (low, high) = (0x4999_0000_0000, 0x4999_0010_0000);
    let region = unsafe { &mut *Region::create(low, high) };
    let to = region.take(Part::Moving, 400).unwrap() as u64;
    for (i, boundaries) in [
        0b1, 0b11, 0b101, 0b1001, 0b1_0001, 0b1_0011, 0b1_0101, 0b1111,
    ]
    .into_iter()
    .enumerate()
    {
        for j in 0..20 {
            let entry = low + 0x1000 * (i as u64 + 1) + 48 * j;
            let targets = Targets::of(entry, boundaries);
            let pad = region
                .pad(&targets, to)
                .unwrap_or_else(|| panic!("{boundaries:b} {j}"));
            assert!(targets.allow(pad) && pad & !(PAGE - 1) == (pad + 5) & !(PAGE - 1));
            let code = unsafe { std::slice::from_raw_parts(pad as *const u8, 5) };
            let relative = i32::from_le_bytes(code[1..].try_into().unwrap());
            assert_eq!(
                (code[0], pad.wrapping_add_signed(i64::from(relative) + 5)),
                (0xe9, to)
            );
        }
    }
}

/// A program at a fixed address in which this crate's tests cannot run: its own layout is taken from a real one.
#[test]
fn a_program_at_a_fixed_address_has_room_above() {
    let source = tempfile::Builder::new().suffix(".c").tempfile().unwrap();
    let text = "#include <stdio.h>\nint main(void) { char line[512]; FILE *maps = fopen(\"/proc/self/maps\", \"r\");\n\
                while (fgets(line, sizeof line, maps)) fputs(line, stdout); return 0; }\n";
    std::fs::write(source.path(), text).unwrap();
    let program = harness::library::compile(source.path(), "fixed", &["-no-pie"]);
    let output = Command::new(&program).arg0("fixed").output().unwrap();
    std::fs::remove_file(&program).unwrap();
    let maps = String::from_utf8(output.stdout).unwrap();
    let code = maps.lines().find(|line| line.contains("r-xp")).unwrap();
    let (low, high) = code.split(' ').next().unwrap().split_once('-').unwrap();
    let (low, high) = (
        u64::from_str_radix(low, 16).unwrap(),
        u64::from_str_radix(high, 16).unwrap(),
    );
    assert!(low < 0x100_0000, "at a fixed address: {low:#x}");
    let at = take(low, high);
    assert_near(at, low, high);
}
