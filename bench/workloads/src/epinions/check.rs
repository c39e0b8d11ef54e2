//! Consistency conditions of Epinions' data.

use super::statements::Ids;
use crate::interface::{Error, Findings, Transaction, Violation};

/// Checks; `before` is how many reviews and trusts there must be, if that is known.
pub(super) async fn check<T: Transaction>(
    ids: &Ids,
    before: Option<[i64; 2]>,
    transaction: &mut T,
) -> Result<Vec<Violation>, Error> {
    let mut findings = Findings::new();
    let ratings = transaction.query_one(ids.ratings, &[]).await?;
    let trusts = transaction.query_one(ids.trusts, &[]).await?;
    let (reviews, trust_count) = (ratings.int(0)?, trusts.int(0)?);
    if let Some(before) = before {
        let condition = "epinions: count(review) and count(trust) stay";
        findings.equal(condition, [reviews, trust_count], before, || {
            "all rows".to_owned()
        });
    }
    let within = |low: Option<i64>, high: Option<i64>, most| {
        low.is_none_or(|low| low >= 0) && high <= Some(most)
    };
    for (condition, row, most) in [
        ("epinions: ratings lie in 0 to 4", &ratings, 4),
        ("epinions: trusts are 0 or 1", &trusts, 1),
    ] {
        let (low, high) = (row.optional_int(1)?, row.optional_int(2)?);
        findings.holds(condition, within(low, high, most), || {
            format!("{low:?} to {high:?}")
        });
    }
    for (statement, (condition, rows)) in ids.references.into_iter().zip([
        ("epinions: each review has its item", reviews),
        ("epinions: each review has its user", reviews),
        ("epinions: each trust has its source", trust_count),
        ("epinions: each trust has its target", trust_count),
    ]) {
        let pairs = transaction.query_one(statement, &[]).await?.int(0)?;
        findings.equal(condition, rows, pairs, || "rows and pairs".to_owned());
    }
    Ok(findings.finish())
}
