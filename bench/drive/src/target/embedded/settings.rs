//! The store's settings by name, as `--set NAME=VALUE` gives them.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_disk::Device;
use evenkeel_locks::rng::Rng;
use evenkeel_store::{
    DeadlockPolicy, FlushPolicy, Isolation, Release, Replacement, ScheduleKind, Settings,
};

use crate::Error;
use crate::delay::Delay;

/// Size of the buffer pool unless it is set, in MiB. The store goes past the operating system's page cache, which serves the other
/// targets beside buffers of their own, so this is all the memory its pages have.
const POOL_MB: u64 = 512;
/// Largest size that it can be set to: a tebibyte.
const POOL_MB_MAX: u64 = 1 << 20;
/// Most worker threads.
const WORKERS_MAX: u64 = 4096;

/// What can be set, and to what.
const KNOWN: [(&str, &str); 19] = [
    ("schedule", ScheduleKind::NAMES),
    (
        "deadlocks",
        "youngest, fewest-locks, smallest-set, wait-die, wound-wait, no-wait",
    ),
    ("isolation", "serializable, repeatable-read, read-committed"),
    ("release", "logged, durable: when a commit's locks are"),
    ("lock-timeout-ms", "a number; 0: none"),
    ("pool-mb", "1 to 1048576, size of the buffer pool"),
    ("page-bytes", "4096 to 65536, a power of two"),
    ("replacement", "lru, llu"),
    ("lazy-wait-us", "how long llu tries for the list's lock"),
    ("flush", "eager-flush, lazy-flush, lazy-write"),
    ("flush-interval-ms", "of the lazy policies"),
    ("log-streams", "1 to 16"),
    ("log-block-bytes", "512 to 1048576, a power of two"),
    (
        "log-device",
        "real; else the latency of simulated devices: 1ms or exponential:1ms or lognormal:1ms:0.5",
    ),
    (
        "log-devices",
        "simulated devices that the log's streams are spread over; 1 to 16",
    ),
    (
        "log-device-mb-per-s",
        "transfer rate of a simulated device; 0: no limit",
    ),
    ("checkpoint-mb", "of log between two checkpoints"),
    (
        "workers",
        "0 to 4096, threads that execute transactions; 0: each client its own",
    ),
    ("lock-metrics", "on, off"),
];

/// The settings of a store and of its transactions.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The store's.
    pub store: Settings,
    /// The transactions'.
    pub isolation: Isolation,
    /// What the log is on.
    pub devices: LogDevices,
}

/// The devices of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogDevices {
    /// Latency of a simulated one; none: the real disk.
    pub latency: Option<Delay>,
    /// How many simulated ones.
    pub count: u64,
    /// Transfer rate of each; none: no limit.
    pub bytes_per_s: Option<u64>,
}

impl Default for LogDevices {
    fn default() -> Self {
        LogDevices {
            latency: None,
            count: 1,
            bytes_per_s: None,
        }
    }
}

impl LogDevices {
    /// The simulated devices; none where the log is on the real disk.
    pub fn simulated(&self) -> Vec<Arc<Device>> {
        let Some(latency) = self.latency else {
            return Vec::new();
        };
        (0..self.count)
            .map(|seed| {
                let mut rng = Rng::new(seed);
                Device::new(move || latency.draw(&mut rng), self.bytes_per_s)
            })
            .collect()
    }
}

/// The store's defaults with these changes.
///
/// # Errors
/// [`Error::Setting`] names what is not known.
pub fn chosen(settings: &[(String, String)]) -> Result<Chosen, Error> {
    let mut chosen = Chosen {
        store: Settings::default(),
        isolation: Isolation::default(),
        devices: LogDevices::default(),
    };
    let mut pool_mb = POOL_MB;
    for (name, value) in settings {
        let name = name.replace('_', "-");
        let Some((_, allowed)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).collect();
            return Err(Error::Setting(format!(
                "the store has no setting {name}; it has {}",
                known.join(", ")
            )));
        };
        let set = if name == "pool-mb" {
            within(value, 1..=POOL_MB_MAX)
                .map(|mb| pool_mb = mb)
                .is_some()
        } else {
            set(&mut chosen, &name, value).is_some()
        };
        if !set {
            return Err(Error::Setting(format!(
                "{name}={value} is not possible; write {name}=VALUE with {allowed}"
            )));
        }
    }
    if chosen.devices.latency.is_none() && chosen.devices != LogDevices::default() {
        return Err(Error::Setting(
            "log-devices and log-device-mb-per-s are of simulated devices: give their latency, such as log-device=1ms"
                .to_owned(),
        ));
    }
    // After the loop: the size of a page may come later.
    let page_bytes = chosen.store.pool.page_bytes as u64;
    chosen.store.pool.frames = ((pool_mb << 20) / page_bytes) as usize;
    Ok(chosen)
}

