//! Faults, and the activities that they interrupt.

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};

use super::Runner;
use crate::chains::plan::During;

impl Runner<'_> {
    /// Prepares an activity, lets the fault come, and carries it out.
    pub(super) fn act(
        &mut self,
        during: During,
        fault: impl FnOnce(&mut Self),
    ) -> Result<(), String> {
        match during {
            During::Opening => self.drop_store(),
            During::Working | During::WritingLong => self.open()?,
            During::Growing => self.with_store(Runner::until_grown)?,
            During::Checkpointing | During::Closing => self.with_store(|runner| runner.work(3))?,
        }
        self.faulty = true;
        fault(self);
        match during {
            During::Working => self.with_store(|runner| {
                runner.leave_one_running();
                runner.work(8)
            }),
            During::Growing => self.with_store(|runner| {
                runner.grow(1)?;
                match runner.store {
                    Some(_) => runner.checkpoint(),
                    None => Ok(()),
                }
            }),
            During::WritingLong => self.with_store(|runner| {
                runner.long_row()?;
                runner.work(2)
            }),
            During::Checkpointing => self.with_store(Runner::checkpoint),
            During::Closing => self.with_store(Runner::close),
            During::Opening => self.open(),
        }
    }

    pub(super) fn cut_after(&mut self, operations: u64) {
        self.disk.cut_power_at(self.disk.operations() + operations);
    }

    pub(super) fn fail(&mut self, operation: Operation, file: &str, skip: u64, times: u64) {
        self.disk.inject(Fault {
            operation,
            name_contains: file.to_owned(),
            skip,
            times,
            error: IO_ERROR,
        });
    }

    /// The disk has this many bytes left.
    pub(super) fn fill_disk(&mut self, room: u64) {
        let used: u64 = self.disk.files().iter().map(|(_, len)| len).sum();
        self.capacity = Some(used + room);
        self.disk.set_capacity(self.capacity);
    }

    pub(super) fn kill(&mut self) {
        let left = self.disk.after_kill();
        self.go_on_with(left);
    }

    pub(super) fn fail_power(&mut self, image: u64) {
        let left = self.disk.after_power_failure(image);
        self.model.lose_cache();
        self.go_on_with(left);
    }

    /// A power failure, or a kill for the image 0.
    pub(super) fn cut(&mut self, image: u64) {
        match image {
            0 => self.kill(),
            _ => self.fail_power(image),
        }
    }

    /// The process that had the old disk is gone.
    pub(super) fn go_on_with(&mut self, disk: FaultDisk) {
        disk.set_capacity(self.capacity);
        self.disk = disk;
        // Whatever these do, they do to the old one.
        (self.running, self.store) = (None, None);
        self.faulty = false;
    }
}
