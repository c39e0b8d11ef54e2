//! `evenkeel bench compare`: configurations against the baseline, which is measured twice.

use serde_json::Value;

use super::{objects, output, refused, small};

/// Two schedules to be compared.
const SCHEDULES: [&str; 4] = ["--with", "--schedule fifo", "--with", "--schedule ldsf"];

/// The comparison of this many rounds.
fn compared(rounds: &str, options: &[&str]) -> Value {
    let mut arguments = vec!["compare", "--rounds", rounds, "--json"];
    arguments.extend(options.iter().chain(&SCHEDULES));
    arguments.extend(small(&[
        "--for",
        "500ms",
        "--warmup",
        "0s",
        "--clients",
        "2",
    ]));
    objects(&output(&arguments)).remove(0)
}

/// Two rounds of them.
fn assert_compares(options: &[&str]) {
    let compared = compared("2", options);
    assert_eq!(compared["rounds"], 2);
    let configurations = compared["configurations"].as_array().unwrap();
    let names: Vec<&Value> = configurations.iter().map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        [
            "--schedule fifo",
            "--schedule fifo (again)",
            "--schedule ldsf"
        ]
    );
    for (at, one) in configurations.iter().enumerate() {
        assert_eq!(
            (&one["baseline"], &one["aa"]),
            (&(at == 0).into(), &(at == 1).into())
        );
        assert_eq!(one["consistency"], "ok");
        assert_eq!(one["values"]["mean_ns"].as_array().map(Vec::len), Some(2));
        for count in ["unfinished", "rejected", "given_up"] {
            assert_eq!(one[count], 0, "{one}");
        }
        if at == 0 {
            assert!(one["ratio"].is_null());
            continue;
        }
        let ratio = &one["ratio"]["throughput"];
        let [low, median, high] = ["low", "median", "high"].map(|end| ratio[end].as_f64().unwrap());
        assert!(0.0 < low && low <= median && median <= high, "{ratio}");
        // Two rounds tell nothing apart.
        assert_eq!(ratio["told_apart"], false);
    }
}

#[test]
fn a_comparison_has_the_baseline_twice() {
    assert_compares(&[]);
}

#[test]
fn configurations_are_compared_at_the_same_time() {
    assert_compares(&["--together"]);
}

#[test]
fn others_are_compared_at_the_baselines_throughput() {
    let compared = compared("1", &["--at-throughput-of", "fifo"]);
    let of = |at: usize, key: &str| compared["configurations"][at]["config"][key].clone();
    assert_eq!(
        [0, 1, 2].map(|at| of(at, "loop")),
        ["closed", "closed", "open"]
    );
    // Of the first of the two to be measured, whichever that is, or of the other.
    let throughput = &compared["configurations"][0]["values"]["throughput_per_s"][0];
    assert_eq!(&of(2, "rate_per_s"), throughput);
    refused(
        &[
            &["compare", "--at-throughput-of", "ldsf"][..],
            &SCHEDULES[..],
            &["micro"][..],
        ]
        .concat(),
        "the first --with must have that schedule",
    );
}

#[test]
fn rounds_are_as_long_as_a_number_of_transactions_takes() {
    let mut arguments = vec![
        "compare",
        "--rounds",
        "1",
        "--json",
        "--transactions",
        "2000",
    ];
    arguments.extend(SCHEDULES);
    // A thousand a second at least are two seconds at most; --for would be an hour.
    arguments.extend(small(&["--for", "3s", "--warmup", "0s", "--rate", "1000"]));
    let compared = objects(&output(&arguments)).remove(0);
    for one in compared["configurations"].as_array().unwrap() {
        let for_s = one["config"]["for_s"].as_f64().unwrap();
        assert!(for_s >= 2.0, "{for_s}");
    }
}
