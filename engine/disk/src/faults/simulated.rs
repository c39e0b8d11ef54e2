//! The traits over the simulated disk.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::inode::Inode;
use super::{Admission, FaultDisk, Operation, READ_ONLY, State, path, power_is_off};
use crate::{Access, Create, Directory, DirectoryLock, File};

/// A directory of a [`FaultDisk`].
pub(super) struct SimulatedDirectory {
    disk: FaultDisk,
    path: String,
}

impl SimulatedDirectory {
    pub(super) fn new(disk: FaultDisk, path: String) -> SimulatedDirectory {
        SimulatedDirectory { disk, path }
    }

    fn change(
        &self,
        operation: Operation,
        name: &str,
        change: impl FnOnce(&mut State),
    ) -> io::Result<()> {
        let mut state = self.disk.state();
        let admission = state.admit(operation, &path(&self.path, name))?;
        change(&mut state);
        finish(admission)
    }
}

impl Directory for SimulatedDirectory {
    fn open(&self, name: &str, _: Access, create: Create) -> io::Result<Arc<dyn File>> {
        let mut state = self.disk.state();
        state.check_power()?;
        let inode = match (state.names.get(&self.path, name), create) {
            (Some(_), Create::New) => return Err(io::ErrorKind::AlreadyExists.into()),
            (None, Create::Never) => return Err(io::ErrorKind::NotFound.into()),
            (Some(inode), _) => inode,
            (None, _) => {
                let admission = state.admit(Operation::Create, &path(&self.path, name))?;
                state.inodes.push(Inode::default());
                let inode = state.inodes.len() - 1;
                state.names.link(&self.path, name, inode);
                finish(admission)?;
                inode
            }
        };
        Ok(Arc::new(SimulatedFile {
            disk: self.disk.clone(),
            name: path(&self.path, name),
            inode,
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.disk.state();
        state.check_power()?;
        Ok(state.names.list(&self.path))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if self.disk.state().names.get(&self.path, from).is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.change(Operation::Rename, from, |state| {
            state.names.rename(&self.path, from, to);
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if self.disk.state().names.get(&self.path, name).is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.change(Operation::Remove, name, |state| {
            state.names.unlink(&self.path, name);
        })
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let admission = state.admit(Operation::SyncDirectory, &self.path)?;
        if let Admission::Granted = admission {
            state.names.sync(&self.path);
        }
        finish(admission)
    }

    fn subdirectory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        self.disk.state().check_power()?;
        let inside = path(&self.path, name);
        Ok(Arc::new(SimulatedDirectory::new(self.disk.clone(), inside)))
    }

    /// Makes no file: a lock exists once it is requested.
    fn lock(&self, name: &str, _: Create) -> io::Result<DirectoryLock> {
        let mut state = self.disk.state();
        state.check_power()?;
        if state.read_only {
            return Err(io::Error::from_raw_os_error(READ_ONLY));
        }
        let name = path(&self.path, name);
        if !state.locks.insert(name.clone()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(DirectoryLock::new(SimulatedLock {
            disk: self.disk.clone(),
            name,
        }))
    }

    fn check_writable(&self) -> io::Result<()> {
        let state = self.disk.state();
        state.check_power()?;
        match state.read_only {
            true => Err(io::Error::from_raw_os_error(READ_ONLY)),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for SimulatedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimulatedDirectory({:?})", self.path)
    }
}

struct SimulatedLock {
    disk: FaultDisk,
    name: String,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.disk.state().locks.remove(&self.name);
    }
}

/// A file of a [`FaultDisk`].
struct SimulatedFile {
    disk: FaultDisk,
    name: String,
    inode: usize,
}

impl File for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.admit(Operation::Read, &self.name)?;
        let contents = state.inodes[self.inode].visible();
        let rest = contents.get(offset as usize..).unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let admission = match state.admit(Operation::Write, &self.name) {
            Ok(admission) => admission,
            Err(error) => {
                if is_of_the_device(&error) {
                    let mut rng = state.rng();
                    state.inodes[self.inode].write_part(data, offset as usize, &mut rng);
                }
                return Err(error);
            }
        };
        let len = state.inodes[self.inode].visible().len() as u64;
        let fits = state
            .room_for(len)
            .saturating_sub(offset)
            .min(data.len() as u64) as usize;
        state.inodes[self.inode].write(&data[..fits], offset as usize);
        finish(admission)?;
        if fits < data.len() {
            return Err(state.is_full());
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        match state.admit(Operation::Sync, &self.name) {
            Ok(Admission::Granted) => {
                state.inodes[self.inode].sync();
                Ok(())
            }
            Ok(Admission::PowerFails) => Err(power_is_off()),
            Err(error) => {
                if is_of_the_device(&error) {
                    let mut rng = state.rng();
                    state.inodes[self.inode].fail_sync(&mut rng);
                }
                Err(error)
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.check_power()?;
        Ok(state.inodes[self.inode].visible().len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let admission = state.admit(Operation::SetLen, &self.name)?;
        let now = state.inodes[self.inode].visible().len() as u64;
        if len > state.room_for(now) {
            return Err(state.is_full());
        }
        state.inodes[self.inode].set_len(len as usize);
        finish(admission)
    }

    fn is_direct(&self) -> bool {
        false
    }
}

impl fmt::Debug for SimulatedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimulatedFile({:?})", self.name)
    }
}

/// Whether the operation failed on its way to the disk: not refused before, and not cut short by the power.
fn is_of_the_device(error: &io::Error) -> bool {
    error
        .raw_os_error()
        .is_some_and(|number| number != READ_ONLY)
}

fn finish(admission: Admission) -> io::Result<()> {
    match admission {
        Admission::Granted => Ok(()),
        Admission::PowerFails => Err(power_is_off()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Fault, IO_ERROR, NO_SPACE, QUOTA_EXCEEDED};

    fn file(disk: &FaultDisk, create: Create) -> io::Result<Arc<dyn File>> {
        disk.root().open("f", Access::Direct, create)
    }

    #[test]
    fn a_name_needs_a_sync_of_its_directory() {
        let disk = FaultDisk::new();
        file(&disk, Create::New).unwrap().sync_data().unwrap();
        let lost = |disk: &FaultDisk| {
            (0..20)
                .filter(|&seed| disk.after_power_failure(seed).files().is_empty())
                .count()
        };
        assert!(lost(&disk) > 0);
        disk.root().sync().unwrap();
        assert_eq!(lost(&disk), 0);
    }

    #[test]
    fn power_goes_at_the_operation_named() {
        let disk = FaultDisk::new();
        let opened = file(&disk, Create::New).unwrap();
        disk.root().sync().unwrap();
        disk.cut_power_at(4);
        opened.write_at(b"a", 0).unwrap();
        opened.sync_data().unwrap_err();
        assert!(disk.power_is_off());
        opened.write_at(b"b", 0).unwrap_err();
        opened.read_at(&mut [0], 0).unwrap_err();
        assert_eq!(disk.operations(), 4);
        let left = |seed| disk.after_power_failure(seed).files()[0].1;
        let lens: Vec<u64> = (0..20).map(left).collect();
        assert!(lens.contains(&0) && lens.contains(&1), "{lens:?}");
        assert_eq!(disk.after_kill().files(), [("f".to_owned(), 1)]);
    }

    #[test]
    fn errors_on_demand() {
        let disk = FaultDisk::new();
        let opened = file(&disk, Create::New).unwrap();
        disk.inject(Fault {
            operation: Operation::Write,
            name_contains: "f".into(),
            skip: 1,
            times: 1,
            error: IO_ERROR,
        });
        opened.write_at(b"a", 0).unwrap();
        let refused = opened.write_at(b"b", 1).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(IO_ERROR));
        opened.write_at(b"c", 1).unwrap();

        disk.set_capacity(Some(5));
        let full = opened.write_at(b"12345678", 2).unwrap_err();
        assert_eq!(full.raw_os_error(), Some(NO_SPACE));
        assert_eq!(opened.len().unwrap(), 5, "a part was written");
        disk.set_quota(Some(5));
        let full = opened.write_at(b"9", 5).unwrap_err();
        assert_eq!(full.raw_os_error(), Some(QUOTA_EXCEEDED));

        disk.set_read_only(true);
        let refused = opened.write_at(b"x", 0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(READ_ONLY));
        assert!(disk.root().remove("f").is_err());
    }

    #[test]
    fn locks_go_with_their_guard_and_with_the_process() {
        let disk = FaultDisk::new();
        let lock = disk.root().lock("lock", Create::IfMissing).unwrap();
        assert!(disk.root().lock("lock", Create::IfMissing).is_err());
        disk.after_kill()
            .root()
            .lock("lock", Create::IfMissing)
            .unwrap();
        drop(lock);
        disk.root().lock("lock", Create::IfMissing).unwrap();
    }
}
