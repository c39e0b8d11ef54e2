//! Series with a known difference, and without one.

use super::block::{Block, PartTime, Thresholds};
use super::figures::Recorded;
use super::load::SidesLoad;
use super::parts::Parts;
use super::rows::{Circumstances, Family, Of, Row, Verdict, What, WhyNot, rows};
use super::series::Series;
use super::sides::Side;
use crate::intervals::classes::ClassTable;
use crate::profile::Finding;
use crate::sites::{Site, SiteTable};
use crate::sums::paths::{Paths, ROOT};

/// Pairs of series in which nothing differs. `scripts/compare-aa.sh` does it with recordings, and more of them.
const PAIRS: u64 = 60;
/// Pairs in which something does.
const CHANGED: u64 = 20;

struct Random(u64);

impl Random {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.next()).ln()
    }
}

/// A request takes 100 µs itself and makes two calls: `parse` (exponential, 30 µs) and, in one of five, `flush`
/// (exponential, 500 µs). Neighbours are alike: a second is slower than the next by chance. One of 2,000 intervals is
/// preempted for 4 ms. `flush` takes `times` as long.
struct Server {
    paths: Paths,
    sites: SiteTable,
    parts: Parts,
}

impl Server {
    fn new() -> Server {
        let site = |callee: &str| Site {
            callee: callee.to_owned(),
            ..Site::default()
        };
        let sites = SiteTable {
            root: "request".to_owned(),
            sites: ["parse", "flush"].map(site).into(),
            ..SiteTable::default()
        };
        let mut paths = Paths::default();
        paths.child(ROOT, 0).unwrap();
        paths.child(ROOT, 1).unwrap();
        let finding = |function: &str| Finding {
            function: function.to_owned(),
            headline: function.to_owned(),
            ..Finding::default()
        };
        let mut parts = Parts::of(&[finding("flush")], &[finding("parse"), finding("flush")]);
        parts.meet(&paths, &sites, &ClassTable::default());
        Server {
            paths,
            sites,
            parts,
        }
    }

    fn run(&self, seed: u64, times: f64) -> Recorded {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let thresholds = Thresholds {
            cap_ns: 4e6,
            slow_ns: 1.8e6,
            near_ns: 1.4e6,
        };
        let mut series = Series::new(thresholds);
        let (mut now, mut pace) = (0.0, 1.0);
        for number in 0..12_000 {
            if number % 300 == 0 {
                pace = 0.9 + 0.2 * random.next();
            }
            let parse = 30e3 * pace * random.exponential();
            let calls_flush = random.next() < 0.2;
            let flush = match calls_flush {
                true => 500e3 * times * pace * random.exponential(),
                false => 0.0,
            };
            let preempted = if random.next() < 0.0005 { 4e6 } else { 0.0 };
            let latency = 100e3 * pace + parse + flush + preempted;
            now += 1e6 * random.exponential();
            let parts = &self.parts;
            let times = [
                (parts.of_own(0), 100e3 * pace + preempted),
                (parts.of_own(2), parse),
                (parts.of_node(2), parse),
                (parts.of_own(3), flush),
                (parts.of_node(3), flush),
                (parts.of_node(0), latency),
            ];
            series.add(number, now + latency, latency, 0, times.into_iter());
        }
        assert_eq!((self.paths.all().len(), self.sites.sites.len()), (4, 2));
        Recorded::new(series.blocks(), true)
    }

    fn compared(&self, sides: &[Side; 2]) -> Vec<Row> {
        let circumstances = Circumstances {
            same_interval: true,
            ..Circumstances::default()
        };
        let load = SidesLoad::of(sides);
        rows(sides, &self.parts, load.as_ref(), &circumstances)
    }
}

fn is_told(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Better | Verdict::Worse)
}

/// Among pairs of equal sides, few have a row of a family that claims a difference.
#[test]
fn nothing_is_told_of_equals() {
    let server = Server::new();
    let mut false_ones = [0; Family::ALL.len()];
    for pair in 0..PAIRS {
        let sides = [0, 1].map(|side| vec![server.run(1 + 2 * pair + side, 1.0)]);
        let rows = server.compared(&sides);
        for (count, family) in false_ones.iter_mut().zip(Family::ALL) {
            let own = rows.iter().filter(|row| row.family() == family);
            *count += u64::from(own.clone().any(is_told));
        }
    }
    // 5 % are 3 of 60; of such a number 7 or more come once in thirty times.
    assert!(false_ones.iter().all(|&count| count <= 6), "{false_ones:?}");
}

/// `flush` takes a fifth longer, which is most of the variance.
#[test]
fn a_fifth_is_found() {
    let server = Server::new();
    let mut found = 0;
    for pair in 0..CHANGED {
        let sides = [
            vec![server.run(1000 + pair, 1.0)],
            vec![server.run(2000 + pair, 1.2)],
        ];
        let rows = server.compared(&sides);
        let flush = |row: &&Row| row.what == What::Finding(0);
        let is_found = rows
            .iter()
            .filter(flush)
            .any(|row| row.verdict == Verdict::Worse);
        found += u64::from(is_found);
        let wrong = rows.iter().any(|row| row.verdict == Verdict::Better);
        assert!(!wrong || pair > 0, "{rows:#?}");
    }
    assert!(found * 10 >= CHANGED * 9, "{found} of {CHANGED}");
}

