//! The four tables.

use crate::interface::{Schema, TableId, columns};

/// The tables by name.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub(super) user: TableId,
    pub(super) item: TableId,
    pub(super) review: TableId,
    pub(super) trust: TableId,
}

pub(super) fn declare() -> (Schema, Tables) {
    let mut schema = Schema::new();
    let user = columns("u_id int, name text(24), email text(24), creation_date timestamp");
    let item = columns("i_id int, title text(128), description text(512), creation_date timestamp");
    let review = columns(
        "a_id bigint, u_id int, i_id int, rating int, review_rank int null, comment text(256), \
         creation_date timestamp",
    );
    let trust = columns("source_u_id int, target_u_id int, trust int, creation_date timestamp");
    let tables = Tables {
        user: schema.table("useracct", user, &["u_id"]),
        item: schema.table("item", item, &["i_id"]),
        review: schema.table("review", review, &["a_id"]),
        trust: schema.table("trust", trust, &["source_u_id", "target_u_id"]),
    };
    schema.index(tables.review, "review_user", &["u_id"], false);
    schema.index(tables.review, "review_item", &["i_id"], false);
    schema.index(tables.trust, "trust_target", &["target_u_id"], false);
    (schema, tables)
}
