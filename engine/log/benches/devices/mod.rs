//! Devices of their own for the streams, simulated: a sync takes a millisecond, and now and then ten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_disk::{Directory, with_syncs};

const USUAL: Duration = Duration::from_millis(1);
const SLOW: Duration = Duration::from_millis(10);
/// One sync in this many is slow.
const SLOW_ONE_IN: u64 = 20;

/// The directory, itself fast, as if on a separate device, with slow syncs of its files.
pub fn device_over(inner: Arc<dyn Directory>, seed: u64) -> Arc<dyn Directory> {
    let draws = AtomicU64::new(seed);
    with_syncs(inner, move |_| {
        let draw = draws.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (draw ^ (draw >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        thread::sleep(if (mixed >> 33).is_multiple_of(SLOW_ONE_IN) {
            SLOW
        } else {
            USUAL
        });
        Ok(())
    })
}
