//! Consistency conditions of TATP's data.

use super::statements::Ids;
use crate::interface::{Error, Findings, Transaction, Violation};

/// Checks; `forwardings` is how many call forwardings there must be, if that is known.
pub(super) async fn check<T: Transaction>(
    ids: &Ids,
    subscribers: i64,
    forwardings: Option<i64>,
    transaction: &mut T,
) -> Result<Vec<Violation>, Error> {
    let mut findings = Findings::new();
    let found = transaction
        .query_one(ids.count_subscribers, &[])
        .await?
        .int(0)?;
    findings.equal("tatp: count(subscriber) stays", found, subscribers, || {
        "subscriber".to_owned()
    });
    for (condition, statement) in [
        (
            "tatp: each subscriber has 1 to 4 types of access",
            ids.access_types,
        ),
        (
            "tatp: each subscriber has 1 to 4 special facilities",
            ids.facility_types,
        ),
    ] {
        let counts = transaction.query(statement, &[]).await?;
        let place = || "subscribers with any".to_owned();
        findings.equal(condition, counts.len() as i64, subscribers, place);
        for row in counts {
            let (s_id, count) = (row.int(0)?, row.int(1)?);
            let within = (1..=4).contains(&count);
            findings.holds(condition, within, || format!("subscriber {s_id}: {count}"));
        }
    }
    let found = transaction.query_one(ids.count_forwardings, &[]).await?;
    let count = found.int(0)?;
    let with_facility = transaction
        .query_one(ids.facility_of_forwarding, &[])
        .await?
        .int(0)?;
    let condition = "tatp: each call forwarding belongs to a special facility";
    let place = || "call_forwarding".to_owned();
    findings.equal(condition, count, with_facility, place);
    if let Some(expected) = forwardings {
        let condition = "tatp: count(call_forwarding) = count at the beginning + inserts - deletes";
        findings.equal(condition, count, expected, place);
    }
    if count > 0 {
        let (first, last) = (found.int(1)?, found.int(2)?);
        let condition = "tatp: call forwardings lie in hours 0 to 24";
        findings.holds(condition, first >= 0 && last <= 24, || {
            format!("{first} to {last}")
        });
    }
    Ok(findings.finish())
}
