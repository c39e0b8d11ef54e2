//! Recordings whose variance is planted.

use std::path::Path;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::sites::Site;
use evenkeel_recording::{Meta, Started, Writer};
use evenkeel_wire::{Marker, Record};

/// 22:13:20 of the 14th of November 2023, UTC.
pub const STARTED_NS: u64 = 1_700_000_000_000_000_000;
pub const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// A recording of 3,000 intervals a millisecond apart. Each takes 10 µs itself and makes two calls: `parse` takes 20
/// to 30 µs, `disk` 10 µs, or in one of ten `stall_us` more. `seed` makes recordings differ by chance.
#[derive(Clone, Copy, Debug)]
pub struct Planted<'a> {
    pub host: &'a str,
    pub build: &'a str,
    pub stall_us: u64,
    pub seed: u64,
    pub unix_ns: u64,
    /// Ticks of the clock, which is as fast on all hosts or not.
    pub ticks_per_ns: u64,
    /// Intervals that stall are of the class `write`, others of `read`.
    pub has_classes: bool,
}

impl Default for Planted<'_> {
    fn default() -> Self {
        Planted {
            host: "db1",
            build: "aa11",
            stall_us: 20,
            seed: 1,
            unix_ns: STARTED_NS,
            ticks_per_ns: 1,
            has_classes: false,
        }
    }
}

const INTERVALS: u64 = 3000;
/// The thread of all of them.
const THREAD: u64 = 7;

impl<'a> Planted<'a> {
    /// The host of a fleet with this number, from 1 on. The second has a clock of another speed. The third began a
    /// day later, with another build that stalls for longer.
    pub fn of_fleet(number: u64, host: &'a str) -> Planted<'a> {
        let usual = Planted {
            host,
            seed: number,
            ..Planted::default()
        };
        match number {
            2 => Planted {
                ticks_per_ns: 3,
                ..usual
            },
            3 => Planted {
                build: "bb22",
                stall_us: 60,
                unix_ns: STARTED_NS + DAY_NS,
                ..usual
            },
            _ => usual,
        }
    }

    pub fn write(&self, path: &Path) {
        let mut writer = Writer::create(path).unwrap();
        self.begin(&mut writer, &self.meta());
        writer.plan_changed(&plan());
        for records in self.intervals() {
            writer.records(THREAD, &records);
        }
        writer.finish(&self.meta()).unwrap();
    }

    /// Like `write`, as sums of `minutes` that began this many nanoseconds after one another.
    pub fn write_sums(&self, path: &Path, minutes: u64, apart_ns: u64) {
        let meta = Meta {
            summary: true,
            ..self.meta()
        };
        let mut writer = Writer::create(path).unwrap();
        self.begin(&mut writer, &meta);
        let mut analysis = Analysis::new(meta.cost());
        analysis.plan_changed(plan());
        let intervals: Vec<Vec<Record>> = self.intervals().collect();
        let each = intervals.chunks(INTERVALS.div_ceil(minutes) as usize);
        for (number, intervals) in (0..).zip(each) {
            for records in intervals {
                analysis.push(THREAD, records);
            }
            writer.minute(&analysis.minute(self.unix_ns + number * apart_ns));
        }
        writer.finish(&meta).unwrap();
    }

    fn meta(&self) -> Meta {
        Meta {
            target: "server --port 1".into(),
            interval: "request".into(),
            root: "request".into(),
            ticks_per_ns: self.ticks_per_ns as f64,
            host: self.host.into(),
            build: self.build.into(),
            started: Started {
                ticks: 0,
                unix_ns: self.unix_ns,
            },
            complete: true,
            ..Meta::default()
        }
    }

    fn begin(&self, writer: &mut Writer, meta: &Meta) {
        writer.meta(meta);
        for (id, callee) in (0..).zip(["parse", "disk"]) {
            let site = Site {
                callee: callee.into(),
                caller: "request".into(),
                site: format!("request+0x{id}"),
                ..Site::default()
            };
            writer.site(id, &site);
        }
    }

    /// Records of each interval.
    fn intervals(&self) -> impl Iterator<Item = Vec<Record>> + '_ {
        let mut random = self.seed;
        let mut next = move || {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            random >> 33
        };
        (0..INTERVALS).map(move |number| {
            let begin = 1_000_000 * (number + 1);
            let parse = 20_000 + next() % 10_000;
            let stalls = next() % 10 == 0;
            let disk = 10_000 + if stalls { self.stall_us * 1000 } else { 0 };
            let end = begin + 10_000 + parse + disk;
            let [begin, parse, disk, end] =
                [begin, parse, disk, end].map(|ns| ns * self.ticks_per_ns);
            let class: &[u8] = if stalls { b"write" } else { b"read" };
            let label = self.has_classes.then(|| Record::from_label_chunk(class));
            let calls = [
                Record::new(begin, parse, 0),
                Record::new(begin + parse, disk, 1),
                Record::marker(Marker::End, end, 1 << 1 | 1),
            ];
            let begun = [Record::marker(Marker::Begin, begin, 1 << 1 | 1)];
            begun.into_iter().chain(label).chain(calls).collect()
        })
    }
}

fn plan() -> PlanChange {
    PlanChange {
        generation: 1,
        probes: 2,
        ..PlanChange::default()
    }
}
