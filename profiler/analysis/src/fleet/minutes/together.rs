//! Maps a minute of one recording onto the joint paths of several. Probes and classes are renumbered. Calls that some
//! recordings did not time are folded into their callers' own time.
//!
//! Sums suffice to fold a call exactly, together with all that is below it. With p the caller's own time and X that
//! of the call, (p + X)² = p² + 2 p X + X², and all three are summed. A call cannot be folded alone, because products
//! of its callees' time with the caller's other calls are not summed.

use super::{NODES_FIRST, RoundMinute};
use crate::intervals::classes::ClassSums;
use crate::sums::histogram::{Bucket, Histogram};
use crate::sums::paths::{Path, Paths, ROOT};
use crate::sums::self_cost::Window;
use crate::sums::{NodeSums, Sums};

/// What a recording's numbers are among those of all.
#[derive(Clone, Debug, Default)]
pub struct Renamed<'a> {
    /// By probe id; those beyond the end keep theirs.
    pub probes: &'a [u32],
    /// By class id.
    pub classes: &'a [usize],
    /// By number of the attribute; nothing where there are too many.
    pub attributes: &'a [Option<u16>],
    /// Ticks of the first recording's clock for one of this one's; nothing where both are as fast.
    pub clock: Option<f64>,
}

/// Where a node of the recording's goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To this node of all.
    Node(u32),
    /// Into the own time of its parent, with everything below it.
    Folded,
    /// It is below a node that is folded.
    Below,
}

impl RoundMinute {
    /// The same over `paths`, which are those of several recordings. `own` are the recording's.
    pub fn renamed(&self, own: &Paths, paths: &mut Paths, names: &Renamed<'_>) -> RoundMinute {
        let places = places(own, paths, names);
        let scale = Scale(names.clock.unwrap_or(1.0));
        let mut classes: Vec<ClassSums> = Vec::new();
        for (id, class) in self.classes.iter().enumerate() {
            if class.intervals == 0 {
                continue;
            }
            let id = names.classes.get(id).copied().unwrap_or(id);
            if classes.len() <= id {
                classes.resize(id + 1, ClassSums::default());
            }
            classes[id].merge(&of_class(class, own, &places, scale), |node| node);
        }
        RoundMinute {
            sums: sums(&self.sums, own, paths, &places, names, scale),
            histogram: histogram(&self.histogram, &places, scale),
            classes,
            self_cost: crate::sums::self_cost::Windows(self.self_cost.0.map(|window| Window {
                intervals: window.intervals,
                latency: scale.time(window.latency),
            })),
            steps: Vec::new(),
            ..*self
        }
    }
}

/// Clocks of different speed.
#[derive(Clone, Copy, Debug)]
struct Scale(f64);

impl Scale {
    fn time(self, ticks: i128) -> i128 {
        self.by(ticks, self.0)
    }

    fn squared(self, ticks: i128) -> i128 {
        self.by(ticks, self.0 * self.0)
    }

    fn by(self, sum: i128, factor: f64) -> i128 {
        if self.0 == 1.0 {
            return sum;
        }
        (sum as f64 * factor).round() as i128
    }
}

fn places(own: &Paths, paths: &mut Paths, names: &Renamed<'_>) -> Vec<Place> {
    let mut places: Vec<Place> = (0..NODES_FIRST as u32).map(Place::Node).collect();
    for path in own.all().iter().skip(NODES_FIRST) {
        let place = match places[path.parent as usize] {
            Place::Node(parent) => place(path, parent, paths, names),
            Place::Folded | Place::Below => Place::Below,
        };
        places.push(place);
    }
    places
}

fn place(path: &Path, parent: u32, paths: &mut Paths, names: &Renamed<'_>) -> Place {
    let step = match (path.probe, path.state) {
        (Some(probe), _) => names.probes.get(probe as usize).copied().unwrap_or(probe),
        (None, Some(state)) => {
            let id = |class: u16| names.classes.get(usize::from(class)).copied();
            state
                .renamed(|class| id(class).unwrap_or_default() as u16)
                .step()
        }
        (None, None) => return Place::Folded,
    };
    if paths.is_untimed(step) {
        return Place::Folded;
    }
    match paths.again(parent, step) {
        Some(node) => Place::Node(node),
        None => {
            paths.count_folded(1);
            Place::Folded
        }
    }
}

/// By node, its children in order of their ordinals, from 1 on.
fn children(own: &Paths) -> Vec<Vec<u32>> {
    let mut children = vec![Vec::new(); own.all().len()];
    for (node, path) in (1..).zip(own.all().iter().skip(1)) {
        children[path.parent as usize].push(node);
    }
    children
}

