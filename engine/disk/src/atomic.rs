//! Replacing a small file as a whole.
//!
//! The temporary file is told from a foreign file of that name by its beginning. So its beginning is durable before
//! the rest is written (see [`is_blank`](crate::is_blank)).

use std::io;

use crate::{Access, Create, Directory};

/// The unit that a disk writes atomically, in bytes: a file's beginning is never a mixture.
const SECTOR_BYTES: usize = 512;

/// Makes `contents` the contents of `name` so that a crash at any moment leaves either the old or the new ones. A
/// temporary file is written and synced, renamed over `name`, and the directory synced.
///
/// # Errors
/// What the disk says; the old contents are then untouched, or the new ones in place but perhaps not durable.
pub fn write_atomically(directory: &dyn Directory, name: &str, contents: &[u8]) -> io::Result<()> {
    let temporary = temporary(name);
    let file = directory.open(&temporary, Access::Buffered, Create::IfMissing)?;
    // What is there may have been reserved.
    let (beginning, rest) = contents.split_at(contents.len().min(SECTOR_BYTES));
    file.write_at(beginning, 0)?;
    if !rest.is_empty() {
        file.sync_data()?;
        file.write_at(rest, SECTOR_BYTES as u64)?;
    }
    // In any case: a failed sync may have lost that the file was made shorter.
    file.set_len(contents.len() as u64)?;
    file.sync_data()?;
    directory.rename(&temporary, name)?;
    directory.sync()
}

/// Takes room for the next contents of `name` from the disk, up to `bytes`, so that [`write_atomically`] can write them though the
/// disk be full by then.
///
/// # Errors
/// What the disk says; there is then less room, or none.
pub fn reserve_atomic_write(directory: &dyn Directory, name: &str, bytes: usize) -> io::Result<()> {
    let file = directory.open(&temporary(name), Access::Buffered, Create::IfMissing)?;
    let len = file.len()?;
    if len >= bytes as u64 {
        return Ok(());
    }
    file.write_at(&vec![0; bytes - len as usize], len)?;
    // Some file systems choose the blocks only now.
    file.sync_data()
}

/// The name of the file in which the next contents of `name` are written, and room is kept for them.
pub fn temporary(name: &str) -> String {
    format!("{name}.new")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::FaultDisk;

    fn contents(disk: &FaultDisk) -> Option<Vec<u8>> {
        let file = disk
            .root()
            .open("f", Access::Buffered, Create::Never)
            .ok()?;
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        Some(bytes)
    }

    #[test]
    fn reserved_room_is_used_on_a_full_disk() {
        let disk = FaultDisk::new();
        let root = disk.root();
        write_atomically(&*root, "f", &[1; 3000]).unwrap();
        reserve_atomic_write(&*root, "f", 4096).unwrap();
        disk.set_capacity(Some(0));
        for byte in 2..5 {
            write_atomically(&*root, "f", &[byte; 2000]).unwrap();
            assert_eq!(contents(&disk), Some(vec![byte; 2000]));
            disk.set_capacity(Some(2000 + 2000));
            reserve_atomic_write(&*root, "f", 2000).unwrap();
            disk.set_capacity(Some(0));
        }
        write_atomically(&*root, "f", &[5; 2001]).unwrap_err();
        assert_eq!(contents(&disk), Some(vec![4; 2000]));
    }

    /// After a kill and then a power failure, too: what a killed process wrote need not be durable though it is read.
    #[test]
    fn the_remains_of_new_files_have_their_beginning() {
        let new = vec![2u8; 5000];
        let mut torn = 0;
        for (kill, cut) in (1..9).flat_map(|kill| (1..9).map(move |cut| (kill, cut))) {
            let disk = FaultDisk::new();
            disk.cut_power_at(kill);
            let _ = write_atomically(&*disk.root(), "f", &new);
            let disk = disk.after_kill();
            disk.cut_power_at(disk.operations() + cut);
            let _ = write_atomically(&*disk.root(), "f", &new);
            for seed in 0..50 {
                let after = disk.after_power_failure(seed).contents();
                let Some(left) = after.get("f.new") else {
                    continue;
                };
                let is_blank = left.iter().all(|&byte| byte == 0);
                assert!(
                    is_blank || left[0] == 2,
                    "kill {kill}, cut {cut}, seed {seed}"
                );
                torn += u64::from(!is_blank && *left != new);
            }
        }
        assert!(torn > 0, "the test is of nothing unless a file was torn");
    }

    #[test]
    fn old_or_new_whatever_the_moment_of_the_crash() {
        let old = vec![1u8; 3000];
        let new = vec![2u8; 5000];
        let mut saw = [false; 2];
        for cut in 1.. {
            let disk = FaultDisk::new();
            write_atomically(&*disk.root(), "f", &old).unwrap();
            disk.cut_power_at(disk.operations() + cut);
            let finished = write_atomically(&*disk.root(), "f", &new).is_ok();
            for seed in 0..20 {
                let after =
                    contents(&disk.after_power_failure(seed)).expect("the old name is durable");
                assert!(after == old || after == new, "cut {cut}, seed {seed}");
                assert!(!finished || after == new, "lost although finished");
                saw[usize::from(after == new)] = true;
            }
            if finished {
                break;
            }
        }
        assert_eq!(saw, [true, true]);
    }
}
