//! The four tables.

use crate::interface::{ColumnType, Schema, TableId, column, nullable};

use ColumnType::{Int32, Int64, Text, Timestamp};

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
    let user = vec![
        column("u_id", Int32),
        column("name", Text(24)),
        column("email", Text(24)),
        column("creation_date", Timestamp),
    ];
    let item = vec![
        column("i_id", Int32),
        column("title", Text(128)),
        column("description", Text(512)),
        column("creation_date", Timestamp),
    ];
    let review = vec![
        column("a_id", Int64),
        column("u_id", Int32),
        column("i_id", Int32),
        column("rating", Int32),
        nullable("review_rank", Int32),
        column("comment", Text(256)),
        column("creation_date", Timestamp),
    ];
    let trust = vec![
        column("source_u_id", Int32),
        column("target_u_id", Int32),
        column("trust", Int32),
        column("creation_date", Timestamp),
    ];
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
