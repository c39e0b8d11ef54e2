//! The mapping of an address in `/proc/self/maps`.

use core::ffi::CStr;

use evenkeel_patch::kernel;

use crate::lines::Lines;

/// The file: a line a mapping, in ascending order.
pub const OWN: &CStr = c"/proc/self/maps";

/// Copies the path of the file that is mapped at `address`, and returns its length: 0 without a file, or without room
/// for the path.
pub fn path_at(address: u64, path: &mut [u8]) -> usize {
    let Some(file) = kernel::open(OWN) else {
        return 0;
    };
    let mut lines = Lines::new(file);
    let mut len = 0;
    while let Some(line) = lines.next() {
        let field = line.split(|&byte| byte == b' ').next();
        let Some((low, high)) = field.and_then(bounds) else {
            break;
        };
        if !(low..high).contains(&address) {
            continue;
        }
        let start = line.iter().position(|&byte| byte == b'/');
        let found = start.map_or(&[][..], |start| &line[start..]);
        if let Some(room) = path.get_mut(..found.len()) {
            room.copy_from_slice(found);
            len = found.len();
        }
        break;
    }
    kernel::close(file);
    len
}

/// `7f00a000-7f00b000`: where a mapping begins and ends.
pub fn bounds(field: &[u8]) -> Option<(u64, u64)> {
    let mut bounds = field.split(|&byte| byte == b'-');
    Some((hexadecimal(bounds.next()?)?, hexadecimal(bounds.next()?)?))
}

/// The number that these digits are.
pub fn hexadecimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}
