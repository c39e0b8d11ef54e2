//! A storage device with the latency of another one, for measurements.
//!
//! A log on a disk that syncs in a tenth of a millisecond shows little of what flush policies, block sizes and
//! several devices are for. A simulated device keeps its data in a faster directory and adds the time it would take.
//! A sync takes a draw of its latency and the transfer of all bytes written since the last one. Syncs run one at a
//! time, as on a disk. Two logs on one device wait for each other; on two they do not.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::syncs::{Between, through};
use crate::{Directory, File};

/// A simulated device.
pub struct Device {
    /// Held during a sync. Draws the latency of the next.
    latency: Mutex<Box<dyn FnMut() -> Duration + Send>>,
    /// Transfer rate; none: as fast as the directory.
    bytes_per_s: Option<u64>,
    /// Written since the last sync.
    written_bytes: AtomicU64,
}

impl Device {
    /// A device whose syncs take what `latency` draws, and `bytes_per_s` for what was written, if that is limited; it is above zero.
    #[must_use]
    pub fn new(
        latency: impl FnMut() -> Duration + Send + 'static,
        bytes_per_s: Option<u64>,
    ) -> Arc<Device> {
        assert!(bytes_per_s != Some(0), "a device transfers something");
        Arc::new(Device {
            latency: Mutex::new(Box::new(latency)),
            bytes_per_s,
            written_bytes: AtomicU64::new(0),
        })
    }

    /// The directory, as if it were on this device. Syncs do not reach the real disk: data outlives the process, not the power.
    #[must_use]
    pub fn hold(self: &Arc<Device>, directory: Arc<dyn Directory>) -> Arc<dyn Directory> {
        through(directory, Arc::new(OnDevice(Arc::clone(self))))
    }

    fn transfer(&self, bytes: u64) -> Duration {
        self.bytes_per_s.map_or(Duration::ZERO, |per_s| {
            Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(per_s)) as u64)
        })
    }
}

struct OnDevice(Arc<Device>);

impl Between for OnDevice {
    fn write(&self, file: &dyn File, data: &[u8], offset: u64) -> io::Result<()> {
        let bytes = data.len() as u64;
        self.0.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        file.write_at(data, offset)
    }

    fn sync(&self, _: &dyn File) -> io::Result<()> {
        let mut latency = self
            .0
            .latency
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let written = self.0.written_bytes.swap(0, Ordering::Relaxed);
        thread::sleep(latency() + self.0.transfer(written));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::faults::FaultDisk;
    use crate::{Access, Create};

    const STEP: Duration = Duration::from_millis(20);

    /// Two files on these devices are synced at the same time; how long until both are.
    fn both(devices: [&Arc<Device>; 2]) -> Duration {
        let disk = FaultDisk::new();
        let file = |name: &str, device: &Arc<Device>| {
            let directory = device.hold(disk.root());
            directory.open(name, Access::Buffered, Create::New).unwrap()
        };
        let files = [file("a", devices[0]), file("b", devices[1])];
        let begun = Instant::now();
        thread::scope(|scope| {
            for file in &files {
                scope.spawn(|| file.sync_data().unwrap());
            }
        });
        begun.elapsed()
    }

    #[test]
    fn one_device_syncs_one_after_another() {
        let device = Device::new(|| STEP, None);
        // A sleep is never too short.
        assert!(both([&device, &device]) >= 2 * STEP);
    }

    #[test]
    fn devices_draw_latencies_of_their_own() {
        let (sent, received) = std::sync::mpsc::channel();
        let device = |name: &'static str| {
            let sent = sent.clone();
            let latency = move || {
                sent.send(name).unwrap();
                Duration::ZERO
            };
            Device::new(latency, None)
        };
        both([&device("first"), &device("second")]);
        let mut drawn: Vec<_> = received.try_iter().collect();
        drawn.sort_unstable();
        assert_eq!(drawn, ["first", "second"]);
    }

    #[test]
    fn a_sync_transfers_what_was_written_since_the_last() {
        let device = Device::new(|| Duration::ZERO, Some(1_000_000));
        let directory = device.hold(FaultDisk::new().root());
        let file = directory.open("f", Access::Buffered, Create::New).unwrap();
        file.write_at(&[0; 15_000], 0).unwrap();
        file.write_at(&[0; 5_000], 0).unwrap();
        let begun = Instant::now();
        file.sync_data().unwrap();
        // 20 kB at 1 MB/s.
        assert!(begun.elapsed() >= STEP);
        assert_eq!(device.written_bytes.load(Ordering::Relaxed), 0);
        assert_eq!(device.transfer(0), Duration::ZERO);
    }
}
