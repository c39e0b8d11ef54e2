//! Replacing a small file as a whole.

use std::io;

use crate::{Access, Create, Directory};

/// Makes `contents` the contents of `name` so that a crash at any moment leaves either the old or the new ones: a
/// temporary file is written and synced, renamed over `name`, and the directory synced.
///
/// # Errors
/// What the disk says; the old contents are then untouched, or the new ones in place but perhaps not durable.
pub fn write_atomically(directory: &dyn Directory, name: &str, contents: &[u8]) -> io::Result<()> {
    let temporary = format!("{name}.new");
    let file = directory.open(&temporary, Access::Buffered, Create::IfMissing)?;
    file.set_len(0)?;
    file.write_at(contents, 0)?;
    file.sync_data()?;
    directory.rename(&temporary, name)?;
    directory.sync()
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