fn set(chosen: &mut Chosen, name: &str, value: &str) -> Option<()> {
    let store = &mut chosen.store;
    match name {
        "schedule" => {
            let deadlocks = store.locks.rules.deadlocks;
            let metrics = store.locks.metrics;
            store.locks = evenkeel_locks::Config::new(ScheduleKind::from_name(value)?);
            store.locks.rules.deadlocks = deadlocks;
            store.locks.metrics = metrics;
        }
        "deadlocks" => store.locks.rules.deadlocks = deadlocks(value)?,
        "isolation" => chosen.isolation = isolation(value)?,
        "release" => {
            store.release = match value {
                "logged" => Release::WhenLogged,
                "durable" => Release::WhenDurable,
                _ => return None,
            }
        }
        "lock-timeout-ms" => {
            store.lock_timeout = Some(number(value)?)
                .filter(|&ms| ms > 0)
                .map(Duration::from_millis)
        }
        "page-bytes" => store.pool.page_bytes = power_of_two(value, 4096..=65_536)?,
        "replacement" => {
            store.pool.replacement = match value {
                "lru" => Replacement::Lru,
                "llu" | "lazy-lru" => Replacement::LazyLru,
                _ => return None,
            }
        }
        "lazy-wait-us" => store.pool.lazy_wait = Duration::from_micros(number(value)?),
        "flush" => {
            store.log.policy = match value {
                "eager-flush" => FlushPolicy::EagerFlush,
                "lazy-flush" => FlushPolicy::LazyFlush,
                "lazy-write" => FlushPolicy::LazyWrite,
                _ => return None,
            }
        }
        "flush-interval-ms" => store.log.flush_interval = Duration::from_millis(number(value)?),
        "log-streams" => {
            store.log_streams = within(value, 1..=16)? as usize;
        }
        "log-block-bytes" => store.log.block_bytes = power_of_two(value, 512..=1 << 20)?,
        "log-device" => {
            chosen.devices.latency = match value {
                "real" => None,
                latency => Some(latency.parse().ok()?),
            }
        }
        "log-devices" => chosen.devices.count = within(value, 1..=16)?,
        "log-device-mb-per-s" => {
            let mb_per_s = Some(number(value)?).filter(|&mb_per_s| mb_per_s > 0);
            chosen.devices.bytes_per_s = mb_per_s.map(|mb_per_s| mb_per_s << 20);
        }
        "checkpoint-mb" => store.checkpoint_log_bytes = number(value)? << 20,
        "workers" => store.workers = within(value, 0..=WORKERS_MAX)? as usize,
        "lock-metrics" => store.locks.metrics = switch(value)?,
        _ => return None,
    }
    Some(())
}

fn number(value: &str) -> Option<u64> {
    value.parse().ok().filter(|&number| number < 1 << 40)
}

fn within(value: &str, range: RangeInclusive<u64>) -> Option<u64> {
    number(value).filter(|number| range.contains(number))
}

fn power_of_two(value: &str, range: RangeInclusive<u64>) -> Option<usize> {
    let number = within(value, range)?;
    number.is_power_of_two().then_some(number as usize)
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn deadlocks(value: &str) -> Option<DeadlockPolicy> {
    let mut named = DeadlockPolicy::NAMED.into_iter();
    let found = named.find(|(name, _)| *name == value);
    found.map(|(_, policy)| policy)
}

fn isolation(value: &str) -> Option<Isolation> {
    Some(match value {
        "serializable" => Isolation::Serializable,
        "repeatable-read" => Isolation::RepeatableRead,
        "read-committed" => Isolation::ReadCommitted,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(settings: &[(&str, &str)]) -> Result<Chosen, Error> {
        let settings: Vec<(String, String)> = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        chosen(&settings)
    }

    #[test]
    fn each_setting_takes_effect() {
        let settings = [
            ("pool_mb", "64"),
            ("page-bytes", "8192"),
            ("flush", "lazy-write"),
            ("log-streams", "2"),
        ];
        let store = with(&settings).expect("settings").store;
        assert_eq!(
            (store.pool.frames, store.log.policy, store.log_streams),
            (8192, FlushPolicy::LazyWrite, 2)
        );
        // The order of the two does not matter.
        let both = with(&[("deadlocks", "wait-die"), ("schedule", "ldsf")])
            .expect("settings")
            .store
            .locks
            .rules;
        assert_eq!(
            (both.deadlocks, both.schedule),
            (DeadlockPolicy::WaitDie, ScheduleKind::Ldsf)
        );
        let chosen =
            with(&[("isolation", "read-committed"), ("lock-timeout-ms", "0")]).expect("settings");
        assert_eq!(
            (chosen.isolation, chosen.store.lock_timeout),
            (Isolation::ReadCommitted, None)
        );
    }

    #[test]
    fn every_known_setting_is_handled() {
        for (name, allowed) in KNOWN {
            // Either words, with explanations behind some, or what a number means.
            let words: Vec<&str> = allowed
                .split(", ")
                .filter_map(|item| item.split([' ', ':', ';']).next())
                .collect();
            let listed = set(&mut with(&[]).expect("settings"), name, words[0]).is_some()
                && number(words[0]).is_none();
            let least = if number(words[0]).is_some() {
                words[0]
            } else {
                "8"
            };
            // What is of a simulated device needs one.
            let device = ("log-device", "1ms");
            for value in if listed { words } else { vec![least] } {
                assert!(with(&[device, (name, value)]).is_ok(), "{name}={value}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_value_is_set_or_refused(at in 0..KNOWN.len(), value in "[0-9]{0,30}|[ -~]{0,12}|eager-flush|llu") {
            let name = KNOWN[at].0;
            if let Err(error) = with(&[("log-device", "1ms"), (name, &value)]) {
                prop_assert!(error.to_string().contains(name));
            }
        }
    }

    #[test]
    fn nonsense_is_named() {
        for settings in [
            ("colour", "red"),
            ("schedule", "lifo"),
            ("log-streams", "17"),
            ("pool-mb", "much"),
            ("log-device", "slow"),
            ("log-devices", "2"),
            ("pool-mb", "0"),
            ("page-bytes", "0"),
            ("page-bytes", "4097"),
            ("workers", "1000000"),
        ] {
            let error = with(&[settings]).expect_err("an error").to_string();
            assert!(error.contains(settings.0), "{error}");
        }
    }
}
