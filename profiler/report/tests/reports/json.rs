//! The JSON the design promises.

use evenkeel_analysis::findings::{Advice, Finding, FindingClass, GivesUp, Holder};
use evenkeel_analysis::profile::{Caller, Profile};
use evenkeel_report::json;

use super::fixture;

#[test]
fn a_profile_survives_the_round_trip() {
    let profile = fixture::before();
    let text = json::profile(&profile);
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    assert!(text.ends_with("}\n"));
}

#[test]
fn the_field_names_are_the_designs() {
    let value: serde_json::Value =
        serde_json::from_str(&json::profile(&fixture::before())).unwrap();
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

/// Absent where there is nothing to report.
#[test]
fn callers_of_a_factor() {
    let mut profile = fixture::before();
    profile.factors[0].caller = Some("XLogFlush".into());
    profile.factors[0].callers = vec![Caller {
        function: "RecordTransactionCommit".into(),
        contribution: 0.5,
    }];
    let text = json::profile(&profile);
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let [first, second] = [0, 1].map(|at| &value["factors"][at]);
    assert_eq!(first["caller"], "XLogFlush");
    assert_eq!(first["callers"][0]["function"], "RecordTransactionCommit");
    assert_eq!(first["callers"][0]["contribution"], 0.5);
    assert!(second.get("caller").is_none() && second.get("callers").is_none());
}

/// The field names of findings are the design's; a file without them is read, too.
#[test]
fn findings() {
    let finding = Finding {
        headline: "XactLockTableWait called by heap_update".into(),
        function: "XactLockTableWait".into(),
        called_by: Some("heap_update".into()),
        tail_share: [("p99".to_owned(), 0.5)].into(),
        classes: vec![FindingClass::default()],
        waits_for: vec![Holder::default()],
        factors: vec![2],
        advice: vec![Advice {
            gives_up: Some(GivesUp::Durability),
            ..Advice::default()
        }],
        ..Finding::default()
    };
    let mut profile = fixture::before();
    assert!(profile.findings.is_empty());
    profile.findings = vec![finding];
    let text = json::profile(&profile);
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let first = &value["findings"][0];
    for field in [
        "headline",
        "function",
        "called_by",
        "share",
        "se",
        "mean_ns",
        "calls_mean",
    ] {
        assert!(first.get(field).is_some(), "{field}");
    }
    assert_eq!(first["tail_share"]["p99"], 0.5);
    assert_eq!(first["factors"][0], 2);
    assert!(first["classes"][0]["share"].is_number() && first["waits_for"][0]["class"].is_string());
    assert_eq!(first["advice"][0]["gives_up"], "durability");
    assert!(value["uncovered"]["share"].is_number());
}