/// Runs that differ by a tenth each way: two of five a side tell a fifth, and one a side does not tell a twentieth.
#[test]
fn several_runs_a_side() {
    let server = Server::new();
    let side = |seeds: std::ops::Range<u64>, times: f64| -> Side {
        let pace = |seed: u64| 0.97 + 0.02 * (seed % 4) as f64;
        seeds
            .map(|seed| server.run(seed, times * pace(seed)))
            .collect()
    };
    let flush = |rows: &[Row]| {
        let mut own = rows.iter().filter(|row| row.what == What::Finding(0));
        own.next().unwrap().clone()
    };
    let rows = server.compared(&[side(100..105, 1.0), side(200..205, 1.3)]);
    assert_eq!(flush(&rows).verdict, Verdict::Worse);
    assert_eq!(flush(&rows).pair.unwrap().df, 8.0);
    let rows = server.compared(&[side(100..105, 1.0), side(300..305, 1.0)]);
    assert_eq!(flush(&rows).verdict, Verdict::NotTold);
}

#[test]
fn an_impossible_comparison_has_its_reason() {
    let server = Server::new();
    let sides = [1, 2].map(|seed| vec![server.run(seed, 1.0)]);
    let rows = rows(&sides, &server.parts, None, &Circumstances::default());
    let why = |what: What| {
        let row = rows.iter().find(|row| row.what == what).unwrap();
        row.verdict
    };
    assert_eq!(
        why(What::Mean),
        Verdict::NotComparable(WhyNot::OtherInterval)
    );
    assert_eq!(
        why(What::Max),
        Verdict::NotComparable(WhyNot::SingleInterval)
    );
    assert_eq!(
        why(What::Processor),
        Verdict::NotComparable(WhyNot::NoKernel)
    );
    // 12 intervals above it.
    assert_eq!(
        why(What::Percentile("p999")),
        Verdict::NotComparable(WhyNot::FewIntervals)
    );
}

/// A recording of ten equal blocks. Each has a hundred intervals of 1,000 ns, `slow` slow ones included. Calls have these
/// parts of the time of all intervals, and of the slow ones.
fn recorded(parts: &Parts, slow: f64, calls: &[[f64; 2]]) -> Side {
    let mut times = vec![PartTime::default(); parts.of_node(2 + calls.len())];
    let request = (0, &[1.0, 1.0]);
    for (node, [all, of_slow]) in std::iter::once(request).chain((2..).zip(calls)) {
        let part = &mut times[parts.of_node(node)];
        part.all_ns = all * 1e5;
        part.slow_ns = of_slow * 1e3 * slow;
    }
    let block = Block {
        intervals: 100.0,
        latency_ns: 1e5,
        slow,
        parts: times,
        ..Block::default()
    };
    vec![Recorded::new(vec![block; 10], true)]
}

/// `parse` takes 0.5 % of all time and of the slow intervals' time; `flush` 2 % of one of them.
#[test]
fn a_call_that_takes_little_has_no_row() {
    let server = Server::new();
    for flush in [[0.02, 0.005], [0.005, 0.02]] {
        let sides = [0, 1].map(|_| recorded(&server.parts, 3.0, &[[0.005; 2], flush]));
        let rows = server.compared(&sides);
        let calls = rows.iter().filter(|row| row.family() == Family::Call);
        assert!(calls.clone().count() == 2 && calls.clone().all(|row| row.what == What::Call(3)));
    }
}

#[test]
fn a_part_of_few_slow_intervals_is_not_compared() {
    let server = Server::new();
    for (slow, verdict) in [
        (1.0, Verdict::NotComparable(WhyNot::FewIntervals)),
        (3.0, Verdict::NotTold),
    ] {
        let sides = [0, 1].map(|_| recorded(&server.parts, slow, &[[0.5; 2]]));
        let rows = server.compared(&sides);
        let slow_call = |row: &&Row| row.what == What::Call(2) && row.of == Of::Slow;
        assert_eq!(rows.iter().find(slow_call).unwrap().verdict, verdict);
    }
}

/// The request calls `parse`, which calls `flush`, and takes a tenth more. `flush` has 9 or 5 tenths of that.
#[test]
fn a_call_passes_on_what_its_callee_carries() {
    let mut server = Server::new();
    server.paths = Paths::default();
    let parse = server.paths.child(ROOT, 0).unwrap();
    server.paths.child(parse, 1).unwrap();
    server.parts = Parts::of(&[], &[]);
    let classes = ClassTable::default();
    server.parts.meet(&server.paths, &server.sites, &classes);
    for (flush, passes_on) in [(0.29, true), (0.25, false)] {
        let sides = [
            recorded(&server.parts, 3.0, &[[0.5; 2], [0.2; 2]]),
            recorded(&server.parts, 3.0, &[[0.6; 2], [flush; 2]]),
        ];
        let rows = server.compared(&sides);
        let calls = rows.iter().filter(|row| row.family() == Family::Call);
        for row in calls {
            assert_eq!(row.passes_on, passes_on && row.what == What::Call(2));
        }
    }
}
