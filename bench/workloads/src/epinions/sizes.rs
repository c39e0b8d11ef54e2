//! How large the data is.

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Users: 2000 times the scale.
    pub users: i64,
    /// Items: 1000 times the scale.
    pub items: i64,
    /// Most reviews of an item: 500 times the scale.
    pub reviews: i64,
    /// Most users a user trusts, plus one: 200 times the scale.
    pub trusts: i64,
}

impl Sizes {
    /// At this scale.
    pub(crate) fn at_scale(scale: i64) -> Self {
        Sizes {
            users: 2000 * scale,
            items: 1000 * scale,
            reviews: 500 * scale,
            trusts: 200 * scale,
        }
    }
}
