//! The JSON the design promises.

mod fixture;

use evenkeel_analysis::profile::{Caller, Profile};
use evenkeel_report::json;

#[test]
fn a_profile_survives_the_round_trip() {
    let profile = fixture::before();
    for text in [json::render(&profile), json::render_line(&profile)] {
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
        assert!(text.ends_with("}\n"));
    }
    assert_eq!(json::render_line(&profile).lines().count(), 1);
}

#[test]
fn the_field_names_are_the_designs() {
    let value: serde_json::Value = serde_json::from_str(&json::render(&fixture::before())).unwrap();
    for pointer in [
        "/version",
        "/target",
        "/interval",
        "/intervals",
        "/discarded",
        "/mean_ns",
        "/sd_ns",
        "/variance_ns2",
        "/percentiles_ns/p50",
        "/closure/max_abs_error_ticks",
        "/overhead/probe_ns",
        "/overhead/estimated_fraction",
        "/overhead/measured_fraction",
        "/overhead/measured_se",
        "/rounds/0/probes",
        "/rounds/0/intervals",
        "/factors/0/kind",
        "/factors/0/functions/0",
        "/factors/0/contribution",
        "/factors/0/se",
        "/factors/0/score",
        "/factors/0/height",
        "/tree/name",
        "/tree/site",
        "/tree/file",
        "/tree/line",
        "/tree/mean_ns",
        "/tree/calls_mean",
        "/tree/share",
        "/tree/se",
        "/tree/tail_share/p99",
        "/tree/kind",
        "/tree/children/0/name",
        "/unpatched/0/site",
        "/unpatched/0/reason",
    ] {
        assert!(value.pointer(pointer).is_some(), "{pointer} is missing");
    }
    assert_eq!(value["factors"][0]["kind"], "variance");
}

/// Absent where there is nothing to tell, so that profiles of older versions read the same.
#[test]
fn callers_of_a_factor() {
    let mut profile = fixture::before();
    profile.factors[0].caller = Some("XLogFlush".into());
    profile.factors[0].callers = vec![Caller {
        function: "RecordTransactionCommit".into(),
        contribution: 0.5,
    }];
    let text = json::render(&profile);
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let [first, second] = [0, 1].map(|at| &value["factors"][at]);
    assert_eq!(first["caller"], "XLogFlush");
    assert_eq!(first["callers"][0]["function"], "RecordTransactionCommit");
    assert_eq!(first["callers"][0]["contribution"], 0.5);
    assert!(second.get("caller").is_none() && second.get("callers").is_none());
}