fn sums(
    from: &Sums,
    own: &Paths,
    paths: &Paths,
    places: &[Place],
    names: &Renamed<'_>,
    scale: Scale,
) -> Sums {
    let mut to = Sums {
        intervals: from.intervals,
        kept: from.kept,
        latency: scale.time(from.latency),
        latency_squared: scale.squared(from.latency_squared),
        nodes: vec![NodeSums::default(); paths.all().len()],
        pairs: vec![0; paths.pairs()],
        attributes: Vec::new(),
    };
    let count = from.nodes.len() as u32;
    let children = children(own);
    for node in 0..count {
        let Place::Node(target) = places[node as usize] else {
            continue;
        };
        let with_folded = folded_into(from, own, places, node, &children[node as usize]);
        to.nodes[target as usize].add_sums(&scaled(&with_folded, scale));
    }
    // Pairs of siblings and of a node with its parent's own time, which has folded calls in it.
    for node in 1..count {
        let path = own.get(node);
        for ordinal in 0..path.ordinal {
            let product = from.pairs.get(path.row + ordinal as usize).copied();
            let product = scale.squared(product.unwrap_or_default());
            let sibling =
                (ordinal > 0).then(|| children[path.parent as usize][ordinal as usize - 1]);
            let target = match (places[node as usize], sibling.map(|at| places[at as usize])) {
                (Place::Node(a), Some(Place::Node(b))) => paths.pair(a, b),
                (Place::Node(a), None | Some(Place::Folded)) => paths.pair_with_body(a),
                (Place::Folded, Some(Place::Node(b))) => paths.pair_with_body(b),
                _ => continue,
            };
            to.pairs[target] += product;
        }
    }
    for (number, sums) in from.attributes.iter().enumerate() {
        let Some(number) = names.attributes.get(number).copied().flatten() else {
            continue;
        };
        let number = usize::from(number);
        if to.attributes.len() <= number {
            to.attributes.resize_with(number + 1, Default::default);
        }
        let clock = |ticks| scale.time(ticks);
        to.attributes[number].merge(&sums.with_clock(clock, |ticks| scale.squared(ticks)));
    }
    to
}

/// A node's sums, its own time with that of the calls that are folded into it.
fn folded_into(
    from: &Sums,
    own: &Paths,
    places: &[Place],
    node: u32,
    children: &[u32],
) -> NodeSums {
    let mut sums = from.node(node);
    let is_folded = |&&child: &&u32| places[child as usize] == Place::Folded;
    let folded: Vec<u32> = children.iter().filter(is_folded).copied().collect();
    for (at, &call) in folded.iter().enumerate() {
        let call_sums = from.node(call);
        sums.exclusive += call_sums.inclusive;
        sums.exclusive_latency += call_sums.inclusive_latency;
        let pair = |index: usize| from.pairs.get(index).copied().unwrap_or_default();
        let with_body = pair(own.pair_with_body(call));
        let with_others = folded[..at]
            .iter()
            .map(|&other| pair(own.pair(other, call)));
        let products: i128 = with_body + with_others.sum::<i128>();
        sums.exclusive_squared += call_sums.inclusive_squared + 2 * products;
    }
    sums
}

fn scaled(sums: &NodeSums, scale: Scale) -> NodeSums {
    NodeSums {
        inclusive: scale.time(sums.inclusive),
        inclusive_squared: scale.squared(sums.inclusive_squared),
        inclusive_latency: scale.squared(sums.inclusive_latency),
        exclusive: scale.time(sums.exclusive),
        exclusive_squared: scale.squared(sums.exclusive_squared),
        exclusive_latency: scale.squared(sums.exclusive_latency),
        calls: sums.calls,
        calls_squared: sums.calls_squared,
        calls_inclusive: scale.time(sums.calls_inclusive),
    }
}

fn histogram(from: &Histogram, places: &[Place], scale: Scale) -> Histogram {
    let mut to = Histogram::default();
    for (from_ticks, bucket) in from.with_bounds() {
        let both: Vec<(i64, u64)> = bucket.both().collect();
        let mut moved: Vec<(i64, u64)> = Vec::new();
        for (node, (inclusive, calls)) in both.into_iter().enumerate() {
            let Place::Node(target) = places[node] else {
                continue;
            };
            let target = target as usize;
            if moved.len() <= target {
                moved.resize(target + 1, (0, 0));
            }
            moved[target].0 += scale.time(inclusive.into()) as i64;
            moved[target].1 += calls;
        }
        let ticks = scale.time(from_ticks.into()) as u64;
        to.add_bucket(ticks, &Bucket::of(bucket.intervals, bucket.kept, &moved));
    }
    to.latency_max = scale.time(from.latency_max.into()) as u64;
    to
}

fn of_class(from: &ClassSums, own: &Paths, places: &[Place], scale: Scale) -> ClassSums {
    let mut to = ClassSums {
        intervals: from.intervals,
        latency: scale.time(from.latency),
        latency_squared: scale.squared(from.latency_squared),
        nodes: Vec::new(),
    };
    for (node, &(exclusive, with_latency)) in from.nodes.iter().enumerate() {
        // Up to the node whose own time it is among all.
        let mut at = node as u32;
        let target = loop {
            match places[at as usize] {
                Place::Node(target) => break target as usize,
                _ if at == ROOT => break ROOT as usize,
                _ => at = own.get(at).parent,
            }
        };
        if to.nodes.len() <= target {
            to.nodes.resize(target + 1, (0, 0));
        }
        to.nodes[target].0 += scale.time(exclusive);
        to.nodes[target].1 += scale.squared(with_latency);
    }
    to
}
