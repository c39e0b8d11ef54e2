//! The inputs of transactions.

/// The input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The best reviews of an item.
    ReviewItemById(i64),
    /// The best reviews by a user.
    ReviewsByUser(i64),
    /// The mean rating of an item (first) by users that a user (second) trusts.
    AverageRatingByTrustedUser(i64, i64),
    /// The mean rating of an item.
    ItemAverageRating(i64),
    /// Reviews of an item (first) and whom a user (second) trusts.
    ItemReviewsByTrustedUser(i64, i64),
    /// A user's new name.
    UpdateUserName(i64, String),
    /// An item's new title.
    UpdateItemTitle(i64, String),
    /// A new rating, last, of an item (first) by a user (second).
    UpdateReviewRating(i64, i64, i64),
    /// Whether, last, a user (first) trusts another (second).
    UpdateTrustRating(i64, i64, i64),
}
