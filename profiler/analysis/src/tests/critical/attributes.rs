//! Attributes that the target set, and what they explain.

use super::super::trace::{near, options};
use super::streams::*;
use crate::profile::{AttributeFit, AttributeValue};

/// Interval n, of this latency: 1000 ticks apart.
fn interval(stream: Stream, n: u64, latency: u64, set: &[(&str, i64)]) -> Stream {
    let begin = 1000 * (n + 1);
    let begun = stream.begin_keyed(begin, n + 1, "");
    let set = set.iter().fold(begun, |stream, &(name, value)| {
        stream.attribute(n + 1, name, value)
    });
    set.end_keyed(begin + latency, n + 1, &[])
}

/// Latencies 10, 20, 30, 60 with 1, 1, 3, 3 rows: mean 30, squares about it 400 + 100 + 0 + 900 = 1400.
///
/// ```text
/// by value     means 15 and 45: 2 * 15^2 + 2 * 15^2 = 900 of 1400
/// slope        rows about their mean 2: -1, -1, 1, 1; with the latency 20 + 10 + 0 + 30 = 60, alone 4: 15 ticks a row
/// correlation  60 / sqrt(4 * 1400)
/// ```
///
/// Two intervals have locks, 0 and 2 (7 at first). Their mean latency is 35, and all of their variance lies between the
/// values. An attribute with the same value everywhere explains nothing.
#[test]
fn few_values() {
    let mut stream = stream();
    let set: [&[(&str, i64)]; 4] = [
        &[("rows", 1), ("locks", 0)],
        &[("rows", 1)],
        &[("rows", 3)],
        &[("locks", 7), ("rows", 3), ("locks", 2)],
    ];
    for (n, latency) in [10, 20, 30, 60].into_iter().enumerate() {
        let set = [set[n], &[("constant", -5)]].concat();
        stream = interval(stream, n as u64, latency, &set);
    }
    let profile = profile_of(&[stream]);
    let [locks, rows, constant] = profile.attributes.as_slice() else {
        panic!("{:#?}", profile.attributes);
    };
    assert_eq!((rows.name.as_str(), rows.intervals), ("rows", 4));
    assert_eq!(rows.fit, AttributeFit::ByValue);
    near(rows.mean, 2.0);
    near(rows.sd, (4.0f64 / 3.0).sqrt());
    near(rows.explained, 900.0 / 1400.0);
    near(rows.correlation.unwrap(), 60.0 / (4.0f64 * 1400.0).sqrt());
    near(rows.slope_ns.unwrap(), 15.0);
    let value = |value, intervals, mean_ns| AttributeValue {
        value,
        intervals,
        mean_ns,
    };
    assert_eq!(rows.values, [value(1, 2, 15.0), value(3, 2, 45.0)]);
    assert_eq!((locks.name.as_str(), locks.intervals), ("locks", 2));
    near(locks.explained, 1.0);
    near(locks.slope_ns.unwrap(), 25.0);
    assert_eq!((constant.explained, constant.correlation), (0.0, None));
    assert_eq!(constant.values, [value(-5, 4, 30.0)]);
    let slowest = &profile.timelines[0];
    let shown: Vec<_> = slowest.attributes.iter().collect();
    let expected = [("constant", -5), ("locks", 2), ("rows", 3)];
    let shown: Vec<_> = shown
        .iter()
        .map(|(name, value)| (name.as_str(), **value))
        .collect();
    assert_eq!(shown, expected);
}

/// The jackknife: 4 blocks of one interval each have latencies 0, 1, 2, 5 (plus 10) and values 0, 0, 1, 1. The
/// explained part without a block is the sum of n_v weighted squares of means about the mean, over the squares of all.
///
/// ```text
/// without 0: {1}, {2, 5}: mean 8/3, (25/9 + 2 * 25/36) / (25/9 + 4/9 + 49/9) = (75/18) / (78/9) = 75/156
/// without 1: {0}, {2, 5}: mean 7/3, (49/9 + 2 * 49/36) / (49/9 + 1/9 + 64/9) = (147/18) / (114/9) = 147/228
/// without 2: {0, 1}, {5}: mean 2, (2 * 9/4 + 9) / (4 + 1 + 9) = 13.5/14
/// without 5: {0, 1}, {2}: mean 1, (2 * 1/4 + 1) / 2 = 3/4
/// ```
///
/// Blocks of equal size: se^2 = (g - 1) / g * sum of squares about their mean.
#[test]
fn errors_are_the_jackknifes() {
    let latencies = [(10, 0), (11, 0), (12, 1), (15, 1)];
    let streams = latencies.into_iter().enumerate();
    let stream = streams.fold(stream(), |stream, (n, (latency, value))| {
        interval(stream, n as u64, latency, &[("v", value)])
    });
    let profile = profile_of(&[stream]);
    let without: [f64; 4] = [75.0 / 156.0, 147.0 / 228.0, 13.5 / 14.0, 0.75];
    let mean = without.iter().sum::<f64>() / 4.0;
    let squares: f64 = without.iter().map(|one| (one - mean) * (one - mean)).sum();
    near(profile.attributes[0].se, (0.75 * squares).sqrt());
}

/// Value v runs from 0 to 39, shuffled, and the latency is 100 + 2 v. A line explains everything, also without any one
/// block.
#[test]
fn many_values() {
    let stream = (0..40).fold(stream(), |stream, n| {
        let value = n * 7 % 40;
        interval(stream, n, 100 + 2 * value, &[("v", value as i64)])
    });
    let profile = profile_of(&[stream]);
    let v = &profile.attributes[0];
    assert_eq!((v.fit, v.values.len()), (AttributeFit::Linear, 0));
    near(v.explained, 1.0);
    near(v.slope_ns.unwrap(), 2.0);
    near(v.mean, 19.5);
    assert!(v.se < 1e-9 && v.correlation_se < 1e-9, "{v:?}");
}

/// Set before an interval begins, after it ended, or of another: of none.
#[test]
fn attributes_of_no_interval() {
    let stream = stream()
        .attribute(5, "early", 1)
        .begin_keyed(1000, 5, "")
        .attribute(6, "other", 1)
        .end_keyed(1010, 5, &[])
        .attribute(5, "late", 1)
        .begin_keyed(1020, 5, "")
        .end_keyed(1030, 5, &[]);
    let mut analysis = following();
    run(&mut analysis, &[stream]);
    let profile = analysis.profile(&table(), &options());
    assert_eq!((profile.intervals, profile.attributes.len()), (2, 0));
}
