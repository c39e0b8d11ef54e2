//! The kernel's description of a descriptor (`/proc/self/fdinfo`, proc(5)), line by line.

use core::ffi::{CStr, c_int};

use evenkeel_patch::kernel;

use crate::lines::Lines;

const FOLDER: &[u8] = b"/proc/self/fdinfo/";
/// Digits of the largest number.
const DIGITS_MAX: usize = 10;

pub struct FdInfo {
    file: i32,
    lines: Lines,
}

impl FdInfo {
    /// The description of an open descriptor.
    pub fn open(number: c_int) -> Option<FdInfo> {
        let mut path = [0; FOLDER.len() + DIGITS_MAX + 1];
        path[..FOLDER.len()].copy_from_slice(FOLDER);
        let mut divisor = 1;
        while number / divisor >= 10 {
            divisor *= 10;
        }
        for place in &mut path[FOLDER.len()..] {
            *place = b'0' + (number / divisor % 10) as u8;
            if divisor == 1 {
                break;
            }
            divisor /= 10;
        }
        let file = kernel::open(CStr::from_bytes_until_nul(&path).ok()?)?;
        let lines = Lines::new(file);
        Some(FdInfo { file, lines })
    }

    /// The next line, without its end.
    pub fn next(&mut self) -> Option<&[u8]> {
        self.lines.next()
    }
}

impl Drop for FdInfo {
    fn drop(&mut self) {
        kernel::close(self.file);
    }
}
