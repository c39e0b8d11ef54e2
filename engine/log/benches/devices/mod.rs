//! Devices of their own for the streams, simulated: a sync takes a millisecond, and now and then ten.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_disk::{Access, Create, Directory, DirectoryLock, File};

const USUAL: Duration = Duration::from_millis(1);
const SLOW: Duration = Duration::from_millis(10);
/// One sync in so many is slow.
const SLOW_ONE_IN: u64 = 20;

/// A directory on a device of its own, whose files' syncs take their time and one after another.
#[derive(Debug)]
pub struct Device {
    inner: Arc<dyn Directory>,
    draws: Arc<AtomicU64>,
}

impl Device {
    /// Over a directory that is itself fast.
    pub fn over(inner: Arc<dyn Directory>, seed: u64) -> Arc<dyn Directory> {
        let draws = Arc::new(AtomicU64::new(seed));
        Arc::new(Device { inner, draws })
    }
}

impl Directory for Device {
    fn open(&self, name: &str, access: Access, create: Create) -> io::Result<Arc<dyn File>> {
        let inner = self.inner.open(name, access, create)?;
        let draws = self.draws.clone();
        Ok(Arc::new(DeviceFile { inner, draws }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn subdirectory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        self.inner.subdirectory(name)
    }

    fn lock(&self, name: &str) -> io::Result<DirectoryLock> {
        self.inner.lock(name)
    }
}

#[derive(Debug)]
struct DeviceFile {
    inner: Arc<dyn File>,
    draws: Arc<AtomicU64>,
}

impl File for DeviceFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(data, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        let draw = self
            .draws
            .fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (draw ^ (draw >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        thread::sleep(if (mixed >> 33).is_multiple_of(SLOW_ONE_IN) {
            SLOW
        } else {
            USUAL
        });
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }
}
