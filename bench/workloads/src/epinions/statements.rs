//! The statements.

use crate::interface::Compare::Equal;
use crate::interface::StatementId;
use crate::interface::declare::{
    Declaration, Statements, average, count, from, max, min, outer, p, set,
};

/// The statements.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) item_reviews: StatementId,
    pub(super) user_reviews: StatementId,
    pub(super) trusted_average: StatementId,
    pub(super) item_average: StatementId,
    pub(super) reviews: StatementId,
    pub(super) trusted: StatementId,
    pub(super) set_name: StatementId,
    pub(super) set_title: StatementId,
    pub(super) set_rating: StatementId,
    pub(super) set_trust: StatementId,
    pub(super) ratings: StatementId,
    pub(super) trusts: StatementId,
    /// Rows with a counterpart in another table: reviews with item, reviews with user, trusts with source,
    /// trusts with target.
    pub(super) references: [StatementId; 4],
}

impl Ids {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let mut add = |name, declaration: Declaration| statements.add(name, declaration);
        let of_item = || from("review").index("review_item", [p(0)]);
        let item_reviews = of_item().join("item").key([outer("i_id")]);
        let user_reviews = from("review")
            .index("review_user", [p(0)])
            .join("useracct")
            .key([outer("u_id")]);
        let trusted_average = of_item().join("trust").key([p(1), outer("u_id")]);
        let trusted = from("trust")
            .key([p(0)])
            .columns(["target_u_id", "trust", "creation_date"]);
        let set_trust = from("trust").key([p(0), p(1)]).update([set("trust", p(2))]);
        let set_rating = of_item()
            .filter("u_id", Equal, p(1))
            .update([set("rating", p(2))]);
        let pairs = |table, other, by| {
            from(table)
                .join(other)
                .key([outer(by)])
                .aggregates([count()])
        };
        Ids {
            item_reviews: add(
                "epinions_item_reviews",
                item_reviews.columns("a_id u_id rating comment title description".split(' ')),
            ),
            user_reviews: add(
                "epinions_user_reviews",
                user_reviews.columns("a_id i_id rating comment name email".split(' ')),
            ),
            trusted_average: add(
                "epinions_trusted_average",
                trusted_average.aggregates([average("rating")]),
            ),
            item_average: add(
                "epinions_item_average",
                of_item().aggregates([average("rating")]),
            ),
            reviews: add(
                "epinions_reviews",
                of_item().columns(["a_id", "u_id", "rating", "comment", "creation_date"]),
            ),
            trusted: add("epinions_trusted", trusted),
            set_name: add(
                "epinions_set_name",
                from("useracct").key([p(0)]).update([set("name", p(1))]),
            ),
            set_title: add(
                "epinions_set_title",
                from("item").key([p(0)]).update([set("title", p(1))]),
            ),
            set_rating: add("epinions_set_rating", set_rating),
            set_trust: add("epinions_set_trust", set_trust),
            ratings: add(
                "epinions_ratings",
                from("review").aggregates([count(), min("rating"), max("rating")]),
            ),
            trusts: add(
                "epinions_trusts",
                from("trust").aggregates([count(), min("trust"), max("trust")]),
            ),
            references: [
                add("epinions_review_item", pairs("review", "item", "i_id")),
                add("epinions_review_user", pairs("review", "useracct", "u_id")),
                add(
                    "epinions_trust_source",
                    pairs("trust", "useracct", "source_u_id"),
                ),
                add(
                    "epinions_trust_target",
                    pairs("trust", "useracct", "target_u_id"),
                ),
            ],
        }
    }
}
